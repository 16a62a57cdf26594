//! Swapping the flush policy under load: failed appends, and how much longer the longest append takes.
//!
//! Failures are counted under a producer at full speed, too. Pauses are told at a steady rate: a producer that never lets go of its core waits
//! for the scheduler, with swaps or without, for whole ticks of 4 ms and several of them; the difference of two such maxima is noise.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use tidegate::policy::Kind;
use tidegate::types::TopicPartition;
use tidegate::{Storage, env};

use crate::batches::of_size;
use crate::host::{Plugins, at, create, memory, open, runtime};
use crate::measure::median;
use crate::report::Report;

const ROUNDS: usize = 9;
const SWAPS: usize = 20;
const INTERVAL: Duration = Duration::from_millis(50);
/// A steady producer appends so many batches, then sleeps for about a millisecond.
const BURST: usize = 20;

#[derive(Clone, Copy)]
enum Pace {
    Steady,
    FullSpeed,
}

pub(crate) fn run(report: &Report, plugins: &Plugins) -> Result<()> {
    let runtime = runtime()?;
    let (mut failed, mut differences) = (0, Vec::new());
    failed += runtime.block_on(pauses(plugins, Pace::FullSpeed, true))?.failed;
    for _ in 0..ROUNDS {
        // A host of its own for each round: the first swaps compile their components.
        let swapped = runtime.block_on(pauses(plugins, Pace::Steady, true))?;
        let quiet = runtime.block_on(pauses(plugins, Pace::Steady, false))?;
        failed += swapped.failed + quiet.failed;
        differences.push((swapped.longest.as_secs_f64() - quiet.longest.as_secs_f64()) * 1e6);
    }
    report.value("failed", f64::from(failed), "appends");
    report.value("pause", median(differences), "us");
    Ok(())
}

struct Pauses {
    failed: u32,
    longest: Duration,
}

async fn pauses(plugins: &Plugins, pace: Pace, swapping: bool) -> Result<Pauses> {
    let store = memory();
    let host = open(&store, |settings| settings.host.cache_bytes = 16 << 20).await?;
    plugins.bind(&host, Kind::Flush, "flush-threshold").await?;
    let topic = create(&host, "bench", 1, 1).await?;
    let stop = AtomicBool::new(false);
    let swaps = async {
        for n in 0..SWAPS {
            tokio::time::sleep(INTERVAL).await;
            if swapping {
                plugins.bind(&host, Kind::Flush, ["flush-adaptive", "flush-threshold"][n % 2]).await?;
            }
        }
        stop.store(true, Ordering::Relaxed);
        anyhow::Ok(())
    };
    let (host_of_producer, partition) = (host.clone(), at(&topic, 0));
    let (pauses, swapped) = tokio::join!(produce(&host_of_producer, partition, pace, &stop), swaps);
    swapped?;
    host.close().await?;
    Ok(pauses)
}

/// Appends without waiting for commits.
async fn produce(host: &Storage, partition: TopicPartition, pace: Pace, stop: &AtomicBool) -> Pauses {
    let batch = of_size(1 << 10);
    let mut pauses = Pauses { failed: 0, longest: Duration::ZERO };
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..BURST {
            let copy = batch.clone();
            let start = env::now();
            pauses.failed += u32::from(host.append(partition, copy).await.is_err());
            pauses.longest = pauses.longest.max(start.elapsed());
        }
        match pace {
            Pace::Steady => tokio::time::sleep(Duration::from_millis(1)).await,
            // As a client would: others get their turn.
            Pace::FullSpeed => tokio::task::yield_now().await,
        }
    }
    pauses
}
