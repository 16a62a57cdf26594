//! Shadows: candidates that run beside the live policies and act on nothing.
//!
//! ```text
//! owner (lane, reader) ── tap ── queue ──▶ shadow thread: model of the owner ── candidate ──▶ figures
//!                     one load           bounded; full: dropped, counted
//! ```
//!
//! The candidate's calls run on a thread of their own, not where the data is: a candidate that loops costs that thread its deadline. What it
//! is shown is what the live policy was shown: index and read-ahead the same views, flush the appends, from which a [virtual lane](flush) makes
//! the views that its own answers lead to. Its breaker ends the shadow, for good.
//!
//! Shadows live in memory: a restart ends them, other hosts have their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::Kind;
use super::guard::{Bound, Breaker, Fault};
use super::kinds::{Flush, Index, PolicyKind, ReadAhead};
use super::types::Context;
use crate::config::{Pattern, PolicySettings};
use crate::env::{Instant, now};
use crate::error::{Error, ErrorKind, Result};
use crate::metrics::{Metrics, ShadowCounters};
use crate::types::TimestampMs;

mod candidate;
mod figures;
mod flush;
mod index;
mod queue;
mod read_ahead;
mod runner;
mod status;
mod tap;
#[cfg(test)]
mod tests;
mod thread;

use candidate::Ask;
use figures::Figures;
pub use figures::ShadowCost;
pub(crate) use queue::Event;
use queue::Queue;
use runner::{Run, Runner};
pub use status::ShadowStatus;
pub use tap::ShadowTap;

/// Shadows at once, on one host.
const MOST: usize = 16;
/// Owners that one shadow follows at most: each has an instance.
const MOST_OWNERS: usize = 64;

/// How a kind is compared with a candidate's answers.
trait Model: PolicyKind {
    /// What is known of one owner.
    type Owner: Send;

    /// Of an owner that nothing is known of.
    fn owner() -> Self::Owner;
    /// Something happened there.
    fn happened(owner: &mut Self::Owner, event: Event, ask: &mut Ask<'_, Self>);
    /// Nothing else happened up to now.
    fn passed(owner: &mut Self::Owner, now: Instant, ask: &mut Ask<'_, Self>);
}

/// All shadows of a host.
pub(crate) struct Shadows {
    /// Changes with the list, so that owners look at it.
    generation: AtomicU64,
    list: Mutex<List>,
}

#[derive(Default)]
struct List {
    shadows: Vec<Arc<Shadow>>,
    /// Whether the thread runs.
    running: bool,
}

/// What is to be shadowed, and who says so.
pub(crate) struct Start {
    pub(crate) pattern: Pattern,
    pub(crate) text: String,
    pub(crate) bound: Arc<Bound>,
    pub(crate) source: String,
    pub(crate) by: String,
    pub(crate) at_ms: TimestampMs,
}

/// One candidate.
struct Shadow {
    start: Start,
    bound: Arc<Bound>,
    queues: Mutex<Vec<Arc<Queue>>>,
    /// Owners that there was no room for.
    left_out: AtomicU64,
    ended: AtomicBool,
    state: Mutex<State>,
    runner: Mutex<Box<dyn Run>>,
    counters: ShadowCounters,
}

struct State {
    figures: Figures,
    breaker: Breaker,
    faults: u64,
    last: Option<Fault>,
    instances: u64,
}

impl Shadows {
    pub(crate) fn new() -> Self {
        Self { generation: AtomicU64::new(0), list: Mutex::default() }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Begins a shadow, in place of any of the same pattern and kind.
    pub(crate) fn start(&self, start: Start, settings: &PolicySettings, metrics: &Metrics) -> Result<()> {
        let mut list = self.list.lock();
        list.remove(&start.text, start.bound.kind);
        if list.shadows.len() >= MOST {
            return Err(Error::new(ErrorKind::Busy, format!("{MOST} shadows run already: drop one first")));
        }
        list.shadows.push(Arc::new(Shadow::new(start, settings, metrics)));
        self.generation.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Ends a shadow; `None`: there is none of this pattern and kind.
    pub(crate) fn end(&self, pattern: &str, kind: Kind) -> Option<ShadowStatus> {
        let gone = self.list.lock().remove(pattern, kind)?;
        self.generation.fetch_add(1, Ordering::Relaxed);
        Some(gone.status())
    }

    /// All of them, in the order of their start.
    pub(crate) fn status(&self) -> Vec<ShadowStatus> {
        self.all().iter().map(|shadow| shadow.status()).collect()
    }

    /// A queue for an owner that the last shadow of its kind follows.
    fn attach(&self, kind: Kind, topic: &Arc<str>, context: &Context) -> Option<Arc<Queue>> {
        let list = self.list.lock();
        let follows = |shadow: &&Arc<Shadow>| shadow.bound.kind == kind && !shadow.has_ended() && shadow.start.pattern.matches(topic);
        list.shadows.iter().rfind(follows)?.attach(topic, context)
    }

    /// Takes in what has happened since the last round.
    pub(crate) fn round(&self) {
        for shadow in self.all() {
            shadow.runner.lock().round(&shadow, now());
        }
    }

    fn all(&self) -> Vec<Arc<Shadow>> {
        self.list.lock().shadows.clone()
    }
}

impl List {
    fn remove(&mut self, pattern: &str, kind: Kind) -> Option<Arc<Shadow>> {
        let at = self.shadows.iter().position(|shadow| shadow.start.text == pattern && shadow.bound.kind == kind)?;
        let gone = self.shadows.remove(at);
        gone.close();
        Some(gone)
    }
}

impl Shadow {
    fn new(start: Start, settings: &PolicySettings, metrics: &Metrics) -> Self {
        let bound = start.bound.clone();
        let runner: Box<dyn Run> = match bound.kind {
            Kind::Flush => Box::new(Runner::<Flush>::default()),
            Kind::Index => Box::new(Runner::<Index>::default()),
            Kind::ReadAhead => Box::new(Runner::<ReadAhead>::default()),
        };
        let breaker = Breaker::new(settings.breaker);
        Self {
            counters: metrics.shadow.counters(bound.kind.as_str(), bound.source.name()),
            start,
            bound,
            queues: Mutex::default(),
            left_out: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            state: Mutex::new(State { figures: Figures::default(), breaker, faults: 0, last: None, instances: 0 }),
            runner: Mutex::new(runner),
        }
    }

    fn attach(&self, topic: &Arc<str>, context: &Context) -> Option<Arc<Queue>> {
        let mut queues = self.queues.lock();
        if queues.len() >= MOST_OWNERS {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let queue = Arc::new(Queue::new(topic.clone(), *context));
        queues.push(queue.clone());
        Some(queue)
    }

    /// Whether its breaker has ended it.
    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Takes note of a fault; too many end the shadow.
    fn failed(&self, fault: Fault) {
        self.counters.fault(fault.class.as_str());
        let mut state = self.state.lock();
        state.faults += 1;
        let open = state.breaker.record(fault.class, now());
        if open && !self.ended.swap(true, Ordering::Relaxed) {
            let (pattern, kind, plugin) = (&self.start.text, self.bound.kind, self.bound.source.name());
            tracing::warn!(pattern, %kind, plugin, %fault, "a shadow is dropped: its candidate failed too often");
        }
        state.last = Some(fault);
        drop(state);
        if open {
            self.close();
        }
    }

    /// Owners stop telling it anything.
    fn close(&self) {
        self.queues.lock().iter().for_each(|queue| queue.close());
    }
}
