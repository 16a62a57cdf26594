//! Incremental fetch sessions (KIP-227): what a client follows is kept here, so that it names only what changed.
//!
//! A client opens a session with a full fetch. From then on it names partitions whose position moved and those
//! that it forgets; it is told of partitions that have records, an error, or another high watermark or log start
//! than it was told before. A consumer of thousands of idle partitions thus sends and gets a few dozen bytes.
//!
//! * Each request carries the epoch of its session, one more than the one before; an answer that a later request
//!   has overtaken is replaced by an error, since what its client was told is not known any more.
//! * Partitions take turns: those that gave records go behind all others.
//! * Sessions are bounded by number and by bytes. For a newcomer the one that was silent for longest goes, if that
//!   was long enough; else the smallest, if it is smaller than the newcomer and not young. Otherwise the newcomer gets none:
//!   its client then names all partitions each time, which costs it bytes and nothing else.
//!
//! Sessions belong to no connection, as in Kafka: what a client may read is decided at each fetch.

use std::sync::Arc;

use uuid::Uuid;

mod cache;
mod session;
#[cfg(test)]
mod tests;

pub(crate) use cache::{Context, FetchSessions};

/// A topic as a client names it: by id from version 13 on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TopicKey {
    Name(Arc<str>),
    Id(Uuid),
}

/// A partition as a client names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PartitionKey {
    pub(crate) topic: TopicKey,
    pub(crate) partition: i32,
}

/// What a client wants of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) offset: i64,
    pub(crate) max_bytes: i32,
    /// The leader epoch that it knows; -1: none.
    pub(crate) leader_epoch: i32,
}

/// A partition of a fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) key: PartitionKey,
    pub(crate) wanted: Wanted,
}

/// Which session a request is part of, as it says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    /// 0: none.
    pub(crate) id: i32,
    /// 0 opens one, -1 wants none.
    pub(crate) epoch: i32,
    /// Whether it names topics by id.
    pub(crate) by_id: bool,
}

impl PartitionKey {
    /// Bytes that a session keeps for it, besides those that all partitions take.
    fn name_bytes(&self) -> usize {
        match &self.topic {
            TopicKey::Name(name) => name.len(),
            TopicKey::Id(_) => 0,
        }
    }
}
