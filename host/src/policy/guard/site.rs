//! A site: one binding in one topic. What all instances there share: counters, the breaker, warnings, and the last fault.
//!
//! The path of a successful call touches atomics only; the lock is taken on faults, on warnings and while the breaker is open.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

use super::breaker::{Breaker, BreakerState};
use super::clamp::{Clamps, Field};
use super::fault::{Fault, FaultSink, PolicyFault};
use super::handover::Start;
use super::recent::{Recent, SAMPLED, Sample};
use super::warning::{Warning, Watch};
use crate::config::PolicySettings;
use crate::env::{Instant, now};
use crate::metrics::{Metrics, PolicyCounters};
use crate::policy::{Kind, PolicySource};

/// One call in so many is timed: reading the clock twice costs as much as a short call.
const TIMED: u64 = 8;
/// So many raised answers are looked at together.
const RAISED: u64 = 16;

/// What is bound: code and config.
pub(crate) struct Bound {
    pub(crate) kind: Kind,
    pub(crate) source: Arc<dyn PolicySource>,
    pub(crate) config: String,
}

/// What the sites of a host share.
pub(crate) struct Surroundings {
    pub(crate) settings: PolicySettings,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) sink: FaultSink,
    /// Instances held or being made, of all sites.
    pub(crate) held: AtomicU64,
}

/// See the module.
pub(crate) struct Site {
    pub(crate) bound: Arc<Bound>,
    pub(crate) topic: Arc<str>,
    around: Arc<Surroundings>,
    calls: AtomicU64,
    faults: AtomicU64,
    fallbacks: AtomicU64,
    clamps: AtomicU64,
    raised: AtomicU64,
    slowest_us: AtomicU64,
    instances: AtomicU64,
    warm: AtomicU64,
    cold: AtomicU64,
    tripped: AtomicBool,
    slow: Duration,
    state: Mutex<State>,
    recent: Recent,
    counters: PolicyCounters,
}

struct State {
    breaker: Breaker,
    last: Option<Fault>,
    /// Why an instance last started cold, and whether no state is to be handed over here any more.
    cold: Option<(Fault, bool)>,
    logged: BTreeMap<&'static str, (Instant, u64)>,
    thrashing: Watch,
    slow: Watch,
}

/// The figures of a site at one moment.
#[derive(Clone, Debug)]
pub(crate) struct SiteFigures {
    pub(crate) calls: u64,
    pub(crate) faults: u64,
    pub(crate) fallbacks: u64,
    pub(crate) clamps: u64,
    pub(crate) slowest_us: u64,
    pub(crate) instances: u64,
    /// Instances that took over what the ones before had learned ...
    pub(crate) warm: u64,
    /// ... and those that did not, with the last reason.
    pub(crate) cold: u64,
    pub(crate) cold_reason: Option<Fault>,
    pub(crate) breaker: BreakerState,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) last: Option<Fault>,
}

