//! `kill -9` in the middle of a stream: everything acknowledged is there afterwards, at its offset.

use anyhow::{Result, ensure};
use tidegate::config::StoreSettings;
use tidegate_tests::broker::Cluster;
use tidegate_tests::load::{Load, check_kept, stored};
use tidegate_tests::servers::SeaweedFs;

const TOPIC: &str = "crash";
const PARTITIONS: i32 = 8;
/// Records acknowledged before each crash.
const RECORDS: u64 = 2_000;

async fn acked_records_survive(cluster: &Cluster) -> Result<()> {
    let mut broker = cluster.start().await?;
    broker.tidegate(&["topic", "create", TOPIC, "--partitions", &PARTITIONS.to_string()]).await?;
    let mut acked = Default::default();
    for round in 0..3 {
        let load = Load::start(broker.kafka(), TOPIC, PARTITIONS, &format!("round-{round}"));
        load.progress_by(RECORDS).await?;
        broker.kill().await?;
        merge(&mut acked, load.crashed().await?)?;
        broker = cluster.start().await?;
        check_kept(&acked, &stored(broker.kafka(), TOPIC).await?)?;
    }
    ensure!(broker.terminate().await?.success(), "the last stop failed: {}", cluster.log());
    Ok(())
}

fn merge(all: &mut tidegate_tests::load::Records, more: tidegate_tests::load::Records) -> Result<()> {
    for (partition, records) in more {
        let known = all.entry(partition).or_default();
        for (offset, value) in records {
            let other = known.insert(offset, value);
            ensure!(other.is_none(), "partition {partition}: offset {offset} was acknowledged twice, first for {other:?}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn acked_records_survive_a_crash_on_a_local_directory() -> Result<()> {
    acked_records_survive(&Cluster::local()?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn acked_records_survive_a_crash_on_s3() -> Result<()> {
    let server = SeaweedFs::start().await?;
    acked_records_survive(&Cluster::on(StoreSettings::S3(server.settings("crash")))?).await
}
