//! OffsetFetch: what a group has committed, by the topics that exist now. An older topic of a name has another id, and
//! its offsets are not told.

use std::collections::BTreeMap;
use std::sync::Arc;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use kafka_protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions, OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
};
use kafka_protocol::messages::{OffsetFetchRequest, OffsetFetchResponse, TopicName};
use tidegate::metadata::{CommittedOffset, GroupOffsets};
use tidegate::types::PartitionId;

use super::text;
use crate::api::{Service, Session};
use crate::group::of_read;
use crate::security::acl::{Operation, Resource};

/// First version that tells why a whole group's offsets are not told.
const GROUP_ERRORS: i16 = 2;
/// First version with leader epochs.
const EPOCHS: i16 = 5;
/// First version that asks for many groups.
const BATCHES: i16 = 8;

/// The partitions of a topic, with what is committed, or why that is not told.
struct Found {
    name: TopicName,
    refused: Option<ResponseError>,
    partitions: Vec<(i32, Option<CommittedOffset>)>,
}

impl Found {
    fn error(&self) -> i16 {
        self.refused.map_or(0, |error| error.code())
    }
}

impl Service {
    pub(super) async fn offset_fetch(self: Arc<Self>, session: Session, version: i16, request: OffsetFetchRequest) -> OffsetFetchResponse {
        if version >= BATCHES {
            let mut groups = Vec::with_capacity(request.groups.len());
            for group in &request.groups {
                groups.push(group_answer(group, self.offsets_of_group(&session, &group.group_id, group.topics.as_deref()).await));
            }
            return OffsetFetchResponse::default().with_groups(groups);
        }
        let topics = request.topics.map(|topics| {
            let topic = |topic: kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestTopic| {
                OffsetFetchRequestTopics::default().with_name(topic.name).with_partition_indexes(topic.partition_indexes)
            };
            topics.into_iter().map(topic).collect::<Vec<_>>()
        });
        let found = self.offsets_of_group(&session, &request.group_id, topics.as_deref()).await;
        answer(version, topics.unwrap_or_default(), found)
    }

    /// What a group has committed of these topics, or of all.
    async fn offsets_of_group(
        &self,
        session: &Session,
        group: &str,
        topics: Option<&[OffsetFetchRequestTopics]>,
    ) -> Result<Vec<Found>, ResponseError> {
        self.group_for(session, Operation::Describe, group, true)?;
        let offsets = self.storage.group_offsets(group).await.map_err(|error| {
            tracing::warn!(%error, "offsets not told");
            of_read(&error)
        })?;
        match topics {
            Some(topics) => self.offsets_of_topics(session, offsets.as_deref(), topics).await,
            None => self.all_offsets(session, offsets.as_deref()).await,
        }
    }

    async fn offsets_of_topics(
        &self,
        session: &Session,
        offsets: Option<&GroupOffsets>,
        topics: &[OffsetFetchRequestTopics],
    ) -> Result<Vec<Found>, ResponseError> {
        let mut found = Vec::with_capacity(topics.len());
        for topic in topics {
            let refused = self.authorize(session, Operation::Describe, Resource::topic(&topic.name)).err();
            let record = if refused.is_none() { self.topics.by_name(&topic.name, false).await.ok() } else { None };
            let committed = record.and_then(|record| offsets?.topics.get(&record.id));
            let of = |index: &i32| committed?.get(&PartitionId::try_from(*index).ok()?).cloned();
            let partitions = topic.partition_indexes.iter().map(|index| (*index, of(index))).collect();
            found.push(Found { name: topic.name.clone(), refused, partitions });
        }
        Ok(found)
    }

    async fn all_offsets(&self, session: &Session, offsets: Option<&GroupOffsets>) -> Result<Vec<Found>, ResponseError> {
        let mut by_name = BTreeMap::new();
        for (id, partitions) in offsets.map(|offsets| &offsets.topics).into_iter().flatten() {
            if let Ok(record) = self.topics.by_id(id.0).await
                && self.may(session, Operation::Describe, Resource::topic(record.name.as_str()))
            {
                let partitions = partitions.iter().map(|(index, offset)| (*index as i32, Some(offset.clone())));
                by_name.insert(record.name, partitions.collect::<Vec<_>>());
            }
        }
        let found =
            |(name, partitions): (tidegate::types::TopicName, _)| Found { name: text(name.as_str()).into(), refused: None, partitions };
        Ok(by_name.into_iter().map(found).collect())
    }
}

fn epoch(offset: Option<&CommittedOffset>) -> i32 {
    offset.and_then(|offset| offset.epoch).and_then(|epoch| i32::try_from(epoch).ok()).unwrap_or(-1)
}

fn group_answer(group: &OffsetFetchRequestGroup, found: Result<Vec<Found>, ResponseError>) -> OffsetFetchResponseGroup {
    let answer = OffsetFetchResponseGroup::default().with_group_id(group.group_id.clone());
    let partition = |error: i16, (index, offset): (i32, Option<CommittedOffset>)| {
        let answer = OffsetFetchResponsePartitions::default().with_partition_index(index).with_error_code(error);
        let answer = answer.with_committed_leader_epoch(epoch(offset.as_ref()));
        let (at, metadata) = offset.map_or((-1, String::new()), |offset| (offset.offset, offset.metadata));
        answer.with_committed_offset(at).with_metadata(Some(text(&metadata)))
    };
    match found {
        Err(error) => answer.with_error_code(error.code()),
        Ok(found) => answer.with_topics(
            found
                .into_iter()
                .map(|topic| {
                    let error = topic.error();
                    let partitions = topic.partitions.into_iter().map(|found| partition(error, found)).collect();
                    OffsetFetchResponseTopics::default().with_name(topic.name).with_partitions(partitions)
                })
                .collect(),
        ),
    }
}

/// Before version 2 an error is told of each partition.
fn answer(version: i16, asked: Vec<OffsetFetchRequestTopics>, found: Result<Vec<Found>, ResponseError>) -> OffsetFetchResponse {
    let (found, error) = match found {
        Ok(found) => (found, 0),
        Err(error) => {
            let nothing = |topic: OffsetFetchRequestTopics| {
                let partitions = topic.partition_indexes.into_iter().map(|partition| (partition, None)).collect();
                Found { name: topic.name, refused: Some(error), partitions }
            };
            (asked.into_iter().map(nothing).collect::<Vec<_>>(), error.code())
        }
    };
    let partition = |error: i16, (index, offset): (i32, Option<CommittedOffset>)| {
        let answer = OffsetFetchResponsePartition::default().with_partition_index(index).with_error_code(error);
        let answer = if version >= EPOCHS { answer.with_committed_leader_epoch(epoch(offset.as_ref())) } else { answer };
        let (at, metadata) = offset.map_or((-1, String::new()), |offset| (offset.offset, offset.metadata));
        answer.with_committed_offset(at).with_metadata(Some(text(&metadata)))
    };
    let topics = found.into_iter().map(|topic| {
        let error = topic.error();
        let partitions = topic.partitions.into_iter().map(|found| partition(error, found)).collect();
        OffsetFetchResponseTopic::default().with_name(topic.name).with_partitions(partitions)
    });
    let answer = OffsetFetchResponse::default().with_topics(topics.collect());
    if version >= GROUP_ERRORS { answer.with_error_code(error) } else { answer }
}