impl Site {
    pub(crate) fn new(bound: Arc<Bound>, topic: Arc<str>, around: Arc<Surroundings>) -> Self {
        let fields: Vec<&'static str> = Field::of(bound.kind).iter().map(|field| field.as_str()).collect();
        let counters = around.metrics.policy.counters(bound.kind.as_str(), bound.source.name(), &fields);
        let breaker = Breaker::new(around.settings.breaker);
        let zero = AtomicU64::default;
        Self {
            bound,
            topic,
            calls: zero(),
            faults: zero(),
            fallbacks: zero(),
            clamps: zero(),
            raised: zero(),
            slowest_us: zero(),
            instances: zero(),
            warm: zero(),
            cold: zero(),
            tripped: AtomicBool::new(false),
            slow: Duration::from_micros(around.settings.decision_deadline_ms.saturating_mul(10 * around.settings.slow_percent)),
            state: Mutex::new(State {
                breaker,
                last: None,
                cold: None,
                logged: BTreeMap::new(),
                thrashing: Watch::default(),
                slow: Watch::default(),
            }),
            recent: Recent::default(),
            counters,
            around,
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
        if spent >= self.slow {
            self.warn(Warning::Slow, 1);
        }
        result
    }

    /// Counts what was changed in an answer.
    #[cold]
    pub(super) fn count_clamps(&self, clamps: Clamps) {
        self.clamps.fetch_add(clamps.count().into(), Relaxed);
        for (field, counter) in Field::of(self.bound.kind).iter().zip(&self.counters.clamps) {
            if clamps.contains(*field) {
                counter.inc();
            }
        }
        if clamps.is_raised() && (self.raised.fetch_add(1, Relaxed) + 1).is_multiple_of(RAISED) {
            self.warn(Warning::Thrashing, RAISED as u32);
        }
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
    #[cold]
    pub(super) fn record(&self, fault: &Fault) {
        self.faults.fetch_add(1, Relaxed);
        self.counters.fault(fault.class.as_str());
        let now = now();
        let mut state = self.state.lock();
        let open = state.breaker.record(fault.class, now);
        self.tripped.store(open, Relaxed);
        state.last = Some(fault.clone());
        let suppressed = self.due(&mut state, fault.class.as_str(), now);
        drop(state);
        let (kind, topic, plugin) = (self.bound.kind, self.topic.as_ref(), self.bound.source.name());
        if let Some(suppressed) = suppressed {
            let Fault { class, message } = fault;
            tracing::warn!(%kind, topic, plugin, %class, message, quarantined = open, suppressed, "policy failed; the built-in answered");
        }
        let event =
            PolicyFault { kind, topic: topic.to_owned(), plugin: plugin.to_owned(), class: fault.class, message: fault.message.clone() };
        (self.around.sink)(&event);
    }

    /// Why no state is handed over here any more: an instance broke at it, and others would.
    #[cold]
    pub(super) fn barred(&self) -> Option<Fault> {
        self.state.lock().cold.as_ref().filter(|(_, barred)| *barred).map(|(fault, _)| fault.clone())
    }

    /// Counts how an instance took over from one of another binding, and logs what went wrong.
    #[cold]
    pub(super) fn record_start(&self, start: &Start) {
        let (fault, broken) = match start {
            Start::Fresh => return,
            Start::Warm => return self.count_start(&self.warm, "warm"),
            Start::Cold(fault) => (fault, false),
            Start::Broken(fault) => (fault, true),
        };
        let mut state = self.state.lock();
        let barred = broken || state.cold.as_ref().is_some_and(|(_, barred)| *barred);
        state.cold = Some((fault.clone(), barred));
        let due = self.due(&mut state, fault.class.as_str(), now());
        drop(state);
        // One that broke is followed by another, which is counted then.
        if !broken {
            self.count_start(&self.cold, "cold");
        }
        if let Some(suppressed) = due {
            let (kind, topic, plugin) = (self.bound.kind, self.topic.as_ref(), self.bound.source.name());
            let Fault { class, message } = fault;
            tracing::warn!(%kind, topic, plugin, %class, message, suppressed, "the policy starts cold: the swap goes on without its state");
        }
    }

    fn count_start(&self, counter: &AtomicU64, name: &'static str) {
        counter.fetch_add(1, Relaxed);
        self.counters.start(name);
    }

    #[cold]
    fn warn(&self, warning: Warning, count: u32) {
        let now = now();
        let mut state = self.state.lock();
        let watch = match warning {
            Warning::Thrashing => &mut state.thrashing,
            Warning::Slow => &mut state.slow,
        };
        if !watch.note(warning, count, now) {
            return;
        }
        let suppressed = self.due(&mut state, warning.as_str(), now);
        drop(state);
        self.counters.warning(warning.as_str());
        if let Some(suppressed) = suppressed {
            let (kind, topic, plugin) = (self.bound.kind, self.topic.as_ref(), self.bound.source.name());
            tracing::warn!(%kind, topic, plugin, warning = warning.as_str(), suppressed, "the policy {}", warning.text());
        }
    }

    /// Lines about `class` suppressed since the last one, if a line is due.
    fn due(&self, state: &mut State, class: &'static str, now: Instant) -> Option<u64> {
        let interval = Duration::from_millis(self.around.settings.fault_log_interval_ms);
        match state.logged.get_mut(class) {
            Some((at, suppressed)) if now.duration_since(*at) < interval => {
                *suppressed += 1;
                None
            }
            found => {
                let suppressed = found.map_or(0, |(_, suppressed)| *suppressed);
                state.logged.insert(class, (now, 0));
                Some(suppressed)
            }
        }
    }

    /// The last views that were sampled here, the newest first.
    pub(crate) fn recent_views(&self) -> Vec<Sample> {
        self.recent.views()
    }

    pub(crate) fn figures(&self) -> SiteFigures {
        let (now, state) = (now(), self.state.lock());
        let stands = |warning: &Warning| match warning {
            Warning::Thrashing => state.thrashing.stands(now),
            Warning::Slow => state.slow.stands(now),
        };
        SiteFigures {
            calls: self.calls.load(Relaxed),
            faults: self.faults.load(Relaxed),
            fallbacks: self.fallbacks.load(Relaxed),
            clamps: self.clamps.load(Relaxed),
            slowest_us: self.slowest_us.load(Relaxed),
            instances: self.instances.load(Relaxed),
            warm: self.warm.load(Relaxed),
            cold: self.cold.load(Relaxed),
            cold_reason: state.cold.as_ref().map(|(fault, _)| fault.clone()),
            breaker: state.breaker.state(now),
            warnings: Warning::ALL.into_iter().filter(stands).collect(),
            last: state.last.clone(),
        }
    }
}

/// An instance at a site, counted from before it is made and for as long as it lives.
pub(crate) struct Counted(Arc<Site>);

impl Counted {
    /// `None`: the host holds as many as it may (`policy.instances`).
    pub(crate) fn admit(site: Arc<Site>) -> Option<Self> {
        let (held, most) = (&site.around.held, u64::from(site.around.settings.instances));
        held.fetch_update(Relaxed, Relaxed, |held| (held < most).then_some(held + 1)).ok()?;
        site.instances.fetch_add(1, Relaxed);
        site.counters.instances.inc();
        Some(Self(site))
    }

    pub(crate) fn site(&self) -> &Arc<Site> {
        &self.0
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.around.held.fetch_sub(1, Relaxed);
        self.0.instances.fetch_sub(1, Relaxed);
        self.0.counters.instances.dec();
    }
}
