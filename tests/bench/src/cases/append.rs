//! Appending (validation, offsets, write buffer) against the checksum that validation cannot do without.

use anyhow::Result;
use bytes::BytesMut;
use tidegate::Storage;
use tidegate::types::TopicPartition;
use tokio::runtime::Runtime;

use crate::batches::{SIZES, copies, of_size};
use crate::host::{Plugins, at, create, memory, open, runtime};
use crate::measure::{paired, seconds};
use crate::report::Report;

const ROUNDS: usize = 101;
/// Bytes of a round: below what the built-in policy seals at, so that nothing uploads meanwhile.
const BYTES: usize = 7 << 20;
/// Where the part of a batch begins that its checksum covers.
const CRC_COVERS: usize = 21;

pub(crate) fn run(report: &Report, _: &Plugins) -> Result<()> {
    let runtime = runtime()?;
    let host = runtime.block_on(open(&memory(), |settings| settings.topic_defaults.max_age_ms = 60_000))?;
    let topic = runtime.block_on(create(&host, "bench", 1, 1))?;
    for (name, size) in SIZES {
        let template = of_size(size);
        let count = BYTES / template.len();
        let append = || append(&runtime, &host, at(&topic, 0), copies(&template, count));
        let pair = paired(ROUNDS, append, || checksum(copies(&template, count)));
        report.compared(name, pair, "bytes/s", "CRC-32C alone");
    }
    runtime.block_on(host.close())?;
    Ok(())
}

fn append(runtime: &Runtime, host: &Storage, partition: TopicPartition, batches: Vec<BytesMut>) -> f64 {
    let bytes: usize = batches.iter().map(|batch| batch.len()).sum();
    let append = async {
        for batch in batches {
            drop(host.append(partition, batch).await.expect("there is room"));
        }
    };
    let taken = seconds(|| runtime.block_on(append));
    runtime.block_on(host.flush(partition)).expect("a store in memory takes it");
    bytes as f64 / taken
}

fn checksum(batches: Vec<BytesMut>) -> f64 {
    let bytes: usize = batches.iter().map(|batch| batch.len()).sum();
    let taken = seconds(|| {
        for batch in &batches {
            std::hint::black_box(crc32c::crc32c(&batch[CRC_COVERS..]));
        }
    });
    bytes as f64 / taken
}
