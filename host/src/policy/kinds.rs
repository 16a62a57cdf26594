//! What the three kinds have in common, so that guarding, binding and hosting are written once.
//!
//! A [`PolicyKind`] ties a view to its answer, its built-in and its clamps. A [`Policy`] is one instance that may fail; a
//! [`PolicySource`] makes instances: a loaded component, or native code of an embedding broker.

use super::guard::{Fault, FaultClass, Sample, clamp};
use super::types::{Context, FlushDecision, FlushView, IndexSpacing, IndexView, ReadAheadDecision, ReadAheadView};
use super::{FlushPolicy, IndexPolicy, Kind, ReadAheadPolicy, builtin, samples};

/// What an instance has learned, for the one that takes over from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// In the policy's own form; 64 KiB at most.
    pub bytes: Vec<u8>,
    /// What taking it has spent of the deadline that it shares with restoring it, in ticks; 0 of native code.
    pub spent_ticks: u64,
}

/// One instance of a policy. After an error it is thrown away.
pub trait Policy<K: PolicyKind>: Send {
    /// A decision, not validated yet.
    fn decide(&mut self, view: &K::View) -> Result<K::Answer, Fault>;

    /// The calls up to the next one share one deadline.
    fn begin_seal(&mut self) {}

    /// Whether that deadline is spent: then it is not to be asked, which is no fault.
    fn is_spent(&self) -> bool {
        false
    }

    /// What the instance has taken, where that is known.
    fn cost(&self) -> Cost {
        Cost::default()
    }

    /// What it has learned; `None`: it keeps nothing. Called after its last decision.
    fn snapshot(&mut self) -> Result<Option<Snapshot>, Fault> {
        Ok(None)
    }

    /// Takes over what an instance of `version` of the same policy had learned, before its first decision. Of
    /// [`StateRefused`](FaultClass::StateRefused) it is as it was before.
    fn restore(&mut self, _version: &str, _snapshot: &Snapshot) -> Result<(), Fault> {
        Err(Fault::new(FaultClass::StateRefused, "it carries no state over a swap"))
    }
}

/// What an instance has taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Linear memory that it has by now, in bytes.
    pub memory_bytes: u64,
    /// Units of work of the last call, about one for each instruction; counted by a metered plugin only.
    pub fuel: Option<u64>,
}

/// What an instance is made for.
#[derive(Clone, Copy, Debug)]
pub struct InitRequest<'a> {
    /// Name of the topic.
    pub topic: &'a str,
    /// The binding's JSON.
    pub config: &'a str,
    /// Static facts.
    pub context: &'a Context,
}

/// Makes instances of one policy. Called on a background thread; each call within the init deadline.
pub trait PolicySource: Send + Sync + 'static {
    /// Short name.
    fn name(&self) -> &str;
    /// Its own version.
    fn version(&self) -> &str;
    /// Identity of the code: two sources with the same digest are the same policy.
    fn digest(&self) -> &str;
    /// The kinds that it decides.
    fn kinds(&self) -> Vec<Kind>;

    /// Checks a config before anything is made with it. The error names each key that is wrong; it is the same wherever a config comes from.
    fn check_config(&self, _: &serde_json::Value) -> Result<(), String> {
        Ok(())
    }

    /// A flush policy.
    fn flush(&self, _: &InitRequest<'_>) -> Result<Box<dyn Policy<Flush>>, Fault> {
        Err(missing(self.name(), Kind::Flush))
    }
    /// An index policy.
    fn index(&self, _: &InitRequest<'_>) -> Result<Box<dyn Policy<Index>>, Fault> {
        Err(missing(self.name(), Kind::Index))
    }
    /// A read-ahead policy.
    fn read_ahead(&self, _: &InitRequest<'_>) -> Result<Box<dyn Policy<ReadAhead>>, Fault> {
        Err(missing(self.name(), Kind::ReadAhead))
    }
}

fn missing(name: &str, kind: Kind) -> Fault {
    Fault::new(FaultClass::MissingExport, format!("policy {name} decides no {kind}"))
}

