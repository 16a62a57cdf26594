use proptest::prelude::*;

use super::*;
use crate::policy::{IndexSpacing, UNBOUNDED};
use crate::record::testing::{BatchBuilder, batch};
use crate::record::{BatchHeader, batches};

const WIDE: IndexSpacing = IndexSpacing { bytes: UNBOUNDED, records: UNBOUNDED, time_ms: UNBOUNDED };
const START: u64 = 80;

/// A slice of these batches that begins at [`START`] behind a body of `prefix`, and its index.
fn indexed(builders: &[BatchBuilder], spacing: IndexSpacing, prefix: &[u8]) -> (Vec<u8>, SliceIndex) {
    let mut bytes = Vec::new();
    let mut offset = 0;
    for builder in builders {
        let built = builder.clone().base_offset(offset).build();
        offset = BatchHeader::parse(&built).unwrap().next_offset();
        bytes.extend_from_slice(&built);
    }
    let running = |end: usize| crc32fast::hash(&[prefix, &bytes[..end]].concat());
    let mut index = IndexBuilder::new(3, spacing);
    for batch in batches(&bytes).map(Result::unwrap) {
        index.add(&batch.header, START + batch.position as u64, || running(batch.position));
    }
    let index = index.finish(START + bytes.len() as u64, running(bytes.len()));
    (bytes, index)
}

fn sizes(index: &SliceIndex) -> Vec<u64> {
    (0..index.entries().len()).map(|block| index.range_of(block..block + 1)).map(|r| r.end - r.start).collect()
}

fn some(count: usize, value_len: usize) -> Vec<BatchBuilder> {
    (0..count).map(|i| batch(10, value_len).timestamps(1000 * i as i64, 1)).collect()
}

#[test]
fn a_block_never_passes_64_kib_whatever_the_spacing() {
    let (_, index) = indexed(&some(100, 1000), WIDE, &[]);
    assert!(sizes(&index).iter().all(|size| *size <= MAX_BLOCK_BYTES));
    assert!(sizes(&index)[0] > MAX_BLOCK_BYTES - 11_000, "and is no smaller than it must be");
}

#[test]
fn a_batch_larger_than_a_block_is_one_block() {
    let (_, index) = indexed(&[batch(1, 10), batch(1, 200_000), batch(1, 10)], WIDE, &[]);
    assert_eq!(index.entries().len(), 3);
}

#[test]
fn spacing_bounds_bytes_records_and_time() {
    let batches = some(12, 10);
    let entries = |spacing| indexed(&batches, spacing, &[]).1.entries().len();
    assert_eq!(entries(IndexSpacing { records: 30, ..WIDE }), 4);
    assert_eq!(entries(IndexSpacing { records: 0, ..WIDE }), 12, "a batch is never cut");
    assert_eq!(entries(IndexSpacing { time_ms: 2_100, ..WIDE }), 4);
    let size = batches[0].build().len() as u64;
    assert_eq!(entries(IndexSpacing { bytes: 2 * size + 16, ..WIDE }), 6);
    assert_eq!(entries(WIDE), 1, "the first batch always has one");
}

#[test]
fn floor_finds_the_block_of_every_offset() {
    let (_, index) = indexed(&some(12, 10), IndexSpacing { records: 30, ..WIDE }, &[]);
    for offset in 0..120 {
        assert_eq!(index.floor(offset), offset as usize / 30, "offset {offset}");
    }
    assert_eq!((index.floor(-5), index.floor(1000)), (0, 3));
}

#[test]
fn first_at_time_finds_the_first_block_even_if_times_go_back() {
    let times = [500, 100, 900, 200];
    let batches: Vec<_> = times.iter().map(|t| batch(1, 10).timestamps(*t, 0)).collect();
    let (_, index) = indexed(&batches, IndexSpacing { records: 1, ..WIDE }, &[]);
    assert_eq!([0, 500, 501, 900, 901].map(|t| index.first_at_time(0, t)), [Some(0), Some(0), Some(2), Some(2), None]);
    assert_eq!(index.first_at_time(1, 50), Some(1));
    assert_eq!(index.first_at_time(9, 50), None);
}

