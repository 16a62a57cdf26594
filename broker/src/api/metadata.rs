//! Metadata: this broker leads everything, at the address that the client came through.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::{MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic};
use kafka_protocol::messages::{BrokerId, MetadataRequest, MetadataResponse};
use kafka_protocol::protocol::StrBytes;
use tidegate::metadata::TopicRecord;
use tidegate::types::{PartitionId, TopicPartition};
use tidegate::{Error, ErrorKind};
use tokio::time::timeout;

use super::{LOOKUPS_AT_ONCE, Service, Session};
use crate::errors;
use crate::topics::Refusal;

/// How long the opening of a partition may hold up an answer; without it the leader epoch is left open.
const EPOCH_WAIT: Duration = Duration::from_secs(2);
/// First version that allows a topic without a name.
const NULL_NAMES: i16 = 12;

impl Service {
    pub(super) async fn metadata(self: Arc<Self>, session: Session, version: i16, request: MetadataRequest) -> MetadataResponse {
        let answer = MetadataResponse::default().with_brokers(vec![self.this_broker(&session)]).with_topics(match all(&request, version) {
            true => self.all_topics(version).await,
            false => self.named_topics(version, &request).await,
        });
        let answer = if version >= 1 { answer.with_controller_id(self.node()) } else { answer };
        if version >= 2 { answer.with_cluster_id(Some(StrBytes::from_string(self.settings.cluster_id.clone()))) } else { answer }
    }

    fn node(&self) -> BrokerId {
        BrokerId(self.settings.node_id)
    }

    fn this_broker(&self, session: &Session) -> MetadataResponseBroker {
        let endpoint = &session.endpoint;
        let host = StrBytes::from_string(endpoint.host.clone());
        MetadataResponseBroker::default().with_node_id(self.node()).with_host(host).with_port(endpoint.port.into())
    }

    /// Nothing is opened for a client that only looks around: leader epochs are left open.
    async fn all_topics(&self, version: i16) -> Vec<MetadataResponseTopic> {
        match self.storage.topics().await {
            Ok(topics) => topics.iter().map(|topic| self.describe(topic, version, self.unopened(topic))).collect(),
            Err(error) => {
                tracing::warn!(%error, "topics not listed");
                Vec::new()
            }
        }
    }

    async fn named_topics(&self, version: i16, request: &MetadataRequest) -> Vec<MetadataResponseTopic> {
        let create = request.allow_auto_topic_creation;
        let topics: Vec<_> = request.topics.iter().flatten().map(|topic| self.named_topic(version, topic, create)).collect();
        futures::stream::iter(topics).buffered(LOOKUPS_AT_ONCE).collect().await
    }

    async fn named_topic(&self, version: i16, asked: &MetadataRequestTopic, create: bool) -> MetadataResponseTopic {
        let found = match &asked.name {
            Some(name) => self.topics.by_name(name, create).await,
            None => self.topics.by_id(asked.topic_id).await,
        };
        match found {
            Ok(topic) => self.describe(&topic, version, self.opened(&topic).await),
            Err(refusal) => refused(version, asked, &refusal),
        }
    }

    fn describe(&self, topic: &TopicRecord, version: i16, partitions: Vec<MetadataResponsePartition>) -> MetadataResponseTopic {
        let name = StrBytes::from_string(topic.name.to_string());
        let answer = MetadataResponseTopic::default().with_name(Some(name.into())).with_partitions(partitions);
        if version >= 10 { answer.with_topic_id(topic.id.0) } else { answer }
    }

    fn unopened(&self, topic: &TopicRecord) -> Vec<MetadataResponsePartition> {
        (0..topic.partitions).map(|partition| self.partition(partition, Ok(-1))).collect()
    }

    async fn opened(&self, topic: &TopicRecord) -> Vec<MetadataResponsePartition> {
        let partitions = (0..topic.partitions).map(async |partition| {
            let epoch = timeout(EPOCH_WAIT, self.storage.leader_epoch(TopicPartition { topic: topic.id, partition })).await;
            self.partition(partition, leader(epoch.unwrap_or_else(|_| Err(late()))))
        });
        futures::stream::iter(partitions).buffered(LOOKUPS_AT_ONCE).collect().await
    }

    /// A partition with its leader epoch (-1: left open), or without a leader.
    fn partition(&self, partition: PartitionId, epoch: Result<i32, ResponseError>) -> MetadataResponsePartition {
        let nodes = vec![self.node()];
        let answer = MetadataResponsePartition::default().with_partition_index(partition as i32);
        let answer = answer.with_replica_nodes(nodes.clone()).with_isr_nodes(nodes);
        match epoch {
            Ok(epoch) => answer.with_leader_id(self.node()).with_leader_epoch(epoch),
            Err(error) => answer.with_error_code(error.code()).with_leader_id(BrokerId(-1)),
        }
    }
}

/// Whether all topics are asked for: in version 0 by an empty list, later by none.
fn all(request: &MetadataRequest, version: i16) -> bool {
    request.topics.as_ref().is_none_or(|topics| version == 0 && topics.is_empty())
}

fn late() -> Error {
    Error::new(ErrorKind::Unavailable, format!("partition not opened within {EPOCH_WAIT:?}"))
}

/// A partition that cannot be opened just now keeps its leader: requests to it get a retriable error. One
/// that another host leads has none here.
fn leader(epoch: Result<u32, Error>) -> Result<i32, ResponseError> {
    match epoch {
        Ok(epoch) => Ok(i32::try_from(epoch).unwrap_or(i32::MAX)),
        Err(error) if matches!(error.kind(), ErrorKind::NotLeader | ErrorKind::Closed) => Err(ResponseError::LeaderNotAvailable),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(errors::of(error.kind())),
        Err(_) => Ok(-1),
    }
}

fn refused(version: i16, asked: &MetadataRequestTopic, refusal: &Refusal) -> MetadataResponseTopic {
    let name = if version >= NULL_NAMES { asked.name.clone() } else { Some(asked.name.clone().unwrap_or_default()) };
    let answer = MetadataResponseTopic::default().with_error_code(refusal.code.code()).with_name(name);
    if version >= 10 { answer.with_topic_id(asked.topic_id) } else { answer }
}
