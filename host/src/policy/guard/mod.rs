//! The guard: makes an answer final.
//!
//! It stands between an owner (a lane, a stream) and whatever is bound to its topic. Each call compares the bindings' generation (one
//! atomic load), asks the instance, clamps the answer; where there is no instance or it fails, the built-in answers this call. Instances
//! are made in the background: until one of a new binding is ready the old one decides, then hands over what it has learned; after a fault
//! the built-in decides. An owner that has decided nothing for a while gives its instance back, and gets another when it decides again.
//!
//! Invariants: a call never fails; an instance that failed is never asked again; a successful call allocates nothing and takes no lock,
//! but for one in 64, which leaves its view for whatever is tried out next.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

mod breaker;
pub mod clamp;
mod fault;
mod handover;
mod recent;
mod site;
mod warning;

pub(crate) use breaker::Breaker;
pub use breaker::BreakerState;
pub use fault::{Fault, FaultClass, FaultSink, PolicyFault};
pub(crate) use handover::{Side, Start, hand_over};
pub(crate) use recent::KEPT as RECENT_VIEWS;
pub use recent::Sample;
pub(crate) use site::{Bound, Counted, Site, SiteFigures, Surroundings};
pub(crate) use warning::Warning;

use super::host::Registry;
use super::kinds::{Flush, Index, Policy, PolicyKind, ReadAhead};
use super::shadow::ShadowTap;
use super::types::{Context, FlushDecision, FlushView, IndexSpacing, IndexView, ReadAheadDecision, ReadAheadView};
use super::{FlushPolicy, IndexPolicy, Kind, ReadAheadPolicy};

/// What a background build comes back with.
pub(crate) type Built<K> = Result<Live<K>, Fault>;

/// Looks by upkeep without a decision in between that make an owner idle.
const IDLE_LOOKS: u32 = 3;

/// An instance, and the site that it was made for.
pub(crate) struct Live<K> {
    policy: Box<dyn Policy<K>>,
    counted: Counted,
}

impl<K: PolicyKind> Live<K> {
    pub(crate) fn new(policy: Box<dyn Policy<K>>, counted: Counted) -> Self {
        Self { policy, counted }
    }

    fn site(&self) -> &Arc<Site> {
        self.counted.site()
    }

    fn side(&mut self) -> Side<'_, K> {
        Side { policy: &mut *self.policy, source: &*self.counted.site().bound.source }
    }
}

struct Pending<K: PolicyKind> {
    built: oneshot::Receiver<Built<K>>,
    site: Arc<Site>,
}

/// See the module.
pub(crate) struct Guarded<K: PolicyKind> {
    registry: Arc<Registry>,
    topic: Arc<str>,
    context: Context,
    generation: u64,
    /// What is bound now; `live` may still be of an earlier binding.
    site: Option<Arc<Site>>,
    live: Option<Live<K>>,
    pending: Option<Pending<K>>,
    /// Something is bound that `live` is not an instance of.
    wanting: bool,
    /// By upkeep, since the last decision.
    looks: u32,
    /// For a candidate that is shown the same.
    tap: ShadowTap,
}

impl<K: PolicyKind> Guarded<K> {
    pub(crate) fn new(registry: Arc<Registry>, topic: &str, context: &Context) -> Self {
        let (topic, context): (Arc<str>, Context) = (topic.into(), *context);
        // Of a flush policy the lane itself tells: a candidate has a buffer of its own.
        let tap = match K::KIND {
            Kind::Flush => ShadowTap::none(),
            kind => ShadowTap::new(registry.shadows.clone(), kind, topic.clone(), context),
        };
        let mut guarded =
            Self { registry, topic, context, generation: 0, site: None, live: None, pending: None, wanting: false, looks: 0, tap };
        guarded.follow_bindings();
        guarded
    }

    fn decide(&mut self, view: &K::View) -> K::Answer {
        self.prepare();
        let Some(live) = self.live.as_mut().filter(|live| !live.policy.is_spent()) else { return self.built_in(view) };
        match live.counted.site().call(view, || live.policy.decide(view)) {
            Ok(answer) => {
                let clamped = K::clamp(&self.context, view, answer);
                if !clamped.clamps.is_empty() {
                    live.site().count_clamps(clamped.clamps);
                }
                clamped.answer
            }
            Err(fault) => {
                live.site().record(&fault);
                self.lose();
                self.built_in(view)
            }
        }
    }

