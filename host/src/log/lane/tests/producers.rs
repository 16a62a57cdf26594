//! Idempotent producers: what is sent again is not appended again.

use std::time::Duration;

use super::kit::{World, commit, offsets, produce, settle};
use crate::catalog::ProducerStates;
use crate::log::lane::{Lane, ProducerError};
use crate::record::testing::{batch, set};
use crate::store::{Fault, Gate, Operation, Request};
use crate::types::Offset;
use crate::{ErrorKind, Result};

type Sent = (i64, i16, i32);

async fn commit_of(lane: &Lane, sent: Sent) -> Offset {
    let appended = produce(lane, 0, sent).await.unwrap();
    lane.flush().await.unwrap();
    appended.committed.wait().await.unwrap();
    appended.base_offset
}

/// The offset at which a retry is acknowledged.
async fn retry(lane: &Lane, sent: Sent) -> Result<Offset> {
    let appended = produce(lane, 0, sent).await?;
    let before = lane.inner.state.lock().buffer.is_none();
    assert!(before, "a retry is not buffered");
    appended.committed.wait().await?;
    Ok(appended.base_offset)
}

fn refusal(result: Result<crate::log::lane::Appended>) -> ProducerError {
    let error = result.map(|appended| appended.base_offset).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    error.cause::<ProducerError>().expect("a producer's error").clone()
}

/// Segments arrive nowhere, or only once the gate is open.
fn hold_segments(world: &World, gate: Option<&Gate>) {
    let (log, gate) = (world.keys.log(), gate.cloned());
    world.store.set_script(move |r: &Request<'_>| match &gate {
        Some(gate) if r.operation == Operation::Put && r.key.starts_with(&log) => Fault::none().held(gate),
        None if r.operation == Operation::Put && r.key.starts_with(&log) => Fault::hang(),
        _ => Fault::none(),
    });
}

