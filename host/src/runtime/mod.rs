//! [`Storage`]: what a broker embeds.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;

use crate::config::{Settings, TopicSettings};
use crate::env::Env;
use crate::error::Result;
pub use crate::log::Event;
pub use crate::log::lane::{Appended, Committed};
pub use crate::log::partition::{Fetched, Offsets};
use crate::metadata::{BindingSet, MetadataStore, TopicRecord};
use crate::policy::Kind;
use crate::store::ObjectStore;
use crate::types::{Epoch, LaneId, Offset, PartitionId, TimestampMs, TopicName, TopicPartition};

/// A running host. Cheap to clone; the last clone does not close it: call [`close`](Self::close).
#[derive(Clone)]
pub struct Storage {}

/// Opens a [`Storage`] with parts of one's own.
pub struct Builder {}

impl Builder {
    /// Another object store than the settings name.
    pub fn store(self, store: Arc<dyn ObjectStore>) -> Self {
        let _ = store;
        todo!()
    }
    /// Another metadata store than the one in the object store.
    pub fn metadata(self, metadata: Arc<dyn MetadataStore>) -> Self {
        let _ = metadata;
        todo!()
    }
    /// Another clock and entropy than the machine's.
    pub fn env(self, env: Env) -> Self {
        let _ = env;
        todo!()
    }
    /// Probes the store, loads topics and bindings, starts the background tasks.
    pub async fn open(self) -> Result<Storage> {
        todo!()
    }
}

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
    pub config: std::collections::BTreeMap<String, String>,
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

impl Storage {
    /// A builder over settings.
    pub fn builder(settings: Settings) -> Builder {
        let _ = settings;
        todo!()
    }

    /// Creates a topic: its lanes' manifests first, its record last.
    pub async fn create_topic(&self, spec: TopicSpec) -> Result<TopicRecord> {
        let _ = spec;
        todo!()
    }

    /// Deletes a topic: its record first; its lanes are tombstoned and its objects go after the grace period.
    pub async fn delete_topic(&self, name: &TopicName) -> Result<()> {
        let _ = name;
        todo!()
    }

    /// The topic of a name, from memory; a miss asks the metadata store.
    pub async fn topic(&self, name: &TopicName) -> Result<Option<TopicRecord>> {
        let _ = name;
        todo!()
    }

    /// All topics, in name order.
    pub async fn topics(&self) -> Result<Vec<TopicRecord>> {
        todo!()
    }

    /// A topic's settings as resolved from defaults, rules and its own config.
    pub fn topic_settings(&self, topic: &TopicRecord) -> Result<TopicSettings> {
        let _ = topic;
        todo!()
    }

    /// Validates a record set, gives it offsets and takes it into the write buffer, waiting for room there at most the append time-out.
    /// Opens the partition's lane if this host has not led it yet. Cancelled before it returns, nothing was appended.
    pub async fn append(&self, partition: TopicPartition, records: BytesMut) -> Result<Appended> {
        let _ = (partition, records);
        todo!()
    }

    /// Reads one partition without waiting.
    pub async fn fetch_one(&self, fetch: FetchPartition, at_least_one: bool) -> Result<Fetched> {
        let _ = (fetch, at_least_one);
        todo!()
    }

    /// Reads many partitions, with one wait for all. One result for each partition asked, in order.
    pub async fn fetch(&self, request: FetchRequest) -> Vec<Result<Fetched>> {
        let _ = request;
        todo!()
    }

    /// Returns once any of the partitions has a record at or above its offset (or fails), or after `max_wait`. Says whether one has.
    pub async fn wait_for_data(&self, partitions: &[(TopicPartition, Offset)], max_wait: Duration) -> bool {
        let _ = (partitions, max_wait);
        todo!()
    }

    /// Offset, and timestamp where known, of a place in a partition. `None`: no record is there.
    pub async fn list_offset(&self, partition: TopicPartition, spec: OffsetSpec) -> Result<Option<(Offset, TimestampMs)>> {
        let _ = (partition, spec);
        todo!()
    }

    /// Log start and high watermark; opens the lane if need be.
    pub async fn offsets(&self, partition: TopicPartition) -> Result<Offsets> {
        let _ = partition;
        todo!()
    }

    /// The leader epoch under which this host writes the partition.
    pub async fn leader_epoch(&self, partition: TopicPartition) -> Result<Epoch> {
        let _ = partition;
        todo!()
    }

    /// Brings a partition's chunks from `offset` on into the cache.
    pub async fn warm(&self, partition: TopicPartition, offset: Offset, bytes: u64) -> Result<()> {
        let _ = (partition, offset, bytes);
        todo!()
    }

    /// Seals what the partition's lane has buffered, and waits until it is committed.
    pub async fn flush(&self, partition: TopicPartition) -> Result<()> {
        let _ = partition;
        todo!()
    }

    /// Moves the log start up to `offset` (the high watermark at most), durably. Returns the log start.
    pub async fn trim(&self, partition: TopicPartition, offset: Offset) -> Result<Offset> {
        let _ = (partition, offset);
        todo!()
    }

    /// Takes the lead of a lane, also one that this host was fenced from.
    pub async fn take_lead(&self, topic: &TopicName, lane: LaneId) -> Result<Epoch> {
        let _ = (topic, lane);
        todo!()
    }

    /// Checks a component, stores it, and binds it to the topics that match `pattern`. Running lanes follow
    /// between two decisions; whatever fails leaves the old policy in place.
    pub async fn bind(&self, bind: Bind) -> Result<BindingSet> {
        let _ = bind;
        todo!()
    }

    /// Removes the binding of exactly this pattern and kind.
    pub async fn unbind(&self, pattern: &str, kind: Kind, by: &str) -> Result<BindingSet> {
        let _ = (pattern, kind, by);
        todo!()
    }

    /// Counters and histograms of this host.
    pub fn metrics(&self) -> &Arc<crate::metrics::Metrics> {
        todo!()
    }

    /// The settings that it was opened with.
    pub fn settings(&self) -> &Settings {
        todo!()
    }

    /// The bindings in force.
    pub fn bindings(&self) -> BindingSet {
        todo!()
    }

    /// What happens from now on; a slow receiver loses the oldest.
    pub fn events(&self) -> tokio::sync::broadcast::Receiver<Event> {
        todo!()
    }

    /// Partitions that exist and that this host has open: for diagnosis.
    pub fn open_partitions(&self) -> Vec<(TopicName, PartitionId, Offsets)> {
        todo!()
    }

    /// Stops taking appends, flushes, commits and checkpoints; readers go on. Within the drain deadline.
    pub async fn drain(&self) -> Result<()> {
        todo!()
    }

    /// Drains and stops everything.
    pub async fn close(&self) -> Result<()> {
        todo!()
    }
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
}
