//! The broker's own configs in Kafka's names, for clients that look before they act. They come from the settings file and are read-only.

use tidegate::Settings;
use tidegate::config::{StoreSettings, TopicSettings};

use super::value::{BOOLEAN, INT, LIST, LONG, STRING};
use super::{Entry, Source, Synonym};
use crate::config::BrokerSettings;

/// Where the values come from.
#[derive(Clone, Copy)]
struct View<'a> {
    broker: &'a BrokerSettings,
    host: &'a Settings,
}

/// Name, type, value, what it is here.
type Row = (&'static str, i8, fn(View<'_>) -> String, &'static str);

const REPLICAS: &str = "Replication is the object store's.";
const TOPICS: &str = "Of topics that nothing else is said of: [topic_defaults] of the settings file.";

static ROWS: [Row; 34] = [
    ("advertised.listeners", STRING, |v| listeners(v.broker, true), "[[broker.listener]] of the settings file."),
    ("auto.create.topics.enable", BOOLEAN, |v| v.broker.auto_create_topics.to_string(), "broker.auto_create_topics."),
    ("broker.id", INT, |v| v.broker.node_id.to_string(), "broker.node_id."),
    ("compression.type", STRING, |_| "producer".into(), "Batches are stored as the producer compressed them."),
    ("connections.max.idle.ms", LONG, |v| v.broker.limits.idle_ms.to_string(), "broker.limits.idle_ms."),
    ("controlled.shutdown.enable", BOOLEAN, |_| "true".into(), "A stop drains."),
    ("default.replication.factor", INT, |_| "1".into(), REPLICAS),
    ("delete.topic.enable", BOOLEAN, |_| "true".into(), "Topics can be deleted."),
    ("fetch.max.bytes", INT, |v| v.broker.limits.fetch_bytes.to_string(), "broker.limits.fetch_bytes."),
    (
        "group.initial.rebalance.delay.ms",
        INT,
        |v| v.broker.groups.initial_rebalance_delay_ms.to_string(),
        "broker.groups.initial_rebalance_delay_ms.",
    ),
    ("group.max.session.timeout.ms", INT, |v| v.broker.groups.session_timeout_max_ms.to_string(), "broker.groups.session_timeout_max_ms."),
    ("group.max.size", INT, |v| v.broker.groups.members_per_group.to_string(), "broker.groups.members_per_group."),
    ("group.min.session.timeout.ms", INT, |v| v.broker.groups.session_timeout_min_ms.to_string(), "broker.groups.session_timeout_min_ms."),
    ("listeners", STRING, |v| listeners(v.broker, false), "[[broker.listener]] of the settings file."),
    ("log.cleanup.policy", LIST, |v| topic(v, "cleanup_policy"), TOPICS),
    ("log.dirs", LIST, |v| store_name(v.host), "[store] of the settings file."),
    ("log.message.timestamp.type", STRING, |v| topic(v, "timestamp_type"), TOPICS),
    ("log.retention.bytes", LONG, |v| topic(v, "retention_bytes"), TOPICS),
    ("log.retention.check.interval.ms", LONG, |v| v.host.host.retention_interval_ms.to_string(), "host.retention_interval_ms."),
    ("log.retention.ms", LONG, |v| topic(v, "retention_ms"), TOPICS),
    ("log.segment.bytes", INT, |v| topic(v, "max_segment_bytes"), TOPICS),
    ("log.segment.delete.delay.ms", LONG, |v| v.host.host.delete_grace_ms.to_string(), "host.delete_grace_ms."),
    ("max.connections", INT, |v| v.broker.limits.connections.to_string(), "broker.limits.connections."),
    ("message.max.bytes", INT, |v| topic(v, "max_batch_bytes"), TOPICS),
    ("min.insync.replicas", INT, |_| "1".into(), REPLICAS),
    ("node.id", INT, |v| v.broker.node_id.to_string(), "broker.node_id."),
    ("num.partitions", INT, |v| topic(v, "partitions"), TOPICS),
    ("offset.metadata.max.bytes", INT, |v| v.broker.groups.offset_metadata_bytes.to_string(), "broker.groups.offset_metadata_bytes."),
    (
        "offsets.retention.check.interval.ms",
        LONG,
        |v| v.broker.groups.offsets_check_interval_ms.to_string(),
        "broker.groups.offsets_check_interval_ms.",
    ),
    (
        "offsets.retention.minutes",
        INT,
        |v| (v.broker.groups.offsets_retention_ms / 60_000).to_string(),
        "broker.groups.offsets_retention_ms.",
    ),
    ("producer.id.expiration.ms", INT, |v| v.host.host.producer_expiry_ms.to_string(), "host.producer_expiry_ms."),
    ("remote.log.storage.system.enable", BOOLEAN, |_| "false".into(), "The object store is the storage itself: there is no second tier."),
    ("socket.request.max.bytes", INT, |v| v.broker.limits.request_bytes.to_string(), "broker.limits.request_bytes."),
    (
        "unclean.leader.election.enable",
        BOOLEAN,
        |_| "false".into(),
        "A leader is fenced before another one writes; there is no other election.",
    ),
];