/// One kind of decision.
pub trait PolicyKind: Sized + Send + 'static {
    /// Which.
    const KIND: Kind;
    /// What it sees.
    type View: Copy + Send + Into<Sample>;
    /// What it answers.
    type Answer: Copy + Send + std::fmt::Debug + PartialEq;

    /// The built-in's answer.
    fn built_in(context: &Context, view: &Self::View) -> Self::Answer;

    /// The answer within the host's limits; differs from the argument only where that asked for something out of bounds.
    fn clamp(context: &Context, view: &Self::View, answer: Self::Answer) -> clamp::Clamped<Self::Answer>;

    /// Views as they are met every day, in the order in which an owner would show them: for trying a policy out where none were seen.
    fn everyday() -> Vec<Self::View>;

    /// A new instance.
    fn build(source: &dyn PolicySource, request: &InitRequest<'_>) -> Result<Box<dyn Policy<Self>>, Fault>;
}

/// When to seal a lane's write buffer.
#[derive(Debug)]
pub enum Flush {}
/// How densely to index a slice.
#[derive(Debug)]
pub enum Index {}
/// How far to read ahead of a sequential reader.
#[derive(Debug)]
pub enum ReadAhead {}

impl PolicyKind for Flush {
    const KIND: Kind = Kind::Flush;
    type View = FlushView;
    type Answer = FlushDecision;

    fn built_in(context: &Context, view: &FlushView) -> FlushDecision {
        builtin::flush(context, view)
    }
    fn clamp(context: &Context, view: &FlushView, answer: FlushDecision) -> clamp::Clamped<FlushDecision> {
        clamp::flush(context, view, answer)
    }
    fn everyday() -> Vec<FlushView> {
        samples::flush().into()
    }
    fn build(source: &dyn PolicySource, request: &InitRequest<'_>) -> Result<Box<dyn Policy<Self>>, Fault> {
        source.flush(request)
    }
}

impl PolicyKind for Index {
    const KIND: Kind = Kind::Index;
    type View = IndexView;
    type Answer = IndexSpacing;

    fn built_in(context: &Context, view: &IndexView) -> IndexSpacing {
        builtin::index(context, view)
    }
    fn clamp(_: &Context, view: &IndexView, answer: IndexSpacing) -> clamp::Clamped<IndexSpacing> {
        clamp::index(view, answer)
    }
    fn everyday() -> Vec<IndexView> {
        samples::index().into()
    }
    fn build(source: &dyn PolicySource, request: &InitRequest<'_>) -> Result<Box<dyn Policy<Self>>, Fault> {
        source.index(request)
    }
}

impl PolicyKind for ReadAhead {
    const KIND: Kind = Kind::ReadAhead;
    type View = ReadAheadView;
    type Answer = ReadAheadDecision;

    fn built_in(context: &Context, view: &ReadAheadView) -> ReadAheadDecision {
        builtin::read_ahead(context, view)
    }
    fn clamp(_: &Context, view: &ReadAheadView, answer: ReadAheadDecision) -> clamp::Clamped<ReadAheadDecision> {
        clamp::read_ahead(view, answer)
    }
    fn everyday() -> Vec<ReadAheadView> {
        samples::read_ahead().into()
    }
    fn build(source: &dyn PolicySource, request: &InitRequest<'_>) -> Result<Box<dyn Policy<Self>>, Fault> {
        source.read_ahead(request)
    }
}

/// Native code as a [`Policy`]: it cannot fail, but its answers are clamped like any other's.
#[derive(Debug)]
pub struct Infallible<P>(pub P);

impl<P: FlushPolicy> Policy<Flush> for Infallible<P> {
    fn decide(&mut self, view: &FlushView) -> Result<FlushDecision, Fault> {
        Ok(self.0.decide(view))
    }
}

impl<P: IndexPolicy> Policy<Index> for Infallible<P> {
    fn decide(&mut self, view: &IndexView) -> Result<IndexSpacing, Fault> {
        Ok(self.0.decide(view))
    }
    fn begin_seal(&mut self) {
        self.0.begin_seal();
    }
}

impl<P: ReadAheadPolicy> Policy<ReadAhead> for Infallible<P> {
    fn decide(&mut self, view: &ReadAheadView) -> Result<ReadAheadDecision, Fault> {
        Ok(self.0.decide(view))
    }
}
