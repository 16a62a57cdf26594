//! Reading what was just flushed, and waiting for it.

use std::sync::Arc;

use futures::FutureExt;
use tokio::sync::Notify;

use super::bench::{Bench, commit, quiet_topic, small_chunks};
use crate::config::TopicSettings;
use crate::error::{Error, ErrorKind};
use crate::record::testing::batch;

#[tokio::test(start_paused = true)]
async fn a_tail_reader_needs_no_request_and_no_copy() {
    let mut bench = Bench::new(1, small_chunks(), quiet_topic());
    let partition = bench.open_empty(0);
    let stored = bench.plain(0, 40, 1_000);
    let flushed: Vec<_> = stored.bytes.iter().map(|b| b.as_ptr()).collect();
    commit(&partition, stored);
    let fetched = partition.fetch(0, usize::MAX, true).await.expect("it is committed");
    assert_eq!(fetched.len as u64, bench.bytes_of(0));
    assert!(fetched.chunks.iter().all(|c| flushed.contains(&c.as_ptr())), "the bytes given out are those that were flushed");
    assert_eq!(bench.store.total_requests(), 0);
    assert_eq!(bench.shared.metrics.cache.copied_bytes.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_topic_without_cache_is_not_seeded() {
    let mut bench = Bench::new(1, small_chunks(), TopicSettings { cache_enabled: false, ..quiet_topic() });
    let partition = bench.open_empty(0);
    commit(&partition, bench.plain(0, 4, 1_000));
    assert_eq!(bench.shared.cache.resident_bytes(), 0);
    assert_eq!(partition.fetch(0, usize::MAX, true).await.expect("it is committed").len as u64, bench.bytes_of(0));
}

/// D32: waiting costs no request, and one commit wakes whoever waits below it.
#[tokio::test(start_paused = true)]
async fn waiters_are_woken_by_a_commit_without_polling() {
    let mut bench = Bench::new(2, small_chunks(), quiet_topic());
    let partitions = [bench.open_empty(0), bench.open_empty(1)];
    let (waiter, beyond) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    for partition in &partitions {
        partition.wake_when_readable(0, &waiter);
    }
    partitions[1].wake_when_readable(1, &beyond);
    tokio::time::advance(std::time::Duration::from_secs(3_600)).await;
    assert!(waiter.notified().now_or_never().is_none());
    commit(&partitions[1], bench.plain(1, 1, 10));
    assert!(waiter.notified().now_or_never().is_some());
    assert!(beyond.notified().now_or_never().is_none());
    assert_eq!(bench.store.total_requests(), 0);
}

#[tokio::test(start_paused = true)]
async fn waiters_are_woken_at_once_by_a_trim_and_by_a_failure() {
    let mut bench = Bench::new(1, small_chunks(), quiet_topic());
    let partition = bench.open_empty(0);
    commit(&partition, bench.plain(0, 5, 10));
    let waiter = Arc::new(Notify::new());
    partition.wake_when_readable(4, &waiter);
    assert!(waiter.notified().now_or_never().is_some(), "it is readable already");
    partition.wake_when_readable(5, &waiter);
    assert!(waiter.notified().now_or_never().is_none());
    partition.fail(Error::new(ErrorKind::NotLeader, "fenced"));
    assert!(waiter.notified().now_or_never().is_some());
    partition.wake_when_readable(9, &waiter);
    assert!(waiter.notified().now_or_never().is_some());
    assert_eq!(partition.offsets().expect_err("it failed").kind(), ErrorKind::NotLeader);
    assert_eq!(partition.fetch(0, 1, true).await.expect_err("it failed").kind(), ErrorKind::NotLeader);
}

#[tokio::test(start_paused = true)]
async fn dropped_waiters_take_no_room() {
    let bench = Bench::new(1, small_chunks(), quiet_topic());
    let partition = bench.open_empty(0);
    for _ in 0..10_000 {
        partition.wake_when_readable(0, &Arc::new(Notify::new()));
    }
    assert!(partition.0.state.lock().waiters.len() <= 32);
}

/// D33, the reading side: trimming one partition of an object leaves the other readable.
#[tokio::test(start_paused = true)]
async fn a_trim_of_one_partition_leaves_its_neighbour_readable() {
    let mut bench = Bench::new(2, small_chunks(), quiet_topic());
    bench.segment(vec![(0, vec![vec![batch(3, 50)]]), (1, vec![vec![batch(4, 60)]])]);
    let (trimmed, kept) = (bench.open(0), bench.open(1));
    trimmed.set_log_start(3);
    assert_eq!(trimmed.fetch(0, 1_000, true).await.expect_err("it is trimmed").kind(), ErrorKind::OffsetOutOfRange);
    assert_eq!(kept.fetch(0, 1_000, true).await.expect("it is not trimmed").next_offset, 4);
}

#[tokio::test(start_paused = true)]
async fn memory_of_extents_is_bounded_and_older_ones_are_looked_up() {
    let mut bench = Bench::new(1, small_chunks(), quiet_topic());
    let partition = bench.open_empty(0);
    for _ in 0..200 {
        commit(&partition, bench.plain(0, 1, 10));
    }
    for offset in 0..200 {
        assert_eq!(partition.fetch(offset, 1, true).await.expect("it is committed").next_offset, offset + 1);
    }
    let lookups = bench.catalog.lookups.load(std::sync::atomic::Ordering::Relaxed);
    assert!((1..=4).contains(&lookups), "{lookups} lookups for three windows");
}
