//! An idempotent producer of librdkafka, and a broker that is killed under it again and again: every record is there exactly once.

use std::io::Write;

use anyhow::{Context, Result, bail, ensure};
use tidegate::config::StoreSettings;
use tidegate_tests::broker::{BrokerProcess, Cluster};
use tidegate_tests::kcat;
use tidegate_tests::servers::SeaweedFs;

const TOPIC: &str = "once";
const RECORDS: u64 = 120_000;
/// The broker is killed when so many records are committed.
const KILLED_AT: [u64; 3] = [10_000, 40_000, 80_000];

async fn committed(broker: &BrokerProcess) -> Result<u64> {
    let detail = broker.tidegate(&["topic", "describe", TOPIC]).await?;
    let open = detail["open_partitions"].as_array().context("no partitions are listed")?;
    Ok(open.iter().filter_map(|partition| partition["high_watermark"].as_u64()).sum())
}

/// Waits until so many records are committed, and not all: then there is something left to break.
async fn progress(broker: &BrokerProcess, records: u64) -> Result<()> {
    for _ in 0..12_000 {
        match committed(broker).await? {
            RECORDS.. => bail!("all records were committed before the broker could be killed at {records}"),
            found if found >= records => return Ok(()),
            _ => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
        }
    }
    bail!("the producer never gets to {records} records")
}

async fn every_record_is_there_once(cluster: &Cluster) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("numbers");
    let mut lines = std::io::BufWriter::new(std::fs::File::create(&file)?);
    (0..RECORDS).try_for_each(|number| writeln!(lines, "{number:07} {}", "x".repeat(number as usize % 90)))?;
    lines.into_inner()?.sync_all()?;

    let mut broker = cluster.start().await?;
    broker.tidegate(&["topic", "create", TOPIC, "--partitions", "1"]).await?;
    let address = broker.kafka().to_owned();
    let producing = tokio::spawn(async move { kcat::produce_once(&address, TOPIC, &file).await });
    for records in KILLED_AT {
        progress(&broker, records).await?;
        broker.kill().await?;
        broker = cluster.start().await?;
    }
    producing.await??;

    let (mut next, mut out_of_place) = (0u64, Vec::new());
    kcat::consume(broker.kafka(), TOPIC, "%s\n", |record| {
        let number = record.get(..7).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        if number != Some(next) && out_of_place.len() < 10 {
            out_of_place.push((next, record.escape_ascii().to_string()));
        }
        next += 1;
    })
    .await?;
    ensure!(out_of_place.is_empty(), "of {RECORDS} records {next} are read; the first out of place: {out_of_place:?}");
    ensure!(next == RECORDS, "{next} of {RECORDS} records are there");
    ensure!(broker.terminate().await?.success(), "the last stop failed: {}", cluster.log());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_broker_neither_loses_nor_repeats_a_record_on_a_local_directory() -> Result<()> {
    every_record_is_there_once(&Cluster::local()?.at_one_address()?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_broker_neither_loses_nor_repeats_a_record_on_s3() -> Result<()> {
    let server = SeaweedFs::start().await?;
    every_record_is_there_once(&Cluster::on(StoreSettings::S3(server.settings("once")))?.at_one_address()?).await
}
