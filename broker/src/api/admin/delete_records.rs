//! DeleteRecords: log starts move up, durably; the objects go later.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::delete_records_response::{DeleteRecordsPartitionResult, DeleteRecordsTopicResult};
use kafka_protocol::messages::{DeleteRecordsRequest, DeleteRecordsResponse};
use tidegate::config::CleanupPolicy;
use tidegate::metadata::TopicRecord;
use tidegate::types::Offset;
use tokio::time::timeout;

use crate::api::produce::partition_of;
use crate::api::{LOOKUPS_AT_ONCE, Service, Session};
use crate::errors;
use crate::security::acl::Operation;
use crate::topics::Refusal;

/// Stands for the high watermark.
const HIGH_WATERMARK: i64 = -1;
/// Log start of a partition that it is not known of.
const UNKNOWN: i64 = -1;

impl Service {
    pub(super) async fn delete_records(self: Arc<Self>, session: &Session, request: DeleteRecordsRequest) -> DeleteRecordsResponse {
        let patience = Duration::from_millis(request.timeout_ms.max(0) as u64);
        let mut topics = Vec::with_capacity(request.topics.len());
        for topic in &request.topics {
            topics.push(self.trim_topic(session, topic, patience).await);
        }
        DeleteRecordsResponse::default().with_topics(topics)
    }

    async fn trim_topic(&self, session: &Session, asked: &DeleteRecordsTopic, patience: Duration) -> DeleteRecordsTopicResult {
        let record = self.topic_for(session, Operation::Delete, &asked.name).await.and_then(|topic| self.may_be_trimmed(topic));
        let trims: Vec<_> = asked.partitions.iter().map(|partition| self.trim_partition(&record, partition, patience)).collect();
        let partitions = futures::stream::iter(trims).buffered(LOOKUPS_AT_ONCE).collect().await;
        DeleteRecordsTopicResult::default().with_name(asked.name.clone()).with_partitions(partitions)
    }

    /// A topic that is said to be compacted promises the latest record of every key.
    fn may_be_trimmed(&self, topic: TopicRecord) -> Result<TopicRecord, Refusal> {
        let settings = self.storage.topic_settings(&topic).map_err(|error| Refusal::of(&error))?;
        if settings.cleanup_policy != CleanupPolicy::Compact {
            return Ok(topic);
        }
        let message = format!("cleanup.policy of topic {} is compact: its records cannot be deleted by offset", topic.name);
        Err(Refusal::new(ResponseError::PolicyViolation, message))
    }

    async fn trim_partition(
        &self,
        topic: &Result<TopicRecord, Refusal>,
        asked: &DeleteRecordsPartition,
        patience: Duration,
    ) -> DeleteRecordsPartitionResult {
        let answer = DeleteRecordsPartitionResult::default().with_partition_index(asked.partition_index);
        let trimmed = match topic {
            Ok(topic) => timeout(patience, self.trim(topic, asked)).await.unwrap_or(Err(ResponseError::RequestTimedOut)),
            Err(refusal) => Err(refusal.code),
        };
        match trimmed {
            Ok(log_start) => answer.with_low_watermark(log_start),
            Err(error) => answer.with_error_code(error.code()).with_low_watermark(UNKNOWN),
        }
    }

    /// The log start afterwards; one that is above already stays.
    async fn trim(&self, topic: &TopicRecord, asked: &DeleteRecordsPartition) -> Result<Offset, ResponseError> {
        let partition = partition_of(topic, asked.partition_index).map_err(|refusal| refusal.code)?;
        let offset = match asked.offset {
            HIGH_WATERMARK => self.storage.offsets(partition).await.map_err(|error| errors::of_read(&error))?.high_watermark,
            offset => offset,
        };
        self.storage.trim(partition, offset).await.map_err(|error| errors::of_read(&error))
    }
}
