//! What happens at one owner, on its way to a shadow.
//!
//! The owner is on the data path: it pays a short lock and a write of a few words. Nobody waits for the shadow: what finds the queue full is
//! dropped and counted.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

use crate::env::Instant;
use crate::policy::types::{Context, FlushView, IndexSpacing, IndexView, ReadAheadDecision, ReadAheadView};

/// Events of one owner that wait at most.
const MOST: usize = 2_048;
/// Appends that come so soon after another are told as one with it.
const TOGETHER: Duration = Duration::from_micros(200);

/// Something that happened at an owner.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A lane took appends.
    Appended(Appends),
    /// A lane asked its flush policy.
    Asked(FlushView),
    /// A lane sealed its buffer.
    Sealed(Instant),
    /// An upload of a lane ended, after so long.
    Uploaded(Duration),
    /// A segment was committed, so long after its oldest append.
    Committed(Duration),
    /// A slice got this spacing.
    Indexed(IndexView, IndexSpacing),
    /// A reader got this answer.
    ReadAhead(ReadAheadView, ReadAheadDecision),
}

/// Appends that came together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Appends {
    pub(crate) first: Instant,
    pub(crate) last: Instant,
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    pub(crate) records: u64,
}

/// See the module.
pub(crate) struct Queue {
    pub(crate) topic: std::sync::Arc<str>,
    pub(crate) context: Context,
    events: Mutex<Vec<Event>>,
    dropped: AtomicU64,
    closed: AtomicBool,
}

impl Queue {
    pub(crate) fn new(topic: std::sync::Arc<str>, context: Context) -> Self {
        Self { topic, context, events: Mutex::default(), dropped: AtomicU64::new(0), closed: AtomicBool::new(false) }
    }

    pub(crate) fn push(&self, event: Event) {
        let mut events = self.events.lock();
        if let (Event::Appended(new), Some(Event::Appended(last))) = (&event, events.last_mut())
            && last.joined(new)
        {
            return;
        }
        if events.len() < MOST {
            events.push(event);
        } else {
            self.dropped.fetch_add(1, Relaxed);
        }
    }

    /// What waits, in exchange for an empty list; and how many found no room since the last time.
    pub(crate) fn take(&self, empty: Vec<Event>) -> (Vec<Event>, u64) {
        let taken = std::mem::replace(&mut *self.events.lock(), empty);
        (taken, self.dropped.swap(0, Relaxed))
    }

    /// Nobody takes what is pushed any more.
    pub(crate) fn close(&self) {
        self.closed.store(true, Relaxed);
        *self.events.lock() = Vec::new();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }
}

impl Appends {
    /// Takes in what came soon after.
    fn joined(&mut self, new: &Self) -> bool {
        let together = new.last.saturating_duration_since(self.first) <= TOGETHER;
        if together {
            self.last = new.last;
            self.count += new.count;
            self.bytes += new.bytes;
            self.records += new.records;
        }
        together
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append(at: Instant) -> Event {
        Event::Appended(Appends { first: at, last: at, count: 1, bytes: 100, records: 2 })
    }

    #[test]
    fn appends_that_come_together_are_one_event_and_lose_nothing() {
        let (queue, start) = (Queue::new("t".into(), Context::default()), crate::env::now());
        for us in [0, 50, 200, 201, 300] {
            queue.push(append(start + Duration::from_micros(us)));
        }
        let (events, dropped) = queue.take(Vec::new());
        let counts: Vec<(u64, u64, u64)> = events
            .iter()
            .map(|event| match event {
                Event::Appended(appends) => (appends.count, appends.bytes, appends.records),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!((counts, dropped), (vec![(3, 300, 6), (2, 200, 4)], 0));
    }

    #[test]
    fn what_finds_no_room_is_counted_and_nobody_waits() {
        let (queue, start) = (Queue::new("t".into(), Context::default()), crate::env::now());
        (0..MOST + 10).for_each(|_| queue.push(Event::Sealed(start)));
        assert_eq!(queue.take(Vec::new()).1, 10);
        assert_eq!(queue.take(Vec::new()).1, 0);
    }
}
