//! Fetches of 1 MiB from the cache, and what they copy.

use anyhow::Result;
use tidegate::runtime::FetchPartition;

use crate::batches::{copies, of_size};
use crate::host::{Plugins, at, commit_all, create, memory, open, runtime};
use crate::measure::{median, seconds};
use crate::report::Report;

const ROUNDS: usize = 31;
const BYTES: usize = 64 << 20;

pub(crate) fn run(report: &Report, _: &Plugins) -> Result<()> {
    let runtime = runtime()?;
    let store = memory();
    let host = runtime.block_on(open(&store, |_| {}))?;
    let topic = runtime.block_on(create(&host, "bench", 1, 1))?;
    let template = of_size(64 << 10);
    let batches = copies(&template, BYTES / template.len()).into_iter().map(|batch| (at(&topic, 0), batch));
    runtime.block_on(commit_all(&host, batches))?;
    let scan = async || {
        let (mut offset, mut bytes) = (0, 0);
        loop {
            let fetch = FetchPartition { partition: at(&topic, 0), offset, max_bytes: 1 << 20 };
            let fetched = host.fetch_one(fetch, true).await.expect("what was committed is readable");
            if fetched.len == 0 {
                return bytes;
            }
            (offset, bytes) = (fetched.next_offset, bytes + fetched.len);
        }
    };
    let metrics = &host.metrics().cache;
    let mut served = runtime.block_on(scan());
    let (gets, copied_before) = (metrics.gets.get(), metrics.copied_bytes.get());
    let mut rates = Vec::new();
    let mut all = 0;
    for _ in 0..ROUNDS {
        let taken = seconds(|| served = runtime.block_on(scan()));
        rates.push(served as f64 / taken);
        all += served;
    }
    anyhow::ensure!(metrics.gets.get() == gets, "the store was asked: this is no cached fetch");
    report.value("1MiB", median(rates), "bytes/s");
    report.value("1MiB-copied", (metrics.copied_bytes.get() - copied_before) as f64 / all as f64, "bytes/byte");
    runtime.block_on(host.close())?;
    Ok(())
}
