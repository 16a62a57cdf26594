//! A table of bindings: patterns over topic names, in order of precedence.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::config::Pattern;
use crate::error::{Error, ErrorKind, Result};
use crate::policy::Kind;
use crate::policy::config_schema::config_or_empty;
use crate::policy::guard::{Bound, Site, Surroundings};
use crate::policy::kinds::PolicySource;

/// Topics of one binding whose figures are kept apart; those beyond share one site.
const MAX_SITES: usize = 10_000;
/// Name under which the topics beyond are kept.
const OTHER_TOPICS: &str = "(other topics)";

/// A policy bound to the topics that match a pattern.
#[derive(Clone)]
pub struct ActiveBinding {
    /// Pattern over topic names; see [`Pattern`].
    pub pattern: String,
    /// Which decision.
    pub kind: Kind,
    /// The policy, or why this host does not have it: then the built-in decides, and the status says so.
    pub plugin: Result<Arc<dyn PolicySource>, String>,
    /// JSON passed to `init`; `null` counts as `{}`.
    pub config: serde_json::Value,
    /// Where it came from, for people.
    pub source: String,
}

impl ActiveBinding {
    pub(super) fn name(&self) -> &str {
        self.plugin.as_ref().map_or(self.source.as_str(), |plugin| plugin.name())
    }
}

impl std::fmt::Debug for ActiveBinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} for {:?}: {}", self.kind, self.pattern, self.name())
    }
}

/// One binding in force.
pub(super) struct Entry {
    pub(super) binding: ActiveBinding,
    /// Generation of the set that it first was in.
    pub(super) generation: u64,
    pub(super) sites: Mutex<BTreeMap<Arc<str>, Arc<Site>>>,
    pattern: Pattern,
    bound: Result<Arc<Bound>, String>,
}

impl Entry {
    pub(super) fn new(binding: ActiveBinding, generation: u64) -> Result<Self> {
        let invalid = |problem: String| Error::new(ErrorKind::InvalidInput, problem);
        let pattern = Pattern::new(&binding.pattern)?;
        let bound = match &binding.plugin {
            Err(problem) => Err(problem.clone()),
            Ok(plugin) if !plugin.kinds().contains(&binding.kind) => {
                let kinds: Vec<&str> = plugin.kinds().into_iter().map(Kind::as_str).collect();
                let (name, kind) = (plugin.name(), binding.kind);
                return Err(invalid(format!("policy {name} decides {}, not {kind}: bind it to what it decides", kinds.join(", "))));
            }
            Ok(plugin) => Ok(Arc::new(Bound {
                kind: binding.kind,
                source: plugin.clone(),
                config: config_or_empty(binding.config.clone()).to_string(),
            })),
        };
        Ok(Self { pattern, binding, generation, sites: Mutex::default(), bound })
    }

    pub(super) fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    pub(super) fn bound(&self) -> Result<Arc<Bound>, String> {
        self.bound.clone()
    }

    /// The site of a topic; `None` if this host does not have the plugin.
    pub(super) fn site(&self, topic: &Arc<str>, around: &Arc<Surroundings>) -> Option<Arc<Site>> {
        let bound = self.bound.as_ref().ok()?;
        let mut sites = self.sites.lock();
        if let Some(site) = sites.get(topic) {
            return Some(site.clone());
        }
        let topic = if sites.len() < MAX_SITES { topic.clone() } else { OTHER_TOPICS.into() };
        let new = || Arc::new(Site::new(bound.clone(), topic.clone(), around.clone()));
        Some(sites.entry(topic.clone()).or_insert_with(new).clone())
    }

    fn is_same(&self, other: &ActiveBinding) -> bool {
        let digest = |binding: &ActiveBinding| binding.plugin.as_ref().map(|plugin| plugin.digest().to_owned()).map_err(Clone::clone);
        let mine = &self.binding;
        mine.pattern == other.pattern && mine.kind == other.kind && mine.config == other.config && digest(mine) == digest(other)
    }
}

/// All bindings in force, in order of precedence: the last that matches wins.
#[derive(Default)]
pub(super) struct Table {
    pub(super) generation: u64,
    pub(super) entries: Vec<Arc<Entry>>,
}

impl Table {
    /// A table that keeps the entries of `old` whose binding did not change.
    pub(super) fn new(bindings: Vec<ActiveBinding>, generation: u64, old: &Table) -> Result<Self> {
        let mut kept: Vec<Option<Arc<Entry>>> = old.entries.iter().cloned().map(Some).collect();
        let mut take = |binding: &ActiveBinding| kept.iter_mut().find_map(|slot| slot.take_if(|entry| entry.is_same(binding)));
        let entry = |binding: ActiveBinding| match take(&binding) {
            Some(entry) => Ok(entry),
            None => Entry::new(binding, generation).map(Arc::new),
        };
        Ok(Self { generation, entries: bindings.into_iter().map(entry).collect::<Result<_>>()? })
    }

    pub(super) fn position(&self, kind: Kind, topic: &str) -> Option<usize> {
        self.entries.iter().rposition(|entry| entry.binding.kind == kind && entry.pattern.matches(topic))
    }
}
