//! The metadata store: topics with their ids, policy bindings, the offsets of consumer groups, the numbers of producers, and
//! documents that the embedder keeps for itself.
//!
//! What lanes need to be correct (epochs, fences, offsets) lives in the lanes' own manifests; metadata says
//! what exists. Everything hangs on the topic id: a topic deleted and created again is another topic.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::policy::Kind;
use crate::store::Version;
use crate::types::{TimestampMs, TopicId, TopicName};

pub mod conformance;
mod document;
mod documents;
mod history;
mod object;
mod offsets;
mod producer_ids;

pub use documents::{Documents, MAX_DOCUMENT_BYTES};
pub use history::{Action, Change, MAX_ATTEMPTS, MAX_CHANGES, Place, Placed};
pub use object::ObjectMetadata;
pub use offsets::{CommittedOffset, GroupOffsets, OFFSET_SHARDS, OffsetShard, offset_shard_of};

/// A topic as stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopicRecord {
    /// Its identity.
    pub id: TopicId,
    /// Its name.
    pub name: TopicName,
    /// Number of partitions, at least 1; may grow, never shrinks.
    pub partitions: u32,
    /// Number of lanes, between 1 and `partitions`; fixed for ever.
    pub lanes: u32,
    /// Settings given for this topic alone, by their names in the settings file; they win over patterns and defaults.
    #[serde(default)]
    pub config: BTreeMap<String, String>,
    /// What the broker keeps with the topic, by names of its own: stored, and not read, by the host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// When it was created.
    pub created_ms: TimestampMs,
    /// Counts its changes: of two states of one topic, the one with more is the later one.
    #[serde(default)]
    pub revision: u64,
}

/// Binds a policy to the topics that match a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// Glob over topic names (`*`, `logs-*`); of several that match, the last in the set wins.
    pub pattern: String,
    /// Which decision.
    pub kind: Kind,
    /// `sha256:` and 64 hex digits of the component, whose bytes lie in the object store under `plugins/`.
    pub digest: String,
    /// Where it came from, for people.
    pub source: String,
    /// JSON passed to `init`.
    pub config: serde_json::Value,
    /// Who bound it.
    pub by: String,
    /// When.
    pub at_ms: TimestampMs,
    /// Name of the plugin; empty in what was stored before names were.
    #[serde(default)]
    pub plugin: String,
    /// Generation of the set that it was bound with; 0 in what was stored before generations were.
    #[serde(default)]
    pub generation: u64,
    /// The component's signature; empty: it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// Whose key signed it, as the host that bound it knew; empty: nobody's whom it trusts.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signed_by: String,
}

/// All bindings, in order of precedence (last wins).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindingSet {
    /// Counts the changes.
    pub generation: u64,
    /// The bindings.
    pub bindings: Vec<Binding>,
    /// How they came about, oldest first: the last [`MAX_CHANGES`] changes, and [`MAX_ATTEMPTS`] attempts that changed nothing.
    #[serde(default)]
    pub history: Vec<Change>,
}

/// A value and the state of the store that it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Versioned<T> {
    /// The value.
    pub value: T,
    /// `None`: nothing is stored yet.
    pub version: Option<Version>,
}

/// Where topics, bindings and group offsets live.
#[async_trait]
pub trait MetadataStore: Send + Sync + fmt::Debug + 'static {
    /// Adds a topic; [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if the name is taken, unless by this very id.
    async fn create_topic(&self, topic: &TopicRecord) -> Result<()>;

    /// The topic of a name.
    async fn topic(&self, name: &TopicName) -> Result<Option<Versioned<TopicRecord>>>;

    /// All topics, in name order.
    async fn topics(&self) -> Result<Vec<TopicRecord>>;

    /// Replaces a record on the version that was read; [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if another change came first.
    async fn update_topic(&self, topic: Versioned<TopicRecord>) -> Result<()>;

    /// Removes the topic if the name still belongs to this id; else [`NotFound`](crate::ErrorKind::NotFound).
    async fn delete_topic(&self, name: &TopicName, id: TopicId) -> Result<()>;

    /// The bindings; an empty set if none was ever stored.
    async fn bindings(&self) -> Result<Versioned<BindingSet>>;

    /// Replaces the bindings on the version that was read; [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if another change came first.
    async fn put_bindings(&self, bindings: Versioned<BindingSet>) -> Result<()>;

    /// The shards of group offsets that are stored, in order, and their state where a listing tells it.
    async fn offset_shards(&self) -> Result<Vec<(u32, Option<Version>)>>;

    /// A shard of group offsets, below [`OFFSET_SHARDS`]; an empty one if it was never stored.
    async fn offset_shard(&self, shard: u32) -> Result<Versioned<OffsetShard>>;

    /// Replaces a shard on the version that was read or put, durably, and gives the new one;
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if another change came first.
    async fn put_offset_shard(&self, shard: u32, offsets: Versioned<OffsetShard>) -> Result<Version>;

    /// So many producer ids, at least 1, that nobody was given before and nobody will be given again. A failure may cost ids, never give one twice.
    async fn producer_ids(&self, count: u32) -> Result<Range<i64>>;

    /// A document of the embedder's, by a name of 1 to 64 of `a-z 0-9 -`; `None` if it was never stored.
    async fn document(&self, name: &str) -> Result<Versioned<Option<serde_json::Value>>>;

    /// Replaces a document of at most [`MAX_DOCUMENT_BYTES`] on the version that was read or put, durably, and gives the new one;
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if another change came first.
    async fn put_document(&self, name: &str, document: Versioned<serde_json::Value>) -> Result<Version>;
}

/// Shared handle.
pub type SharedMetadata = Arc<dyn MetadataStore>;
