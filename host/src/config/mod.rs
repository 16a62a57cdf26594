//! Settings: serde data with defaults that work, one knob each with its trade-off.
//!
//! A file gives host-wide values, defaults for topics, and rules for topics by pattern; a topic's own config
//! (kept in metadata) wins over the rules, the last matching rule over earlier ones, rules over defaults
//! ([`resolve()`]). Every number has a bound ([`Settings::validate`]); what a file gets wrong is named by file,
//! line and key ([`SettingsFile`]).

use serde::{Deserialize, Serialize};

use crate::error::Result;

mod admin;
mod bounds;
mod file;
mod guard;
mod host;
mod pattern;
mod plugins;
mod policy;
mod resolve;
mod store;
mod topic;

pub use admin::AdminSettings;
pub use file::SettingsFile;
pub use guard::{BreakerSettings, GuestLogSettings};
pub use host::HostSettings;
pub use pattern::Pattern;
pub use plugins::{PluginSettings, RegistrySettings, TrustedKey};
pub use policy::{BindingRule, MAX_COMPONENT_BYTES, PolicySettings, WORKER_STACK_BYTES};
pub use resolve::resolve;
pub use store::{S3Settings, StoreSettings};
pub use topic::{Acks, CleanupPolicy, MAX_BATCH_BYTES, MAX_PARTITIONS, MIN_BYTES, TimestampType, TopicRule, TopicSettings};

/// Everything that a host takes from its settings file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where segments and metadata live.
    pub store: StoreSettings,
    /// Memory, concurrency and intervals of the host.
    pub host: HostSettings,
    /// Limits on policies.
    pub policy: PolicySettings,
    /// Where plugins come from, and whose signatures count.
    pub plugins: PluginSettings,
    /// What a topic gets unless a rule or its own config says otherwise.
    pub topic_defaults: TopicSettings,
    /// Per-topic settings by glob; of several that match, the last one wins, field by field.
    #[serde(rename = "topic")]
    pub topic_rules: Vec<TopicRule>,
    /// Policies bound at start by glob, below whatever was bound at run time.
    #[serde(rename = "binding")]
    pub bindings: Vec<BindingRule>,
    /// The admin API.
    pub admin: AdminSettings,
}

impl Settings {
    /// Reads and checks a TOML file that holds these settings and nothing else.
    pub fn load(path: &std::path::Path) -> Result<Self> {
        SettingsFile::read(path)?.settings()
    }

    /// Checks every bound; the error lists all that is wrong, by key.
    pub fn validate(&self) -> Result<()> {
        self.check().into_result()
    }

    fn check(&self) -> bounds::Bounds {
        let mut bounds = bounds::Bounds::default();
        self.store.check(&mut bounds);
        self.host.check(&mut bounds);
        self.policy.check(&mut bounds);
        self.plugins.check(&mut bounds);
        self.topic_defaults.check("topic_defaults", &mut bounds);
        if u64::from(self.topic_defaults.max_batch_bytes) > self.host.buffer_bytes {
            bounds.problem("topic_defaults.max_batch_bytes", "is above host.buffer_bytes: such a batch could never be taken");
        }
        for (at, rule) in self.topic_rules.iter().enumerate() {
            resolve::check_rule(self, at, rule, &mut bounds);
        }
        for (at, rule) in self.bindings.iter().enumerate() {
            rule.check(at, &mut bounds);
        }
        self.admin.check(&mut bounds);
        bounds
    }
}

#[cfg(test)]
mod tests;
