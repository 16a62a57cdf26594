//! ListOffsets: offsets by timestamp, and the two ends of a partition.

use std::sync::Arc;

use futures::StreamExt;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use kafka_protocol::messages::{ListOffsetsRequest, ListOffsetsResponse};
use tidegate::metadata::TopicRecord;
use tidegate::runtime::OffsetSpec;

use super::produce::partition_of;
use super::{LOOKUPS_AT_ONCE, Service, Session};
use crate::errors;
use crate::security::acl::Operation;
use crate::topics::Refusal;

/// First version with leader epochs.
const LEADER_EPOCHS: i16 = 4;

/// What a partition's lookup found.
struct Place {
    offset: i64,
    timestamp: i64,
    epoch: i32,
}

impl Place {
    /// No record is there.
    const NONE: Self = Self { offset: -1, timestamp: -1, epoch: -1 };
}

impl Service {
    pub(super) async fn list_offsets(self: Arc<Self>, session: Session, version: i16, request: ListOffsetsRequest) -> ListOffsetsResponse {
        let mut topics = Vec::with_capacity(request.topics.len());
        for topic in &request.topics {
            topics.push(self.offsets_of_topic(&session, version, topic).await);
        }
        ListOffsetsResponse::default().with_topics(topics)
    }

    async fn offsets_of_topic(&self, session: &Session, version: i16, topic: &ListOffsetsTopic) -> ListOffsetsTopicResponse {
        let record = self.topic_for(session, Operation::Describe, &topic.name).await;
        let lookups: Vec<_> = topic.partitions.iter().map(|asked| self.offset_of_partition(version, &record, asked)).collect();
        let partitions = futures::stream::iter(lookups).buffered(LOOKUPS_AT_ONCE).collect().await;
        ListOffsetsTopicResponse::default().with_name(topic.name.clone()).with_partitions(partitions)
    }

    async fn offset_of_partition(
        &self,
        version: i16,
        topic: &Result<TopicRecord, Refusal>,
        asked: &ListOffsetsPartition,
    ) -> ListOffsetsPartitionResponse {
        let answer = ListOffsetsPartitionResponse::default().with_partition_index(asked.partition_index);
        let found = match topic {
            Ok(topic) => self.look_up(version, topic, asked).await,
            Err(refusal) => Err(refusal.code),
        };
        match found {
            Ok(place) => {
                let answer = answer.with_offset(place.offset).with_timestamp(place.timestamp);
                if version >= LEADER_EPOCHS { answer.with_leader_epoch(place.epoch) } else { answer }
            }
            Err(error) => answer.with_error_code(error.code()).with_offset(-1).with_timestamp(-1),
        }
    }

    async fn look_up(&self, version: i16, topic: &TopicRecord, asked: &ListOffsetsPartition) -> Result<Place, ResponseError> {
        let partition = partition_of(topic, asked.partition_index).map_err(|refusal| refusal.code)?;
        self.agree_on_epoch(partition, asked.current_leader_epoch).await?;
        let Some(spec) = spec(version, asked.timestamp)? else { return Ok(Place::NONE) };
        let found = self.storage.list_offset(partition, spec).await.map_err(|error| errors::of_read(&error))?;
        let Some((offset, timestamp)) = found else { return Ok(Place::NONE) };
        let epoch = self.storage.leader_epoch(partition).await.map_err(|error| errors::of_read(&error))?;
        let timestamp = if matches!(spec, OffsetSpec::Earliest | OffsetSpec::Latest) { -1 } else { timestamp };
        Ok(Place { offset, timestamp, epoch: i32::try_from(epoch).unwrap_or(i32::MAX) })
    }
}

/// The meaning of a timestamp, for those that have one in this version. There is no second tier: the earliest local offset is the earliest, and
/// there is no last one in remote storage (`None`).
fn spec(version: i16, timestamp: i64) -> Result<Option<OffsetSpec>, ResponseError> {
    match (timestamp, version) {
        (0.., _) => Ok(Some(OffsetSpec::Timestamp(timestamp))),
        (-1, _) => Ok(Some(OffsetSpec::Latest)),
        (-2, _) | (-4, 8..) => Ok(Some(OffsetSpec::Earliest)),
        (-3, 7..) => Ok(Some(OffsetSpec::MaxTimestamp)),
        (-5, 9..) => Ok(None),
        _ => Err(ResponseError::UnsupportedVersion),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_timestamps_mean_what_the_protocol_says() {
        for version in 1..=10 {
            let since = |first: i16, meaning| if version >= first { Ok(meaning) } else { Err(ResponseError::UnsupportedVersion) };
            assert_eq!(spec(version, 0), Ok(Some(OffsetSpec::Timestamp(0))));
            assert_eq!(spec(version, -1), Ok(Some(OffsetSpec::Latest)));
            assert_eq!(spec(version, -2), Ok(Some(OffsetSpec::Earliest)));
            assert_eq!(spec(version, -3), since(7, Some(OffsetSpec::MaxTimestamp)), "version {version}");
            assert_eq!(spec(version, -4), since(8, Some(OffsetSpec::Earliest)), "version {version}");
            assert_eq!(spec(version, -5), since(9, None), "version {version}");
            for unknown in [-6, i64::MIN] {
                assert_eq!(spec(version, unknown), Err(ResponseError::UnsupportedVersion), "version {version}");
            }
        }
    }
}
