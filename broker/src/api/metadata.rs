//! Metadata: this broker leads everything, at the address that the client came through.

use std::ops::Range;
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
use crate::security::acl::{Operation, Resource};
use crate::topics::Refusal;

/// How long the opening of a partition may hold up an answer; without it the leader epoch is left open.
const EPOCH_WAIT: Duration = Duration::from_secs(2);
/// First version that allows a topic without a name.
const NULL_NAMES: i16 = 12;
/// First version that tells what may be done to a topic.
const OPERATIONS: i16 = 8;
/// Versions that tell what may be done to the cluster.
const CLUSTER_OPERATIONS: std::ops::RangeInclusive<i16> = 8..=10;

impl Service {
    pub(super) async fn metadata(self: Arc<Self>, session: Session, version: i16, request: MetadataRequest) -> MetadataResponse {
        let answer = MetadataResponse::default().with_brokers(vec![self.this_broker(&session)]).with_topics(match all(&request, version) {
            true => self.all_topics(&session, version, &request).await,
            false => self.named_topics(&session, version, &request).await,
        });
        let answer = if version >= 1 { answer.with_controller_id(self.node()) } else { answer };
        let answer =
            if version >= 2 { answer.with_cluster_id(Some(StrBytes::from_string(self.settings.cluster_id.clone()))) } else { answer };
        if !(CLUSTER_OPERATIONS.contains(&version) && request.include_cluster_authorized_operations) {
            return answer;
        }
        let visible = self.may(&session, Operation::Describe, Resource::CLUSTER);
        answer.with_cluster_authorized_operations(if visible { self.operations(&session, Resource::CLUSTER) } else { 0 })
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
    async fn all_topics(&self, session: &Session, version: i16, request: &MetadataRequest) -> Vec<MetadataResponseTopic> {
        let visible = |topic: &&TopicRecord| self.may(session, Operation::Describe, Resource::topic(topic.name.as_str()));
        match self.storage.topics().await {
            Ok(topics) => {
                let described = topics.iter().filter(visible).map(|topic| self.describe(topic, version, self.unopened(topic)));
                described.map(|answer| self.with_operations(session, version, request, answer)).collect()
            }
            Err(error) => {
                tracing::warn!(%error, "topics not listed");
                Vec::new()
            }
        }
    }

    async fn named_topics(&self, session: &Session, version: i16, request: &MetadataRequest) -> Vec<MetadataResponseTopic> {
        let topics: Vec<_> = request.topics.iter().flatten().map(|topic| self.named_topic(session, version, request, topic)).collect();
        futures::stream::iter(topics).buffered(LOOKUPS_AT_ONCE).collect().await
    }

    async fn named_topic(
        &self,
        session: &Session,
        version: i16,
        request: &MetadataRequest,
        asked: &MetadataRequestTopic,
    ) -> MetadataResponseTopic {
        let found = match &asked.name {
            Some(name) => self.visible(session, name, request.allow_auto_topic_creation).await,
            None => self.topic_of_id_for(session, Operation::Describe, asked.topic_id).await,
        };
        match found {
            Ok(topic) => {
                let answer = self.describe(&topic, version, self.opened(&topic, 0..topic.partitions).await);
                self.with_operations(session, version, request, answer)
            }
            Err(refusal) => refused(version, asked, &refusal),
        }
    }

    /// A topic that the client may see; created if it is missing and the client may do that.
    async fn visible(&self, session: &Session, name: &str, create: bool) -> Result<TopicRecord, Refusal> {
        let topic = self.topic_for(session, Operation::Describe, name).await;
        match topic {
            Err(refusal) if create && self.topics.creates() && refusal.code == ResponseError::UnknownTopicOrPartition => {
                if !self.may_create(session, name) {
                    self.authorized(session, Operation::Create, Resource::topic(name))?;
                }
                self.topics.by_name(name, true).await
            }
            topic => topic,
        }
    }

    /// What the client may do to a topic, where it asks.
    fn with_operations(
        &self,
        session: &Session,
        version: i16,
        request: &MetadataRequest,
        answer: MetadataResponseTopic,
    ) -> MetadataResponseTopic {
        if version < OPERATIONS || !request.include_topic_authorized_operations {
            return answer;
        }
        let operations = answer.name.as_ref().map_or(0, |name| self.operations(session, Resource::topic(name)));
        answer.with_topic_authorized_operations(operations)
    }

    fn describe(&self, topic: &TopicRecord, version: i16, partitions: Vec<MetadataResponsePartition>) -> MetadataResponseTopic {
        let name = StrBytes::from_string(topic.name.to_string());
        let answer = MetadataResponseTopic::default().with_name(Some(name.into())).with_partitions(partitions);
        if version >= 10 { answer.with_topic_id(topic.id.0) } else { answer }
    }

    fn unopened(&self, topic: &TopicRecord) -> Vec<MetadataResponsePartition> {
        (0..topic.partitions).map(|partition| self.partition(partition, Ok(-1))).collect()
    }

    pub(super) async fn opened(&self, topic: &TopicRecord, partitions: Range<u32>) -> Vec<MetadataResponsePartition> {
        let partitions = partitions.map(async |partition| {
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
