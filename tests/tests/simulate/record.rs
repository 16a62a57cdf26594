//! A trace of a running broker, taken under load, and simulated.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tidegate::Settings;
use tidegate_simulate::trace::Action;
use tidegate_simulate::{Candidate, Simulation, StoreModel, Trace, run};
use tidegate_tests::broker::{BrokerProcess, Cluster, binary};
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

/// Starts a recording of ten minutes, ends it by a signal once `ready` is through, and tells how the command ended.
async fn interrupted(
    broker: &BrokerProcess,
    file: &Path,
    signal: &str,
    ready: impl Future<Output = Result<()>>,
) -> Result<std::process::Output> {
    let mut command = tokio::process::Command::new(binary());
    command.args(["trace", "record", "--seconds", "600", "--json", "--admin", broker.admin()]).arg(file);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn()?;
    let url = format!("{}/v1/recording", broker.admin());
    let running = move || ureq::get(&url).call().is_ok();
    while !tokio::task::spawn_blocking(running.clone()).await? {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    ready.await?;
    let pid = child.id().context("it has ended by itself")?.to_string();
    ensure!(tokio::process::Command::new("kill").args([signal, &pid]).status().await?.success(), "kill {signal} {pid} failed");
    Ok(child.wait_with_output().await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_a_recording_and_keeps_what_was_recorded() -> Result<()> {
    let cluster = Cluster::local()?;
    let broker = cluster.start().await?;
    broker.tidegate(&["topic", "create", TOPIC, "--partitions", &PARTITIONS.to_string()]).await?;
    let directory = tempfile::tempdir()?;
    for signal in ["-INT", "-TERM"] {
        let file = directory.path().join(signal);
        let load = Load::start(broker.kafka(), TOPIC, PARTITIONS, signal);
        let output = interrupted(&broker, &file, signal, async { load.progress_by(1_000).await.map(drop) }).await?;
        load.stop().await?;
        ensure!(output.status.success(), "{signal}: {output:?}");
        let trace = Trace::read("t.csv", std::io::BufReader::new(std::fs::File::open(&file)?))?;
        ensure!(!trace.events.is_empty(), "{signal}: nothing is kept");
        // Its end on the broker, too: another can begin.
        let again = broker.tidegate(&["trace", "record", "/dev/null", "--seconds", "1"]).await;
        again.with_context(|| format!("{signal}: the recording goes on"))?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_that_fails_leaves_no_empty_file() -> Result<()> {
    let cluster = Cluster::local()?;
    let broker = cluster.start().await?;
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("t.csv");
    let path = file.to_str().context("a path in UTF-8")?;
    broker.tidegate(&["trace", "record", path, "--seconds", "0"]).await.err().context("no second is recorded")?;
    ensure!(!file.exists(), "an empty file is left");
    Ok(())
}
