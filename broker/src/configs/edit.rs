//! A client's changes of a topic's configs, checked and applied to its record: pure. Those that bind policies are handed on.

use std::collections::{BTreeMap, BTreeSet};

use kafka_protocol::ResponseError;
use tidegate::metadata::TopicRecord;
use tidegate::runtime::TopicSpec;
use tidegate::types::TopicName;

use super::policies::PolicyChange;
use super::value::Type;
use super::{Config, Meaning, TOPIC, find};
use crate::topics::Refusal;

/// What is to be done with a config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Set(String),
    /// Back to its default.
    Delete,
    /// Adds to a list.
    Append(String),
    /// Takes out of a list.
    Subtract(String),
}

/// A change of a config that exists, its value checked.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) config: &'static Config,
    pub(crate) op: Op,
}

/// What a topic has of its own, by name.
type Own = BTreeMap<String, String>;

/// All changes of one topic.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes(Vec<Change>);

impl Changes {
    /// Checks names and values. Each name may come once.
    pub(crate) fn checked(asked: impl IntoIterator<Item = (String, Op)>) -> Result<Self, Refusal> {
        let (mut changes, mut names) = (Vec::new(), BTreeSet::new());
        for (name, op) in asked {
            let config = find(&name).ok_or_else(|| unknown(&name))?;
            if !names.insert(name) {
                let message = format!("config {} is changed twice in one request", config.name);
                return Err(Refusal::new(ResponseError::InvalidRequest, message));
            }
            check(config, &op)?;
            changes.push(Change { config, op });
        }
        Ok(Self(changes))
    }

    /// The changes that leave a topic with exactly these configs, and no others of its own.
    pub(crate) fn replacing(mut self) -> Self {
        let named: BTreeSet<&str> = self.0.iter().map(|change| change.config.name).collect();
        let others = TOPIC.iter().filter(|config| config.meaning != Meaning::Lanes && !named.contains(config.name));
        let deleted: Vec<Change> = others.map(|config| Change { config, op: Op::Delete }).collect();
        self.0.extend(deleted);
        self
    }

    /// Applies to a topic what is not a policy.
    pub(crate) fn apply(&self, topic: &mut TopicRecord) -> Result<(), Refusal> {
        if let Some(change) = self.0.iter().find(|change| change.config.meaning == Meaning::Lanes) {
            return Err(fixed_lanes(change.config, topic.lanes));
        }
        self.apply_to(&mut topic.config, &mut topic.annotations)
    }

    /// What a topic that is being created asks for, without its policies.
    pub(crate) fn into_spec(self, name: TopicName) -> Result<TopicSpec, Refusal> {
        let mut spec = TopicSpec::named(name);
        let lanes = self.0.iter().find(|change| change.config.meaning == Meaning::Lanes);
        if let Some(Change { op: Op::Set(lanes), .. }) = lanes {
            spec.lanes = lanes.parse().ok();
        }
        self.apply_to(&mut spec.config, &mut spec.annotations)?;
        Ok(spec)
    }

    fn apply_to(&self, settings: &mut Own, annotations: &mut Own) -> Result<(), Refusal> {
        for Change { config, op } in &self.0 {
            match config.meaning {
                Meaning::Setting(key) => apply(config, key, op, settings)?,
                Meaning::Kept(_) | Meaning::Only(_) => apply(config, config.name, op, annotations)?,
                Meaning::Lanes | Meaning::Policy(_) | Meaning::PolicyConfig(_) => {}
            }
        }
        Ok(())
    }

    /// What is asked of policies, by kind.
    pub(crate) fn policies(&self) -> Vec<PolicyChange> {
        tidegate::types::Kind::ALL.into_iter().filter_map(|kind| PolicyChange::of(kind, &self.0)).collect()
    }
}

fn apply(config: &Config, key: &str, op: &Op, own: &mut Own) -> Result<(), Refusal> {
    let value = match op {
        Op::Set(value) => value.clone(),
        Op::Delete => {
            own.remove(key);
            return Ok(());
        }
        Op::Append(words) => list_of(config, own.get(key)).with(words),
        Op::Subtract(words) => list_of(config, own.get(key)).without(words),
    };
    check_value(config, &value)?;
    own.insert(key.to_owned(), value);
    Ok(())
}

/// A config's list as it is, or its default.
fn list_of(config: &Config, own: Option<&String>) -> Words {
    let default = match config.meaning {
        Meaning::Kept(default) | Meaning::Only(default) => default,
        _ => "delete",
    };
    Words(own.map_or(default, String::as_str).split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect())
}

struct Words(Vec<String>);

impl Words {
    fn with(mut self, words: &str) -> String {
        for word in words.split(',').map(str::trim) {
            if !self.0.iter().any(|there| there == word) {
                self.0.push(word.to_owned());
            }
        }
        self.0.join(",")
    }

    fn without(mut self, words: &str) -> String {
        self.0.retain(|there| !words.split(',').any(|word| word.trim() == there));
        self.0.join(",")
    }
}

