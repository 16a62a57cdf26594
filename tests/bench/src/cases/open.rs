//! Requests that opening a lane takes after a clean close, by the segments in its log.

use anyhow::Result;

use crate::batches::of_size;
use crate::host::{Plugins, at, commit_all, create, memory, open, runtime};
use crate::report::Report;

const SEGMENTS: [u32; 3] = [10, 1_000, 10_000];

pub(crate) fn run(report: &Report, _: &Plugins) -> Result<()> {
    let runtime = runtime()?;
    for segments in SEGMENTS {
        let requests = runtime.block_on(requests_after(segments))?;
        report.value(&segments.to_string(), requests as f64, "requests");
    }
    Ok(())
}

async fn requests_after(segments: u32) -> Result<u64> {
    let store = memory();
    let host = open(&store, |_| {}).await?;
    let topic = create(&host, "bench", 1, 1).await?;
    for _ in 0..segments {
        commit_all(&host, [(at(&topic, 0), of_size(1 << 10))]).await?;
    }
    host.close().await?;
    let host = open(&store, |_| {}).await?;
    store.reset_counters();
    let offsets = host.offsets(at(&topic, 0)).await?;
    anyhow::ensure!(offsets.high_watermark == i64::from(segments), "{offsets:?}");
    let requests = store.total_requests();
    host.close().await?;
    Ok(requests)
}
