//! What goes into the calls of [`Storage`](super::Storage).

use std::collections::BTreeMap;
use std::time::Duration;

use crate::metadata::BindingSet;
use crate::policy::Kind;
use crate::types::{Epoch, Offset, TimestampMs, TopicName, TopicPartition};

/// What to create.
#[derive(Clone, Debug)]
pub struct TopicSpec {
    /// Name.
    pub name: TopicName,
    /// Partitions; `None`: as the topic's settings say.
    pub partitions: Option<u32>,
    /// Lanes; `None`: as the topic's settings say.
    pub lanes: Option<u32>,
    /// Settings of this topic alone, by name.
    pub config: BTreeMap<String, String>,
    /// What the broker keeps with the topic.
    pub annotations: BTreeMap<String, String>,
}

impl TopicSpec {
    /// A topic of which everything else comes from the settings.
    pub fn named(name: TopicName) -> Self {
        Self { name, partitions: None, lanes: None, config: BTreeMap::new(), annotations: BTreeMap::new() }
    }
}

/// Where to look for an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetSpec {
    /// The log start.
    Earliest,
    /// The high watermark.
    Latest,
    /// The record with the largest timestamp.
    MaxTimestamp,
    /// The first record with at least this timestamp.
    Timestamp(TimestampMs),
}

/// Where the records of a leader epoch end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochEnd {
    /// The epoch asked for, or the last one before it that has records.
    pub epoch: Epoch,
    /// Offset after its last record.
    pub offset: Offset,
}

/// One partition of a fetch.
#[derive(Clone, Copy, Debug)]
pub struct FetchPartition {
    /// Which.
    pub partition: TopicPartition,
    /// From where.
    pub offset: Offset,
    /// Bytes of this partition at most, but at least one batch if it is the first with data.
    pub max_bytes: usize,
}

/// A fetch over many partitions, with one wait for all of them.
#[derive(Clone, Debug)]
pub struct FetchRequest {
    /// In order of preference.
    pub partitions: Vec<FetchPartition>,
    /// Bytes in all at most, but at least one batch.
    pub max_bytes: usize,
    /// Wait until so many bytes can be answered ...
    pub min_bytes: usize,
    /// ... or so long.
    pub max_wait: Duration,
}

/// A policy to bind.
#[derive(Clone, Debug)]
pub struct Bind {
    /// Glob over topic names.
    pub pattern: String,
    /// Which decision.
    pub kind: Kind,
    /// The component.
    pub component: bytes::Bytes,
    /// Where it came from, for people.
    pub source: String,
    /// JSON passed to its `init`.
    pub config: serde_json::Value,
    /// Who binds it.
    pub by: String,
    /// Digest that the component must have: `sha256:` and 64 hex digits; `None`: any.
    pub digest: Option<String>,
    /// Its signature, if it has one: see [`signature`](crate::policy::signature).
    pub signature: Option<String>,
}

/// A component, and where it was found.
#[derive(Clone, Debug)]
pub struct Component {
    /// The component.
    pub bytes: bytes::Bytes,
    /// Where it was found.
    pub source: String,
    /// Its signature, if it has one.
    pub signature: Option<String>,
}

/// A change of a binding to take back.
#[derive(Clone, Debug)]
pub struct RollBack {
    /// The binding's pattern, to the letter.
    pub pattern: String,
    /// Which decision.
    pub kind: Kind,
    /// To what was bound when the set had this generation; `None`: before the last change.
    pub to: Option<u64>,
    /// Who takes it back.
    pub by: String,
}

/// What a request to change the bindings came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingChange {
    /// The set in force afterwards.
    pub set: BindingSet,
    /// False: it was so already, and nothing happened.
    pub changed: bool,
}
