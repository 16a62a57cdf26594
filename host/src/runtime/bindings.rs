//! Which policy decides for which topic: bound by the settings file or at run time, the latter wins.
//!
//! A binding names a component by its digest; the bytes lie in the object store, written before the binding
//! that names them, so that every host can load what it sees. A component that cannot be loaded never takes
//! down what runs: the old policy stays, or the built-in where there was none, and the status says so; the next
//! look at the bindings tries again.
//!
//! ```text
//! requests    set, unset, roll back: checked and tried out side by side
//! turns       in the order of their arrival, for each pattern and kind
//! change      the next set and its history: pure          attempts   what changed nothing
//! components  bytes in the object store                   kept       plugins that went out of use
//! rules       what the settings file binds                named      components by name
//! awaited     rules whose component is not there yet      sources    files, S3, registries
//! shadows     candidates that run beside, on this host
//! ```

mod attempts;
mod awaited;
mod change;
mod components;
mod kept;
mod named;
mod requests;
mod rules;
mod shadows;
mod sources;
mod stable;
mod turns;

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use self::attempts::Attempts;
use self::awaited::Awaited;
pub(super) use self::awaited::FIRST_PAUSE;
use self::components::Components;
use self::kept::Kept;
use self::shadows::Candidates;
use self::sources::Sources;
use self::turns::Turns;
use super::api::BindingChange;
use crate::config::Settings;
use crate::cost::Prices;
use crate::env::Env;
use crate::error::{Error, ErrorKind, Result};
use crate::index::ENTRY_LEN;
use crate::log::Shared;
use crate::metadata::{Binding, BindingSet, Change, SharedMetadata, Versioned};
use crate::metrics::Metrics;
use crate::policy::signature::Trust;
use crate::policy::{ActiveBinding, BindingStatus, Context, PolicyHost, PolicySource};
use crate::types::WINDOW;

/// Attempts to replace the set while others change it too.
const ATTEMPTS: usize = 16;

/// A binding and what it came to on this host.
#[derive(Clone)]
struct Active {
    binding: Binding,
    bound: ActiveBinding,
}

/// What is published.
#[derive(Default)]
struct Published {
    active: Vec<Active>,
    kept: Kept,
}

/// The bindings of a host.
pub(super) struct Bindings {
    env: Env,
    metadata: SharedMetadata,
    metrics: Arc<Metrics>,
    policies: PolicyHost,
    components: Components,
    sources: Sources,
    trust: Trust,
    /// For trying out what is to be bound.
    context: Context,
    /// Of the embedder, then of the settings file: below all others.
    rules: RwLock<Vec<ActiveBinding>>,
    awaited: Mutex<Vec<Awaited>>,
    in_force: RwLock<BindingSet>,
    turns: Arc<Turns>,
    /// Not in the stored history yet.
    attempts: Attempts,
    candidates: Candidates,
    /// What is published, and at the same time the turn of whoever changes it.
    published: tokio::sync::Mutex<Published>,
}

impl Bindings {
    /// Loads what the settings file binds. Nothing of metadata is in force before the first [`refresh`](Self::refresh).
    pub(super) async fn open(
        settings: &Settings,
        shared: &Shared,
        metadata: SharedMetadata,
        policies: PolicyHost,
        own: Vec<ActiveBinding>,
    ) -> Result<Self> {
        let context = trial_context(settings, &shared.prices);
        let sources = Sources::new(settings, shared.env.clone(), shared.metrics.clone());
        let trust = Trust::new(settings.plugins.require_signed, &settings.plugins.trust);
        let loading = rules::Loading { sources: &sources, trust: &trust, policies: &policies, context: &context, metrics: &shared.metrics };
        let mut rules = own;
        let (loaded, awaited) = loading.load(&settings.bindings, rules.len()).await;
        rules.extend(loaded);
        policies.set_bindings(rules.clone())?;
        let bindings = Self {
            env: shared.env.clone(),
            metadata,
            metrics: shared.metrics.clone(),
            components: Components::new(shared.store.clone(), policies.clone(), trust.clone()),
            sources,
            trust,
            policies,
            context,
            rules: RwLock::new(rules),
            awaited: Mutex::default(),
            in_force: RwLock::default(),
            turns: Turns::new(),
            attempts: Attempts::default(),
            candidates: Candidates::default(),
            published: tokio::sync::Mutex::default(),
        };
        bindings.set_awaited(awaited);
        Ok(bindings)
    }

