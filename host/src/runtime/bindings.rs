//! Which policy decides for which topic: bound by the settings file or at run time, the latter wins.
//!
//! A binding names a component by its digest; the bytes lie in the object store, written before the binding
//! that names them, so that every host can load what it sees. A component that cannot be loaded never takes
//! down what runs: the old policy stays, or the built-in where there was none, and the status says so; the next
//! look at the bindings tries again.

mod change;
mod components;
mod rules;

use std::sync::Arc;

use parking_lot::RwLock;

use self::components::Components;
use super::api::Bind;
use crate::config::{Pattern, Settings};
use crate::env::Env;
use crate::error::{Error, ErrorKind, Result};
use crate::index::ENTRY_LEN;
use crate::log::Shared;
use crate::metadata::{Binding, BindingSet, SharedMetadata, Versioned};
use crate::metrics::Metrics;
use crate::policy::{ActiveBinding, BindingStatus, Context, Kind, PolicyHost};
use crate::types::WINDOW;

/// Attempts to replace the set while others change it too.
const ATTEMPTS: usize = 16;

/// A binding and what it came to on this host.
#[derive(Clone)]
struct Active {
    binding: Binding,
    bound: ActiveBinding,
}

/// The bindings of a host.
pub(super) struct Bindings {
    env: Env,
    metadata: SharedMetadata,
    metrics: Arc<Metrics>,
    policies: PolicyHost,
    components: Components,
    /// For trying out what is to be bound.
    context: Context,
    /// Of the settings file: below all others.
    rules: Vec<ActiveBinding>,
    in_force: RwLock<BindingSet>,
    /// What is published, and at the same time the turn of whoever changes it.
    active: tokio::sync::Mutex<Vec<Active>>,
}

impl Bindings {
    /// Loads what the settings file binds. Nothing of metadata is in force before the first [`refresh`](Self::refresh).
    pub(super) async fn open(settings: &Settings, shared: &Shared, metadata: SharedMetadata, policies: PolicyHost) -> Result<Self> {
        let rules = rules::load(settings, &policies, &shared.metrics).await;
        policies.set_bindings(rules.clone())?;
        Ok(Self {
            env: shared.env.clone(),
            metadata,
            metrics: shared.metrics.clone(),
            components: Components::new(shared.store.clone(), policies.clone()),
            policies,
            context: trial_context(settings),
            rules,
            in_force: RwLock::default(),
            active: tokio::sync::Mutex::default(),
        })
    }

    /// The set in force, without what the settings file binds.
    pub(super) fn in_force(&self) -> BindingSet {
        self.in_force.read().clone()
    }

    /// Every binding with its figures, those of the settings file too.
    pub(super) fn status(&self) -> Vec<BindingStatus> {
        self.policies.status()
    }

    /// Checks, stores and binds.
    pub(super) async fn bind(&self, bind: Bind) -> Result<BindingSet> {
        Pattern::new(&bind.pattern)?;
        let plugin = self.policies.check_and_load(bind.component.clone()).await?;
        let trial = ActiveBinding {
            pattern: bind.pattern.clone(),
            kind: bind.kind,
            plugin: Ok(plugin),
            config: bind.config.clone(),
            source: bind.source.clone(),
        };
        self.policies.try_binding(&trial, &self.context).await?;
        let digest = self.components.keep(bind.component).await?;
        let binding = Binding {
            pattern: bind.pattern,
            kind: bind.kind,
            digest,
            source: bind.source,
            config: bind.config,
            by: bind.by,
            at_ms: self.env.unix_ms(),
        };
        self.change(|set| Ok(change::with(set, &binding))).await
    }

    /// Removes the binding of exactly this pattern and kind.
    pub(super) async fn unbind(&self, pattern: &str, kind: Kind, by: &str) -> Result<BindingSet> {
        let set = self.change(|set| change::without(set, pattern, kind).map(Some)).await?;
        tracing::info!(pattern, %kind, by, "a policy was unbound");
        Ok(set)
    }

    /// Takes over what other hosts changed, and tries again what could not be loaded.
    pub(super) async fn refresh(&self) -> Result<()> {
        let mut active = self.active.lock().await;
        let stored = self.metadata.bindings().await?.value;
        let settled = *self.in_force.read() == stored && active.iter().all(|a| a.bound.plugin.is_ok());
        if settled { Ok(()) } else { self.publish(&mut active, stored).await }
    }

    /// Replaces the set on the version that was read, as often as others come first. An edit that changes nothing gives `None`.
    async fn change(&self, edit: impl Fn(&BindingSet) -> Result<Option<BindingSet>>) -> Result<BindingSet> {
        let mut active = self.active.lock().await;
        for _ in 0..ATTEMPTS {
            let stored = self.metadata.bindings().await?;
            let Some(next) = edit(&stored.value)? else {
                self.publish(&mut active, stored.value.clone()).await?;
                return Ok(stored.value);
            };
            match self.metadata.put_bindings(Versioned { value: next.clone(), version: stored.version }).await {
                Ok(()) => {
                    self.publish(&mut active, next.clone()).await?;
                    return Ok(next);
                }
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        Err(Error::new(ErrorKind::Busy, format!("the bindings were changed {ATTEMPTS} times meanwhile; try again")))
    }

    async fn publish(&self, active: &mut Vec<Active>, set: BindingSet) -> Result<()> {
        let mut next = Vec::with_capacity(set.bindings.len());
        for binding in &set.bindings {
            self.activate(binding, active, &mut next).await;
        }
        let all = self.rules.iter().chain(next.iter().map(|a| &a.bound)).cloned().collect();
        self.policies.set_bindings(all)?;
        *active = next;
        *self.in_force.write() = set;
        Ok(())
    }

    /// Adds a binding; if it cannot be loaded, its problem, and above that what it was to replace.
    async fn activate(&self, binding: &Binding, before: &[Active], next: &mut Vec<Active>) {
        let loaded = |a: &&Active| a.bound.plugin.is_ok();
        let same = |a: &&Active| a.binding.pattern == binding.pattern && a.binding.kind == binding.kind;
        let unchanged = |a: &&Active| a.binding.digest == binding.digest && a.binding.config == binding.config;
        if let Some(known) = before.iter().filter(loaded).filter(same).find(unchanged) {
            next.push(Active { binding: binding.clone(), bound: known.bound.clone() });
            return;
        }
        let plugin = self.components.load(binding).await;
        if let Err(problem) = &plugin {
            self.metrics.runtime.binding_failures.inc();
            tracing::error!(pattern = binding.pattern, kind = %binding.kind, digest = binding.digest, problem, "a policy cannot be loaded");
        }
        let failed = plugin.is_err();
        let bound = ActiveBinding {
            pattern: binding.pattern.clone(),
            kind: binding.kind,
            plugin,
            config: binding.config.clone(),
            source: binding.source.clone(),
        };
        next.push(Active { binding: binding.clone(), bound });
        if failed {
            next.extend(before.iter().filter(loaded).filter(same).cloned());
        }
    }
}

/// A small topic under the defaults.
fn trial_context(settings: &Settings) -> Context {
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
        put_price_nano: 0,
        get_price_nano: 0,
    }
}
