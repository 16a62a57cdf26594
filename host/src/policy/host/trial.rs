//! Trying a policy out before it decides: an instance with the real config, and dry decisions on views that its topics showed lately.
//!
//! Where it follows another version or config of its own, a swap of the two is rehearsed as well, so that whoever binds it is told whether it
//! starts warm. What is tried is dropped afterwards, and nobody acts on its answers. A machine that stalls for a moment must not refuse a policy, so a
//! deadline that was missed once is tried again.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::PolicyHost;
use super::binding::{ActiveBinding, Entry};
use crate::config::Pattern;
use crate::policy::Kind;
use crate::policy::guard::{Bound, Fault, FaultClass, RECENT_VIEWS, Sample, Side, Start, hand_over};
use crate::policy::kinds::{Flush, Index, InitRequest, Policy, PolicyKind, ReadAhead};
use crate::policy::types::Context;
use crate::policy::wasm::LoadError;

/// Views that a policy is tried on at most: the newest of each topic first.
const VIEWS: usize = 32;
/// A decision that misses its deadline so often in a row is too slow.
const TRIES: usize = 3;

const MEND: &str = "a decision must return for any view: mend it, or bind another version";

/// A view, and where it was seen: a topic, or nowhere.
type Seen = (Option<Arc<str>>, Sample);

impl PolicyHost {
    /// Makes an instance of a binding with its real config, asks it for decisions on recent views, and drops it: what refuses its config or
    /// fails is found before it is bound. The error has its class, and the plugin's message.
    pub async fn try_binding(&self, binding: &ActiveBinding, context: &Context) -> Result<(), LoadError> {
        self.trial(binding, context).await.map(drop)
    }

    /// The same, with the class of what is wrong; and how its instances will take over from what is bound there now.
    pub(crate) async fn trial(&self, binding: &ActiveBinding, context: &Context) -> Result<Start, LoadError> {
        let wrong = |problem: String| LoadError::new(FaultClass::MissingExport, problem, "bind another component, or another kind");
        let entry = Entry::new(binding.clone(), 0).map_err(|error| wrong(error.message().to_owned()))?;
        let bound = entry.bound().map_err(wrong)?;
        bound.source.check_config(&binding.config).map_err(|problem| refused_config(bound.source.name(), &problem))?;
        let seen = self.recently_seen(entry.pattern(), bound.kind);
        let before = self.bound_at(&binding.pattern, bound.kind);
        let (done, tried) = oneshot::channel();
        let context = *context;
        let queued = self.registry.builder.run(move || drop(done.send(run(&bound, before.as_deref(), &context, &seen))));
        if !queued {
            return Err(LoadError::new(FaultClass::CompileBusy, "too many policy instances wait to be made", "try again in a moment"));
        }
        let lost = || LoadError::new(FaultClass::Unavailable, "trying a policy out failed inside the host", "see the host's log");
        tried.await.unwrap_or_else(|_| Err(lost()))
    }

    /// What this host has bound to exactly this pattern.
    fn bound_at(&self, pattern: &str, kind: Kind) -> Option<Arc<Bound>> {
        let table = self.registry.table.load();
        let there = |entry: &&Arc<Entry>| entry.binding.kind == kind && entry.binding.pattern == pattern;
        table.entries.iter().rev().filter(there).find_map(|entry| entry.bound().ok())
    }

    /// Recent views of the topics that a pattern matches; where there are none, everyday ones.
    fn recently_seen(&self, pattern: &Pattern, kind: Kind) -> Vec<Seen> {
        let table = self.registry.table.load();
        let entries = table.entries.iter().filter(|entry| entry.binding.kind == kind);
        let sites = entries.flat_map(|entry| entry.sites.lock().values().cloned().collect::<Vec<_>>());
        let views: Vec<_> =
            sites.filter(|site| pattern.matches(&site.topic)).map(|site| (site.topic.clone(), site.recent_views())).collect();
        let nth = |n: usize| views.iter().filter_map(move |(topic, views)| Some((Some(topic.clone()), *views.get(n)?)));
        let mut seen: Vec<Seen> = (0..RECENT_VIEWS).flat_map(nth).take(VIEWS).collect();
        if seen.is_empty() {
            seen.extend(everyday(kind).into_iter().map(|sample| (None, sample)));
        }
        seen
    }
}

