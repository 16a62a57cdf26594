//! The schema of a policy's config: what a plugin says that it takes, and the check of a config against it.
//!
//! A config comes from a settings file, the admin API, a Kafka client or a command line. All of them come to this one check before `init` is
//! called, so that a wrong key is told in the same words everywhere, whatever language the plugin is written in.
//!
//! Served is the part of JSON Schema that configs of policies are made of; a schema that uses more is refused at load, since a keyword that is
//! passed over in silence promises a check that nobody does.
//!
//! | served | |
//! |---|---|
//! | of any value | `type` (one name, or a list of them), `enum`, `const` |
//! | of numbers | `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum` |
//! | of strings | `minLength`, `maxLength`, in characters |
//! | of lists | `items`, `minItems`, `maxItems` |
//! | of objects | `properties`, `required`, `additionalProperties` |
//! | for people only | `title`, `description`, `default`, `examples`, `format`, `deprecated`, `$schema`, `$id`, `$comment` |
//!
//! An integer is written without a fraction (`1`, not `1.0`), as the parsers of configs have it. A schema is at most 16 KiB and a config too: a
//! check is linear in both.

use serde_json::{Map, Value};

mod check;
mod keys;
mod node;
mod show;
#[cfg(test)]
mod tests;

pub use keys::ConfigKey;
use node::Node;

/// Problems that one check tells at most.
const MOST_PROBLEMS: usize = 8;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigSchema {
    root: Node,
}

/// The config that somebody gave: `null` is none, and none is `{}`. Whatever takes a config asks here, so that it means the same everywhere.
pub fn config_or_empty(given: Value) -> Value {
    if given.is_null() { Value::Object(Map::new()) } else { given }
}

impl Default for ConfigSchema {
    /// That of a plugin that takes no config.
    fn default() -> Self {
        Self { root: Node::closed() }
    }
}

impl ConfigSchema {
    /// Reads a schema; an empty text is that of a plugin that takes no config. The error names the place and the keyword.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let schema: Value = serde_json::from_str(text).map_err(|error| format!("its config schema is no JSON: {error}"))?;
        let root = Node::read(&schema, "").map_err(|problem| format!("its config schema {problem}"))?;
        Ok(Self { root })
    }

    /// Checks a [config](config_or_empty). The error names each key that is wrong (the first eight), what it is, and what was expected.
    pub fn check(&self, config: &Value) -> Result<(), String> {
        let mut problems = Vec::new();
        check::object_at_the_top(&self.root, &config_or_empty(config.clone()), &mut problems);
        if problems.is_empty() {
            return Ok(());
        }
        let more = problems.len().saturating_sub(MOST_PROBLEMS);
        problems.truncate(MOST_PROBLEMS);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        Err(problems.join(", ") + &more)
    }

    /// The keys at the top, by name, for people who choose among them.
    pub fn keys(&self) -> Vec<ConfigKey> {
        keys::of(&self.root)
    }

    /// The value that a text stands for at a key: what the schema says that it is, so that `on=true` is a boolean and `name=5` may be a string.
    /// What has no such form is left a string, and refused by [`check`](Self::check).
    pub fn value_of(&self, key: &str, text: &str) -> Value {
        keys::value_of(self.root.property(key), text)
    }
}
