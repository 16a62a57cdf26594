//! A trace of a running broker, taken under load, and simulated.

use anyhow::{Context, Result, ensure};
use tidegate::Settings;
use tidegate_simulate::trace::Action;
use tidegate_simulate::{Candidate, Simulation, StoreModel, Trace, run};
use tidegate_tests::broker::Cluster;
use tidegate_tests::load::{Load, stored};

const TOPIC: &str = "orders";
const PARTITIONS: i32 = 4;

#[tokio::test(flavor = "multi_thread")]
async fn what_clients_asked_a_broker_for_can_be_simulated() -> Result<()> {
    let cluster = Cluster::local()?;
    let broker = cluster.start().await?;
    broker.tidegate(&["topic", "create", TOPIC, "--partitions", &PARTITIONS.to_string(), "--lanes", "2"]).await?;
    let before = Load::start(broker.kafka(), TOPIC, PARTITIONS, "before");
    before.progress_by(100).await?;
    before.stop().await?;

    let directory = tempfile::tempdir()?;
    let file = directory.path().join("t.csv");
    let path = file.to_str().context("a path in UTF-8")?;
    let recorded = async { broker.tidegate(&["trace", "record", path, "--seconds", "600", "--requests", "400"]).await };
    let load = async {
        let load = Load::start(broker.kafka(), TOPIC, PARTITIONS, "load");
        load.progress_by(1_000).await?;
        // Readers from the beginning: what was there before the recording is not part of it.
        stored(broker.kafka(), TOPIC).await?;
        load.progress_by(10_000).await?;
        load.stop().await
    };
    let (recorded, load) = tokio::join!(recorded, load);
    let (recorded, _) = (recorded?, load?);
    ensure!(recorded["appends"].as_u64() > Some(100) && recorded["fetches"].as_u64() > Some(0), "{recorded}");

    let trace = Trace::read("t.csv", std::io::BufReader::new(std::fs::File::open(&file)?))?;
    ensure!(trace.topics.len() == 1 && trace.topics[0].name.as_str() == TOPIC && trace.topics[0].lanes == 2, "{:?}", trace.topics);
    let appends = trace.events.iter().filter(|event| matches!(event.action, Action::Append { .. })).count() as u64;
    ensure!(recorded["appends"].as_u64() == Some(appends), "{recorded}: {appends}");
    let simulation = Simulation { settings: Settings::default(), model: StoreModel::s3_express(), seed: 1 };
    let outcome = tokio::task::spawn_blocking(move || run(&simulation, &trace, &Candidate::built_in())).await??;
    ensure!(outcome.acks.count == appends && outcome.fetched_bytes > 0 && outcome.failed_fetches == 0, "{outcome:?}");
    Ok(())
}
