//! PUTs follow lanes, not partitions: the same traffic over 256 partitions and over 4, both in 4 lanes, with the default policies.

use std::time::Duration;

use anyhow::Result;
use tidegate::env;
use tidegate::store::Operation;

use crate::batches::of_size;
use crate::host::{Plugins, at, create, open, runtime, slow_memory};
use crate::measure::Pair;
use crate::report::Report;

const LANES: u32 = 4;
const MANY: u32 = 256;
const APPENDS: u32 = 6_000;
const INTERVAL: Duration = Duration::from_millis(1);
const PUT: Duration = Duration::from_millis(20);

/// PUTs of one run.
struct Puts {
    slots: f64,
    checkpoints: f64,
}

pub(crate) fn run(report: &Report, plugins: &Plugins) -> Result<()> {
    let runtime = runtime()?;
    // Both at once: what the machine does meanwhile happens to both.
    let both = async { futures::try_join!(traffic(plugins, MANY), traffic(plugins, LANES)) };
    let (many, few) = runtime.block_on(both)?;
    report.compared("puts", Pair::of(many.slots, few.slots), "slot PUTs", "the same traffic on 4 partitions in 4 lanes");
    report.value("checkpoints", many.checkpoints, "PUTs");
    report.value("checkpoints-few", few.checkpoints, "PUTs");
    Ok(())
}

/// An append each millisecond, lane by lane, whoever waits for it.
async fn traffic(plugins: &Plugins, partitions: u32) -> Result<Puts> {
    let store = slow_memory(PUT);
    let host = open(&store, |_| {}).await?;
    plugins.bind_defaults(&host).await?;
    let topic = create(&host, "bench", partitions, LANES).await?;
    store.reset_counters();
    let batch = of_size(1 << 10);
    let mut due = env::now();
    for n in 0..APPENDS {
        due += INTERVAL;
        tokio::time::sleep_until(due).await;
        let lane = n % LANES;
        let partition = (n / LANES * LANES + lane) % partitions;
        drop(host.append(at(&topic, partition), batch.clone()).await?);
    }
    host.close().await?;
    let puts = |part: &str| store.log().iter().filter(|r| r.operation == Operation::Put && r.key.contains(part)).count() as f64;
    Ok(Puts { slots: puts("/log/"), checkpoints: puts("/manifest") })
}
