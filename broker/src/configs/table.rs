//! The configs of a topic, in the order of their names. docs/kafka.md shows this table; a test compares the two.

use tidegate::config::{MAX_BATCH_BYTES, MIN_BYTES};
use tidegate::types::{Kind, MAX_SEGMENT_BYTES};

use super::value::{BOOLEAN, LIST, LONG, Type};

/// One config of a topic.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) name: &'static str,
    pub(crate) kind: Type,
    pub(crate) meaning: Meaning,
    /// Kafka's name of the same config of a broker; empty if there is none, or none with a default.
    pub(crate) broker_name: &'static str,
    /// What it does here.
    pub(crate) documentation: &'static str,
}

/// What a config means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// It is this setting of the host.
    Setting(&'static str),
    /// It is kept and shown, and has no effect; its default.
    Kept(&'static str),
    /// Only its default is taken: another value would ask for what is not done.
    Only(&'static str),
    /// The number of lanes, set when a topic is created.
    Lanes,
    /// Binds a policy.
    Policy(Kind),
    /// What a policy's `init` gets.
    PolicyConfig(Kind),
}

impl Meaning {
    /// In one word, as docs/kafka.md says it.
    #[cfg(test)]
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Setting(_) => "setting",
            Self::Kept(_) => "kept",
            Self::Only(_) => "fixed",
            Self::Lanes => "creation",
            Self::Policy(_) | Self::PolicyConfig(_) => "policy",
        }
    }
}

/// The row of a name.
pub(crate) fn find(name: &str) -> Option<&'static Config> {
    TOPIC.binary_search_by(|config| config.name.cmp(name)).ok().map(|at| &TOPIC[at])
}

const FOREVER: &str = "9223372036854775807";
const NATURAL: Type = Type::Long(0, i64::MAX);
const POSITIVE: Type = Type::Long(1, i64::MAX);
const LIMIT: Type = Type::Long(-1, i64::MAX);
const BATCH: Type = Type::Int(MIN_BYTES as i64, MAX_BATCH_BYTES as i64);
const SEGMENT: Type = Type::Int(MIN_BYTES as i64, MAX_SEGMENT_BYTES as i64);
const HOUR_MS: i64 = 3_600_000;

const fn config(name: &'static str, kind: Type, meaning: Meaning, broker_name: &'static str, documentation: &'static str) -> Config {
    Config { name, kind, meaning, broker_name, documentation }
}

const fn setting(name: &'static str, kind: Type, host: &'static str, broker_name: &'static str, documentation: &'static str) -> Config {
    config(name, kind, Meaning::Setting(host), broker_name, documentation)
}

const fn kept(name: &'static str, kind: Type, default: &'static str, broker_name: &'static str, documentation: &'static str) -> Config {
    config(name, kind, Meaning::Kept(default), broker_name, documentation)
}

const fn only(name: &'static str, kind: i8, value: &'static str, broker_name: &'static str, documentation: &'static str) -> Config {
    config(name, Type::Only(value, kind), Meaning::Only(value), broker_name, documentation)
}

const fn policy(name: &'static str, kind: Kind, documentation: &'static str) -> Config {
    config(name, Type::Text, Meaning::Policy(kind), "", documentation)
}

const fn policy_config(name: &'static str, kind: Kind, documentation: &'static str) -> Config {
    config(name, Type::Text, Meaning::PolicyConfig(kind), "", documentation)
}

const POLICY: &str = "Name of a policy in policy.directory, or digest of a stored one; `builtin` is what decides where nothing is bound.";
const POLICY_CONFIG: &str = "JSON object that the policy of this topic is initialised with.";
const NO_COMPACTION: &str = "Records are not compacted here.";
const NO_LOCAL_FILES: &str = "Segments are objects in the store; when they are written is the flush policy's decision.";
const AS_SENT: &str = "Batches are stored as the producer compressed them.";
const NO_REPLICAS: &str = "Replication is the object store's.";
const ONE_TIER: &str = "The object store is the storage itself: there is no second tier.";

