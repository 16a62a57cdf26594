//! A scan of a whole topic with nothing cached: requests, and bytes downloaded for each byte served.

use std::time::Duration;

use anyhow::Result;
use tidegate::runtime::{FetchPartition, FetchRequest};
use tidegate::store::Operation;

use crate::batches::of_size;
use crate::host::{Plugins, at, commit_all, create, memory, open, runtime};
use crate::measure::Pair;
use crate::report::Report;

const PARTITIONS: u32 = 8;
const LANES: u32 = 2;
const SEGMENTS: usize = 16;
const BYTES: usize = 64 << 20;

pub(crate) fn run(report: &Report, _: &Plugins) -> Result<()> {
    runtime()?.block_on(scan(report))
}

async fn scan(report: &Report) -> Result<()> {
    let store = memory();
    let host = open(&store, |_| {}).await?;
    let topic = create(&host, "bench", PARTITIONS, LANES).await?;
    let batch = of_size(64 << 10);
    let of_round = BYTES / SEGMENTS / batch.len() / PARTITIONS as usize;
    for _ in 0..SEGMENTS {
        let partitions = (0..PARTITIONS).flat_map(|p| std::iter::repeat_n(p, of_round));
        commit_all(&host, partitions.map(|p| (at(&topic, p), batch.clone()))).await?;
    }
    host.close().await?;

    let reader = open(&store, |_| {}).await?;
    for lane in 0..LANES {
        reader.offsets(at(&topic, lane)).await?;
    }
    store.reset_counters();
    let mut offsets = [0; PARTITIONS as usize];
    let mut served = 0;
    loop {
        let ask = |p: u32| FetchPartition { partition: at(&topic, p), offset: offsets[p as usize], max_bytes: 1 << 20 };
        let partitions = (0..PARTITIONS).map(ask).collect();
        let request = FetchRequest { partitions, max_bytes: 8 << 20, min_bytes: 0, max_wait: Duration::ZERO };
        let before = served;
        for (p, answer) in reader.fetch(request).await.into_iter().enumerate() {
            let answer = answer?;
            offsets[p] = answer.next_offset;
            served += answer.len;
        }
        if served == before {
            break;
        }
    }
    anyhow::ensure!(served == SEGMENTS * of_round * PARTITIONS as usize * batch.len(), "{served} bytes were served");
    let gets = store.requests(Operation::Get) as f64;
    report.value("gets", gets * (64 << 20) as f64 / served as f64, "GETs/64 MiB");
    report.compared("bytes", Pair::of(store.bytes_down() as f64, served as f64), "bytes down", "bytes served");
    reader.close().await?;
    Ok(())
}
