//! Offsets that consumer groups committed, as stored: many groups in one document, a *shard*.
//!
//! A group belongs to one shard for ever, so that its commits are one conditional write, shared with all others
//! that wait for the same shard. Offsets hang on topic ids: a topic deleted and created again has none.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::types::{Epoch, Offset, PartitionId, TimestampMs, TopicId};

/// Number of shards: a constant of the format.
pub const OFFSET_SHARDS: u32 = 64;

/// Where a group's consumers go on in one partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommittedOffset {
    /// The next record to read.
    pub offset: Offset,
    /// Leader epoch of the last record read, where the client told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
    /// The client's own note.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub metadata: String,
    /// When it was committed; members that commit the same again do not move it.
    pub at_ms: TimestampMs,
}

/// What a group has committed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupOffsets {
    /// What its members call their protocol (`consumer`); empty for offsets that were committed without membership.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub protocol_type: String,
    /// Since when it is known to have no members; `None`: it has some, or nobody has looked yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_since_ms: Option<TimestampMs>,
    /// By topic and partition.
    pub topics: BTreeMap<TopicId, BTreeMap<PartitionId, CommittedOffset>>,
}

/// The groups of one shard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffsetShard {
    /// By group id.
    pub groups: BTreeMap<String, Arc<GroupOffsets>>,
}

impl GroupOffsets {
    /// Number of partitions with a committed offset.
    pub fn len(&self) -> usize {
        self.topics.values().map(BTreeMap::len).sum()
    }

    /// Whether nothing is committed.
    pub fn is_empty(&self) -> bool {
        self.topics.values().all(BTreeMap::is_empty)
    }
}

/// The shard of a group, below [`OFFSET_SHARDS`]: CRC-32 of its id, modulo their number. Never changes.
pub fn offset_shard_of(group: &str) -> u32 {
    crc32fast::hash(group.as_bytes()) % OFFSET_SHARDS
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_group_stays_in_its_shard_for_ever() {
        let shards = ["", "a", "orders", "console-consumer-12345"].map(offset_shard_of);
        assert_eq!(shards, [0, 3, 46, 4]);
    }

    #[test]
    fn what_is_stored_is_read_for_ever() {
        let stored = r#"{"groups":{"g":{"protocol_type":"consumer","idle_since_ms":9,"topics":{"00000000-0000-0000-0000-000000000001":{"3":{"offset":7,"epoch":2,"metadata":"m","at_ms":5},"4":{"offset":8,"at_ms":6}}}}}}"#;
        let shard: OffsetShard = serde_json::from_str(stored).unwrap();
        let group = &shard.groups["g"];
        let partitions = &group.topics[&TopicId(Uuid::from_u128(1))];
        assert_eq!((group.protocol_type.as_str(), group.idle_since_ms, group.len()), ("consumer", Some(9), 2));
        assert_eq!(partitions[&3], CommittedOffset { offset: 7, epoch: Some(2), metadata: "m".into(), at_ms: 5 });
        assert_eq!(partitions[&4], CommittedOffset { offset: 8, epoch: None, metadata: String::new(), at_ms: 6 });
        assert_eq!(serde_json::to_string(&shard).unwrap(), stored);
    }
}
