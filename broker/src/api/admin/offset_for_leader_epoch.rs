//! OffsetForLeaderEpoch: where the records of a leader epoch end, so that a consumer finds out whether what it read has stayed.

use std::sync::Arc;

use futures::StreamExt;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use kafka_protocol::messages::offset_for_leader_epoch_response::{EpochEndOffset, OffsetForLeaderTopicResult};
use kafka_protocol::messages::{OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse};
use tidegate::metadata::TopicRecord;
use tidegate::runtime::EpochEnd;

use crate::api::produce::partition_of;
use crate::api::{LOOKUPS_AT_ONCE, Service, Session};
use crate::errors;
use crate::security::acl::Operation;
use crate::topics::Refusal;

/// Epoch and offset where there are none.
const UNDEFINED: i32 = -1;

impl Service {
    pub(super) async fn offset_for_leader_epoch(
        self: Arc<Self>,
        session: &Session,
        request: OffsetForLeaderEpochRequest,
    ) -> OffsetForLeaderEpochResponse {
        let mut topics = Vec::with_capacity(request.topics.len());
        for topic in &request.topics {
            topics.push(self.epochs_of_topic(session, topic).await);
        }
        OffsetForLeaderEpochResponse::default().with_topics(topics)
    }

    async fn epochs_of_topic(&self, session: &Session, asked: &OffsetForLeaderTopic) -> OffsetForLeaderTopicResult {
        let record = self.topic_for(session, Operation::Describe, &asked.topic).await;
        let lookups: Vec<_> = asked.partitions.iter().map(|partition| self.epoch_of_partition(&record, partition)).collect();
        let partitions = futures::stream::iter(lookups).buffered(LOOKUPS_AT_ONCE).collect().await;
        OffsetForLeaderTopicResult::default().with_topic(asked.topic.clone()).with_partitions(partitions)
    }

    async fn epoch_of_partition(&self, topic: &Result<TopicRecord, Refusal>, asked: &OffsetForLeaderPartition) -> EpochEndOffset {
        let answer = EpochEndOffset::default().with_partition(asked.partition);
        let found = match topic {
            Ok(topic) => self.end_of_epoch(topic, asked).await,
            Err(refusal) => Err(refusal.code),
        };
        match found {
            Ok(Some(EpochEnd { epoch, offset })) => {
                answer.with_leader_epoch(i32::try_from(epoch).unwrap_or(i32::MAX)).with_end_offset(offset)
            }
            Ok(None) => answer.with_leader_epoch(UNDEFINED).with_end_offset(UNDEFINED.into()),
            Err(error) => answer.with_error_code(error.code()).with_leader_epoch(UNDEFINED).with_end_offset(UNDEFINED.into()),
        }
    }

    /// `None`: no epoch was asked for that this partition could know.
    async fn end_of_epoch(&self, topic: &TopicRecord, asked: &OffsetForLeaderPartition) -> Result<Option<EpochEnd>, ResponseError> {
        let partition = partition_of(topic, asked.partition).map_err(|refusal| refusal.code)?;
        self.agree_on_epoch(partition, asked.current_leader_epoch).await?;
        let Ok(epoch) = u32::try_from(asked.leader_epoch) else { return Ok(None) };
        self.storage.epoch_end(partition, epoch).await.map_err(|error| errors::of_read(&error))
    }
}
