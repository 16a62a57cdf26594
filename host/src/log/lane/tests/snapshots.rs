//! Producer state that a manifest has no room for.

use std::sync::Arc;

use super::kit::{World, offsets, produce, settle};
use crate::ErrorKind;
use crate::catalog::{MAX_MANIFEST_BYTES, ProducerStates, SnapshotRef};
use crate::log::lane::Lane;
use crate::log::lane::snapshot::INLINE_APPENDS;
use crate::store::{Fault, Operation, Request};

const PRODUCERS: i64 = INLINE_APPENDS as i64 + 200;

/// One append of each of many producers, committed and checkpointed.
async fn crowd(world: &World, epoch: i16) -> Arc<Lane> {
    let lane = world.open().await.unwrap();
    for id in 0..PRODUCERS {
        produce(&lane, 0, (id, epoch, 0)).await.unwrap();
    }
    lane.flush().await.unwrap();
    let end = offsets(&lane, 0).high_watermark;
    lane.trim(0, end).await.unwrap();
    lane
}

fn named(world: &World) -> SnapshotRef {
    match world.manifest().producers {
        ProducerStates::Snapshot(named) => named,
        ProducerStates::Inline(appends) => panic!("{} appends are in the manifest", appends.len()),
    }
}

fn snapshots(world: &World) -> Vec<String> {
    world.store.snapshot().into_keys().filter(|key| key.starts_with(&world.keys.snapshots())).collect()
}

async fn assert_known(lane: &Lane, epoch: i16) {
    let before = offsets(lane, 0).high_watermark;
    for id in 0..PRODUCERS {
        let again = produce(lane, 0, (id, epoch, 0)).await.unwrap();
        assert_eq!(again.base_offset, before - PRODUCERS + id);
        again.committed.wait().await.unwrap();
    }
    assert_eq!(offsets(lane, 0).high_watermark, before);
}

#[tokio::test(start_paused = true)]
async fn a_large_state_survives_openings_in_a_snapshot() {
    let world = World::new(1).await;
    let lane = crowd(&world, 0).await;
    let first = named(&world);
    assert!(world.store.snapshot()[&world.keys.manifest()].len() < MAX_MANIFEST_BYTES / 8);
    lane.close().await.unwrap();
    for _ in 0..2 {
        let next = world.open().await.unwrap();
        assert_eq!(named(&world), first, "an opening without new segments writes no snapshot");
        assert_known(&next, 0).await;
        next.close().await.unwrap();
    }
    let last = world.open().await.unwrap();
    produce(&last, 0, (0, 0, 1)).await.unwrap();
    last.flush().await.unwrap();
    last.abort();
    let walked = world.open().await.unwrap();
    assert_ne!(named(&world), first, "the footers behind the checkpoint are part of the next state");
    assert_eq!(produce(&walked, 0, (0, 0, 1)).await.unwrap().base_offset, PRODUCERS);
    assert_eq!(produce(&walked, 0, (PRODUCERS - 1, 0, 0)).await.unwrap().base_offset, PRODUCERS - 1);
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_that_no_manifest_names_is_deleted_after_the_grace_period() {
    let mut world = World::new(1).await;
    world.settings.delete_grace_ms = 1_000;
    let lane = crowd(&world, 0).await;
    let first = world.keys.snapshot(&named(&world));
    lane.abort();
    let next = crowd(&world, 1).await;
    let second = world.keys.snapshot(&named(&world));
    next.maintain().await.unwrap();
    assert!(snapshots(&world).contains(&first), "there may be a reader at it");
    settle().await;
    next.maintain().await.unwrap();
    assert_eq!(snapshots(&world), [second]);
    assert_known(&next, 1).await;
    super::super::Lane::tombstone(&world.shared(), world.topic.clone(), 0).await.unwrap();
    assert_eq!(snapshots(&world), Vec::<String>::new(), "a tombstone keeps none");
}

#[tokio::test(start_paused = true)]
async fn a_lane_without_snapshots_never_looks_for_any() {
    let world = World::new(1).await;
    let lane = world.open().await.unwrap();
    produce(&lane, 0, (7, 0, 0)).await.unwrap();
    lane.flush().await.unwrap();
    lane.maintain().await.unwrap();
    assert!(!world.store.log().iter().any(|r| r.operation == Operation::List && r.key.contains("/producers/")));
}

#[tokio::test(start_paused = true)]
async fn an_opening_whose_snapshot_is_replaced_meanwhile_starts_over() {
    let world = World::new(1).await;
    let lane = crowd(&world, 0).await;
    let key = world.keys.snapshot(&named(&world));
    let (store, manifest) = (world.store.clone(), world.keys.manifest());
    // Between its look at the manifest and at the snapshot, the leader replaces both and deletes the old one.
    let old = world.store.snapshot();
    for id in 0..PRODUCERS {
        produce(&lane, 0, (id, 0, 1)).await.unwrap();
    }
    lane.close().await.unwrap();
    let new = world.store.snapshot();
    assert!(new.contains_key(&world.keys.snapshot(&named(&world))));
    store.insert(&manifest, old[&manifest].clone());
    store.remove(&key);
    world.store.set_script(move |r: &Request<'_>| {
        if r.operation == Operation::Get && r.key == key {
            store.insert(&manifest, new[&manifest].clone());
        }
        Fault::none()
    });
    let next = world.open().await.unwrap();
    assert_eq!(produce(&next, 0, (5, 0, 1)).await.unwrap().base_offset, PRODUCERS + 5);
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_that_is_lost_or_damaged_stops_an_opening_and_is_named() {
    let world = World::new(1).await;
    let lane = crowd(&world, 0).await;
    let key = world.keys.snapshot(&named(&world));
    lane.close().await.unwrap();
    let good = world.store.snapshot()[&key].clone();
    for bytes in [None, Some(good[..good.len() - 1].to_vec())] {
        world.store.remove(&key);
        if let Some(bytes) = bytes {
            world.store.insert(&key, bytes);
        }
        world.store.reset_counters();
        let error = world.open().await.err().expect("does not open");
        assert!(error.kind() == ErrorKind::Corrupt && error.to_string().contains(&key), "{error}");
        assert_eq!(world.store.requests(Operation::Put), 0, "nothing is written");
    }
    world.store.insert(&key, good);
    assert_known(&world.open().await.unwrap(), 0).await;
}
