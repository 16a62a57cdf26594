//! Policies: a view in, a decision out. Pure: no I/O, no clock, no handle.
//!
//! The [types] mirror `wit/` one to one. A policy is a component ([`wasm`]) or native code ([`PolicySource`]); a
//! [`PolicyHost`] binds policies to topics by pattern and hands out guarded instances, whose answers are final: validated,
//! clamped to the host's limits, and replaced by the [built-in](builtin)'s in the same call when the policy fails. Candidates run beside them in
//! [shadows](ShadowStatus), without acting.
//!
//! Invariants: an instance never blocks longer than one deadline, never fails, and follows rebinding by itself, between two
//! calls. Where nothing is bound no thread is started and the built-in decides, deterministically.

pub use crate::types::Kind;

pub mod builtin;
pub mod config_schema;
pub mod guard;
mod host;
mod kinds;
mod samples;
mod shadow;
pub mod signature;
mod types;
pub mod wasm;
mod worker;

pub use config_schema::{ConfigKey, ConfigSchema, config_or_empty};
pub use guard::{BreakerState, Fault, FaultClass, FaultSink, PolicyFault};
pub use host::{ActiveBinding, BindingStatus, PolicyHost, TopicStatus};
pub use kinds::{Cost, Flush, Index, Infallible, InitRequest, Policy, PolicyKind, PolicySource, ReadAhead, Snapshot};
pub use shadow::{ShadowCost, ShadowStatus, ShadowTap};
pub use types::{
    ANY_UPLOADS, Context, FlushBounds, FlushDecision, FlushReason, FlushView, IndexSpacing, IndexView, ReadAheadDecision, ReadAheadView,
    UNBOUNDED,
};

/// Decides when a lane's write buffer is sealed.
pub trait FlushPolicy: Send {
    /// Asked by the lane's task, while appends go on.
    fn decide(&mut self, view: &FlushView) -> FlushDecision;

    /// Upkeep looks by, every half of `policy.idle_ms`: one that has decided nothing for a while gives back what it does not need for now.
    fn rest(&mut self) {}
}

/// Decides how densely a slice is indexed.
pub trait IndexPolicy: Send {
    /// Called before the first slice of a seal: the calls up to the next one share one deadline, and slices left over when it is
    /// spent get the built-in's answer.
    fn begin_seal(&mut self) {}

    /// Asked once per slice, at seal.
    fn decide(&mut self, view: &IndexView) -> IndexSpacing;

    /// Upkeep looks by, every half of `policy.idle_ms`: one that has decided nothing for a while gives back what it does not need for now.
    fn rest(&mut self) {}
}

/// Decides how far to read ahead of a sequential reader.
pub trait ReadAheadPolicy: Send {
    /// Asked per fetch.
    fn decide(&mut self, view: &ReadAheadView) -> ReadAheadDecision;

    /// Upkeep looks by, every half of `policy.idle_ms`: one that has decided nothing for a while gives back what it does not need for now.
    fn rest(&mut self) {}
}

/// Makes policy instances for a topic: what the lanes and partitions know of bindings. Answers are final
/// (validated, clamped, with the built-in's answer in place of a fault); the instances follow rebinding by themselves.
pub trait Policies: Send + Sync {
    /// One for each active lane.
    fn flush(&self, topic: &str, context: &Context) -> Box<dyn FlushPolicy>;
    /// One for each active lane.
    fn index(&self, topic: &str, context: &Context) -> Box<dyn IndexPolicy>;
    /// One for each sequential stream.
    fn read_ahead(&self, topic: &str, context: &Context) -> Box<dyn ReadAheadPolicy>;

    /// One for each active lane: where it tells what goes through it, for candidates that run beside its flush policy.
    fn shadow(&self, topic: &str, context: &Context) -> ShadowTap {
        let _ = (topic, context);
        ShadowTap::none()
    }
}
