//! Reading ahead of sequential readers.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::bench::{Bench, small_chunks};
use crate::cache::STALE_AFTER;
use crate::config::{HostSettings, TopicSettings};
use crate::metrics::cache::{ABANDONED, EVICTED};
use crate::store::Operation;

fn bench(settings: HostSettings, segments: usize) -> Bench {
    let mut bench = Bench::new(1, settings, TopicSettings::default());
    for _ in 0..segments {
        bench.plain(0, 12, 1_000);
    }
    bench
}

/// Lets prefetches land: time stands still but for what they wait for.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

#[tokio::test(start_paused = true)]
async fn a_sequential_reader_stops_waiting_for_the_store() {
    let bench = bench(small_chunks(), 40);
    bench.policy.decision.lock().bytes = 100_000;
    let partition = bench.open(0);
    let mut offset = 0;
    while offset < bench.high_watermark(0) {
        offset = partition.fetch(offset, 12_000, true).await.expect("it is readable").next_offset;
        settle().await;
    }
    let views = bench.policy.views.lock().clone();
    assert_eq!(bench.policy.instances.load(Ordering::Relaxed), 1);
    assert_eq!(views[0].run_fetches, 2);
    let last = views.last().expect("it was asked");
    assert!(last.misses <= 3, "{} fetches waited", last.misses);
    assert!(views[5].ready_bytes >= 80_000 && views[5].lag_bytes > 300_000, "{:?}", views[5]);
    assert!(views[5].slice_bytes.abs_diff(12 * 1_072) < 400 && views[5].pace_bytes_per_s > 0, "{:?}", views[5]);
    assert!(views.iter().all(|v| v.abandoned_bytes == 0 && v.evicted_bytes == 0));
    assert_eq!(bench.store.bytes_down(), bench.bytes_of(0));
    let metrics = &bench.shared.metrics.cache;
    assert_eq!(metrics.prefetch_issued_bytes.get(), metrics.prefetch_used_bytes.get());
    assert_eq!(metrics.prefetch_reserved_bytes.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn slices_ahead_are_counted_in_slices() {
    let bench = bench(small_chunks(), 40);
    bench.policy.decision.lock().slices = 3;
    let partition = bench.open(0);
    let mut offset = 0;
    let slice_bytes = bench.bytes_of(0) as usize / 40;
    for _ in 0..4 {
        offset = partition.fetch(offset, slice_bytes, true).await.expect("it is readable").next_offset;
        settle().await;
    }
    let issued = bench.shared.metrics.cache.prefetch_issued_bytes.get();
    assert_eq!(issued / 13_000, 5, "three slices ahead of the second fetch, one more for each after it: {issued} bytes");
}

/// D22, the seek: what was prefetched for a reader that went elsewhere is dropped, and counted.
#[tokio::test(start_paused = true)]
async fn a_seek_leaves_prefetched_bytes_behind_and_frees_their_budget() {
    let bench = bench(small_chunks(), 100);
    bench.policy.decision.lock().bytes = 200_000;
    let partition = bench.open(0);
    let mut offset = 0;
    for _ in 0..3 {
        offset = partition.fetch(offset, 12_000, true).await.expect("it is readable").next_offset;
        settle().await;
    }
    let metrics = &bench.shared.metrics.cache;
    let reserved = metrics.prefetch_reserved_bytes.get();
    assert!(reserved > 100_000);
    bench.policy.decision.lock().bytes = 0;
    tokio::time::sleep(Duration::from_secs(5)).await;
    partition.fetch(800, 12_000, true).await.expect("it is readable");
    assert_eq!(metrics.prefetch_reserved_bytes.get(), 0);
    let abandoned = metrics.prefetch_wasted_bytes.get_or_create(&ABANDONED).get();
    assert_eq!(abandoned, reserved as u64);
    assert_eq!(partition.0.read_ahead.waste().abandoned(), abandoned);
}

/// D22, the slow consumer: what lies unread for long makes room for others, and is counted.
#[tokio::test(start_paused = true)]
async fn stale_prefetches_make_room_for_others() {
    let bench = bench(HostSettings { prefetch_bytes: 150_000, ..small_chunks() }, 100);
    bench.policy.decision.lock().bytes = 1 << 20;
    let (slow, fast) = (bench.open(0), bench.open(0));
    let mut offset = 0;
    for _ in 0..3 {
        offset = slow.fetch(offset, 12_000, true).await.expect("it is readable").next_offset;
        settle().await;
    }
    tokio::time::sleep(STALE_AFTER).await;
    let mut offset = 600;
    for _ in 0..10 {
        offset = fast.fetch(offset, 12_000, true).await.expect("it is readable").next_offset;
        settle().await;
    }
    let evicted = bench.shared.metrics.cache.prefetch_wasted_bytes.get_or_create(&EVICTED).get();
    assert!(evicted > 0);
    assert_eq!(slow.0.read_ahead.waste().evicted(), evicted);
    assert!(bench.shared.metrics.cache.prefetch_reserved_bytes.get() <= 150_000);
}

/// D23: many readers' prefetches stay within the budget; their own reads are never refused for it.
#[tokio::test(start_paused = true)]
async fn prefetches_stay_within_their_budget() {
    let bench = bench(HostSettings { prefetch_bytes: 100_000, ..small_chunks() }, 210);
    bench.policy.decision.lock().bytes = 1 << 20;
    let partitions: Vec<_> = (0..20).map(|_| bench.open(0)).collect();
    for (i, partition) in partitions.iter().enumerate() {
        let mut offset = (i * 120) as i64;
        for _ in 0..4 {
            offset = partition.fetch(offset, 12_000, true).await.expect("reads come first").next_offset;
            tokio::task::yield_now().await;
            assert!(bench.shared.metrics.cache.prefetch_reserved_bytes.get() <= 100_000);
        }
    }
    assert!(bench.shared.metrics.cache.prefetch_refused.get() > 0);
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_fails_calls_its_prefetches_off() {
    let bench = bench(small_chunks(), 40);
    bench.policy.decision.lock().bytes = 200_000;
    let partition = bench.open(0);
    let mut offset = 0;
    for _ in 0..3 {
        offset = partition.fetch(offset, 12_000, true).await.expect("it is readable").next_offset;
    }
    partition.fail(crate::Error::new(crate::ErrorKind::NotLeader, "fenced"));
    settle().await;
    assert_eq!(bench.shared.metrics.cache.prefetch_reserved_bytes.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_where_read_ahead_is_off_or_the_reader_has_caught_up() {
    for settings in [
        TopicSettings { read_ahead_enabled: false, ..TopicSettings::default() },
        TopicSettings { cache_enabled: false, ..TopicSettings::default() },
    ] {
        let mut bench = Bench::new(1, small_chunks(), settings);
        (0..10).for_each(|_| drop(bench.plain(0, 12, 1_000)));
        let partition = bench.open(0);
        let mut offset = 0;
        while offset < bench.high_watermark(0) {
            offset = partition.fetch(offset, 12_000, true).await.expect("it is readable").next_offset;
        }
        assert_eq!(bench.policy.instances.load(Ordering::Relaxed), 0);
    }
    let mut bench = Bench::new(1, small_chunks(), TopicSettings::default());
    let partition = bench.open_empty(0);
    for _ in 0..5 {
        let offset = partition.offsets().expect("it has not failed").high_watermark;
        super::bench::commit(&partition, bench.plain(0, 3, 1_000));
        partition.fetch(offset, 1 << 20, true).await.expect("it is readable");
    }
    assert!(bench.policy.views.lock().is_empty());
    assert_eq!(bench.store.requests(Operation::Get), 0);
}
