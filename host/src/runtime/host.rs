//! What the clones of a [`Storage`](super::Storage) share, and how a partition is found from its id.

use std::sync::Arc;

use super::bindings::Bindings;
use super::deletion::Deletions;
use super::gate::Gate;
use super::group_offsets::AllGroupOffsets;
use super::lanes::Lanes;
use super::producer_ids::ProducerIds;
use super::recording::Recorder;
use super::tasks::{StopOnDrop, Tasks};
use super::topics::Topics;
use crate::config::Settings;
use crate::error::{Error, ErrorKind, Result};
use crate::log::lane::Lane;
use crate::log::partition::{Offsets, Partition};
use crate::log::{Shared, Topic};
use crate::metadata::SharedMetadata;
use crate::types::{PartitionId, TopicName, TopicPartition};

pub(super) struct Host {
    pub(super) settings: Arc<Settings>,
    pub(super) shared: Shared,
    pub(super) metadata: SharedMetadata,
    pub(super) gate: Arc<Gate>,
    pub(super) lanes: Arc<Lanes>,
    pub(super) topics: Topics,
    pub(super) bindings: Bindings,
    pub(super) deletions: Arc<Deletions>,
    pub(super) producer_ids: ProducerIds,
    pub(super) group_offsets: AllGroupOffsets,
    pub(super) recorder: Recorder,
    pub(super) tasks: Tasks,
    /// The last handle ends the tasks: they must not outlive what they serve.
    pub(super) _stop: StopOnDrop,
}

impl Host {
    /// The topic of a partition that exists; one that is not known may have come from another host.
    pub(super) async fn topic_of(&self, partition: TopicPartition) -> Result<Arc<Topic>> {
        let known = self.topics.by_id(partition.topic).await?;
        if partition.partition < known.topic.partitions() {
            return Ok(known.topic.clone());
        }
        let known = self.topics.by_id_refreshed(partition.topic).await?;
        let count = known.topic.partitions();
        if partition.partition < count {
            return Ok(known.topic.clone());
        }
        Err(Error::new(
            ErrorKind::NotFound,
            format!("topic {} has {count} partitions, there is no {}", known.record.name, partition.partition),
        ))
    }

    /// The lane of a partition, opened if need be.
    pub(super) async fn lane_of(&self, partition: TopicPartition) -> Result<Arc<Lane>> {
        self.gate.readable()?;
        let topic = self.topic_of(partition).await?;
        self.lanes.get(&topic, topic.lane_of(partition.partition)).await
    }

    /// A partition, its lane opened if need be.
    pub(super) async fn partition(&self, partition: TopicPartition) -> Result<Arc<Partition>> {
        self.lane_of(partition).await?.partition(partition.partition)
    }

    /// The partitions of all lanes that lead.
    pub(super) fn open_partitions(&self) -> Vec<(TopicName, PartitionId, Offsets)> {
        let mut open = Vec::new();
        for lane in self.lanes.opened() {
            let Some(topic) = self.topics.peek(lane.id().topic) else { continue };
            let offsets = |p: PartitionId| lane.partition(p).and_then(|partition| partition.offsets());
            let partitions = topic.partitions_of(lane.id().lane);
            open.extend(partitions.filter_map(|p| Some((topic.name.clone(), p, offsets(p).ok()?))));
        }
        open.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        open
    }
}