/// All configs of this broker, in the order of their names.
pub(crate) fn entries(broker: &BrokerSettings, host: &Settings) -> Vec<Entry> {
    let (standard, plain) = (BrokerSettings::default(), Settings::default());
    let (given, default) = (View { broker, host }, View { broker: &standard, host: &plain });
    ROWS.iter().map(|row| entry(row, given, default)).collect()
}

fn entry((name, kind, value, documentation): &Row, given: View<'_>, default: View<'_>) -> Entry {
    let (value, default) = (value(given), value(default));
    let from_file = Synonym { name, value: value.clone(), source: Source::SettingsFile };
    let given = (value != default).then_some(from_file);
    let synonyms: Vec<Synonym> = given.into_iter().chain([Synonym { name, value: default, source: Source::Default }]).collect();
    Entry { name, value, source: synonyms[0].source, read_only: true, kind: *kind, documentation, synonyms }
}

/// What stands for a log directory: where the objects lie.
pub(crate) fn store_name(settings: &Settings) -> String {
    match &settings.store {
        StoreSettings::Local { path } => std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string(),
        StoreSettings::S3(s3) if s3.prefix.is_empty() => format!("s3://{}", s3.bucket),
        StoreSettings::S3(s3) => format!("s3://{}/{}", s3.bucket, s3.prefix),
        StoreSettings::Memory => "memory".to_owned(),
    }
}

fn topic(view: View<'_>, key: &str) -> String {
    let defaults = toml::Table::try_from(&view.host.topic_defaults as &TopicSettings).expect("topic settings are a flat table");
    match &defaults[key] {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn listeners(broker: &BrokerSettings, advertised: bool) -> String {
    let shown = broker.listeners.iter().map(|listener| {
        let host = listener.advertised_host.clone().filter(|_| advertised).unwrap_or_else(|| listener.listen.ip().to_string());
        let port = listener.advertised_port.filter(|_| advertised).unwrap_or(listener.listen.port());
        format!("PLAINTEXT://{host}:{port}")
    });
    shown.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_settings_file_says_is_told_from_what_nobody_said() {
        let broker = BrokerSettings { node_id: 7, ..BrokerSettings::default() };
        let entries = entries(&broker, &Settings::default());
        assert!(entries.is_sorted_by(|a, b| a.name < b.name), "in order of their names");
        assert!(entries.iter().all(|entry| entry.read_only));
        let find = |name: &str| entries.iter().find(|entry| entry.name == name).unwrap();
        assert_eq!((find("node.id").value.as_str(), find("node.id").source), ("7", Source::SettingsFile));
        assert_eq!((find("log.retention.ms").value.as_str(), find("log.retention.ms").source), ("604800000", Source::Default));
    }
}
