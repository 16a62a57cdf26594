//! Two writers: fences, jumps, claims.

use std::time::Duration;

use super::kit::{World, append, commit, offsets, settle};
use crate::ErrorKind;
use crate::store::{Fault, Gate, Operation, PutMode, Request};
use crate::types::WINDOW;

#[tokio::test(start_paused = true)]
async fn what_an_old_leader_has_in_flight_never_becomes_part_of_the_log() {
    let world = World::new(1).await;
    let old = world.open().await.unwrap();
    let first = old.inner.state.lock().next_slot;
    let (log, late) = (world.keys.log(), Duration::from_secs(5));
    world.store.set_script(move |r: &Request<'_>| {
        if r.operation == Operation::Put && r.key.starts_with(&log) { Fault::late(late).detached() } else { Fault::none() }
    });
    for _ in 0..3 {
        append(&old, 0).await;
        let _ = tokio::time::timeout(Duration::from_millis(1), old.flush()).await;
    }
    old.abort();
    world.store.clear_script();
    let new = world.open().await.unwrap();
    assert_eq!(commit(&new, 0).await, 0);
    settle().await;
    assert_eq!(world.slots(), [0, first, first + 1, first + 2, first + WINDOW], "two strays arrived inside the jump");
    drop(new);
    let third = world.open().await.unwrap();
    assert_eq!(offsets(&third, 0).high_watermark, 1, "the strays are no part of the log");
}

#[tokio::test(start_paused = true)]
async fn a_paused_leader_cannot_replace_the_manifest_of_its_successor() {
    let world = World::new(1).await;
    let old = world.open().await.unwrap();
    commit(&old, 0).await;
    let new = world.open().await.unwrap();
    commit(&new, 0).await;
    let theirs = world.manifest();
    assert_eq!(old.trim(0, 1).await.unwrap_err().kind(), ErrorKind::NotLeader);
    assert!(!old.leads());
    assert_eq!(world.manifest(), theirs);
    assert_eq!(new.trim(0, 1).await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_fence_counts_only_once_the_manifest_is_claimed() {
    let mut world = World::new(1).await;
    world.settings.upload_deadline_ms = 10_000_000;
    let gate = Gate::new();
    let (held, manifest) = (gate.clone(), world.keys.manifest());
    let mut first = true;
    world.store.set_script(move |r: &Request<'_>| {
        let claim = r.key == manifest && matches!(r.mode, Some(PutMode::Replace(_)));
        if claim && std::mem::take(&mut first) { Fault::none().held(&held) } else { Fault::none() }
    });
    let shared = world.shared();
    let slow = tokio::spawn(super::super::Lane::open(shared, world.topic.clone(), 0));
    settle().await;
    let quick = world.open().await.unwrap();
    commit(&quick, 0).await;
    gate.open();
    let slow = slow.await.unwrap().unwrap();
    assert!(slow.epoch() > quick.epoch(), "the refused opening started over: {} after {}", slow.epoch(), quick.epoch());
    assert_eq!(offsets(&slow, 0).high_watermark, 1, "and saw what was committed meanwhile");
    let manifest = world.manifest();
    assert_eq!(manifest.nonce, slow.inner.nonce);
}

#[tokio::test(start_paused = true)]
async fn the_fence_of_a_failed_opening_skips_slots_and_nothing_else() {
    let world = World::new(1).await;
    let lane = world.open().await.unwrap();
    for offset in 0..3 {
        assert_eq!(commit(&lane, 0).await, offset);
    }
    lane.abort();
    // An opening that fences and dies before its claim.
    let manifest = world.keys.manifest();
    world
        .store
        .set_script(move |r: &Request<'_>| if r.key == manifest && r.operation == Operation::Put { Fault::hang() } else { Fault::none() });
    assert!(tokio::time::timeout(Duration::from_millis(500), world.open()).await.is_err());
    world.store.clear_script();
    let failed_fence = lane.inner.state.lock().committed_slot;
    assert!(world.slots().contains(&failed_fence));
    let next = world.open().await.unwrap();
    assert_eq!(commit(&next, 0).await, 3, "offsets go on where the log ended");
    assert_eq!(world.manifest().fences, [0, failed_fence, failed_fence + WINDOW], "every fence walked is listed, the failed one too");
    assert!(next.epoch() >= lane.epoch() + 2);
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_to_ones_own_claim_fences_nobody() {
    let world = World::new(1).await;
    let manifest = world.keys.manifest();
    world.store.set_script(
        move |r: &Request<'_>| if r.key == manifest && r.operation == Operation::Put { Fault::lost_reply() } else { Fault::none() },
    );
    let lane = world.open().await.unwrap();
    assert_eq!((lane.epoch(), world.manifest().counter), (1, 1));
    for offset in 0..40 {
        assert_eq!(commit(&lane, 0).await, offset);
    }
    settle().await;
    assert!(lane.leads());
    assert!(world.manifest().checkpoint > 32, "checkpoints went on");
}
