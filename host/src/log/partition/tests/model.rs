//! What a fetch returns, against a model.

use proptest::prelude::*;

use super::bench::{Bench, commit, quiet_topic, small_chunks};
use crate::error::ErrorKind;
use crate::log::partition::{Fetched, Partition};
use crate::record::testing::{BatchBuilder, batch};
use crate::types::Offset;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime needs nothing")
}

/// That a fetch gave whole batches of the model, from the right one on, as many as promised.
fn check(bench: &Bench, partition: u32, offset: Offset, max_bytes: usize, at_least_one: bool, fetched: &Fetched) {
    let expected = bench.from(partition, offset);
    let bytes = fetched.chunks.concat();
    assert_eq!(bytes.len(), fetched.len);
    let mut rest = &bytes[..];
    let mut taken = 0;
    while !rest.is_empty() {
        let batch = &expected[taken];
        assert!(rest.starts_with(&batch.bytes), "batch {} of a fetch from {offset} is not the model's", batch.base_offset);
        rest = &rest[batch.bytes.len()..];
        taken += 1;
    }
    if let Some(last) = taken.checked_sub(1).map(|i| &expected[i]) {
        let behind = expected.get(taken).map_or(bench.high_watermark(partition), |b| b.base_offset);
        assert!((last.next_offset..=behind).contains(&fetched.next_offset), "next offset {}", fetched.next_offset);
    }
    assert!(bytes.len() <= max_bytes || (at_least_one && taken == 1), "{} bytes where {max_bytes} were allowed", bytes.len());
    if let Some(next) = expected.get(taken) {
        let first = taken == 0;
        assert!(!(first && at_least_one), "at least one batch was asked for");
        let full = bytes.len() + next.bytes.len() > max_bytes;
        assert!(full || bytes.len() >= max_bytes / 2, "{} of {max_bytes} bytes, and the next batch would have fitted", bytes.len());
    }
}

async fn check_all(bench: &Bench, partition: &Partition) {
    let high_watermark = bench.high_watermark(0);
    for max_bytes in [0, 1, 500, 5_000, 40_000, usize::MAX] {
        for offset in 0..=high_watermark {
            for at_least_one in [true, false] {
                let fetched = partition.fetch(offset, max_bytes, at_least_one).await.expect("the offset is in range");
                if offset == high_watermark {
                    assert_eq!((fetched.len, fetched.next_offset), (0, offset));
                } else {
                    check(bench, 0, offset, max_bytes, at_least_one, &fetched);
                }
            }
        }
    }
}

fn mixed(bench: &mut Bench) -> Vec<super::bench::Stored> {
    let sizes: [&[&[(usize, usize)]]; 4] = [
        &[&[(3, 100)], &[(1, 2_000), (2, 30)]],
        &[&[(1, 10)], &[(5, 3_000)], &[(1, 20_000)], &[(2, 9_000), (4, 4_000), (1, 1)], &[(10, 900)]],
        &[&[(1, 50_000)]],
        &[&[(2, 6_000)], &[(2, 6_000)], &[(2, 6_000)]],
    ];
    let mut stored = Vec::new();
    for sets in sizes {
        let sets = sets.iter().map(|set| set.iter().map(|(n, len)| batch(*n, *len)).collect()).collect();
        stored.extend(bench.segment(vec![(0, sets)]));
        bench.gap(0, 3);
    }
    bench.gap(0, -3);
    stored
}

#[tokio::test(start_paused = true)]
async fn every_offset_is_readable_from_the_store() {
    let mut bench = Bench::new(1, small_chunks(), quiet_topic());
    mixed(&mut bench);
    let partition = bench.open(0);
    check_all(&bench, &partition).await;
}

#[tokio::test(start_paused = true)]
async fn every_offset_is_readable_from_what_was_flushed() {
    let mut bench = Bench::new(1, small_chunks(), quiet_topic());
    let partition = bench.open_empty(0);
    for stored in mixed(&mut bench) {
        commit(&partition, stored);
    }
    check_all(&bench, &partition).await;
    assert_eq!(bench.store.total_requests(), 0);
}

