//! A topic's configs with their values and sources.

use std::collections::BTreeMap;

use tidegate::config::{self, Settings, TopicSettings};
use tidegate::metadata::{BindingSet, TopicRecord};
use toml::{Table, Value};

use super::policies::bound;
use super::{Config, Entry, Meaning, Source, Synonym, TOPIC};

/// All configs of a topic, in the order of their names.
pub(crate) fn topic(topic: &TopicRecord, settings: &Settings, bindings: &BindingSet) -> Vec<Entry> {
    let below = config::resolve(settings, &topic.name, &BTreeMap::new()).unwrap_or_else(|_| settings.topic_defaults.clone());
    let view = View { topic, settings, bindings, below: table(&below), defaults: table(&TopicSettings::default()) };
    TOPIC.iter().map(|config| view.entry(config)).collect()
}

struct View<'a> {
    topic: &'a TopicRecord,
    settings: &'a Settings,
    bindings: &'a BindingSet,
    /// What holds where the topic has no settings of its own.
    below: Table,
    defaults: Table,
}

impl View<'_> {
    fn entry(&self, config: &'static Config) -> Entry {
        let mut synonyms = self.synonyms(config);
        let Synonym { value, source, .. } = synonyms.first().expect("there always is a default").clone();
        // Kafka names a default only where a broker has it under a name of its own.
        synonyms.retain(|synonym| synonym.source != Source::Default || !config.broker_name.is_empty());
        Entry {
            name: config.name,
            value,
            source,
            read_only: config.meaning == Meaning::Lanes,
            kind: config.kind.code(),
            documentation: config.documentation,
            synonyms,
        }
    }

    /// From the topic's own value down to the default.
    fn synonyms(&self, config: &'static Config) -> Vec<Synonym> {
        match config.meaning {
            Meaning::Setting(key) => self.setting(config, key),
            Meaning::Kept(default) | Meaning::Only(default) => {
                let own = self.topic.annotations.get(config.name).map(|value| synonym(config.name, value, Source::Topic));
                own.into_iter().chain([inherited(config, default, Source::Default)]).collect()
            }
            Meaning::Lanes => vec![synonym(config.name, &self.topic.lanes.to_string(), Source::Default)],
            Meaning::Policy(kind) => self.bound(config, kind, |bound| bound.policy),
            Meaning::PolicyConfig(kind) => self.bound(config, kind, |bound| bound.config),
        }
    }

    fn setting(&self, config: &'static Config, key: &str) -> Vec<Synonym> {
        let own = self.topic.config.get(key).map(|value| synonym(config.name, value, Source::Topic));
        let (below, default) = (text(&self.below[key]), text(&self.defaults[key]));
        let from_file = (below != default).then(|| inherited(config, &below, Source::SettingsFile));
        own.into_iter().chain(from_file).chain([inherited(config, &default, Source::Default)]).collect()
    }

    fn bound(
        &self,
        config: &'static Config,
        kind: tidegate::types::Kind,
        value: impl Fn(super::policies::Bound) -> String,
    ) -> Vec<Synonym> {
        let all = bound(self.bindings, &self.settings.bindings, &self.topic.name, kind);
        all.into_iter().map(|bound| Synonym { name: config.name, source: bound.source, value: value(bound) }).collect()
    }
}

/// The value of the broker's config of the same meaning.
fn inherited(config: &'static Config, value: &str, source: Source) -> Synonym {
    synonym(if config.broker_name.is_empty() { config.name } else { config.broker_name }, value, source)
}

fn synonym(name: &'static str, value: &str, source: Source) -> Synonym {
    Synonym { name, value: value.to_owned(), source }
}

fn table(settings: &TopicSettings) -> Table {
    Table::try_from(settings).expect("topic settings are a flat table")
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
