//! What an operator sees of a shadow.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use serde::Serialize;

use super::{Shadow, ShadowCost};
use crate::policy::Kind;
use crate::types::TimestampMs;

/// One shadow and what it has come to on this host.
#[derive(Clone, Debug, Serialize)]
pub struct ShadowStatus {
    /// Pattern over topic names.
    pub pattern: String,
    /// Which decision.
    pub kind: Kind,
    /// Name of the candidate.
    pub plugin: String,
    /// Its version.
    pub version: String,
    /// Its digest.
    pub digest: String,
    /// Its config.
    pub config: serde_json::Value,
    /// Where it came from, for people.
    pub source: String,
    /// Who began it.
    pub by: String,
    /// When.
    pub at_ms: TimestampMs,
    /// Why it was dropped by itself; empty: it runs.
    pub dropped: String,
    /// Lanes or readers that it follows; each has an instance at most.
    pub owners: u64,
    /// Owners that it has no room for.
    pub left_out: u64,
    /// Instances that it holds.
    pub instances: u64,
    /// Times that the candidate was asked.
    pub calls: u64,
    /// Its failures.
    pub faults: u64,
    /// Fields of its answers that were moved into the host's limits.
    pub clamps: u64,
    /// Class of the last fault, such as `call.timeout`; empty: there was none.
    pub last_class: String,
    /// Message of the last fault.
    pub last_message: String,
    /// Events that it was too slow for.
    pub dropped_events: u64,
    /// Comparisons, in all.
    pub compared: u64,
    /// Comparisons by direction: `same`; flush `sooner` or `later`, index `denser` or `sparser`, read-ahead `further` or `nearer`.
    pub directions: BTreeMap<&'static str, u64>,
    /// Cost under the live policy, by the model.
    pub live: ShadowCost,
    /// Cost under the candidate, by the same model.
    pub candidate: ShadowCost,
}

impl Shadow {
    pub(super) fn status(&self) -> ShadowStatus {
        let (start, source) = (&self.start, &self.bound.source);
        let owners = self.queues.lock().len() as u64;
        let state = self.state.lock();
        let last = state.last.as_ref();
        let figures = &state.figures;
        ShadowStatus {
            pattern: start.text.clone(),
            kind: self.bound.kind,
            plugin: source.name().to_owned(),
            version: source.version().to_owned(),
            digest: source.digest().to_owned(),
            config: serde_json::from_str(&self.bound.config).unwrap_or_default(),
            source: start.source.clone(),
            by: start.by.clone(),
            at_ms: start.at_ms,
            dropped: match last.filter(|_| self.has_ended()) {
                Some(fault) => format!("after {} faults, the last {fault}", state.faults),
                None => String::new(),
            },
            owners,
            left_out: self.left_out.load(Relaxed),
            instances: state.instances,
            calls: figures.calls,
            faults: state.faults,
            clamps: figures.clamps,
            last_class: last.map_or_else(String::new, |fault| fault.class.to_string()),
            last_message: last.map_or_else(String::new, |fault| fault.message.clone()),
            dropped_events: figures.dropped,
            compared: figures.directions.values().sum(),
            directions: figures.directions.clone(),
            live: figures.live.cost(),
            candidate: figures.candidate.cost(),
        }
    }
}
