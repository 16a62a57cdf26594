//! A site: one binding in one topic. What all instances there share: counters, the breaker, and the last fault.
//!
//! The path of a successful call touches atomics only; the lock is taken on faults and while the breaker is open.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

use super::breaker::{Breaker, BreakerState};
use super::fault::{Fault, FaultClass, FaultSink, PolicyFault};
use super::recent::{Recent, SAMPLED, Sample};
use crate::env::{Instant, now};
use crate::metrics::{PolicyCounters, PolicyMetrics};
use crate::policy::{Kind, PolicySource};

/// One log line for each class of fault in so long a time.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// One call in so many is timed: reading the clock twice costs as much as a short call.
const TIMED: u64 = 8;

/// What is bound: code and config.
pub(crate) struct Bound {
    pub(crate) kind: Kind,
    pub(crate) source: Arc<dyn PolicySource>,
    pub(crate) config: String,
}

/// See the module.
pub(crate) struct Site {
    pub(crate) bound: Arc<Bound>,
    pub(crate) topic: Arc<str>,
    calls: AtomicU64,
    faults: AtomicU64,
    fallbacks: AtomicU64,
    clamps: AtomicU64,
    slowest_us: AtomicU64,
    tripped: AtomicBool,
    state: Mutex<State>,
    recent: Recent,
    counters: PolicyCounters,
    sink: FaultSink,
}

#[derive(Default)]
struct State {
    breaker: Breaker,
    last: Option<Fault>,
    logged: BTreeMap<FaultClass, (Instant, u64)>,
}

/// The figures of a site at one moment.
#[derive(Clone, Debug)]
pub(crate) struct SiteFigures {
    pub(crate) calls: u64,
    pub(crate) faults: u64,
    pub(crate) fallbacks: u64,
    pub(crate) clamps: u64,
    pub(crate) slowest_us: u64,
    pub(crate) breaker: BreakerState,
    pub(crate) last: Option<Fault>,
}

impl Site {
    pub(crate) fn new(bound: Arc<Bound>, topic: Arc<str>, metrics: &PolicyMetrics, sink: FaultSink) -> Self {
        let counters = metrics.counters(bound.kind.as_str(), bound.source.name());
        let zero = AtomicU64::default;
        Self {
            bound,
            topic,
            calls: zero(),
            faults: zero(),
            fallbacks: zero(),
            clamps: zero(),
            slowest_us: zero(),
            tripped: AtomicBool::new(false),
            state: Mutex::default(),
            recent: Recent::default(),
            counters,
            sink,
        }
    }

    /// Counts a call, times one in eight and samples one in 64.
    pub(super) fn call<V: Copy + Into<Sample>, R>(&self, view: &V, decide: impl FnOnce() -> R) -> R {
        self.counters.decisions.inc();
        let number = self.calls.fetch_add(1, Relaxed);
        if !number.is_multiple_of(TIMED) {
            return decide();
        }
        if number.is_multiple_of(SAMPLED) {
            self.recent.keep((*view).into());
        }
        let start = now();
        let result = decide();
        let spent = start.elapsed();
        self.counters.seconds.observe(spent.as_secs_f64());
        self.slowest_us.fetch_max(spent.as_micros().try_into().unwrap_or(u64::MAX), Relaxed);
        result
    }

    pub(super) fn count_clamps(&self, clamps: u32) {
        self.clamps.fetch_add(clamps.into(), Relaxed);
        self.counters.clamps.inc_by(clamps.into());
    }

    pub(super) fn count_fallback(&self) {
        self.fallbacks.fetch_add(1, Relaxed);
        self.counters.fallbacks.inc();
    }

    /// Whether the breaker has opened and nobody has been admitted since.
    pub(super) fn is_tripped(&self) -> bool {
        self.tripped.load(Relaxed)
    }

    /// Whether an instance may be made now.
    pub(super) fn admits(&self) -> bool {
        if !self.is_tripped() {
            return true;
        }
        let admitted = self.state.lock().breaker.admits(now());
        self.tripped.store(!admitted, Relaxed);
        admitted
    }

    /// Counts, announces and logs a fault.
    pub(super) fn record(&self, fault: &Fault) {
        self.faults.fetch_add(1, Relaxed);
        self.counters.fault(fault.class.as_str());
        let now = now();
        let mut state = self.state.lock();
        let open = state.breaker.record(fault.class, now);
        self.tripped.store(open, Relaxed);
        state.last = Some(fault.clone());
        let suppressed = due(&mut state.logged, fault.class, now);
        drop(state);
        let (kind, topic, plugin) = (self.bound.kind, self.topic.as_ref(), self.bound.source.name());
        if let Some(suppressed) = suppressed {
            let Fault { class, message } = fault;
            tracing::warn!(%kind, topic, plugin, %class, message, quarantined = open, suppressed, "policy failed; the built-in answered");
        }
        let event =
            PolicyFault { kind, topic: topic.to_owned(), plugin: plugin.to_owned(), class: fault.class, message: fault.message.clone() };
        (self.sink)(&event);
    }

    /// The last views that were sampled here, the newest first.
    pub(crate) fn recent_views(&self) -> Vec<Sample> {
        self.recent.views()
    }

    pub(crate) fn figures(&self) -> SiteFigures {
        let state = self.state.lock();
        SiteFigures {
            calls: self.calls.load(Relaxed),
            faults: self.faults.load(Relaxed),
            fallbacks: self.fallbacks.load(Relaxed),
            clamps: self.clamps.load(Relaxed),
            slowest_us: self.slowest_us.load(Relaxed),
            breaker: state.breaker.state(now()),
            last: state.last.clone(),
        }
    }
}

/// Lines suppressed since the last one, if a line is due.
fn due(logged: &mut BTreeMap<FaultClass, (Instant, u64)>, class: FaultClass, now: Instant) -> Option<u64> {
    match logged.get_mut(&class) {
        Some((at, suppressed)) if now.duration_since(*at) < LOG_INTERVAL => {
            *suppressed += 1;
            None
        }
        found => {
            let suppressed = found.map_or(0, |(_, suppressed)| *suppressed);
            logged.insert(class, (now, 0));
            Some(suppressed)
        }
    }
}