#[tokio::test(start_paused = true)]
async fn every_offset_is_readable_without_a_cache() {
    let mut bench = Bench::new(1, crate::config::HostSettings { cache_bytes: 0, ..small_chunks() }, quiet_topic());
    mixed(&mut bench);
    let partition = bench.open(0);
    check_all(&bench, &partition).await;
}

#[tokio::test(start_paused = true)]
async fn offsets_outside_the_log_are_out_of_range() {
    let mut bench = Bench::new(1, small_chunks(), quiet_topic());
    bench.plain(0, 10, 100);
    let partition = bench.open(0);
    partition.set_log_start(4);
    partition.set_log_start(2);
    for offset in [-1, 0, 3, 11, i64::MAX] {
        let refused = partition.fetch(offset, 1_000, true).await.expect_err("it is out of range");
        assert_eq!(refused.kind(), ErrorKind::OffsetOutOfRange);
    }
    assert_eq!(partition.fetch(4, 1, true).await.expect("it is in range").next_offset, 5);
    let offsets = partition.offsets().expect("it has not failed");
    assert_eq!((offsets.log_start, offsets.high_watermark), (4, 10));
}

/// D05: nothing is ever cut inside a batch.
#[tokio::test(start_paused = true)]
async fn a_batch_larger_than_the_limit_comes_whole() {
    let mut bench = Bench::new(1, small_chunks(), quiet_topic());
    bench.plain(0, 1, 20_000);
    let partition = bench.open(0);
    let whole = bench.bytes_of(0) as usize;
    assert!(whole > 20_000);
    assert_eq!(partition.fetch(0, 10_000, true).await.expect("it is readable").len, whole);
    assert_eq!(partition.fetch(0, 10_000, false).await.expect("it is readable").len, 0);
}

fn batches() -> impl Strategy<Value = Vec<BatchBuilder>> {
    prop::collection::vec((1..5_usize, 1..4_000_usize).prop_map(|(n, len)| batch(n, len)), 1..4)
}

fn segments() -> impl Strategy<Value = Vec<(Vec<Vec<BatchBuilder>>, i64)>> {
    prop::collection::vec((prop::collection::vec(batches(), 1..8), 0..3_i64), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fetches_return_exactly_the_batches_of_the_log(
        segments in segments(),
        cold in 0..6_usize,
        steps in prop::collection::vec((0.0..1.0_f64, 0..30_000_usize, any::<bool>()), 1..12),
        chunk_bytes in 4_096..20_000_u64,
    ) {
        runtime().block_on(async {
            let settings = crate::config::HostSettings { chunk_bytes, ..small_chunks() };
            let mut bench = Bench::new(1, settings, quiet_topic());
            let (mut stored, count) = (Vec::new(), segments.len());
            for (i, (sets, gap)) in segments.into_iter().enumerate() {
                stored.extend(bench.segment(vec![(0, sets)]));
                bench.gap(0, if i + 1 < count { gap } else { 0 });
            }
            let cold = cold.min(stored.len());
            let hot = stored.split_off(cold);
            let high_watermark = stored.last().map_or(0, |s| s.extent.slice.next_offset);
            let partition = bench.open_at(0, crate::log::partition::Offsets { log_start: 0, high_watermark });
            for stored in hot {
                commit(&partition, stored);
            }
            for (at, max_bytes, at_least_one) in steps {
                let mut offset = (at * bench.high_watermark(0) as f64) as Offset;
                for _ in 0..4 {
                    if offset >= bench.high_watermark(0) {
                        break;
                    }
                    let fetched = partition.fetch(offset, max_bytes, at_least_one).await.expect("the offset is in range");
                    check(&bench, 0, offset, max_bytes, at_least_one, &fetched);
                    offset = fetched.next_offset;
                }
            }
        });
    }
}