    /// The set in force, without what the settings file binds.
    pub(super) fn in_force(&self) -> BindingSet {
        self.in_force.read().clone()
    }

    /// What became of the bindings, oldest first; with what could not be stored yet.
    pub(super) fn history(&self) -> Vec<Change> {
        let mut history = self.in_force.read().history.clone();
        history.extend(self.attempts.all());
        history
    }

    /// Every binding with its figures, those of the settings file too; their generation is 0.
    pub(super) fn status(&self) -> Vec<BindingStatus> {
        let set = self.in_force.read().clone();
        let (mut status, rules) = (self.policies.status(), self.rules.read().len());
        for (at, status) in status.iter_mut().enumerate() {
            status.generation = if at < rules { 0 } else { generation_of(status, &set) };
        }
        status
    }

    /// Takes over what other hosts changed, and tries again what could not be loaded.
    pub(super) async fn refresh(&self) -> Result<()> {
        let mut published = self.published.lock().await;
        let stored = self.metadata.bindings().await?.value;
        self.adopt(&mut published, stored).await
    }

    /// Replaces the set on the version that was read, as often as others come first. An edit that changes nothing gives `None`; what was
    /// attempted in vain is stored along.
    async fn replace(&self, published: &mut Published, edit: impl Fn(&BindingSet) -> Result<Option<BindingSet>>) -> Result<BindingChange> {
        for _ in 0..ATTEMPTS {
            let stored = self.metadata.bindings().await?;
            let edited = edit(&stored.value)?;
            let attempts = self.attempts.all();
            let changed = edited.is_some();
            if !changed && attempts.is_empty() {
                self.adopt(published, stored.value.clone()).await?;
                return Ok(BindingChange { set: stored.value, changed });
            }
            let mut next = edited.unwrap_or(stored.value);
            let told = attempts.len();
            attempts.into_iter().for_each(|attempt| next.record(attempt));
            match self.metadata.put_bindings(Versioned { value: next.clone(), version: stored.version }).await {
                Ok(()) => {
                    self.attempts.stored(told);
                    self.adopt(published, next.clone()).await?;
                    return Ok(BindingChange { set: next, changed });
                }
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        Err(Error::new(ErrorKind::Busy, format!("the bindings were changed {ATTEMPTS} times meanwhile; try again")))
    }

    /// Puts a set in force; instances hear of it only if it binds something else, or something is still missing.
    async fn adopt(&self, published: &mut Published, set: BindingSet) -> Result<()> {
        let settled = self.in_force.read().bindings == set.bindings && published.active.iter().all(|a| a.bound.plugin.is_ok());
        if !settled {
            self.publish(published, &set.bindings).await?;
        }
        *self.in_force.write() = set;
        Ok(())
    }

    async fn publish(&self, published: &mut Published, bindings: &[Binding]) -> Result<()> {
        let mut next = Vec::with_capacity(bindings.len());
        for binding in bindings {
            self.activate(binding, published, &mut next).await;
        }
        self.put_in_force(&next)?;
        let old = std::mem::replace(&mut published.active, next);
        old.into_iter().filter_map(|a| a.bound.plugin.ok()).for_each(|plugin| published.kept.add(plugin));
        Ok(())
    }

    /// The rules, and above them these bindings.
    fn put_in_force(&self, active: &[Active]) -> Result<()> {
        let all = self.rules.read().iter().chain(active.iter().map(|a| &a.bound)).cloned().collect();
        self.policies.set_bindings(all).map(drop)
    }

    /// Puts what a rule came to in its place; nobody hears of one whose problem is still the same.
    async fn take_rule(&self, at: usize, binding: ActiveBinding) -> Result<()> {
        let published = self.published.lock().await;
        let same = self.rules.read()[at].plugin.as_ref().err() == binding.plugin.as_ref().err();
        if binding.plugin.is_err() && same {
            return Ok(());
        }
        self.rules.write()[at] = binding;
        self.put_in_force(&published.active)
    }

    /// Adds a binding; if it cannot be loaded, its problem, and above that what it was to replace.
    async fn activate(&self, binding: &Binding, published: &Published, next: &mut Vec<Active>) {
        let plugin = match self.loaded(published, binding) {
            Some(plugin) => Ok(plugin),
            None => self.components.load(binding).await,
        };
        if let Err(problem) = &plugin {
            self.metrics.runtime.binding_failures.inc();
            tracing::error!(pattern = binding.pattern, kind = %binding.kind, digest = binding.digest, problem, "a policy cannot be loaded");
        }
        let failed = plugin.is_err();
        next.push(Active { binding: binding.clone(), bound: active(binding, plugin) });
        if failed {
            let same = |a: &&Active| a.binding.pattern == binding.pattern && a.binding.kind == binding.kind;
            next.extend(published.active.iter().filter(|a| a.bound.plugin.is_ok()).filter(same).cloned());
        }
    }

    /// The plugin of a binding if this process has it, in use or not: then neither store nor compiler is needed.
    fn loaded(&self, published: &Published, binding: &Binding) -> Option<Arc<dyn PolicySource>> {
        let rules = self.rules.read();
        let bound = rules.iter().chain(published.active.iter().map(|a| &a.bound));
        let in_use = bound.filter_map(|b| b.plugin.as_ref().ok()).find(|plugin| plugin.digest() == binding.digest).cloned();
        in_use.or_else(|| published.kept.find(&binding.digest)).filter(|plugin| plugin.kinds().contains(&binding.kind))
    }
}

fn active(binding: &Binding, plugin: Result<Arc<dyn PolicySource>, String>) -> ActiveBinding {
    ActiveBinding {
        pattern: binding.pattern.clone(),
        kind: binding.kind,
        plugin,
        config: binding.config.clone(),
        source: binding.source.clone(),
    }
}

/// The generation that bound what a status is about; of what stays only because its successor cannot be loaded, from the history.
fn generation_of(status: &BindingStatus, set: &BindingSet) -> u64 {
    let place = |pattern: &str, kind| pattern == status.pattern && kind == status.kind;
    let is = |digest: &str| status.digest.is_empty() || digest == status.digest;
    let bound = set.bindings.iter().find(|b| place(&b.pattern, b.kind) && is(&b.digest)).map(|b| b.generation);
    let told = || set.history.iter().rfind(|c| c.action.is_change() && place(&c.pattern, c.kind) && is(&c.digest)).map(|c| c.generation);
    bound.or_else(told).unwrap_or(0)
}

/// A small topic under the defaults.
fn trial_context(settings: &Settings, prices: &Prices) -> Context {
    Context {
        topic_partitions: 1,
        lane_partitions: 1,
        lanes: 1,
        window: WINDOW as u32,
        max_segment_bytes: settings.topic_defaults.max_segment_bytes,
        max_age_us: settings.topic_defaults.max_age_ms * 1_000,
        index_entry_bytes: ENTRY_LEN as u32,
        cache_bytes: settings.host.cache_bytes,
        read_ahead_slices: settings.topic_defaults.read_ahead_segments,
        put_price_nano: prices.put_nano,
        get_price_nano: prices.get_nano,
    }
}