#[tokio::test(start_paused = true)]
async fn a_retry_of_a_batch_in_flight_waits_for_it_and_shares_its_offset() {
    let mut world = World::new(1).await;
    world.settings.upload_deadline_ms = 10_000_000;
    let lane = world.open().await.unwrap();
    let gate = Gate::new();
    hold_segments(&world, Some(&gate));
    let first = produce(&lane, 0, (7, 0, 0)).await.unwrap();
    let buffered = produce(&lane, 0, (7, 0, 0)).await.unwrap();
    lane.inner.state.lock().flush_requested = true;
    lane.inner.wake.notify_one();
    settle().await;
    assert_eq!(lane.inner.state.lock().pending.len(), 1, "it is being uploaded");
    let uploading = produce(&lane, 0, (7, 0, 0)).await.unwrap();
    assert_eq!((first.base_offset, buffered.base_offset, uploading.base_offset), (0, 0, 0));
    let mut waits = Box::pin(async { tokio::join!(buffered.committed.wait(), uploading.committed.wait()) });
    assert!(tokio::time::timeout(Duration::from_secs(60), &mut waits).await.is_err(), "not acknowledged before its commit");
    gate.open();
    first.committed.wait().await.unwrap();
    let (buffered, uploading) = waits.await;
    assert!(buffered.is_ok() && uploading.is_ok());
    assert_eq!(offsets(&lane, 0).high_watermark, 1);
    assert_eq!(lane.inner.shared.metrics.lane.duplicates.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_an_unknown_outcome_waits_on_and_learns_of_the_commit() {
    let world = World::new(1).await;
    let lane = world.open().await.unwrap();
    hold_segments(&world, None);
    let first = produce(&lane, 0, (7, 0, 0)).await.unwrap();
    assert_eq!(lane.flush().await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(first.committed.wait().await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    let again = produce(&lane, 0, (7, 0, 0)).await.unwrap();
    world.store.clear_script();
    again.committed.wait().await.unwrap();
    assert_eq!((again.base_offset, offsets(&lane, 0).high_watermark), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn the_last_five_batches_are_recognized_and_no_sixth() {
    let world = World::new(1).await;
    let lane = world.open().await.unwrap();
    for sequence in 0..6 {
        assert_eq!(commit_of(&lane, (7, 0, sequence)).await, i64::from(sequence));
    }
    for sequence in (1..6).rev() {
        assert_eq!(retry(&lane, (7, 0, sequence)).await.unwrap(), i64::from(sequence));
    }
    let long_ago = ProducerError::OutOfOrderSequence { producer_id: 7, expected: 6, found: 0 };
    assert_eq!(refusal(produce(&lane, 0, (7, 0, 0)).await), long_ago);
    assert_eq!(offsets(&lane, 0).high_watermark, 6);
}

#[tokio::test(start_paused = true)]
async fn gaps_and_old_epochs_are_refused_before_an_offset_is_given() {
    let world = World::new(1).await;
    let lane = world.open().await.unwrap();
    assert_eq!(commit_of(&lane, (7, 3, 40)).await, 0, "a producer that is not known may begin anywhere");
    let gap = |expected, found| ProducerError::OutOfOrderSequence { producer_id: 7, expected, found };
    assert_eq!(refusal(produce(&lane, 0, (7, 3, 42)).await), gap(41, 42));
    assert_eq!(refusal(produce(&lane, 0, (7, 4, 41)).await), gap(0, 41));
    assert_eq!(refusal(produce(&lane, 0, (7, 2, 0)).await), ProducerError::FencedEpoch { producer_id: 7, current: 3, found: 2 });
    assert_eq!(commit_of(&lane, (7, 4, 0)).await, 1, "nothing refused has taken an offset");
    assert_eq!(refusal(produce(&lane, 0, (7, 3, 40)).await), ProducerError::FencedEpoch { producer_id: 7, current: 4, found: 3 });
    assert_eq!(commit(&lane, 0).await, 2, "batches without a producer are not concerned");
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_a_crash_finds_the_copy_that_was_committed() {
    let world = World::new(1).await;
    let lane = world.open().await.unwrap();
    for sequence in 0..3 {
        commit_of(&lane, (7, 0, sequence)).await;
    }
    lane.abort();
    let next = world.open().await.unwrap();
    for sequence in 0..3 {
        assert_eq!(retry(&next, (7, 0, sequence)).await.unwrap(), i64::from(sequence));
    }
    assert_eq!(commit_of(&next, (7, 0, 3)).await, 3);
}

/// Fault case D38.
#[tokio::test(start_paused = true)]
async fn a_retry_shares_the_crash_of_its_first_copy_and_is_then_appended_once() {
    let world = World::new(1).await;
    let lane = world.open().await.unwrap();
    hold_segments(&world, None);
    let first = produce(&lane, 0, (7, 0, 0)).await.unwrap();
    let again = produce(&lane, 0, (7, 0, 0)).await.unwrap();
    lane.abort();
    assert!(first.committed.wait().await.is_err());
    assert!(again.committed.wait().await.is_err(), "never acknowledged without a commit");
    world.store.clear_script();
    let next = world.open().await.unwrap();
    assert_eq!(commit_of(&next, (7, 0, 0)).await, 0);
    assert_eq!(retry(&next, (7, 0, 0)).await.unwrap(), 0);
    assert_eq!(offsets(&next, 0).high_watermark, 1);
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_says_of_producers_what_is_committed_and_nothing_in_flight() {
    let world = World::new(1).await;
    let lane = world.open().await.unwrap();
    for sequence in 0..20 {
        commit_of(&lane, (7, 0, sequence)).await;
    }
    hold_segments(&world, None);
    produce(&lane, 0, (7, 0, 20)).await.unwrap();
    assert_eq!(lane.trim(0, 20).await.unwrap(), 20);
    let ProducerStates::Inline(appends) = world.manifest().producers else { panic!("five appends fit into the manifest") };
    assert_eq!(appends.iter().map(|a| a.first_sequence).collect::<Vec<_>>(), [15, 16, 17, 18, 19]);
    lane.abort();
    world.store.clear_script();
    let next = world.open().await.unwrap();
    assert_eq!(retry(&next, (7, 0, 19)).await.unwrap(), 19, "a trim loses no state");
    next.maintain().await.unwrap();
    next.maintain().await.unwrap();
    assert_eq!(world.slots(), world.manifest().fences, "its segment is gone");
    drop(next);
    let third = world.open().await.unwrap();
    assert_eq!(retry(&third, (7, 0, 15)).await.unwrap(), 15);
    assert_eq!(commit_of(&third, (7, 0, 20)).await, 20, "what was in flight is new");
}

#[tokio::test(start_paused = true)]
async fn a_retry_needs_no_room_in_a_full_buffer() {
    let mut world = World::new(1).await;
    world.settings.buffer_bytes = 64 << 10;
    world.settings.upload_deadline_ms = 10_000_000;
    let lane = world.open().await.unwrap();
    let gate = Gate::new();
    hold_segments(&world, Some(&gate));
    let large = || set(&[batch(1, 60 << 10).producer(7, 0, 0)]);
    let first = lane.append(0, large()).await.unwrap();
    assert_eq!(lane.append(0, set(&[batch(1, 60 << 10)])).await.unwrap_err().kind(), ErrorKind::Busy);
    let again = lane.append(0, large()).await.unwrap();
    gate.open();
    first.committed.wait().await.unwrap();
    again.committed.wait().await.unwrap();
    assert_eq!(again.base_offset, 0);
}

#[tokio::test(start_paused = true)]
async fn a_producer_is_remembered_for_the_expiry_time_and_then_no_more() {
    let mut world = World::new(1).await;
    world.settings.producer_expiry_ms = 3_600_000;
    let lane = world.open().await.unwrap();
    commit_of(&lane, (7, 0, 0)).await;
    commit_of(&lane, (8, 0, 0)).await;
    tokio::time::sleep(Duration::from_secs(1_800)).await;
    assert_eq!(commit_of(&lane, (8, 0, 1)).await, 2);
    tokio::time::sleep(Duration::from_secs(1_801)).await;
    assert_eq!(retry(&lane, (7, 0, 0)).await.unwrap(), 0, "until a checkpoint it stays");
    lane.trim(0, 1).await.unwrap();
    assert_eq!(retry(&lane, (8, 0, 0)).await.unwrap(), 1);
    assert_eq!(commit_of(&lane, (7, 0, 5)).await, 3, "forgotten: it may begin anywhere");
    lane.close().await.unwrap();
    tokio::time::sleep(Duration::from_secs(86_400)).await;
    let next = world.open().await.unwrap();
    assert_eq!(retry(&next, (7, 0, 5)).await.unwrap(), 3, "after an opening the time begins again");
}

#[tokio::test(start_paused = true)]
async fn a_lane_knows_so_many_producers_and_no_more() {
    let mut world = World::new(1).await;
    world.settings.producers_per_lane = 10;
    let lane = world.open().await.unwrap();
    for id in 0..12 {
        commit_of(&lane, (id, 0, 0)).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(lane.inner.shared.metrics.lane.producers_evicted.get(), 2);
    assert_eq!(retry(&lane, (2, 0, 0)).await.unwrap(), 2);
    assert_eq!(commit_of(&lane, (0, 0, 0)).await, 12, "forgotten, so it cannot be recognized");
}
