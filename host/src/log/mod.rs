//! Logs: lanes write, partitions read.
//!
//! The two stay apart. A *lane* knows slots, epochs, fences and commits, and nothing of fetches. A *partition*
//! knows its extents, its offsets and its readers, and nothing of slots. Where they meet: a lane publishes
//! what it committed as an [`Extent`], and looks up older ones in its catalog ([`ExtentLookup`]).

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::Result;
use crate::segment::SliceMeta;
use crate::types::{Epoch, Offset, PartitionId, TimestampMs};

pub mod lane;
pub mod partition;
mod topic;

pub use topic::Topic;

/// A run of a partition's records in one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Key of the object.
    pub object: Arc<str>,
    /// Where in it, and what.
    pub slice: SliceMeta,
    /// Leader epoch of its batches.
    pub epoch: Epoch,
    /// Bytes of the partition before it, trimmed ones included.
    pub prior_bytes: u64,
}

/// Finds extents of a partition that are no longer held in memory.
#[async_trait]
pub trait ExtentLookup: Send + Sync {
    /// Up to `limit` extents in offset order, from the one that contains `offset` (or else the next one) on.
    /// Empty if all that is known to the catalog ends at or below `offset`.
    async fn extents_from(&self, partition: PartitionId, offset: Offset, limit: usize) -> Result<Vec<Extent>>;

    /// The first extent from `offset` on whose largest timestamp is at least `timestamp`.
    async fn extent_at_time(&self, partition: PartitionId, offset: Offset, timestamp: TimestampMs) -> Result<Option<Extent>>;
}

/// What all lanes and partitions of a host share.
#[derive(Clone)]
pub struct Shared {
    /// Time and chance.
    pub env: crate::env::Env,
    /// The object store, retries and limits included.
    pub store: Arc<dyn crate::store::ObjectStore>,
    /// What the store charges, as policies are told.
    pub prices: crate::cost::Prices,
    /// Chunks, indexes and prefetch.
    pub cache: Arc<crate::cache::ChunkCache>,
    /// Makes policy instances.
    pub policies: Arc<dyn crate::policy::Policies>,
    /// Bounds the memory of uncommitted batches, in bytes.
    pub buffers: Arc<crate::buffer::BufferBudget>,
    /// Host-wide settings.
    pub settings: Arc<crate::config::HostSettings>,
    /// Counters and histograms.
    pub metrics: Arc<crate::metrics::Metrics>,
    /// Where events are announced.
    pub events: tokio::sync::broadcast::Sender<Event>,
}

/// Something an embedder may want to act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// This host leads the lane from this epoch on.
    LeaderGained(crate::types::TopicLane, Epoch),
    /// Another writer leads the lane; it stays closed here until told otherwise.
    Fenced(crate::types::TopicLane),
    /// A policy failed and the built-in answered: kind, topic, class of the fault, message.
    PolicyFault {
        /// Which decision.
        kind: crate::policy::Kind,
        /// Name of the topic.
        topic: String,
        /// Class of the fault.
        class: &'static str,
        /// What is known of it.
        message: String,
    },
}