fn everyday(kind: Kind) -> Vec<Sample> {
    match kind {
        Kind::Flush => Flush::everyday().into_iter().map(Sample::from).collect(),
        Kind::Index => Index::everyday().into_iter().map(Sample::from).collect(),
        Kind::ReadAhead => ReadAhead::everyday().into_iter().map(Sample::from).collect(),
    }
}

fn run(bound: &Bound, before: Option<&Bound>, context: &Context, seen: &[Seen]) -> Result<Start, LoadError> {
    match bound.kind {
        Kind::Flush => run_kind::<Flush>(bound, before, context, seen),
        Kind::Index => run_kind::<Index>(bound, before, context, seen),
        Kind::ReadAhead => run_kind::<ReadAhead>(bound, before, context, seen),
    }
}

fn run_kind<K: PolicyKind>(bound: &Bound, before: Option<&Bound>, context: &Context, seen: &[Seen]) -> Result<Start, LoadError>
where
    K::View: TryFrom<Sample>,
{
    let name = bound.source.name();
    let make = || make::<K>(bound, context).map_err(|fault| cannot_be_bound(name, &fault));
    let mut policy = make()?;
    for (topic, sample) in seen {
        let Ok(view) = K::View::try_from(*sample) else { continue };
        for tries_left in (0..TRIES).rev() {
            match policy.decide(&view) {
                Ok(_) => break,
                Err(fault) if fault.class.is_deadline() && tries_left > 0 => policy = make()?,
                Err(fault) => return Err(failed_on(name, topic.as_deref(), &fault)),
            }
        }
    }
    Ok(before.map_or(Start::Fresh, |before| rehearse::<K>(before, bound, context, seen)))
}

fn make<K: PolicyKind>(bound: &Bound, context: &Context) -> Result<Box<dyn Policy<K>>, Fault> {
    K::build(bound.source.as_ref(), &InitRequest { topic: "(trial)", config: &bound.config, context })
}

/// A swap of instances that nobody else knows of: the old one is shown what was seen lately, and hands over.
fn rehearse<K: PolicyKind>(before: &Bound, after: &Bound, context: &Context, seen: &[Seen]) -> Start
where
    K::View: TryFrom<Sample>,
{
    let mut start = Start::Fresh;
    for _ in 0..TRIES {
        let (Ok(mut old), Ok(mut new)) = (make::<K>(before, context), make::<K>(after, context)) else { return Start::Fresh };
        let mut views = seen.iter().rev().filter_map(|(_, sample)| K::View::try_from(*sample).ok());
        if views.any(|view| old.decide(&view).is_err()) {
            return Start::Fresh;
        }
        let (from, to) = (&*before.source, &*after.source);
        start = hand_over(Side { policy: &mut *old, source: from }, Side { policy: &mut *new, source: to });
        match &start {
            Start::Cold(fault) | Start::Broken(fault) if fault.class.is_deadline() => {}
            _ => break,
        }
    }
    start
}

fn refused_config(name: &str, problem: &str) -> LoadError {
    let problem = format!("policy {name} cannot be bound: {problem}");
    LoadError::new(FaultClass::ConfigRejected, problem, "mend its config; `tidegate policy config` lists what it takes")
}

fn cannot_be_bound(name: &str, fault: &Fault) -> LoadError {
    LoadError::new(fault.class, format!("policy {name} cannot be bound: {}", fault.message), "mend its config or the policy")
}

fn failed_on(name: &str, topic: Option<&str>, fault: &Fault) -> LoadError {
    let view = topic.map_or_else(|| "an everyday view".to_owned(), |topic| format!("a recent view of topic {topic}"));
    LoadError::new(FaultClass::CanaryFailed, format!("policy {name} failed on {view}: {fault}"), MEND)
}

#[cfg(test)]
mod tests;
