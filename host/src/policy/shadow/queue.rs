//! What happens at one owner, on its way to a shadow.
//!
//! The owner is on the data path: it pays a short lock and a write of a few words. Nobody waits for the shadow: what finds the queue full is
//! dropped and counted.
//!
//! Appends that come one upon the other are gathered by the owner, without a lock, and come as one. For the shadow no time has passed meanwhile.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
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
    waiting: Mutex<Waiting>,
    closed: AtomicBool,
}

/// What waits for the shadow.
#[derive(Default)]
struct Waiting {
    events: Vec<Event>,
    /// Events that found no room.
    dropped: u64,
    /// Since when the owner has gathered appends that are not among them.
    gathering: Option<Instant>,
}

/// What a round of the shadow takes.
pub(crate) struct Taken {
    pub(crate) events: Vec<Event>,
    /// Events that found no room since the last time.
    pub(crate) dropped: u64,
    /// All that happened before is among the events; `None`: all that happened.
    pub(crate) complete_to: Option<Instant>,
}

/// The owner's end: what it has gathered.
#[derive(Default)]
pub(crate) struct Gathered(Option<Appends>);

impl Queue {
    pub(crate) fn new(topic: std::sync::Arc<str>, context: Context) -> Self {
        Self { topic, context, waiting: Mutex::default(), closed: AtomicBool::new(false) }
    }

    /// Takes in an append.
    #[inline]
    pub(crate) fn append(&self, gathered: &mut Gathered, new: Appends) {
        if gathered.0.as_mut().is_some_and(|appends| appends.joined(&new)) {
            return;
        }
        let before = gathered.0.replace(new);
        let mut waiting = self.waiting.lock();
        waiting.gathering = Some(new.first);
        waiting.add(before.map(Event::Appended));
    }

    pub(crate) fn push(&self, gathered: &mut Gathered, event: Event) {
        let before = gathered.0.take();
        let mut waiting = self.waiting.lock();
        waiting.gathering = None;
        waiting.add(before.map(Event::Appended).into_iter().chain([event]));
    }

    /// What waits, in exchange for an empty list.
    pub(crate) fn take(&self, empty: Vec<Event>) -> Taken {
        let mut waiting = self.waiting.lock();
        let events = std::mem::replace(&mut waiting.events, empty);
        Taken { events, dropped: std::mem::take(&mut waiting.dropped), complete_to: waiting.gathering }
    }

    /// Nobody takes what is pushed any more.
    pub(crate) fn close(&self) {
        self.closed.store(true, Relaxed);
        *self.waiting.lock() = Waiting::default();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }
}

impl Waiting {
    fn add(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            if self.events.len() < MOST {
                self.events.push(event);
            } else {
                self.dropped += 1;
            }
        }
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

    fn append(at: Instant) -> Appends {
        Appends { first: at, last: at, count: 1, bytes: 100, records: 2 }
    }

    #[test]
    fn appends_that_come_together_are_one_event_and_lose_nothing() {
        let (queue, start) = (Queue::new("t".into(), Context::default()), crate::env::now());
        let (mut gathered, at) = (Gathered::default(), |us| start + Duration::from_micros(us));
        for us in [0, 50, 200, 201, 300] {
            queue.append(&mut gathered, append(at(us)));
        }
        let counts = |taken: &Taken| -> Vec<(u64, u64, u64)> {
            let appends = taken.events.iter().filter_map(|event| if let Event::Appended(appends) = event { Some(appends) } else { None });
            appends.map(|appends| (appends.count, appends.bytes, appends.records)).collect()
        };
        let taken = queue.take(Vec::new());
        assert_eq!((counts(&taken), taken.complete_to), (vec![(3, 300, 6)], Some(at(201))));
        queue.push(&mut gathered, Event::Sealed(at(400)));
        let taken = queue.take(Vec::new());
        assert_eq!((counts(&taken), taken.events.len(), taken.complete_to, taken.dropped), (vec![(2, 200, 4)], 2, None, 0));
    }

    #[test]
    fn what_finds_no_room_is_counted_and_nobody_waits() {
        let (queue, start) = (Queue::new("t".into(), Context::default()), crate::env::now());
        (0..MOST + 10).for_each(|_| queue.push(&mut Gathered::default(), Event::Sealed(start)));
        assert_eq!(queue.take(Vec::new()).dropped, 10);
        assert_eq!(queue.take(Vec::new()).dropped, 0);
    }
}
