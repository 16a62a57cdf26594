//! What an operator sees of each binding.

use serde::Serialize;

use super::binding::Entry;
use crate::policy::Kind;
use crate::policy::guard::{BreakerState, SiteFigures, Warning};

/// Topics listed by name, the most troubled first.
const LISTED_TOPICS: usize = 100;

/// One binding and its figures since it was bound on this host.
#[derive(Clone, Debug, Serialize)]
pub struct BindingStatus {
    /// Glob over topic names.
    pub pattern: String,
    /// Which decision.
    pub kind: Kind,
    /// Name of the plugin.
    pub plugin: String,
    /// Version of the plugin; empty if this host does not have it.
    pub version: String,
    /// Digest of the plugin; empty if this host does not have it.
    pub digest: String,
    /// Where it came from, for people.
    pub source: String,
    /// Generation of the set that it first was in.
    pub generation: u64,
    /// Why the built-in decides in places where this binding should; empty: it does not.
    pub degraded: String,
    /// The figures of all topics together.
    #[serde(flatten)]
    pub total: TopicStatus,
    /// The topics where it is used; at most 100, those with faults first.
    pub topics: Vec<TopicStatus>,
}

/// The figures of one binding in one topic.
#[derive(Clone, Debug, Serialize)]
pub struct TopicStatus {
    /// Name of the topic; empty for a sum.
    pub topic: String,
    /// Times that the policy was asked.
    pub calls: u64,
    /// Failures, of making an instance too.
    pub faults: u64,
    /// Answers that the built-in gave in its place, while an instance was being made too.
    pub fallbacks: u64,
    /// Fields of answers that were moved into the host's limits.
    pub clamps: u64,
    /// Longest call among those timed, in microseconds.
    pub slowest_us: u64,
    /// Instances that are held now; an owner that is idle holds none.
    pub instances: u64,
    /// Instances that took over, at a swap, what the ones before had learned.
    pub warm: u64,
    /// Instances that could not; others had nothing to take over.
    pub cold: u64,
    /// Class of the last reason, such as `swap.state_refused`, and its message; empty: none started cold.
    pub cold_reason: String,
    /// What it costs too much by, such as `thrashing` or `slow`, in the last minute.
    pub warnings: Vec<&'static str>,
    /// Whether the policy is asked; of a sum, the worst.
    pub breaker: BreakerState,
    /// Class of the last fault, such as `call.timeout`; empty if there was none.
    pub last_class: String,
    /// Message of the last fault.
    pub last_message: String,
}

impl Entry {
    pub(super) fn status(&self) -> BindingStatus {
        let sites: Vec<_> = self.sites.lock().values().cloned().collect();
        let mut topics: Vec<TopicStatus> = sites.iter().map(|site| TopicStatus::new(&site.topic, site.figures())).collect();
        topics.sort_by_key(|topic| (std::cmp::Reverse((topic.breaker, topic.faults)), topic.topic.clone()));
        let total = TopicStatus::sum(&topics);
        topics.truncate(LISTED_TOPICS);
        let binding = &self.binding;
        let plugin = binding.plugin.as_ref().ok();
        BindingStatus {
            pattern: binding.pattern.clone(),
            kind: binding.kind,
            plugin: binding.name().to_owned(),
            version: plugin.map_or_else(String::new, |plugin| plugin.version().to_owned()),
            digest: plugin.map_or_else(String::new, |plugin| plugin.digest().to_owned()),
            source: binding.source.clone(),
            generation: self.generation,
            degraded: binding.plugin.as_ref().err().cloned().unwrap_or_else(|| total.trouble()),
            total,
            topics,
        }
    }
}

impl TopicStatus {
    fn new(topic: &str, figures: SiteFigures) -> Self {
        let (class, message) = figures.last.map_or_else(Default::default, |fault| (fault.class.to_string(), fault.message));
        Self {
            topic: topic.to_owned(),
            calls: figures.calls,
            faults: figures.faults,
            fallbacks: figures.fallbacks,
            clamps: figures.clamps,
            slowest_us: figures.slowest_us,
            instances: figures.instances,
            warm: figures.warm,
            cold: figures.cold,
            cold_reason: figures.cold_reason.map_or_else(String::new, |fault| fault.to_string()),
            warnings: figures.warnings.into_iter().map(Warning::as_str).collect(),
            breaker: figures.breaker,
            last_class: class,
            last_message: message,
        }
    }

    /// `topics` come with the most troubled first.
    fn sum(topics: &[TopicStatus]) -> Self {
        let total = |figure: fn(&TopicStatus) -> u64| topics.iter().map(figure).sum();
        let worst = topics.first();
        Self {
            topic: String::new(),
            calls: total(|topic| topic.calls),
            faults: total(|topic| topic.faults),
            fallbacks: total(|topic| topic.fallbacks),
            clamps: total(|topic| topic.clamps),
            slowest_us: topics.iter().map(|topic| topic.slowest_us).max().unwrap_or(0),
            instances: total(|topic| topic.instances),
            warm: total(|topic| topic.warm),
            cold: total(|topic| topic.cold),
            cold_reason: topics.iter().map(|topic| &topic.cold_reason).find(|reason| !reason.is_empty()).cloned().unwrap_or_default(),
            warnings: {
                let told = |warning: &&str| topics.iter().any(|topic| topic.warnings.contains(warning));
                Warning::ALL.into_iter().map(Warning::as_str).filter(told).collect()
            },
            breaker: worst.map_or(BreakerState::Closed, |topic| topic.breaker),
            last_class: worst.map_or_else(String::new, |topic| topic.last_class.clone()),
            last_message: worst.map_or_else(String::new, |topic| topic.last_message.clone()),
        }
    }

    fn trouble(&self) -> String {
        match self.breaker {
            BreakerState::Closed => String::new(),
            BreakerState::Probing => format!("recovering from {}: {}", self.last_class, self.last_message),
            BreakerState::Open => format!("quarantined after {}: {}", self.last_class, self.last_message),
        }
    }
}
