//! Throughput of one lane over a store that takes 20 ms for a PUT, by the uploads that may be in flight.

use std::time::Duration;

use anyhow::Result;

use crate::batches::{copies, of_size};
use crate::host::{Plugins, at, create, open, runtime, slow_memory};
use crate::measure::{Pair, median, seconds};
use crate::report::Report;

const PUT: Duration = Duration::from_millis(20);
const ROUNDS: usize = 5;
const IN_FLIGHT: [u32; 3] = [1, 4, 16];
const SEGMENT: u64 = 256 << 10;
/// Segments of a round, for each upload in flight.
const SEGMENTS: u32 = 16;

pub(crate) fn run(report: &Report, _: &Plugins) -> Result<()> {
    let mut rates = IN_FLIGHT.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (in_flight, rates) in IN_FLIGHT.iter().zip(&mut rates) {
            rates.push(megabytes_per_s(*in_flight)?);
        }
    }
    let alone = median(rates[0].clone());
    for (in_flight, of_rounds) in IN_FLIGHT.iter().zip(rates) {
        report.compared(&in_flight.to_string(), Pair::of(median(of_rounds), alone), "MB/s", "one upload in flight");
    }
    Ok(())
}

fn megabytes_per_s(in_flight: u32) -> Result<f64> {
    let runtime = runtime()?;
    let store = slow_memory(PUT);
    let host = runtime.block_on(open(&store, |settings| {
        settings.host.uploads_per_lane = in_flight;
        settings.topic_defaults.max_segment_bytes = SEGMENT;
        settings.topic_defaults.max_age_ms = 60_000;
    }))?;
    let topic = runtime.block_on(create(&host, "bench", 1, 1))?;
    let template = of_size(64 << 10);
    let batches = copies(&template, (SEGMENTS * in_flight) as usize * SEGMENT as usize / template.len());
    let bytes: usize = batches.iter().map(|batch| batch.len()).sum();
    let mut outcome = Ok(());
    let taken = seconds(|| {
        let batches = batches.into_iter().map(|batch| (at(&topic, 0), batch));
        outcome = runtime.block_on(crate::host::commit_all(&host, batches));
    });
    outcome?;
    runtime.block_on(host.close())?;
    Ok(bytes as f64 / 1e6 / taken)
}
