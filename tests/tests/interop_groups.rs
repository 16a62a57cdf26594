//! kcat as a consumer group against the real binary: members share the records, and a group goes on where it left
//! off, also after `kill -9`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, ensure};
use tidegate::config::StoreSettings;
use tidegate_tests::broker::{BrokerProcess, Cluster};
use tidegate_tests::kcat;
use tidegate_tests::servers::SeaweedFs;

const TOPIC: &str = "lines";
const GROUP: &str = "readers";
const LINES: usize = 2_000;

async fn produce(broker: &BrokerProcess, directory: &Path, round: usize) -> Result<BTreeSet<String>> {
    let lines: Vec<String> = (0..LINES).map(|line| format!("key-{}\t{round}-{line}", line % 97)).collect();
    let file = directory.join("lines");
    std::fs::write(&file, lines.join("\n"))?;
    kcat::produce_file(broker.kafka(), TOPIC, &file).await?;
    Ok(lines.iter().filter_map(|line| Some(line.split_once('\t')?.1.to_owned())).collect())
}

/// Every record once, and no other.
fn check(expected: &BTreeSet<String>, found: &[String], when: &str) -> Result<()> {
    let distinct: BTreeSet<String> = found.iter().cloned().collect();
    ensure!(distinct.len() == found.len(), "{when}: {} of {} records were read twice", found.len() - distinct.len(), found.len());
    ensure!(distinct == *expected, "{when}: {} records were written, {} are read", expected.len(), found.len());
    Ok(())
}

async fn a_group_reads_everything_once(cluster: &Cluster) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let mut broker = cluster.start().await?;
    broker.tidegate(&["topic", "create", TOPIC, "--partitions", "8"]).await?;
    for round in 0..3 {
        let written = produce(&broker, directory.path(), round).await?;
        let read = kcat::consume_as_group(broker.kafka(), TOPIC, GROUP, "%s\n").await?;
        check(&written, &read, &format!("round {round}"))?;
        broker.kill().await?;
        broker = cluster.start().await?;
        let again = kcat::consume_as_group(broker.kafka(), TOPIC, GROUP, "%s\n").await?;
        check(&BTreeSet::new(), &again, &format!("after the crash of round {round}"))?;
    }
    let written = produce(&broker, directory.path(), 3).await?;
    let member = || kcat::consume_as_group(broker.kafka(), TOPIC, GROUP, "%s\n");
    let (one, two) = tokio::try_join!(member(), member())?;
    let read: BTreeSet<String> = one.into_iter().chain(two).collect();
    ensure!(read == written, "two members: {} records were written, {} are read", written.len(), read.len());
    ensure!(broker.terminate().await?.success(), "the last stop failed: {}", cluster.log());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn kcat_groups_go_on_where_they_left_off_on_a_local_directory() -> Result<()> {
    a_group_reads_everything_once(&Cluster::local()?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn kcat_groups_go_on_where_they_left_off_on_s3() -> Result<()> {
    let server = SeaweedFs::start().await?;
    a_group_reads_everything_once(&Cluster::on(StoreSettings::S3(server.settings("groups")))?).await
}
