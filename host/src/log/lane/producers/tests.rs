//! Against a model that keeps all that was ever appended.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::env;
use crate::record::BatchHeader;

/// A batch of `count` records, as the lane sees it behind `base_offset`.
fn batch(producer: (i64, i16, i32), count: i32, base_offset: Offset) -> BatchMeta {
    let (producer_id, producer_epoch, base_sequence) = producer;
    let header = BatchHeader {
        base_offset,
        size: 100,
        leader_epoch: 0,
        crc: 0,
        attributes: 0,
        last_offset_delta: count - 1,
        base_timestamp: 0,
        max_timestamp: 0,
        producer_id,
        producer_epoch,
        base_sequence,
        record_count: count,
    };
    BatchMeta { position: 0, header }
}

/// What is to come out.
#[derive(Debug, PartialEq)]
enum Expected {
    Append,
    Duplicate { base_offset: Offset, in_flight: bool },
    Fenced,
    OutOfOrder { expected: i32 },
}

/// One producer in one partition.
#[derive(Default)]
struct Model {
    log: Vec<(i16, i32, i32, Offset)>,
    committed: usize,
}

impl Model {
    fn check(&self, header: &BatchHeader) -> Expected {
        let found = (header.producer_epoch, header.base_sequence, header.last_sequence());
        let Some((epoch, _, last, _)) = self.log.last().copied() else { return Expected::Append };
        for (at, (e, first, last, base_offset)) in self.log.iter().copied().enumerate().rev().take(5) {
            if found == (e, first, last) && e == epoch {
                return Expected::Duplicate { base_offset, in_flight: at >= self.committed };
            }
        }
        let next = if last == i32::MAX { 0 } else { last + 1 };
        match found {
            (e, ..) if e < epoch => Expected::Fenced,
            (e, 0, _) if e > epoch => Expected::Append,
            (e, ..) if e > epoch => Expected::OutOfOrder { expected: 0 },
            (_, first, _) if first == next => Expected::Append,
            _ => Expected::OutOfOrder { expected: next },
        }
    }
}

fn outcome(result: Result<Verdict, ProducerError>) -> Expected {
    match result {
        Ok(Verdict::Append) => Expected::Append,
        Ok(Verdict::Duplicate { base_offset, ticket }) => Expected::Duplicate { base_offset, in_flight: ticket.is_some() },
        Err(ProducerError::FencedEpoch { .. }) => Expected::Fenced,
        Err(ProducerError::OutOfOrderSequence { expected, .. }) => Expected::OutOfOrder { expected },
        Err(ProducerError::MixedSet) => panic!("one batch is no mix"),
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// What follows the last batch.
    Next(i32),
    /// One that was sent before, so many batches ago.
    Again(usize),
    /// The next epoch, from this sequence on.
    Bump(i32),
    /// Anything.
    Wild(i16, i32, i32),
    /// The oldest batches in flight are committed.
    Commit(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (1..4i32).prop_map(Step::Next),
        4 => (0..9usize).prop_map(Step::Again),
        1 => (0..2i32).prop_map(Step::Bump),
        1 => (0..3i16, prop_oneof![0..9i32, i32::MAX - 3..=i32::MAX], 1..4i32).prop_map(|(e, s, n)| Step::Wild(e, s, n)),
        3 => (1..4usize).prop_map(Step::Commit),
    ]
}

fn replayed<'a>(appends: impl IntoIterator<Item = &'a ProducerAppend>) -> Producers {
    let (mut producers, now) = (Producers::default(), env::now());
    appends.into_iter().for_each(|append| producers.replay(append, now));
    producers
}

