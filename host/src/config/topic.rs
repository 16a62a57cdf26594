//! Settings of topics: the `[topic_defaults]` and `[[topic]]` sections.

use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, MAX_WAIT_MS};
use crate::types::MAX_SEGMENT_BYTES;

/// When a produce request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Acks {
    /// When its batches are committed to the store.
    Committed,
    /// When its batches are in this host's memory: lost if the process dies before the flush.
    Buffered,
}

/// Which timestamp a record keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimestampType {
    /// The producer's.
    CreateTime,
    /// The broker's, at append.
    LogAppendTime,
}

/// What becomes of records whose retention is over. No host compacts: what a later record of the same key would replace, stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CleanupPolicy {
    /// They are deleted.
    #[serde(rename = "delete")]
    Delete,
    /// Everything is kept, whatever the retention says: deleting by age would lose the latest record of a key.
    #[serde(rename = "compact")]
    Compact,
    /// They are deleted.
    #[serde(rename = "compact,delete", alias = "delete,compact")]
    CompactDelete,
    /// Everything is kept.
    #[serde(rename = "")]
    Keep,
}

impl CleanupPolicy {
    /// Whether retention applies.
    pub fn deletes(self) -> bool {
        matches!(self, Self::Delete | Self::CompactDelete)
    }

    /// Whether it asks for compaction.
    pub fn compacts(self) -> bool {
        matches!(self, Self::Compact | Self::CompactDelete)
    }
}

/// All settings of one topic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TopicSettings {
    /// Partitions of a topic created without a number.
    pub partitions: u32,
    /// Lanes of a new topic: 1 to its partitions; 0 means the smaller of its partitions and 4. PUTs follow lanes.
    pub lanes: u32,
    /// When producers that want an ack get it.
    pub acks: Acks,
    /// Largest segment, in bytes; the host flushes there whatever a policy answers. At most 256 MiB.
    pub max_segment_bytes: u64,
    /// Oldest a buffered batch gets before the host flushes whatever a policy answers, in milliseconds.
    pub max_age_ms: u64,
    /// Largest record batch, in bytes. By default 1 MiB and the 12 bytes that a batch does not count in its length, as in Apache Kafka.
    pub max_batch_bytes: u32,
    /// What becomes of records whose retention is over.
    pub cleanup_policy: CleanupPolicy,
    /// How long records are kept, in milliseconds; -1 for ever.
    pub retention_ms: i64,
    /// How many bytes of each partition are kept; -1 all.
    pub retention_bytes: i64,
    /// Whose timestamps count.
    pub timestamp_type: TimestampType,
    /// Whether what is read and flushed enters the cache.
    pub cache_enabled: bool,
    /// Whether sequential readers are read ahead for.
    pub read_ahead_enabled: bool,
    /// What the built-in read-ahead policy stays ahead by, in slices.
    pub read_ahead_segments: u32,
}

impl Default for TopicSettings {
    fn default() -> Self {
        Self {
            partitions: 1,
            lanes: 0,
            acks: Acks::Committed,
            max_segment_bytes: 64 << 20,
            max_age_ms: 1_000,
            max_batch_bytes: (1 << 20) + 12,
            cleanup_policy: CleanupPolicy::Delete,
            retention_ms: 7 * 24 * 3_600_000,
            retention_bytes: -1,
            timestamp_type: TimestampType::CreateTime,
            cache_enabled: true,
            read_ahead_enabled: true,
            read_ahead_segments: 2,
        }
    }
}

/// Settings for the topics that match a glob.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopicRule {
    /// Glob over topic names: `*` matches any run of characters, `?` one.
    pub pattern: String,
    /// Fields of [`TopicSettings`] by name.
    #[serde(flatten)]
    pub settings: toml::Table,
}

/// Most partitions that a topic may have.
pub const MAX_PARTITIONS: u32 = 10_000;
/// Smallest limit for a batch or a segment, in bytes.
pub const MIN_BYTES: u64 = 1 << 10;
/// Largest batch that may be allowed, in bytes: what Kafka's clients and brokers take in one request.
pub const MAX_BATCH_BYTES: u64 = 100 << 20;

impl TopicSettings {
    /// `section` names the settings in messages: `topic_defaults`, `topic[2]`, `topic \"orders\"`.
    pub(super) fn check(&self, section: &str, bounds: &mut Bounds) {
        let key = |name: &str| format!("{section}.{name}");
        bounds.range(&key("partitions"), self.partitions, 1..=MAX_PARTITIONS);
        if self.lanes > self.partitions {
            bounds.problem(
                &key("lanes"),
                format!("is {}, more than its {} partitions: a lane without a partition is of no use", self.lanes, self.partitions),
            );
        }
        bounds.range(&key("max_segment_bytes"), self.max_segment_bytes, MIN_BYTES..=MAX_SEGMENT_BYTES);
        bounds.range(&key("max_age_ms"), self.max_age_ms, 1..=MAX_WAIT_MS);
        bounds.range(&key("max_batch_bytes"), u64::from(self.max_batch_bytes), MIN_BYTES..=MAX_BATCH_BYTES);
        bounds.unlimited_or(&key("retention_ms"), self.retention_ms);
        bounds.unlimited_or(&key("retention_bytes"), self.retention_bytes);
        bounds.range(&key("read_ahead_segments"), self.read_ahead_segments, 0..=1_024);
    }
}