#[test]
fn any_run_of_blocks_verifies_alone_and_names_the_block_that_is_damaged() {
    let (bytes, index) = indexed(&some(8, 100), IndexSpacing { records: 20, ..WIDE }, b"slices before");
    for first in 0..4 {
        for end in first + 1..=4 {
            let range = index.range_of(first..end);
            let run = &bytes[(range.start - START) as usize..(range.end - START) as usize];
            index.verify(first..end, run).unwrap();
        }
    }
    let mut damaged = bytes.clone();
    let third = index.range_of(2..3);
    damaged[(third.start - START) as usize + 5] ^= 0x10;
    let error = index.verify(0..4, &damaged).unwrap_err();
    assert_eq!((error.position, error.part.clone()), (third.start, format!("block {}..{} of partition 3", third.start, third.end)));
    assert!(index.verify(0..4, &bytes[1..]).is_err(), "a short read is no block");
}

#[test]
fn an_unsorted_or_empty_index_is_refused_though_its_crc_is_right() {
    let (_, index) = indexed(&some(3, 10), IndexSpacing { records: 10, ..WIDE }, &[]);
    let mut swapped = index.clone();
    swapped.entries.swap(0, 1);
    assert!(SliceIndex::decode(&swapped.encode(), 0).unwrap_err().problem.contains("rising"));
    let empty = SliceIndex { entries: Vec::new(), ..index.clone() };
    assert!(SliceIndex::decode(&empty.encode(), 0).is_err());
    let past = SliceIndex { end_position: index.entries[2].position, ..index };
    assert!(SliceIndex::decode(&past.encode(), 0).is_err());
}

#[test]
fn a_count_that_is_not_what_is_there_is_refused() {
    let (_, index) = indexed(&some(3, 10), IndexSpacing { records: 10, ..WIDE }, &[]);
    for count in [0u32, 2, 4, i32::MAX as u32, u32::MAX] {
        let mut bytes = index.encode().to_vec();
        bytes[12..16].copy_from_slice(&count.to_be_bytes());
        let end = bytes.len() - 4;
        let crc = crc32fast::hash(&bytes[..end]).to_be_bytes();
        bytes[end..].copy_from_slice(&crc);
        assert!(SliceIndex::decode(&bytes, 0).unwrap_err().problem.contains("entries of 28 bytes"), "{count}");
    }
}

proptest! {
    #[test]
    fn chunks_partition_the_slice_into_whole_blocks(
        sizes in proptest::collection::vec(0usize..5000, 1..40), records in 0u64..4, chunk_bytes in 1u64..20_000,
    ) {
        let builders: Vec<_> = sizes.iter().map(|size| batch(1, *size)).collect();
        let (bytes, index) = indexed(&builders, IndexSpacing { records, ..WIDE }, &[]);
        let chunks: Vec<_> = index.chunks(chunk_bytes).collect();
        prop_assert_eq!((chunks[0].range.start, chunks[chunks.len() - 1].range.end), (START, START + bytes.len() as u64));
        for pair in chunks.windows(2) {
            prop_assert_eq!(pair[0].range.end, pair[1].range.start);
            prop_assert_eq!(pair[0].blocks.end, pair[1].blocks.start);
        }
        for chunk in &chunks {
            prop_assert!(!chunk.is_empty() && chunk.len() <= chunk_bytes + MAX_BLOCK_BYTES);
            prop_assert_eq!(&index.range_of(chunk.blocks.clone()), &chunk.range);
            for position in [chunk.range.start, chunk.range.start + chunk.len() / 2, chunk.range.end - 1] {
                prop_assert_eq!(&index.chunk_of(position, chunk_bytes), chunk);
            }
        }
    }

    #[test]
    fn an_index_round_trips_and_no_flip_goes_unseen(counts in proptest::collection::vec(1usize..5, 1..10), bit: prop::sample::Index) {
        let builders: Vec<_> = counts.iter().map(|count| batch(*count, 20)).collect();
        let (_, index) = indexed(&builders, IndexSpacing { records: 3, ..WIDE }, &[]);
        let encoded = index.encode();
        prop_assert_eq!(encoded.len(), encoded_len(index.entries().len()));
        prop_assert_eq!(SliceIndex::decode(&encoded, 0).unwrap(), index);
        let bit = bit.index(encoded.len() * 8);
        let mut flipped = encoded.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(SliceIndex::decode(&flipped, 0).is_err());
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>, position: u32) {
        let _ = SliceIndex::decode(&bytes, position.into());
    }
}
