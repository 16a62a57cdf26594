//! Producers that go on until they are stopped, and the proof that what they were told is what is stored.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::task::JoinSet;

use crate::client::KafkaClient;
use crate::kcat;

/// Records of each batch.
const BATCH: usize = 20;
/// How long progress may take before the test gives up: no measure of anything.
const PATIENCE: Duration = Duration::from_secs(120);

/// Values by offset, of each partition.
pub type Records = BTreeMap<i32, BTreeMap<i64, String>>;

/// What running producers share.
#[derive(Debug, Default)]
struct Progress {
    acked: AtomicU64,
    stop: AtomicBool,
}

/// One producer for each partition, one batch at a time, never retried: an error ends it.
pub struct Load {
    progress: Arc<Progress>,
    producers: JoinSet<Produced>,
}

/// What one producer was told.
struct Produced {
    partition: i32,
    acked: BTreeMap<i64, String>,
    /// Why it ended before it was stopped.
    error: Option<anyhow::Error>,
}

impl Load {
    /// Starts producers for partitions `0..partitions`; `run` tells their records from those of others.
    pub fn start(broker: &str, topic: &str, partitions: i32, run: &str) -> Self {
        let progress = Arc::new(Progress::default());
        let mut producers = JoinSet::new();
        for partition in 0..partitions {
            let (broker, topic, run, progress) = (broker.to_owned(), topic.to_owned(), run.to_owned(), progress.clone());
            producers.spawn(async move {
                let mut acked = BTreeMap::new();
                let error = produce(&broker, &topic, partition, &run, &progress, &mut acked).await.err();
                Produced { partition, acked, error }
            });
        }
        Self { progress, producers }
    }

    /// Returns once `records` more records are acknowledged.
    pub async fn progress_by(&self, records: u64) -> Result<()> {
        let goal = self.progress.acked.load(Ordering::Relaxed) + records;
        let reached = async {
            while self.progress.acked.load(Ordering::Relaxed) < goal {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, reached).await.context("the producers make no progress")
    }

    /// Stops the producers after the batches in flight; the first error, if there was one, is the result.
    pub async fn stop(self) -> Result<Records> {
        self.progress.stop.store(true, Ordering::Relaxed);
        let (acked, errors) = self.ended().await?;
        errors.into_iter().next().map_or(Ok(acked), Err)
    }

    /// Waits until the broker's death has ended every producer; what was acknowledged until then.
    pub async fn crashed(self) -> Result<Records> {
        Ok(self.ended().await?.0)
    }

    async fn ended(mut self) -> Result<(Records, Vec<anyhow::Error>)> {
        let (mut acked, mut errors) = (Records::new(), Vec::new());
        while let Some(produced) = tokio::time::timeout(PATIENCE, self.producers.join_next()).await.context("a producer does not end")? {
            let produced = produced?;
            acked.insert(produced.partition, produced.acked);
            errors.extend(produced.error);
        }
        Ok((acked, errors))
    }
}

async fn produce(
    broker: &str,
    topic: &str,
    partition: i32,
    run: &str,
    progress: &Progress,
    acked: &mut BTreeMap<i64, String>,
) -> Result<()> {
    let mut client = KafkaClient::connect(broker).await?;
    for batch in 0u64.. {
        if progress.stop.load(Ordering::Relaxed) {
            break;
        }
        let values: Vec<String> = (0..BATCH).map(|i| format!("{run}/{partition}/{batch}/{i}")).collect();
        let base = client.produce(topic, partition, &values).await?;
        acked.extend((base..).zip(values));
        progress.acked.fetch_add(BATCH as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// Everything that a topic holds, read by kcat.
pub async fn stored(broker: &str, topic: &str) -> Result<Records> {
    let mut found = Records::new();
    let mut wrong = None;
    kcat::consume(broker, topic, "%p\t%o\t%s\n", |line| {
        let mut take = || -> Option<()> {
            let mut parts = std::str::from_utf8(line).ok()?.splitn(3, '\t');
            let (partition, offset) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            let twice = found.entry(partition).or_default().insert(offset, parts.next()?.to_owned());
            twice.is_none().then_some(())
        };
        if take().is_none() {
            wrong.get_or_insert_with(|| String::from_utf8_lossy(line).into_owned());
        }
    })
    .await?;
    ensure!(wrong.is_none(), "malformed, or an offset served twice: {wrong:?}");
    Ok(found)
}

/// Checks that every acknowledged record is stored at its offset, that offsets have no gap, and no record is there twice.
pub fn check_kept(acked: &Records, stored: &Records) -> Result<()> {
    for (partition, acked) in acked {
        let empty = BTreeMap::new();
        let stored = stored.get(partition).unwrap_or(&empty);
        for (offset, value) in acked {
            let found = stored.get(offset);
            let count = stored.len();
            ensure!(
                found == Some(value),
                "partition {partition}, offset {offset}: {value:?} was acknowledged, {found:?} of {count} is stored"
            );
        }
        ensure!(stored.keys().copied().eq(0..stored.len() as i64), "partition {partition}: offsets have gaps");
        let mut values: Vec<&String> = stored.values().collect();
        values.sort();
        ensure!(values.windows(2).all(|pair| pair[0] != pair[1]), "partition {partition}: a record is stored twice");
    }
    Ok(())
}

/// The same, and that nothing else is stored.
pub fn check_equal(acked: &Records, stored: &Records) -> Result<()> {
    check_kept(acked, stored)?;
    let count = |records: &Records| records.values().map(BTreeMap::len).sum::<usize>();
    ensure!(count(acked) == count(stored), "{} records were acknowledged, {} are stored", count(acked), count(stored));
    Ok(())
}
