//! Reading from the store: how often it is asked, and for how much.

use futures::future::join_all;

use super::bench::{Bench, quiet_topic, small_chunks};
use crate::config::{HostSettings, TopicSettings};
use crate::error::ErrorKind;
use crate::log::partition::Partition;
use crate::record::testing::{BatchBuilder, batch};
use crate::store::{Fault, Gate, Operation, Request, StoreErrorKind};

async fn read_to_end(partition: &Partition, max_bytes: usize) -> u64 {
    let (mut offset, mut bytes) = (0, 0);
    let end = partition.offsets().expect("it has not failed").high_watermark;
    while offset < end {
        let fetched = partition.fetch(offset, max_bytes, true).await.expect("it is readable");
        assert!(fetched.next_offset > offset);
        (offset, bytes) = (fetched.next_offset, bytes + fetched.len as u64);
    }
    bytes
}

#[tokio::test(start_paused = true)]
async fn many_readers_of_one_cold_chunk_cause_one_get() {
    let mut bench = Bench::new(1, small_chunks(), quiet_topic());
    bench.plain(0, 4, 1_000);
    let partition = bench.open(0);
    let fetched = join_all((0..100).map(|_| partition.fetch(0, 10_000, true))).await;
    assert!(fetched.into_iter().all(|f| f.is_ok_and(|f| f.len > 4_000)));
    assert_eq!(bench.store.requests(Operation::Get), 1);
    assert_eq!(bench.catalog.lookups.load(std::sync::atomic::Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_gives_up_takes_nothing_from_the_others() {
    let mut bench = Bench::new(1, small_chunks(), quiet_topic());
    bench.plain(0, 4, 1_000);
    let partition = bench.open(0);
    let gate = Gate::new();
    let held = gate.clone();
    bench.store.set_script(move |_: &Request<'_>| Fault::none().held(&held));
    let leader = tokio::spawn({
        let partition = partition.clone();
        async move { partition.fetch(0, 10_000, true).await }
    });
    while bench.store.requests(Operation::Get) == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    let others = tokio::spawn({
        let partition = partition.clone();
        async move { join_all((0..20).map(|_| partition.fetch(0, 10_000, true))).await }
    });
    tokio::task::yield_now().await;
    leader.abort();
    assert!(leader.await.is_err_and(|e| e.is_cancelled()));
    gate.open();
    assert!(others.await.expect("it does not panic").into_iter().all(|f| f.is_ok()));
    assert_eq!(bench.store.requests(Operation::Get), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failed_load_is_told_to_all_and_not_remembered() {
    let mut bench = Bench::new(1, small_chunks(), quiet_topic());
    bench.plain(0, 4, 1_000);
    let partition = bench.open(0);
    bench.store.set_script(|_: &Request<'_>| Fault::fail(StoreErrorKind::Unavailable));
    let refused = join_all((0..10).map(|_| partition.fetch(0, 10_000, true))).await;
    assert!(refused.into_iter().all(|f| f.is_err_and(|e| e.kind() == ErrorKind::Unavailable)));
    assert_eq!(bench.store.requests(Operation::Get), 1);
    bench.store.clear_script();
    assert!(partition.fetch(0, 10_000, true).await.is_ok());
}

fn whole_topic(partitions: u32, batches: usize) -> Vec<(u32, Vec<Vec<BatchBuilder>>)> {
    (0..partitions).map(|p| (p, vec![vec![batch(1, 900); batches]])).collect()
}

#[tokio::test(start_paused = true)]
async fn slices_of_one_object_come_in_one_get_while_their_partitions_are_read() {
    let mut bench = Bench::new(10, HostSettings { chunk_bytes: 64 << 10, ..small_chunks() }, quiet_topic());
    bench.segment(whole_topic(10, 8));
    let partitions: Vec<_> = (0..10).map(|p| bench.open(p)).collect();
    let fetched = join_all(partitions.iter().map(|p| p.fetch(0, 1 << 20, true))).await;
    let served: usize = fetched.into_iter().map(|f| f.expect("it is readable").len).sum();
    assert_eq!(bench.store.requests(Operation::Get), 1);
    assert_eq!(bench.store.bytes_down(), served as u64);
}

/// D34: a quiet partition's reader downloads its slices and nothing of its neighbours'.
#[tokio::test(start_paused = true)]
async fn a_lone_quiet_partition_downloads_its_slices_only() {
    let mut bench = Bench::new(3, small_chunks(), quiet_topic());
    for _ in 0..5 {
        bench.segment(vec![(0, vec![vec![batch(1, 9_000); 20]]), (1, vec![vec![batch(1, 200)]]), (2, vec![vec![batch(1, 9_000); 20]])]);
    }
    let quiet = bench.open(1);
    assert_eq!(read_to_end(&quiet, 1 << 20).await, bench.bytes_of(1));
    assert_eq!(bench.store.bytes_down(), bench.bytes_of(1));
}

#[tokio::test(start_paused = true)]
async fn a_cold_scan_downloads_hardly_more_than_it_serves() {
    let topic = TopicSettings { read_ahead_enabled: true, ..TopicSettings::default() };
    for (slice_bytes, slices) in [(24 << 10, 256), (700 << 10, 16), (3 << 20, 6), (20 << 20, 1)] {
        let mut bench = Bench::new(1, HostSettings { cache_bytes: 8 << 20, ..HostSettings::default() }, topic.clone());
        bench.spacing = 32 << 10;
        bench.policy.decision.lock().bytes = 8 << 20;
        let sets: Vec<_> = (0..slice_bytes / 12_000).map(|_| vec![batch(12, 980)]).collect();
        for _ in 0..slices {
            bench.segment(vec![(0, sets.clone())]);
        }
        let served = read_to_end(&bench.open(0), 300_000).await;
        assert_eq!(served, bench.bytes_of(0));
        let down = bench.store.bytes_down();
        assert!(down * 100 <= served * 102, "{down} bytes down for {served} served, in slices of {slice_bytes}");
    }
}

#[tokio::test(start_paused = true)]
async fn warming_brings_what_is_read_later() {
    let mut bench = Bench::new(1, small_chunks(), quiet_topic());
    for _ in 0..4 {
        bench.plain(0, 30, 1_000);
    }
    let partition = bench.open(0);
    partition.warm(0, u64::MAX).await.expect("it is readable");
    let requests = bench.store.total_requests();
    assert_eq!(read_to_end(&partition, 1 << 20).await, bench.bytes_of(0));
    assert_eq!(bench.store.total_requests(), requests);
}

/// D21: a backfill of many times the cache costs the tail nothing.
#[tokio::test(start_paused = true)]
async fn a_backfill_does_not_push_out_the_tail() {
    let settings = HostSettings { cache_bytes: 1 << 20, ..small_chunks() };
    for admit in [true, false] {
        let mut bench = Bench::new(1, settings.clone(), TopicSettings::default());
        bench.policy.decision.lock().admit = admit;
        for _ in 0..100 {
            bench.plain(0, 100, 1_000);
        }
        let cold_end = bench.high_watermark(0);
        let partition = bench.open(0);
        let tail_bytes: Vec<_> = (0..3).map(|_| bench.plain(0, 100, 1_000)).collect();
        for stored in tail_bytes {
            super::bench::commit(&partition, stored);
        }
        let mut backfill = 0;
        while backfill < cold_end {
            backfill = partition.fetch(backfill, 64 << 10, true).await.expect("it is readable").next_offset;
        }
        let before = bench.store.requests(Operation::Get);
        let mut tail = cold_end;
        while tail < bench.high_watermark(0) {
            tail = partition.fetch(tail, 64 << 10, true).await.expect("it is readable").next_offset;
        }
        assert_eq!(bench.store.requests(Operation::Get), before, "the tail was read from memory");
        let resident = bench.shared.cache.resident_bytes();
        assert!(resident <= settings.cache_bytes, "{resident} bytes in a cache of {}", settings.cache_bytes);
    }
}

/// D24: what does not fit is not kept, and nothing goes for it; what a reader holds stays as it is.
#[tokio::test(start_paused = true)]
async fn a_chunk_larger_than_the_cache_is_served_and_not_kept() {
    let mut bench = Bench::new(1, HostSettings { cache_bytes: 200 << 10, ..small_chunks() }, quiet_topic());
    let small = bench.plain(0, 2, 100);
    let small_end = small.extent.slice.next_offset;
    bench.plain(0, 1, 400 << 10);
    let partition = bench.open(0);
    let held = partition.fetch(0, 1_000, true).await.expect("it is readable");
    let (held_bytes, requests) = (held.chunks.concat(), bench.store.requests(Operation::Get));
    let large = partition.fetch(small_end, 1, true).await.expect("it is readable");
    assert!(large.len > 400 << 10);
    assert!(bench.shared.cache.resident_bytes() < 100 << 10);
    assert_eq!(held.chunks.concat(), held_bytes);
    let after_large = bench.store.requests(Operation::Get);
    assert!(after_large > requests);
    assert_eq!(partition.fetch(0, 1, true).await.expect("it is readable").next_offset, 1);
    assert_eq!(bench.store.requests(Operation::Get), after_large, "the small chunk is still there");
}
