//! Sealing a segment (checksums, indexes, footer) against crc32fast alone over the same bytes; and what it copies and allocates.

use std::collections::BTreeSet;

use anyhow::Result;
use tidegate::policy::{Context, IndexView, builtin};
use tidegate::record::{AppendedSet, RecordSet};
use tidegate::segment::{Identity, Sealed, SliceInput, seal};
use tidegate::types::{Nonce, TopicId};

use crate::batches::{SIZES, copies, of_size};
use crate::host::Plugins;
use crate::measure::{paired, seconds};
use crate::report::Report;

const ROUNDS: usize = 61;
const BYTES: usize = 16 << 20;
const SLICES: u32 = 8;

pub(crate) fn run(report: &Report, _: &Plugins) -> Result<()> {
    for (name, size) in SIZES {
        let sets = sets(size);
        let bytes: usize = sets.iter().flatten().map(|set| set.bytes.len()).sum();
        let sealing = || {
            let inputs = inputs(&sets);
            // Kept: a segment lives on until it is committed.
            let mut made = None;
            bytes as f64 / seconds(|| made = Some(sealed(inputs)))
        };
        let pair = paired(ROUNDS, sealing, || bytes as f64 / seconds(|| checksum(&sets)));
        report.compared(name, pair, "bytes/s", "crc32fast alone");

        let given = inputs(&sets);
        let mut made = None;
        let allocated = allocation_counter::measure(|| made = Some(sealed(given))).bytes_total;
        let copied = copied_bytes(&made.expect("sealed just now"), &sets, bytes);
        report.value(&format!("{name}-copied"), copied as f64 / bytes as f64, "bytes/byte");
        report.value(&format!("{name}-allocated"), allocated as f64 / bytes as f64, "bytes/byte");
    }
    Ok(())
}

/// Appended sets of one batch each, by slice.
fn sets(size: usize) -> Vec<Vec<AppendedSet>> {
    let template = of_size(size);
    let count = BYTES / SLICES as usize / template.len();
    let slice = |_| {
        let mut offset = 0;
        let append = |batch| {
            let set = RecordSet::validate(batch, usize::MAX).expect("a valid batch");
            let records = set.record_count() as i64;
            offset += records;
            set.assign(offset - records, 1, None)
        };
        copies(&template, count).into_iter().map(append).collect()
    };
    (0..SLICES).map(slice).collect()
}

fn inputs(sets: &[Vec<AppendedSet>]) -> Vec<SliceInput> {
    let spacing = builtin::index(&Context::default(), &IndexView::default());
    (0..).zip(sets).map(|(partition, sets)| SliceInput { partition, sets: sets.clone(), spacing }).collect()
}

fn sealed(inputs: Vec<SliceInput>) -> Sealed {
    let identity = Identity { topic: TopicId(uuid::Uuid::nil()), lane: 0, slot: 1, epoch: 1, nonce: Nonce(1) };
    seal(identity, 0, inputs)
}

fn checksum(sets: &[Vec<AppendedSet>]) {
    let mut hasher = crc32fast::Hasher::new();
    for set in sets.iter().flatten() {
        hasher.update(&set.bytes);
    }
    std::hint::black_box(hasher.finalize());
}

/// Batch bytes of the body that do not lie where they were appended.
fn copied_bytes(sealed: &Sealed, sets: &[Vec<AppendedSet>], bytes: usize) -> usize {
    let appended: BTreeSet<_> = sets.iter().flatten().map(|set| (set.bytes.as_ptr(), set.bytes.len())).collect();
    let in_place = sealed.body.chunks().iter().filter(|chunk| appended.contains(&(chunk.as_ptr(), chunk.len())));
    bytes - in_place.map(|chunk| chunk.len()).sum::<usize>()
}
