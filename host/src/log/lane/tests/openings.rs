//! What an opening costs, and what stops it.

use super::kit::{World, commit, offsets, settle};
use crate::ErrorKind;
use crate::store::Operation;

#[tokio::test(start_paused = true)]
async fn an_opening_finds_all_that_was_committed_before_a_crash() {
    let world = World::new(3).await;
    let lane = world.open().await.unwrap();
    for n in 0..50 {
        commit(&lane, n % 3).await;
    }
    lane.abort();
    let next = world.open().await.unwrap();
    assert_eq!([0, 1, 2].map(|p| offsets(&next, p).high_watermark), [17, 17, 16]);
    assert_eq!(commit(&next, 2).await, 16);
}

#[tokio::test(start_paused = true)]
async fn an_opening_after_a_clean_close_takes_six_requests_at_most() {
    let world = World::new(1).await;
    let lane = world.open().await.unwrap();
    for _ in 0..1_500 {
        commit(&lane, 0).await;
    }
    lane.close().await.unwrap();
    world.store.reset_counters();
    let next = world.open().await.unwrap();
    let requests = world.store.total_requests();
    assert!(requests <= 6, "{requests} requests");
    assert_eq!(offsets(&next, 0).high_watermark, 1_500);
    let pages = world.manifest().pages;
    assert!(pages.len() < 64 + 2 && pages[0].level == 1, "pages are folded");
}

#[tokio::test(start_paused = true)]
async fn a_missing_damaged_or_newer_manifest_stops_an_opening_before_any_fence() {
    let world = World::new(1).await;
    let lane = world.open().await.unwrap();
    commit(&lane, 0).await;
    lane.close().await.unwrap();
    let key = world.keys.manifest();
    let good = world.store.snapshot()[&key].clone();
    let mut newer = good.to_vec();
    newer[5] += 1;
    let checked = newer.len() - 4;
    let crc = crc32fast::hash(&newer[..checked]);
    newer[checked..].copy_from_slice(&crc.to_be_bytes());
    for (bytes, kind) in
        [(None, ErrorKind::Corrupt), (Some(good[..good.len() / 2].to_vec()), ErrorKind::Corrupt), (Some(newer), ErrorKind::Unsupported)]
    {
        world.store.remove(&key);
        if let Some(bytes) = bytes {
            world.store.insert(&key, bytes);
        }
        world.store.reset_counters();
        let error = world.open().await.err().expect("does not open");
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(&key), "{error}");
        assert_eq!(world.store.requests(Operation::Put), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_damaged_object_of_the_run_stops_an_opening_and_is_named() {
    let world = World::new(1).await;
    let lane = world.open().await.unwrap();
    for _ in 0..5 {
        commit(&lane, 0).await;
    }
    let key = world.keys.slot(lane.inner.state.lock().committed_slot - 3);
    lane.abort();
    let good = world.store.snapshot()[&*key].clone();
    let zeros = vec![0; good.len()];
    for bytes in [good[..good.len() - 1].to_vec(), zeros, good[good.len() / 2..].to_vec(), Vec::new()] {
        world.store.insert(&key, bytes);
        world.store.reset_counters();
        let error = world.open().await.err().expect("does not open");
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains(&*key), "{error}");
        assert_eq!(world.store.requests(Operation::Put), 0, "no fence was written");
    }
    world.store.insert(&key, good);
    assert_eq!(offsets(&world.open().await.unwrap(), 0).high_watermark, 5);
    settle().await;
}

#[tokio::test(start_paused = true)]
async fn a_tombstone_cannot_be_opened_and_keeps_its_fences() {
    let world = World::new(1).await;
    let lane = world.open().await.unwrap();
    commit(&lane, 0).await;
    super::super::Lane::tombstone(&world.shared(), world.topic.clone(), 0).await.unwrap();
    assert_eq!(world.open().await.err().expect("does not open").kind(), ErrorKind::NotFound);
    assert_eq!(world.slots(), world.manifest().fences, "segments are gone, fences stay");
    assert!(world.manifest().tombstone);
    super::super::Lane::tombstone(&world.shared(), world.topic.clone(), 0).await.unwrap();
}
