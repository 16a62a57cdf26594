//! State over a swap: what the old instance has learned goes to the new one, between the last decision of one and the first of the other.
//!
//! Only between two versions or configs of one policy, by its name: another policy's state means nothing to it. Whatever fails, the swap
//! goes on: the new instance starts cold, and the reason is kept where an operator looks.

use crate::policy::guard::{Fault, FaultClass};
use crate::policy::kinds::{Policy, PolicyKind, PolicySource};

/// How an instance began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// There was nothing to take over.
    Fresh,
    /// It goes on where the one before it stopped.
    Warm,
    /// The one before it had something to hand over, and this came of it.
    Cold(Fault),
    /// As above, and the new instance failed at it: it must not be asked.
    Broken(Fault),
}

impl Start {
    /// For an operator; empty: there was nothing to take over.
    pub(crate) fn told(&self) -> String {
        match self {
            Start::Fresh => String::new(),
            Start::Warm => "warm".to_owned(),
            Start::Cold(fault) | Start::Broken(fault) => format!("cold: {fault}"),
        }
    }
}

/// One side of a handover.
pub(crate) struct Side<'a, K> {
    pub(crate) policy: &'a mut dyn Policy<K>,
    pub(crate) source: &'a dyn PolicySource,
}

/// Hands over what `old` has learned. After it `old` must not be asked again, but where `new` is [`Broken`](Start::Broken).
pub(crate) fn hand_over<K: PolicyKind>(old: Side<'_, K>, new: Side<'_, K>) -> Start {
    if old.source.name() != new.source.name() {
        return Start::Fresh;
    }
    let snapshot = match old.policy.snapshot() {
        Ok(None) => return Start::Fresh,
        Ok(Some(snapshot)) => snapshot,
        Err(fault) => return Start::Cold(fault),
    };
    match new.policy.restore(old.source.version(), &snapshot) {
        Ok(()) => Start::Warm,
        Err(fault) if fault.class == FaultClass::StateRefused => Start::Cold(fault),
        Err(fault) => Start::Broken(fault),
    }
}
