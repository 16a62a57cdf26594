//! What an owner tells of itself, if anybody listens: the owner's end of a queue.
//!
//! It follows shadows that begin and end by itself. Where nothing is shadowed, telling costs one load.

use std::sync::Arc;
use std::time::Duration;

use super::Shadows;
use super::queue::{Appends, Event, Gathered, Queue};
use crate::env::Instant;
use crate::policy::Kind;
use crate::policy::types::{Context, FlushView, IndexSpacing, IndexView, ReadAheadDecision, ReadAheadView};

/// See the module.
pub struct ShadowTap(Option<Tap>);

struct Tap {
    shadows: Arc<Shadows>,
    kind: Kind,
    topic: Arc<str>,
    context: Context,
    generation: u64,
    queue: Option<Arc<Queue>>,
    gathered: Gathered,
}

impl std::fmt::Debug for ShadowTap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ShadowTap")
    }
}

impl ShadowTap {
    /// To nobody, for ever.
    pub fn none() -> Self {
        Self(None)
    }

    pub(crate) fn new(shadows: Arc<Shadows>, kind: Kind, topic: Arc<str>, context: Context) -> Self {
        Self(Some(Tap { shadows, kind, topic, context, generation: 0, queue: None, gathered: Gathered::default() }))
    }

    /// The lane took an append of so many bytes and records.
    pub fn appended(&mut self, at: Instant, bytes: u64, records: u64) {
        if let Some((queue, gathered)) = self.listener() {
            queue.append(gathered, Appends { first: at, last: at, count: 1, bytes, records });
        }
    }

    /// The lane asked its flush policy.
    pub fn asked(&mut self, view: &FlushView) {
        self.tell(|| Event::Asked(*view));
    }

    /// The lane sealed its buffer.
    pub fn sealed(&mut self, at: Instant) {
        self.tell(|| Event::Sealed(at));
    }

    /// An upload of the lane ended, after so long.
    pub fn uploaded(&mut self, took: Duration) {
        self.tell(|| Event::Uploaded(took));
    }

    /// A segment of the lane was committed, so long after its oldest append.
    pub fn committed(&mut self, waited: Duration) {
        self.tell(|| Event::Committed(waited));
    }

    /// A slice got this spacing.
    pub(crate) fn indexed(&mut self, view: &IndexView, answer: &IndexSpacing) {
        self.tell(|| Event::Indexed(*view, *answer));
    }

    /// A reader got this answer.
    pub(crate) fn read_ahead(&mut self, view: &ReadAheadView, answer: &ReadAheadDecision) {
        self.tell(|| Event::ReadAhead(*view, *answer));
    }

    #[inline]
    fn tell(&mut self, event: impl FnOnce() -> Event) {
        if let Some((queue, gathered)) = self.listener() {
            queue.push(gathered, event());
        }
    }

    /// Whom to tell, if anybody.
    #[inline]
    fn listener(&mut self) -> Option<(&Queue, &mut Gathered)> {
        let tap = self.0.as_mut()?;
        if tap.shadows.generation() != tap.generation {
            tap.follow();
        }
        if tap.queue.as_ref()?.is_closed() {
            tap.queue = None;
        }
        Some((tap.queue.as_ref()?, &mut tap.gathered))
    }
}

impl Tap {
    #[cold]
    fn follow(&mut self) {
        self.generation = self.shadows.generation();
        if self.queue.as_ref().is_none_or(|queue| queue.is_closed()) {
            self.gathered = Gathered::default();
            self.queue = self.shadows.attach(self.kind, &self.topic, &self.context);
        }
    }
}
