//! OffsetDelete: offsets of topics that no member reads.

use std::collections::BTreeSet;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::offset_delete_request::OffsetDeleteRequestTopic;
use kafka_protocol::messages::offset_delete_response::{OffsetDeleteResponsePartition, OffsetDeleteResponseTopic};
use kafka_protocol::messages::{OffsetDeleteRequest, OffsetDeleteResponse};
use tidegate::types::TopicPartition;

use crate::api::produce::partition_of;
use crate::api::{Service, Session};
use crate::group::{of_commit, of_read};
use crate::security::acl::Operation;

impl Service {
    pub(super) async fn offset_delete(&self, session: &Session, request: OffsetDeleteRequest) -> OffsetDeleteResponse {
        let deleted = match self.deletable(session, &request.group_id).await {
            Ok(subscribed) => self.delete_of_topics(session, &request, &subscribed).await,
            Err(error) => Err(error),
        };
        match deleted {
            Ok(topics) => OffsetDeleteResponse::default().with_topics(topics),
            Err(error) => OffsetDeleteResponse::default().with_error_code(error.code()),
        }
    }

    /// Whether the group exists; the topics that its members read.
    async fn deletable(&self, session: &Session, group: &str) -> Result<BTreeSet<String>, ResponseError> {
        self.group_for(session, Operation::Delete, group, false)?;
        let stored = self.storage.group_offsets(group).await.map_err(|error| of_read(&error))?;
        if stored.is_none() && self.groups.summary(group).is_none() {
            return Err(ResponseError::GroupIdNotFound);
        }
        self.groups.subscribed(group).ok_or(ResponseError::NonEmptyGroup)
    }

    async fn delete_of_topics(
        &self,
        session: &Session,
        request: &OffsetDeleteRequest,
        subscribed: &BTreeSet<String>,
    ) -> Result<Vec<OffsetDeleteResponseTopic>, ResponseError> {
        let (mut topics, mut partitions) = (Vec::with_capacity(request.topics.len()), Vec::new());
        for topic in &request.topics {
            let answers = self.check_deletion(session, topic, subscribed, &mut partitions).await;
            topics.push(OffsetDeleteResponseTopic::default().with_name(topic.name.clone()).with_partitions(answers));
        }
        if !partitions.is_empty() {
            let deleted = self.storage.delete_offsets(&request.group_id, partitions).await;
            deleted.map_err(|error| of_commit(&error))?;
        }
        Ok(topics)
    }

    async fn check_deletion(
        &self,
        session: &Session,
        topic: &OffsetDeleteRequestTopic,
        subscribed: &BTreeSet<String>,
        partitions: &mut Vec<TopicPartition>,
    ) -> Vec<OffsetDeleteResponsePartition> {
        let record = self.topic_for(session, Operation::Read, &topic.name).await;
        let mut check = |index: i32| {
            let record = record.as_ref().map_err(|refusal| refusal.code)?;
            if subscribed.contains(record.name.as_str()) {
                return Err(ResponseError::GroupSubscribedToTopic);
            }
            partitions.push(partition_of(record, index).map_err(|refusal| refusal.code)?);
            Ok(())
        };
        let answer = |index: i32, checked: Result<(), ResponseError>| {
            OffsetDeleteResponsePartition::default().with_partition_index(index).with_error_code(super::code(checked))
        };
        topic.partitions.iter().map(|p| answer(p.partition_index, check(p.partition_index))).collect()
    }
}
