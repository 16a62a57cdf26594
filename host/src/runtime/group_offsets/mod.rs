//! Offsets that consumer groups commit.
//!
//! Who is in a group is the broker's to know; what it committed is kept here, in the metadata store. A commit is
//! answered once it is durable; commits that come meanwhile share the next write. Offsets are read from memory; what
//! other hosts wrote is found at the next write, or by the look that upkeep takes at the shards in use.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};

use self::change::{Change, Tidy};
use self::shard::{Parts, Shard};
use super::tasks::Tasks;
use super::topics::Topics;
use crate::error::{Error, ErrorKind, Result};
use crate::log::Shared;
use crate::metadata::{CommittedOffset, GroupOffsets, OFFSET_SHARDS, SharedMetadata, offset_shard_of};
use crate::types::TopicPartition;

mod change;
mod shard;
#[cfg(test)]
mod tests;

/// Shards read at a time.
const READS: usize = 16;

/// Offsets to commit for a group.
#[derive(Clone, Debug)]
pub struct OffsetCommit {
    /// Group id.
    pub group: String,
    /// What the members call their protocol (`consumer`); empty for a commit without membership.
    pub protocol_type: String,
    /// What to set; [`CommittedOffset::at_ms`] is set by the host.
    pub offsets: Vec<(TopicPartition, CommittedOffset)>,
}

/// The offsets of all groups.
pub(super) struct AllGroupOffsets {
    shards: Vec<Arc<Shard>>,
    parts: Arc<Parts>,
}

impl AllGroupOffsets {
    pub(super) fn new(metadata: SharedMetadata, shared: &Shared, tasks: Tasks) -> Self {
        let parts = Arc::new(Parts { metadata, env: shared.env.clone(), metrics: shared.metrics.clone(), tasks });
        let shards = (0..OFFSET_SHARDS).map(|number| Arc::new(Shard::new(number, parts.clone()))).collect();
        Self { shards, parts }
    }

    fn shard_of(&self, group: &str) -> &Arc<Shard> {
        &self.shards[offset_shard_of(group) as usize]
    }

    /// Queues a commit before it returns; the future ends once it is durable.
    pub(super) fn commit(&self, commit: OffsetCommit) -> impl Future<Output = Result<()>> + Send + use<> {
        let OffsetCommit { group, protocol_type, mut offsets } = commit;
        let at_ms = self.parts.env.unix_ms();
        offsets.iter_mut().for_each(|(_, offset)| offset.at_ms = at_ms);
        let metrics = self.parts.metrics.clone();
        let written = self.change(&group.clone(), Change::Commit { group, protocol_type, offsets });
        async move {
            written.await?;
            metrics.group.offset_commits.inc();
            Ok(())
        }
    }

    pub(super) fn delete_offsets(&self, group: &str, partitions: Vec<TopicPartition>) -> impl Future<Output = Result<bool>> + Send + use<> {
        self.change(group, Change::DeleteOffsets { group: group.to_owned(), partitions })
    }

    pub(super) fn delete_group(&self, group: &str) -> impl Future<Output = Result<bool>> + Send + use<> {
        self.change(group, Change::DeleteGroup { group: group.to_owned() })
    }

    fn change(&self, group: &str, change: Change) -> impl Future<Output = Result<bool>> + Send + use<> {
        let outcome = self.shard_of(group).submit(change);
        async move { outcome.await.unwrap_or_else(|_| Err(stopped())) }
    }

    pub(super) async fn of_group(&self, group: &str) -> Result<Option<Arc<GroupOffsets>>> {
        Ok(self.shard_of(group).state().await?.value.groups.get(group).cloned())
    }

    /// All groups with offsets, in no order.
    pub(super) async fn groups(&self) -> Result<Vec<(String, Arc<GroupOffsets>)>> {
        let stored = self.stored().await?;
        let reads: Vec<_> = stored.iter().map(|shard| shard.state()).collect();
        let states: Vec<_> = stream::iter(reads).buffered(READS).try_collect().await?;
        let groups = states.iter().flat_map(|state| &state.value.groups);
        Ok(groups.map(|(group, offsets)| (group.clone(), offsets.clone())).collect())
    }

    /// The shards that are stored; those that another host changed are read again.
    async fn stored(&self) -> Result<Vec<Arc<Shard>>> {
        let mut stored = Vec::new();
        for (number, version) in self.parts.metadata.offset_shards().await? {
            let Some(shard) = self.shards.get(number as usize) else { continue };
            if shard.peek().is_some_and(|known| version.is_some() && known.version != version) {
                shard.reload().await?;
            }
            stored.push(shard.clone());
        }
        Ok(stored)
    }

    /// Looks for other hosts' changes, once offsets are in use here.
    pub(super) async fn refresh(&self) -> Result<()> {
        if self.shards.iter().all(|shard| shard.peek().is_none()) {
            return Ok(());
        }
        self.stored().await.map(drop)
    }

    /// Notes which groups have members now, and removes offsets of deleted topics, and of groups that have had none for
    /// `retention_ms`. Where nothing changes, nothing is written.
    pub(super) async fn tidy(&self, topics: &Topics, active: BTreeSet<String>, retention_ms: i64) -> Result<()> {
        let stored = self.stored().await?;
        let mut named = BTreeSet::new();
        for shard in &stored {
            let state = shard.state().await?;
            named.extend(state.value.groups.values().flat_map(|group| group.topics.keys().copied()));
        }
        // After the offsets were read: a topic that has offsets and is not listed now is gone for ever.
        topics.refresh().await?;
        named.retain(|topic| topics.peek(*topic).is_none());
        let now_ms = self.parts.env.unix_ms();
        let tidy = Tidy { now_ms, retention_ms, active: Arc::new(active), gone: Arc::new(named) };
        for shard in stored {
            shard.submit(Change::Tidy(tidy.clone())).await.unwrap_or_else(|_| Err(stopped()))?;
        }
        Ok(())
    }
}

fn stopped() -> Error {
    Error::new(ErrorKind::Closed, "the host stopped before the group's offsets were written; they may still be")
}
