//! Damaged and missing objects.

use super::bench::{Bench, commit_cold, quiet_topic, small_chunks};
use crate::error::ErrorKind;
use crate::record::testing::batch;
use crate::store::{Fault, Operation, Request};

/// D06: a flipped bit is an error that names object and range; it never enters the cache, and the rest stays readable.
#[tokio::test(start_paused = true)]
async fn damaged_bytes_are_named_and_never_cached() {
    for large in [false, true] {
        let mut bench = Bench::new(1, small_chunks(), quiet_topic());
        let (count, value) = if large { (60, 1_000) } else { (4, 1_000) };
        let stored = bench.plain(0, count, value);
        bench.plain(0, 4, 1_000);
        let slice = stored.extent.slice;
        let damaged_at = slice.position + slice.len / 2;
        bench.store.tamper(&stored.extent.object, |bytes| bytes[damaged_at as usize] ^= 1);
        let partition = bench.open(0);
        let middle = slice.next_offset / 2;
        let error = partition.fetch(middle, 1, true).await.expect_err("its bytes are damaged");
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains(&*stored.extent.object) && error.to_string().contains("bytes "), "{error}");
        assert!(partition.fetch(slice.next_offset, 1, true).await.is_ok(), "the next segment is good");
        if large {
            assert!(partition.fetch(0, 1, true).await.is_ok(), "the first chunk is good");
            let up_to_damage = partition.fetch(0, 1 << 20, true).await.expect("it begins with good chunks");
            assert!(up_to_damage.len > 0 && up_to_damage.next_offset <= middle);
        }
        bench.store.tamper(&stored.extent.object, |bytes| bytes[damaged_at as usize] ^= 1);
        assert!(partition.fetch(middle, 1, true).await.is_ok(), "the damage was not kept");
    }
}

#[tokio::test(start_paused = true)]
async fn a_damaged_index_is_an_error_that_names_it() {
    let mut bench = Bench::new(1, small_chunks(), quiet_topic());
    let stored = bench.plain(0, 60, 1_000);
    let slice = stored.extent.slice;
    let partition = bench.open(0);
    bench.store.tamper(&stored.extent.object, |bytes| bytes[slice.index_position as usize + 40] ^= 4);
    let error = partition.fetch(0, 1, true).await.expect_err("its index is damaged");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("index"), "{error}");
    bench.store.set_script(|_: &Request<'_>| Fault::damaged(crate::store::Damage::Truncate(1)));
    assert_eq!(partition.fetch(0, 1, true).await.expect_err("its index is cut").kind(), ErrorKind::Corrupt);
}

#[tokio::test(start_paused = true)]
async fn a_lost_object_is_looked_up_once_more_and_then_named() {
    let mut bench = Bench::new(1, small_chunks(), quiet_topic());
    let stored = bench.plain(0, 4, 1_000);
    let partition = bench.open(0);
    bench.store.remove(&stored.extent.object);
    let error = partition.fetch(0, 1, true).await.expect_err("its object is gone");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains(&*stored.extent.object), "{error}");
    assert_eq!(bench.store.requests(Operation::Get), 2);
    assert_eq!(bench.catalog.lookups.load(std::sync::atomic::Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn an_object_below_a_log_start_that_moved_is_out_of_range() {
    let mut bench = Bench::new(1, small_chunks(), quiet_topic());
    let partition = bench.open_empty(0);
    let stored = bench.plain(0, 4, 1_000);
    let object = stored.extent.object.clone();
    commit_cold(&partition, stored);
    commit_cold(&partition, bench.plain(0, 4, 1_000));
    let (store, trimmed) = (bench.store.clone(), partition.clone());
    bench.store.set_script(move |_: &Request<'_>| {
        trimmed.set_log_start(4);
        store.remove(&object);
        Fault::none()
    });
    assert_eq!(partition.fetch(0, 1, true).await.expect_err("it was trimmed").kind(), ErrorKind::OffsetOutOfRange);
}

#[tokio::test(start_paused = true)]
async fn damage_to_one_slice_of_a_shared_get_spares_the_other() {
    let mut bench = Bench::new(2, small_chunks(), quiet_topic());
    let stored = bench.segment(vec![(0, vec![vec![batch(2, 500)]]), (1, vec![vec![batch(2, 500)]])]);
    let at = stored[1].extent.slice.position as usize + 100;
    bench.store.tamper(&stored[1].extent.object, |bytes| bytes[at] ^= 1);
    let (good, bad) = (bench.open(0), bench.open(1));
    let (good, bad) = tokio::join!(good.fetch(0, 1_000, true), bad.fetch(0, 1_000, true));
    assert!(good.is_ok());
    assert_eq!(bad.expect_err("it is damaged").kind(), ErrorKind::Corrupt);
    assert_eq!(bench.store.requests(Operation::Get), 1);
}
