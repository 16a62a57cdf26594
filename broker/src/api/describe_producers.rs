//! DescribeProducers: what partitions remember of idempotent producers.

use std::sync::Arc;

use futures::StreamExt;
use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::describe_producers_response::{PartitionResponse, ProducerState, TopicResponse};
use kafka_protocol::messages::{DescribeProducersRequest, DescribeProducersResponse};
use kafka_protocol::protocol::StrBytes;
use tidegate::metadata::TopicRecord;
use tidegate::runtime::KnownProducer;

use super::produce::partition_of;
use super::{LOOKUPS_AT_ONCE, Service, Session};
use crate::errors;
use crate::security::acl::Operation;
use crate::topics::Refusal;

impl Service {
    pub(super) async fn describe_producers(
        self: Arc<Self>,
        session: Session,
        request: DescribeProducersRequest,
    ) -> DescribeProducersResponse {
        let mut topics = Vec::with_capacity(request.topics.len());
        for topic in &request.topics {
            topics.push(self.producers_of_topic(&session, topic).await);
        }
        DescribeProducersResponse::default().with_topics(topics)
    }

    async fn producers_of_topic(&self, session: &Session, topic: &TopicRequest) -> TopicResponse {
        let record = self.topic_for(session, Operation::Read, &topic.name).await;
        let lookups: Vec<_> = topic.partition_indexes.iter().map(|index| self.producers_of_partition(&record, *index)).collect();
        let partitions = futures::stream::iter(lookups).buffered(LOOKUPS_AT_ONCE).collect().await;
        TopicResponse::default().with_name(topic.name.clone()).with_partitions(partitions)
    }

    async fn producers_of_partition(&self, topic: &Result<TopicRecord, Refusal>, index: i32) -> PartitionResponse {
        let answer = PartitionResponse::default().with_partition_index(index);
        match self.look_up_producers(topic, index).await {
            Ok(known) => answer.with_active_producers(known.iter().map(state).collect()),
            Err(Refusal { code, message }) => answer.with_error_code(code.code()).with_error_message(Some(StrBytes::from_string(message))),
        }
    }

    async fn look_up_producers(&self, topic: &Result<TopicRecord, Refusal>, index: i32) -> Result<Vec<KnownProducer>, Refusal> {
        let partition = partition_of(topic.as_ref().map_err(Clone::clone)?, index)?;
        let known = self.storage.producers(partition).await;
        known.map_err(|error| Refusal::new(errors::of_read(&error), error.to_string()))
    }
}

/// Timestamps are not kept, and there are no transactions.
fn state(known: &KnownProducer) -> ProducerState {
    ProducerState::default()
        .with_producer_id(known.id.into())
        .with_producer_epoch(known.epoch.into())
        .with_last_sequence(known.last_sequence)
        .with_last_timestamp(-1)
        .with_coordinator_epoch(-1)
        .with_current_txn_start_offset(-1)
}
