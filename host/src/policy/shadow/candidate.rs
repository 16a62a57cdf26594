//! A candidate's instance for one owner: asked like a live one, answered for by the built-in, and acted on by nobody.

use std::sync::Arc;

use super::figures::Figures;
use super::{Queue, Shadow};
use crate::policy::guard::Fault;
use crate::policy::kinds::{InitRequest, Policy, PolicyKind};
use crate::policy::types::Context;

/// See the module.
pub(super) struct Candidate<K: PolicyKind> {
    queue: Arc<Queue>,
    instance: Option<Box<dyn Policy<K>>>,
}

/// Whom a model asks, and where it counts.
pub(super) struct Ask<'a, K: PolicyKind> {
    pub(super) candidate: &'a mut Candidate<K>,
    pub(super) shadow: &'a Shadow,
}

impl<K: PolicyKind> Candidate<K> {
    pub(super) fn new(queue: Arc<Queue>) -> Self {
        Self { queue, instance: None }
    }

    pub(super) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Gives its instance back.
    pub(super) fn rest(&mut self) {
        self.instance = None;
    }

    pub(super) fn holds_instance(&self) -> bool {
        self.instance.is_some()
    }
}

impl<K: PolicyKind> Ask<'_, K> {
    pub(super) fn context(&self) -> &Context {
        &self.candidate.queue.context
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut Figures)) {
        count(&mut self.shadow.state.lock().figures);
    }

    /// Counts a comparison.
    pub(super) fn compared(&self, direction: &'static str) {
        self.shadow.counters.compared(direction);
        self.count(|figures| figures.compared(direction));
    }

    /// Its answer within the host's limits; the built-in's where it fails.
    pub(super) fn answer(&mut self, view: &K::View) -> K::Answer {
        let context = self.candidate.queue.context;
        match self.try_answer(view) {
            Some(Ok(answer)) => {
                let clamped = K::clamp(&context, view, answer);
                self.count(|figures| figures.clamps += u64::from(clamped.clamps.count()));
                clamped.answer
            }
            Some(Err(fault)) => {
                self.candidate.instance = None;
                self.shadow.failed(fault);
                K::built_in(&context, view)
            }
            None => K::built_in(&context, view),
        }
    }

    /// `None`: it has failed too often to be asked.
    fn try_answer(&mut self, view: &K::View) -> Option<Result<K::Answer, Fault>> {
        if self.shadow.has_ended() {
            return None;
        }
        self.count(|figures| figures.calls += 1);
        self.shadow.counters.decisions.inc();
        if self.candidate.instance.is_none() {
            match self.make() {
                Ok(instance) => self.candidate.instance = Some(instance),
                Err(fault) => return Some(Err(fault)),
            }
        }
        Some(self.candidate.instance.as_mut()?.decide(view))
    }

    fn make(&self) -> Result<Box<dyn Policy<K>>, Fault> {
        let Queue { topic, context, .. } = &*self.candidate.queue;
        let bound = &self.shadow.bound;
        K::build(bound.source.as_ref(), &InitRequest { topic, config: &bound.config, context })
    }
}