    fn begin_seal(&mut self) {
        self.prepare();
        if let Some(live) = &mut self.live {
            live.policy.begin_seal();
        }
    }

    /// A look by upkeep: after some without a decision the instance goes, until it is wanted again.
    fn rest(&mut self) {
        self.looks = self.looks.saturating_add(1);
        if self.looks < IDLE_LOOKS {
            return;
        }
        self.live = None;
        self.pending = None;
        self.wanting = self.site.is_some();
    }

    fn built_in(&self, view: &K::View) -> K::Answer {
        if let Some(site) = &self.site {
            site.count_fallback();
        }
        K::built_in(&self.context, view)
    }

    /// Follows what happened since the last call.
    fn prepare(&mut self) {
        self.looks = 0;
        if self.registry.generation() != self.generation {
            self.follow_bindings();
        }
        if self.live.as_ref().is_some_and(|live| live.site().is_tripped()) {
            self.lose();
        }
        if self.wanting {
            self.seek_instance();
        }
    }

    fn follow_bindings(&mut self) {
        let (generation, site) = self.registry.resolve(K::KIND, &self.topic);
        self.generation = generation;
        if same(site.as_ref(), self.site.as_ref()) {
            return;
        }
        self.pending = None;
        match &site {
            None => self.live = None,
            Some(site) => self.wanting = !self.live.as_ref().is_some_and(|live| Arc::ptr_eq(live.site(), site)),
        }
        self.wanting &= site.is_some();
        self.site = site;
        if self.wanting {
            self.seek_instance();
        }
    }

    /// Drops the instance; whatever is bound gets another.
    fn lose(&mut self) {
        self.live = None;
        self.wanting = self.site.is_some();
        if self.wanting {
            self.seek_instance();
        }
    }

    /// Takes an instance that is ready, or asks for one if the breaker admits it.
    fn seek_instance(&mut self) {
        let Some(site) = &self.site else { return };
        if self.pending.is_none() && site.admits() {
            let built = self.registry.build(site.clone(), self.context);
            self.pending = built.map(|built| Pending { built, site: site.clone() });
        }
        let Some(pending) = &mut self.pending else { return };
        let fault = match pending.built.try_recv() {
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Closed) => Fault::new(FaultClass::InitTrap, "making an instance failed inside the host; see its log"),
            Ok(Err(fault)) => fault,
            Ok(Ok(live)) => {
                self.pending = None;
                self.take_over(live);
                return;
            }
        };
        pending.site.record(&fault);
        self.pending = None;
    }

    /// Puts a new instance in the place of the old one, if there is one, with what that has learned.
    fn take_over(&mut self, mut new: Live<K>) {
        let start = match &mut self.live {
            None => Start::Fresh,
            Some(old) => new.site().barred().map_or_else(|| hand_over(old.side(), new.side()), Start::Cold),
        };
        new.site().record_start(&start);
        // One that broke at it is of no use: another is made, and until then the old one decides.
        if !matches!(start, Start::Broken(_)) {
            self.live = Some(new);
            self.wanting = false;
        }
    }
}

fn same(a: Option<&Arc<Site>>, b: Option<&Arc<Site>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

impl FlushPolicy for Guarded<Flush> {
    fn decide(&mut self, view: &FlushView) -> FlushDecision {
        Guarded::decide(self, view)
    }
    fn rest(&mut self) {
        Guarded::rest(self);
    }
}

impl IndexPolicy for Guarded<Index> {
    fn begin_seal(&mut self) {
        Guarded::begin_seal(self);
    }
    fn decide(&mut self, view: &IndexView) -> IndexSpacing {
        let answer = Guarded::decide(self, view);
        self.tap.indexed(view, &answer);
        answer
    }
    fn rest(&mut self) {
        Guarded::rest(self);
    }
}

impl ReadAheadPolicy for Guarded<ReadAhead> {
    fn decide(&mut self, view: &ReadAheadView) -> ReadAheadDecision {
        let answer = Guarded::decide(self, view);
        self.tap.read_ahead(view, &answer);
        answer
    }
    fn rest(&mut self) {
        Guarded::rest(self);
    }
}
