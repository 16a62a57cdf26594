//! From a recording of a running broker to a trace.
//!
//! A trace knows what was appended while it was taken: reads of older records are left out, as nothing could answer them. Who reads is not
//! recorded; a fetch that goes on where another one ended is taken for the same reader's.

use std::collections::BTreeMap;

use tidegate::runtime::{Recorded, RecordedAppend, RecordedFetch};
use tidegate::types::Offset;

use super::{Action, Event, MAX_READERS, MAX_RECORDS, Topic, Trace};

/// Smallest batch that a trace may hold: a header.
const MIN_BATCH_BYTES: u32 = 61;

/// A partition while its readers are followed.
#[derive(Default)]
struct Place {
    /// Offset of the first record that the recording holds.
    base: Option<Offset>,
    /// Where readers go on, and which.
    next: BTreeMap<Offset, Vec<u32>>,
}

impl Trace {
    /// Takes over a recording. Also says how many of its fetches are left out because they read what was there before.
    pub fn recorded(recorded: &Recorded) -> (Self, u64) {
        let topic = |t: &tidegate::runtime::RecordedTopic| Topic { name: t.name.clone(), partitions: t.partitions, lanes: t.lanes };
        let mut places: BTreeMap<(u32, u32), Place> = BTreeMap::new();
        let mut events = Vec::with_capacity(recorded.appends.len() + recorded.fetches.len());
        for append in &recorded.appends {
            let base = &mut places.entry((append.topic, append.partition)).or_default().base;
            *base = Some(base.map_or(append.offset, |base| base.min(append.offset)));
            events.push(appended(append));
        }
        let (mut readers, mut left_out) = (0, 0);
        for fetch in &recorded.fetches {
            let place = places.entry((fetch.topic, fetch.partition)).or_default();
            match place.follow(fetch, &mut readers) {
                Some(event) => events.push(event),
                None => left_out += 1,
            }
        }
        events.sort_by_key(|event| event.at_us);
        (Self { topics: recorded.topics.iter().map(topic).collect(), events }, left_out)
    }
}

/// Of a compressed batch nobody but its producer has counted the records, so their number may be anything.
fn appended(append: &RecordedAppend) -> Event {
    let RecordedAppend { at_us, topic, partition, bytes, records, waits, .. } = *append;
    let (bytes, records) = (bytes.max(MIN_BATCH_BYTES), records.clamp(1, MAX_RECORDS));
    Event { at_us, topic, partition, action: Action::Append { bytes, records, waits } }
}

impl Place {
    /// The fetch as its reader's; `None` if it read what was there before, or there are too many readers.
    fn follow(&mut self, fetch: &RecordedFetch, readers: &mut u32) -> Option<Event> {
        let base = self.base.filter(|base| fetch.next > *base)?;
        let known = self.next.get_mut(&fetch.offset).and_then(Vec::pop);
        let reader = known.unwrap_or(*readers);
        if known.is_none() {
            *readers += 1;
        }
        if reader >= MAX_READERS {
            return None;
        }
        self.next.retain(|_, readers| !readers.is_empty());
        self.next.entry(fetch.next).or_default().push(reader);
        let offset = known.is_none().then_some((fetch.offset - base).max(0));
        let RecordedFetch { at_us, topic, partition, bytes, .. } = *fetch;
        Some(Event { at_us, topic, partition, action: Action::Fetch { reader, offset, bytes: bytes.max(1) } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append(at_us: u64, offset: Offset) -> RecordedAppend {
        RecordedAppend { at_us, topic: 0, partition: 0, offset, bytes: 500, records: 10, waits: true }
    }

    fn fetch(at_us: u64, offset: Offset, next: Offset) -> RecordedFetch {
        RecordedFetch { at_us, topic: 0, partition: 0, offset, next, bytes: 1_000 }
    }

    #[test]
    fn readers_are_followed_and_offsets_begin_with_the_trace() {
        let recorded = Recorded {
            appends: vec![append(10, 1_000), append(20, 1_010), append(30, 1_020)],
            // One that reads what is older, then two at the tail, one of which comes late.
            fetches: vec![
                fetch(5, 400, 500),
                fetch(11, 1_000, 1_010),
                fetch(21, 1_010, 1_020),
                fetch(25, 990, 1_010),
                fetch(31, 1_020, 1_030),
                fetch(32, 1_010, 1_030),
            ],
            ..Recorded::default()
        };
        let (trace, left_out) = Trace::recorded(&recorded);
        let fetches: Vec<(u64, u32, Option<Offset>)> = trace
            .events
            .iter()
            .filter_map(|event| match event.action {
                Action::Fetch { reader, offset, .. } => Some((event.at_us, reader, offset)),
                Action::Append { .. } => None,
            })
            .collect();
        assert_eq!(fetches, [(11, 0, Some(0)), (21, 0, None), (25, 1, Some(0)), (31, 0, None), (32, 1, None)]);
        assert_eq!((left_out, trace.events.len()), (1, 8));
        assert!(trace.events.is_sorted_by_key(|event| event.at_us));
    }
    #[test]
    fn a_recording_is_a_trace_whatever_number_of_records_a_producer_claims() {
        let claimed = |records| RecordedAppend { records, ..append(10, 0) };
        let topics =
            vec![tidegate::runtime::RecordedTopic { name: tidegate::types::TopicName::new("t").unwrap(), partitions: 1, lanes: 1 }];
        let recorded = Recorded { topics, appends: vec![claimed(0), claimed(u32::MAX)], ..Recorded::default() };
        let (trace, _) = Trace::recorded(&recorded);
        let mut text = Vec::new();
        trace.write(&mut text).unwrap();
        assert_eq!(Trace::read("t", text.as_slice()).unwrap(), trace);
    }
}