/// All configs of a topic, by name.
pub(crate) static TOPIC: [Config; 49] = [
    setting(
        "cleanup.policy",
        Type::List(&["delete", "compact"]),
        "cleanup_policy",
        "log.cleanup.policy",
        "With delete in it records go when their retention is over. compact alone keeps every record, whatever the retention says: records \
         are not compacted here.",
    ),
    kept("compression.gzip.level", Type::Int(-1, 9), "-1", "compression.gzip.level", AS_SENT),
    kept("compression.lz4.level", Type::Int(1, 17), "9", "compression.lz4.level", AS_SENT),
    only("compression.type", super::value::STRING, "producer", "compression.type", AS_SENT),
    kept("compression.zstd.level", Type::Int(-131_072, 22), "3", "compression.zstd.level", AS_SENT),
    kept("delete.retention.ms", NATURAL, "86400000", "log.cleaner.delete.retention.ms", NO_COMPACTION),
    only("errors.deadletterqueue.group.enable", BOOLEAN, "false", "", "There are no share groups."),
    kept("file.delete.delay.ms", NATURAL, "60000", "log.segment.delete.delay.ms", NO_LOCAL_FILES),
    kept("flush.messages", POSITIVE, FOREVER, "log.flush.interval.messages", NO_LOCAL_FILES),
    kept("flush.ms", NATURAL, FOREVER, "", NO_LOCAL_FILES),
    only("follower.replication.throttled.replicas", LIST, "", "", NO_REPLICAS),
    kept(
        "index.interval.bytes",
        Type::Int(0, i32::MAX as i64),
        "4096",
        "log.index.interval.bytes",
        "Spacing is the index policy's decision.",
    ),
    only("leader.replication.throttled.replicas", LIST, "", "", NO_REPLICAS),
    only("local.retention.bytes", LONG, "-2", "log.local.retention.bytes", ONE_TIER),
    only("local.retention.ms", LONG, "-2", "log.local.retention.ms", ONE_TIER),
    kept("max.compaction.lag.ms", POSITIVE, FOREVER, "log.cleaner.max.compaction.lag.ms", NO_COMPACTION),
    only(
        "max.decompressed.message.bytes",
        super::value::INT,
        "2147483639",
        "max.decompressed.message.bytes",
        "Batches are stored as they are; only a lookup by time decompresses one.",
    ),
    setting("max.message.bytes", BATCH, "max_batch_bytes", "message.max.bytes", "Largest record batch, in bytes."),
    only("message.timestamp.after.max.ms", LONG, FOREVER, "log.message.timestamp.after.max.ms", "Timestamps of producers are not checked."),
    only(
        "message.timestamp.before.max.ms",
        LONG,
        FOREVER,
        "log.message.timestamp.before.max.ms",
        "Timestamps of producers are not checked.",
    ),
    setting(
        "message.timestamp.type",
        Type::Word(&["CreateTime", "LogAppendTime"]),
        "timestamp_type",
        "log.message.timestamp.type",
        "Whose timestamps count.",
    ),
    kept("min.cleanable.dirty.ratio", Type::Double(0.0, 1.0), "0.5", "log.cleaner.min.cleanable.ratio", NO_COMPACTION),
    kept("min.compaction.lag.ms", NATURAL, "0", "log.cleaner.min.compaction.lag.ms", NO_COMPACTION),
    kept(
        "min.insync.replicas",
        Type::Int(1, i32::MAX as i64),
        "1",
        "min.insync.replicas",
        "What is acknowledged is in the object store, which replicates it.",
    ),
    kept("preallocate", Type::Boolean, "false", "log.preallocate", NO_LOCAL_FILES),
    only("remote.copy.lag.bytes", LONG, "-1", "log.remote.copy.lag.bytes", ONE_TIER),
    only("remote.copy.lag.ms", LONG, "0", "log.remote.copy.lag.ms", ONE_TIER),
    only("remote.log.copy.disable", BOOLEAN, "false", "", ONE_TIER),
    only("remote.log.delete.on.disable", BOOLEAN, "false", "", ONE_TIER),
    only("remote.storage.enable", BOOLEAN, "false", "", ONE_TIER),
    setting("retention.bytes", LIMIT, "retention_bytes", "log.retention.bytes", "How many bytes of each partition are kept; -1: all."),
    setting("retention.ms", LIMIT, "retention_ms", "", "How long records are kept, in milliseconds; -1: for ever."),
    setting("segment.bytes", SEGMENT, "max_segment_bytes", "log.segment.bytes", "Largest segment object, in bytes."),
    kept("segment.index.bytes", Type::Int(4, i32::MAX as i64), "10485760", "log.index.size.max.bytes", NO_LOCAL_FILES),
    kept("segment.jitter.ms", NATURAL, "0", "", NO_LOCAL_FILES),
    kept("segment.ms", POSITIVE, "604800000", "", NO_LOCAL_FILES),
    setting(
        "tidegate.acks",
        Type::Word(&["committed", "buffered"]),
        "acks",
        "",
        "When producers that want an ack get it. buffered: before the commit, lost if the process dies.",
    ),
    setting("tidegate.cache.enabled", Type::Boolean, "cache_enabled", "", "Whether what is read and flushed enters the cache."),
    config("tidegate.lanes", Type::Int(1, 10_000), Meaning::Lanes, "", "Lanes of the topic; fixed when it is created."),
    setting("tidegate.max.age.ms", Type::Long(1, HOUR_MS), "max_age_ms", "", "A batch of this age is flushed whatever a policy answers."),
    policy("tidegate.policy.flush", Kind::Flush, POLICY),
    policy_config("tidegate.policy.flush.config", Kind::Flush, POLICY_CONFIG),
    policy("tidegate.policy.index", Kind::Index, POLICY),
    policy_config("tidegate.policy.index.config", Kind::Index, POLICY_CONFIG),
    policy("tidegate.policy.read-ahead", Kind::ReadAhead, POLICY),
    policy_config("tidegate.policy.read-ahead.config", Kind::ReadAhead, POLICY_CONFIG),
    setting("tidegate.read.ahead.enabled", Type::Boolean, "read_ahead_enabled", "", "Whether sequential readers are read ahead for."),
    setting(
        "tidegate.read.ahead.segments",
        Type::Int(0, 1_024),
        "read_ahead_segments",
        "",
        "What the built-in read-ahead policy stays ahead by, in slices.",
    ),
    kept(
        "unclean.leader.election.enable",
        Type::Boolean,
        "false",
        "unclean.leader.election.enable",
        "A leader is fenced before another one writes; there is no other election.",
    ),
];

