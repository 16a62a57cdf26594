//! Readers of generated traces: who fetches when, and from where.

use rand::Rng;
use rand::rngs::StdRng;
use tidegate::types::Offset;

use super::generate::{Shape, Shaped};
use super::{Action, Event};

/// Length of a poll of a reader at the tail, in microseconds, and what it takes at most, in bytes.
const POLL_US: u64 = 100_000;
const POLL_BYTES: u32 = 1 << 20;
/// The same of a reader that catches up.
const CATCH_UP_US: u64 = 20_000;
const CATCH_UP_BYTES: u32 = 256 << 10;
/// The same of a reader that looks here and there, and after how many fetches it goes elsewhere at most.
const SEEK_US: u64 = 50_000;
const SEEK_BYTES: u32 = 64 << 10;
const SEEK_RUN: u32 = 16;

/// A fetch: when, in microseconds, and where it goes on, if not where the last one ended.
type Fetch = (u64, Option<Offset>);

/// What the readers of a recipe ask for, among these appends.
pub(super) fn fetches(recipe: &Shaped, appends: &[Event], rng: &mut StdRng) -> Vec<Event> {
    let mut events = Vec::new();
    for reader in 0..recipe.readers {
        let partition = reader * (recipe.partitions / recipe.readers).max(1) % recipe.partitions;
        let (bytes, mut fetches) = match recipe.shape {
            Shape::CatchUp => (CATCH_UP_BYTES, catches_up(recipe.end_us(), reader, rng)),
            Shape::Seek => (SEEK_BYTES, seeks(recipe.end_us(), half_of(partition, recipe.end_us(), appends), rng)),
            Shape::Steady | Shape::Bursty | Shape::Diurnal | Shape::Idle => (POLL_BYTES, follows(recipe.end_us(), rng)),
        };
        if let Some((_, first)) = fetches.first_mut() {
            first.get_or_insert(0);
        }
        let event = |(at_us, offset)| Event { at_us, topic: 0, partition, action: Action::Fetch { reader, offset, bytes } };
        events.extend(fetches.into_iter().map(event));
    }
    events
}

/// At the tail, from the beginning on.
fn follows(end_us: u64, rng: &mut StdRng) -> Vec<Fetch> {
    (rng.random_range(0..POLL_US)..end_us).step_by(POLL_US as usize).map(|at_us| (at_us, None)).collect()
}

/// Late, and all that there is; every fourth goes back to the beginning half way.
fn catches_up(end_us: u64, reader: u32, rng: &mut StdRng) -> Vec<Fetch> {
    let begin_us = end_us / 2 + rng.random_range(0..end_us / 8 + 1);
    let turn_us = if reader % 4 == 3 { begin_us + (end_us - begin_us) / 2 } else { u64::MAX };
    let mut turned = false;
    let fetch = |at_us| {
        let turns = at_us >= turn_us && !turned;
        turned |= turns;
        (at_us, turns.then_some(0))
    };
    (begin_us..end_us).step_by(CATCH_UP_US as usize).map(fetch).collect()
}

/// Late, at places among so many records.
fn seeks(end_us: u64, records: Offset, rng: &mut StdRng) -> Vec<Fetch> {
    let begin_us = end_us / 2 + rng.random_range(0..SEEK_US);
    let mut left = 0;
    let fetch = |at_us| {
        let seek = left == 0;
        left = if seek { rng.random_range(1..=SEEK_RUN) } else { left } - 1;
        (at_us, seek.then(|| rng.random_range(0..=records)))
    };
    (begin_us..end_us).step_by(SEEK_US as usize).map(fetch).collect()
}

/// Records that a partition gets in the first half of a trace.
fn half_of(partition: u32, end_us: u64, appends: &[Event]) -> Offset {
    let records = |event: &Event| match event.action {
        Action::Append { records, .. } if event.partition == partition && event.at_us < end_us / 2 => Offset::from(records),
        _ => 0,
    };
    appends.iter().map(records).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_that_seek_go_to_places_that_are_there() {
        let recipe = Shaped { seconds: 20, rate: 100, ..Shaped::new(Shape::Seek) };
        let trace = recipe.trace().unwrap();
        let (mut appended, mut seeks) = (vec![0; recipe.partitions as usize], 0);
        for event in &trace.events {
            match event.action {
                Action::Append { records, .. } => appended[event.partition as usize] += Offset::from(records),
                Action::Fetch { offset: Some(offset), .. } => {
                    seeks += 1;
                    assert!(offset <= appended[event.partition as usize], "{event:?}");
                }
                Action::Fetch { .. } => assert!(event.at_us >= recipe.end_us() / 2),
            }
        }
        // Ten seconds of twenty fetches each, in runs of eight or so.
        assert!((50..200).contains(&seeks), "{seeks}");
    }
}
