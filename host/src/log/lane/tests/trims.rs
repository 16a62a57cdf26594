//! Log starts, retention, deletion.

use std::time::Duration;

use super::kit::{World, append, commit, offsets, settle};
use crate::config::TopicSettings;
use crate::log::ExtentLookup;
use crate::store::{Fault, Gate, Operation, Request};

#[tokio::test(start_paused = true)]
async fn a_log_start_moves_for_readers_and_deletion_only_after_the_manifest() {
    let world = World::new(1).await;
    let lane = world.open().await.unwrap();
    for _ in 0..20 {
        commit(&lane, 0).await;
    }
    // The first segments are in a catalog page, so that only the manifest's log start protects them.
    settle().await;
    assert!(!world.manifest().pages.is_empty());
    let (gate, manifest, before) = (Gate::new(), world.keys.manifest(), world.slots());
    let held = gate.clone();
    world.store.set_script(
        move |r: &Request<'_>| if r.operation == Operation::Put && r.key == manifest { Fault::none().held(&held) } else { Fault::none() },
    );
    let trimming = {
        let lane = lane.clone();
        tokio::spawn(async move { lane.trim(0, 3).await })
    };
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!((offsets(&lane, 0).log_start, world.manifest().partition(0).log_start), (0, 0));
    lane.inner.delete_dead().await.unwrap();
    assert_eq!(world.slots(), before, "nothing is deleted before the manifest says so");
    gate.open();
    assert_eq!(trimming.await.unwrap().unwrap(), 3);
    assert_eq!((offsets(&lane, 0).log_start, world.manifest().partition(0).log_start), (3, 3));
    lane.maintain().await.unwrap();
    lane.maintain().await.unwrap();
    assert_eq!(world.slots().len(), before.len() - 3);
}

#[tokio::test(start_paused = true)]
async fn a_trim_carries_the_newest_checkpoint_and_nothing_above_it_is_deleted() {
    let world = World::new(2).await;
    let lane = world.open().await.unwrap();
    for n in 0..6 {
        commit(&lane, n % 2).await;
    }
    let committed = lane.inner.state.lock().committed_slot;
    lane.trim(0, 3).await.unwrap();
    let manifest = world.manifest();
    assert_eq!(manifest.checkpoint, committed, "the trim and all that is committed are in one replacement");
    assert!(manifest.partition(0).next_offset >= manifest.partition(0).log_start);
    // Committed after the checkpoint: below the log start or not, it stays until a manifest lists it.
    commit(&lane, 0).await;
    lane.inner.delete_dead().await.unwrap();
    lane.inner.delete_dead().await.unwrap();
    assert!(world.slots().contains(&committed));
    lane.abort();
    let next = world.open().await.unwrap();
    assert_eq!((offsets(&next, 0).log_start, offsets(&next, 0).high_watermark, offsets(&next, 1).high_watermark), (3, 4, 3));
}

#[tokio::test(start_paused = true)]
async fn fences_outlive_everything_that_is_deleted() {
    let world = World::new(1).await;
    for _ in 0..3 {
        let lane = world.open().await.unwrap();
        commit(&lane, 0).await;
        lane.close().await.unwrap();
    }
    let lane = world.open().await.unwrap();
    let end = offsets(&lane, 0).high_watermark;
    lane.trim(0, end).await.unwrap();
    lane.maintain().await.unwrap();
    lane.maintain().await.unwrap();
    assert_eq!(world.slots(), world.manifest().fences);
    assert_eq!(world.slots().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_shared_segment_goes_only_when_every_slice_is_below_its_log_start() {
    let world = World::new(2).await;
    let lane = world.open().await.unwrap();
    append(&lane, 0).await;
    append(&lane, 1).await;
    lane.flush().await.unwrap();
    let shared = lane.inner.state.lock().committed_slot - 1;
    lane.trim(0, 1).await.unwrap();
    lane.maintain().await.unwrap();
    lane.maintain().await.unwrap();
    assert!(world.slots().contains(&shared));
    lane.trim(1, 1).await.unwrap();
    lane.maintain().await.unwrap();
    lane.maintain().await.unwrap();
    assert!(!world.slots().contains(&shared));
}

#[tokio::test(start_paused = true)]
async fn retention_by_age_and_size_counts_only_what_is_committed() {
    let world = World::new(1).await;
    let lane = world.open().await.unwrap();
    for _ in 0..10 {
        commit(&lane, 0).await;
    }
    let first = lane.inner.catalog.extents_from(0, 0, 1).await.unwrap()[0].slice.len;
    let keep = TopicSettings { retention_bytes: (first * 3) as i64, retention_ms: -1, ..TopicSettings::default() };
    world.topic.settings.store(std::sync::Arc::new(keep));
    let log = world.keys.log();
    world.store.set_script(
        move |r: &Request<'_>| if r.operation == Operation::Put && r.key.starts_with(&log) { Fault::hang() } else { Fault::none() },
    );
    append(&lane, 0).await;
    lane.maintain().await.unwrap();
    assert_eq!(offsets(&lane, 0).log_start, 7, "an upload that fails does not push good records out");
    world.store.clear_script();
    settle().await;
}

#[tokio::test(start_paused = true)]
async fn the_manifest_forgets_pages_whose_segments_are_deleted() {
    let world = World::new(1).await;
    let lane = world.open().await.unwrap();
    for _ in 0..64 {
        commit(&lane, 0).await;
    }
    lane.trim(0, 60).await.unwrap();
    lane.maintain().await.unwrap();
    lane.maintain().await.unwrap();
    let before = world.manifest().pages.len();
    for _ in 0..16 {
        commit(&lane, 0).await;
    }
    settle().await;
    assert!(world.manifest().pages.len() < before, "{} pages, {before} before", world.manifest().pages.len());
    lane.abort();
    let next = world.open().await.unwrap();
    assert_eq!((offsets(&next, 0).log_start, offsets(&next, 0).high_watermark), (60, 80));
}