proptest! {
    #[test]
    fn every_batch_is_appended_once_and_a_replay_yields_what_is_committed(
        start in prop_oneof![Just(0), i32::MAX - 9..=i32::MAX],
        steps in proptest::collection::vec(any_step(), 1..60),
        checkpoint in 0..60usize,
    ) {
        let (mut producers, mut model, now) = (Producers::default(), Model::default(), env::now());
        let (mut tickets, mut committed, mut saved) = (Vec::new(), Vec::new(), (0, Vec::new()));
        let mut end = 0;
        for (number, step) in steps.iter().enumerate() {
            let (epoch, _, last, _) = model.log.last().copied().unwrap_or((0, 0, start.wrapping_sub(1) & i32::MAX, 0));
            let sent = match *step {
                Step::Next(count) => (epoch, last.checked_add(1).unwrap_or(0), count),
                Step::Bump(first) => (epoch + 1, first, 2),
                Step::Wild(epoch, first, count) => (epoch, first, count),
                Step::Again(back) => match model.log.iter().rev().nth(back) {
                    Some((epoch, first, last, _)) => (*epoch, *first, (last.wrapping_sub(*first) & i32::MAX) + 1),
                    None => continue,
                },
                Step::Commit(count) => {
                    let until = model.log.len().min(model.committed + count);
                    for (e, first_sequence, last_sequence, base_offset) in &model.log[model.committed..until] {
                        let (first_sequence, last_sequence, base_offset) = (*first_sequence, *last_sequence, *base_offset);
                        committed.push(ProducerAppend { partition: 3, producer_id: 7, producer_epoch: *e, first_sequence, last_sequence, base_offset });
                        producers.committed(&committed[committed.len() - 1..]);
                        drop(tickets.remove(0));
                    }
                    model.committed = until;
                    continue;
                }
            };
            let meta = batch((7, sent.0, sent.1), sent.2, end);
            let expected = model.check(&meta.header);
            prop_assert_eq!(outcome(producers.check(3, &[meta])), model.check(&meta.header), "step {}", number);
            if expected == Expected::Append {
                let ticket = Arc::new(Ticket::new());
                producers.appended(3, &[meta], &ticket, now);
                tickets.push(ticket);
                model.log.push((sent.0, sent.1, meta.header.last_sequence(), end));
                end += i64::from(sent.2);
            }
            if number == checkpoint {
                saved = (committed.len(), producers.committed_appends());
            }
            prop_assert_eq!(replayed(&committed).committed_appends(), producers.committed_appends(), "the whole log");
            let behind = replayed(saved.1.iter().chain(&committed[saved.0..]));
            prop_assert_eq!(behind.committed_appends(), producers.committed_appends(), "a checkpoint and what lies behind it");
        }
    }
}

#[test]
fn a_set_of_several_batches_is_taken_or_known_as_a_whole() {
    let (mut producers, ticket) = (Producers::default(), Arc::new(Ticket::new()));
    let set = |from: i32| [batch((1, 0, from), 2, from.into()), batch((1, 0, from + 2), 3, i64::from(from) + 2)];
    assert!(matches!(producers.check(0, &set(0)), Ok(Verdict::Append)));
    producers.appended(0, &set(0), &ticket, env::now());
    assert!(matches!(producers.check(0, &set(0)), Ok(Verdict::Duplicate { base_offset: 0, ticket: Some(_) })));
    assert!(matches!(producers.check(0, &set(5)), Ok(Verdict::Append)));
    let [_, second] = set(0);
    let [third, fourth] = set(5);
    assert_eq!(producers.check(0, &[second, third]).unwrap_err(), ProducerError::MixedSet, "known and new");
    assert_eq!(producers.check(0, &[third, batch((2, 0, 0), 1, 0)]).unwrap_err(), ProducerError::MixedSet, "two producers");
    assert_eq!(producers.check(0, &[third, batch((-1, -1, -1), 1, 0)]).unwrap_err(), ProducerError::MixedSet, "one of them none");
    let gap = ProducerError::OutOfOrderSequence { producer_id: 1, expected: 7, found: 9 };
    assert_eq!(producers.check(0, &[third, batch((1, 0, 9), 1, 0)]).unwrap_err(), gap);
    assert!(matches!(producers.check(1, &[third, fourth]), Ok(Verdict::Append)), "another partition knows nothing of it");
}

#[tokio::test(start_paused = true)]
async fn the_silent_are_forgotten_first_and_never_those_in_flight() {
    let (mut producers, ticket) = (Producers::default(), Arc::new(Ticket::new()));
    for id in 0..40 {
        let meta = batch((id, 0, 0), 1, id);
        producers.appended(0, &[meta], &ticket, env::now());
        if id > 0 {
            let append =
                ProducerAppend { partition: 0, producer_id: id, producer_epoch: 0, first_sequence: 0, last_sequence: 0, base_offset: id };
            producers.committed(&[append]);
        }
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    let knows = |producers: &Producers, id| producers.known.contains_key(&(0, id));
    assert_eq!(producers.bound(40), 0);
    assert_eq!(producers.bound(32), 10, "a sixteenth more than must be, so that it is not done for each");
    assert_eq!([0, 1, 10, 11, 39].map(|id| knows(&producers, id)), [true, false, false, true, true]);
    producers.expire(env::now() - Duration::from_secs(5));
    assert_eq!([0, 34, 35, 39].map(|id| knows(&producers, id)), [true, false, true, true]);
}
