//! Slots: how many, whose, and in which order they are acknowledged.

use std::time::Duration;

use super::kit::{World, append, append_segment, commit, offsets, settle};
use crate::ErrorKind;
use crate::store::{Fault, Gate, Operation, Request, StoreErrorKind};
use crate::types::WINDOW;

/// Holds creations of this slot back until the gate opens.
fn hold(world: &World, slot: u64) -> Gate {
    let (gate, key) = (Gate::new(), world.keys.slot(slot));
    let held = gate.clone();
    world.store.set_script(
        move |r: &Request<'_>| if r.operation == Operation::Put && r.key == &*key { Fault::none().held(&held) } else { Fault::none() },
    );
    gate
}

#[tokio::test(start_paused = true)]
async fn no_slot_is_sent_beyond_the_window() {
    let mut world = World::new(1).await;
    world.settings.upload_deadline_ms = 10_000_000;
    let lane = world.open().await.unwrap();
    let first = lane.inner.state.lock().next_slot;
    let gate = hold(&world, first);
    let mut waiting = Vec::new();
    for _ in 0..WINDOW + 10 {
        waiting.push(append_segment(&lane, 0).await);
    }
    settle().await;
    assert_eq!(world.slots_sent().into_iter().max(), Some(first + WINDOW - 1));
    gate.open();
    for committed in waiting {
        committed.wait().await.unwrap();
    }
    assert_eq!(offsets(&lane, 0).high_watermark, WINDOW as i64 + 10);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_acknowledged_before_all_slots_before_it() {
    let mut world = World::new(2).await;
    world.settings.upload_deadline_ms = 10_000_000;
    let lane = world.open().await.unwrap();
    let first = lane.inner.state.lock().next_slot;
    let gate = hold(&world, first);
    let earlier = append_segment(&lane, 0).await;
    let later = append_segment(&lane, 1).await;
    settle().await;
    assert!(world.slots().contains(&(first + 1)), "the later segment is stored");
    assert_eq!(offsets(&lane, 1).high_watermark, 0, "and not readable");
    assert!(tokio::time::timeout(Duration::from_secs(60), later.wait()).await.is_err(), "nor acknowledged");
    gate.open();
    earlier.wait().await.unwrap();
    settle().await;
    assert_eq!((offsets(&lane, 0).high_watermark, offsets(&lane, 1).high_watermark), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_to_ones_own_slot_is_a_commit() {
    let world = World::new(1).await;
    let lane = world.open().await.unwrap();
    world
        .store
        .set_script(|r: &Request<'_>| if r.operation == Operation::Put && r.attempt == 1 { Fault::lost_reply() } else { Fault::none() });
    assert_eq!(commit(&lane, 0).await, 0);
    assert!(lane.leads());
}

#[tokio::test(start_paused = true)]
async fn a_slot_of_another_writer_fences_and_its_object_stays() {
    let world = World::new(1).await;
    let old = world.open().await.unwrap();
    commit(&old, 0).await;
    let new = world.open().await.unwrap();
    let before = world.store.snapshot();
    let (_, committed) = append(&old, 0).await;
    let _ = old.flush().await;
    assert_eq!(committed.wait().await.unwrap_err().kind(), ErrorKind::NotLeader);
    assert!(!old.leads() && new.leads());
    assert_eq!(
        old.append(0, crate::record::testing::set(&[crate::record::testing::batch(1, 1)])).await.unwrap_err().kind(),
        ErrorKind::NotLeader
    );
    assert_eq!(world.store.snapshot(), before);
    assert_eq!(commit(&new, 0).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_conflict_on_a_free_slot_is_tried_again() {
    let world = World::new(1).await;
    let lane = world.open().await.unwrap();
    world.store.set_script(|r: &Request<'_>| {
        if r.operation == Operation::Put && r.attempt <= 3 { Fault::fail(StoreErrorKind::Conflict) } else { Fault::none() }
    });
    assert_eq!(commit(&lane, 0).await, 0);
    assert!(lane.leads());
}

#[tokio::test(start_paused = true)]
async fn an_upload_without_outcome_frees_its_permit_and_holds_back_later_acks() {
    let mut world = World::new(1).await;
    world.settings.uploads_per_lane = 1;
    let lane = world.open().await.unwrap();
    let first = lane.inner.state.lock().next_slot;
    let key = world.keys.slot(first);
    world
        .store
        .set_script(move |r: &Request<'_>| if r.operation == Operation::Put && r.key == &*key { Fault::hang() } else { Fault::none() });
    let (_, stuck) = append(&lane, 0).await;
    let flush = tokio::time::timeout(Duration::from_secs(30), lane.flush()).await.expect("told in time");
    assert_eq!(flush.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(stuck.wait().await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    let later = append_segment(&lane, 0).await;
    settle().await;
    assert!(world.slots().contains(&(first + 1)), "the only permit was given back");
    assert_eq!(offsets(&lane, 0).high_watermark, 0);
    world.store.clear_script();
    tokio::time::sleep(Duration::from_secs(60)).await;
    later.wait().await.unwrap();
    assert_eq!(offsets(&lane, 0).high_watermark, 2, "the same bytes were tried for the same slot");
}

#[test]
fn appends_and_seals_at_the_same_time_wait_for_nobody_for_ever() {
    const APPENDS: u64 = 20_000;
    let (done, ended) = std::sync::mpsc::channel();
    // A thread of its own: threads that wait for each other's locks never come back to be timed out.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let appended = runtime.block_on(async {
            let world = World::new(1).await;
            let lane = world.open().await.unwrap();
            for n in 1..=APPENDS {
                drop(append(&lane, 0).await);
                if n % 100 == 0 {
                    lane.inner.state.lock().flush_requested = true;
                    lane.inner.wake.notify_one();
                }
            }
            lane.flush().await.unwrap();
            offsets(&lane, 0).high_watermark
        });
        done.send(appended).unwrap();
    });
    let appended = ended.recv_timeout(Duration::from_secs(120)).expect("an append and the lane's task wait for each other");
    assert_eq!(appended, APPENDS as i64);
}