fn check(config: &'static Config, op: &Op) -> Result<(), Refusal> {
    match op {
        Op::Set(value) => check_value(config, value),
        Op::Delete => Ok(()),
        Op::Append(_) | Op::Subtract(_) if matches!(config.kind, Type::List(_)) => Ok(()),
        Op::Append(_) | Op::Subtract(_) => {
            let message = format!("config {} is no list: set it as a whole", config.name);
            Err(Refusal::new(ResponseError::InvalidConfig, message))
        }
    }
}

fn check_value(config: &Config, value: &str) -> Result<(), Refusal> {
    if config.kind.takes(value) {
        return Ok(());
    }
    let shown: String = value.chars().take(100).collect();
    let remedy = match config.meaning {
        Meaning::Only(_) => config.documentation,
        _ => "Choose a value within the range, or delete the config for its default.",
    };
    let message = format!("{} is {shown:?}, expected {}. {remedy}", config.name, config.kind.range());
    Err(Refusal::new(ResponseError::InvalidConfig, message))
}

fn unknown(name: &str) -> Refusal {
    let shown: String = name.chars().take(100).collect();
    let message = format!("{shown:?} is no config of a topic here; `kafka-configs --describe --all` lists those that there are");
    Refusal::new(ResponseError::InvalidConfig, message)
}

fn fixed_lanes(config: &Config, lanes: u32) -> Refusal {
    let message = format!("{} is {lanes}, fixed when the topic was created; create another topic", config.name);
    Refusal::new(ResponseError::InvalidConfig, message)
}

#[cfg(test)]
mod tests {
    use tidegate::types::TopicId;

    use super::*;

    fn topic() -> TopicRecord {
        TopicRecord {
            id: TopicId(uuid::Uuid::nil()),
            name: TopicName::new("t").unwrap(),
            partitions: 1,
            lanes: 1,
            config: BTreeMap::from([("retention_ms".to_owned(), "5".to_owned())]),
            annotations: BTreeMap::from([("segment.ms".to_owned(), "7".to_owned())]),
            created_ms: 0,
            revision: 0,
        }
    }

    fn set(name: &str, value: &str) -> (String, Op) {
        (name.to_owned(), Op::Set(value.to_owned()))
    }

    fn applied(asked: Vec<(String, Op)>) -> Result<TopicRecord, Refusal> {
        let mut topic = topic();
        Changes::checked(asked)?.apply(&mut topic)?;
        Ok(topic)
    }

    #[test]
    fn what_means_something_here_becomes_a_setting_and_what_does_not_is_kept_or_refused() {
        let topic = applied(vec![set("retention.ms", "9"), set("min.insync.replicas", "2"), set("compression.type", "producer")]).unwrap();
        assert_eq!(topic.config["retention_ms"], "9");
        assert_eq!(topic.annotations["min.insync.replicas"], "2");
        for (name, value) in [
            ("compression.type", "zstd"),
            ("remote.storage.enable", "true"),
            ("message.timestamp.after.max.ms", "1"),
            ("retention_ms", "1"),
        ] {
            assert_eq!(applied(vec![set(name, value)]).unwrap_err().code, ResponseError::InvalidConfig, "{name}");
        }
    }

    #[test]
    fn a_bad_value_is_refused_with_its_key_its_range_and_what_to_do() {
        let message = applied(vec![set("segment.bytes", "1073741824")]).unwrap_err().message;
        for part in ["segment.bytes", "\"1073741824\"", "1024 to 268435456", "Choose a value"] {
            assert!(message.contains(part), "{part} is missing in: {message}");
        }
    }

    #[test]
    fn lists_grow_and_shrink_from_where_they_are() {
        let change = |op| applied(vec![("cleanup.policy".to_owned(), op)]).map(|topic| topic.config["cleanup_policy"].clone());
        assert_eq!(change(Op::Append("compact".into())).unwrap(), "delete,compact");
        assert_eq!(change(Op::Append("delete".into())).unwrap(), "delete");
        assert_eq!(change(Op::Subtract("delete".into())).unwrap(), "");
        assert_eq!(change(Op::Append("shred".into())).unwrap_err().code, ResponseError::InvalidConfig);
        let number = applied(vec![("retention.ms".to_owned(), Op::Append("1".into()))]);
        assert_eq!(number.unwrap_err().code, ResponseError::InvalidConfig);
    }

    #[test]
    fn a_replacement_takes_away_what_it_does_not_name() {
        let mut topic = topic();
        Changes::checked(vec![set("retention.bytes", "100")]).unwrap().replacing().apply(&mut topic).unwrap();
        assert_eq!(topic.config, BTreeMap::from([("retention_bytes".to_owned(), "100".to_owned())]));
        assert_eq!(topic.annotations, BTreeMap::new());
    }

    #[test]
    fn lanes_are_for_a_creation_alone() {
        let changes = Changes::checked(vec![set("tidegate.lanes", "3"), set("retention.ms", "1")]).unwrap();
        assert_eq!(changes.apply(&mut topic()).unwrap_err().code, ResponseError::InvalidConfig);
        let spec = changes.into_spec(TopicName::new("t").unwrap()).unwrap();
        assert_eq!((spec.lanes, spec.config.len()), (Some(3), 1));
    }

    #[test]
    fn one_name_twice_is_refused() {
        assert_eq!(applied(vec![set("retention.ms", "1"), set("retention.ms", "2")]).unwrap_err().code, ResponseError::InvalidRequest);
    }
}