#[cfg(test)]
mod tests {
    use tidegate::config::TopicSettings;

    use super::*;

    #[test]
    fn names_are_in_order_and_defaults_are_values() {
        assert!(TOPIC.is_sorted_by(|a, b| a.name < b.name));
        for config in &TOPIC {
            if let Meaning::Kept(default) | Meaning::Only(default) = config.meaning {
                assert!(config.kind.takes(default), "{}", config.name);
            }
        }
    }

    #[test]
    fn every_setting_of_a_topic_has_a_config() {
        let settings = toml::Table::try_from(TopicSettings::default()).unwrap();
        let there = |key: &str| TOPIC.iter().any(|config| matches!(config.meaning, Meaning::Setting(host) if host == key));
        let missing: Vec<&String> = settings.keys().filter(|key| !["partitions", "lanes"].contains(&key.as_str()) && !there(key)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        for config in &TOPIC {
            if let Meaning::Setting(key) = config.meaning {
                assert!(settings.contains_key(key), "{key}");
            }
        }
    }

    #[test]
    fn the_page_shows_this_table() {
        let page = include_str!("../../../docs/kafka.md");
        let row = |name: &str| page.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        for config in &TOPIC {
            let row = row(config.name).unwrap_or_else(|| panic!("docs/kafka.md lacks {}", config.name));
            assert!(row.contains(&format!("| {} |", config.meaning.word())), "{row}");
            if let Meaning::Setting(key) = config.meaning {
                assert!(row.contains(&format!("`{key}`")), "{row} lacks the setting {key}");
            }
        }
        let rows = page.lines().filter(|line| line.starts_with("| `") && line.matches(" | ").count() == 3 && !line.contains("| api |"));
        let stale: Vec<&str> = rows.filter(|row| find(row[3..].split('`').next().unwrap_or_default()).is_none()).collect();
        assert!(stale.is_empty(), "docs/kafka.md has rows of no config: {stale:#?}");
    }
}
