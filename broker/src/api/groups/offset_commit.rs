//! OffsetCommit: answered once the offsets are durable.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use kafka_protocol::messages::offset_commit_response::{OffsetCommitResponsePartition, OffsetCommitResponseTopic};
use kafka_protocol::messages::{OffsetCommitRequest, OffsetCommitResponse, TopicName};
use tidegate::metadata::{CommittedOffset, TopicRecord};
use tidegate::runtime::OffsetCommit;
use tidegate::types::TopicPartition;

use crate::api::produce::partition_of;
use crate::api::{Service, Session};
use crate::group::{Who, of_commit};
use crate::security::acl::Operation;
use crate::topics::Refusal;

/// A topic's partitions, each with why it is not committed, if it is not.
type Checked = (TopicName, Vec<(i32, Option<ResponseError>)>);

impl Service {
    /// Queues what can be committed; the future ends once that is durable, with the answer.
    pub(super) async fn offset_commit(
        &self,
        session: &Session,
        request: OffsetCommitRequest,
    ) -> impl Future<Output = OffsetCommitResponse> + Send + use<> {
        let may = self.group_for(session, Operation::Read, &request.group_id, true);
        let (mut checked, mut offsets): (Vec<Checked>, Vec<_>) = (Vec::with_capacity(request.topics.len()), Vec::new());
        for topic in &request.topics {
            let record = match &may {
                Ok(()) => self.topic_for(session, Operation::Read, &topic.name).await,
                Err(code) => Err(Refusal::new(*code, "")),
            };
            checked.push((topic.name.clone(), self.check_topic(&record, topic, &mut offsets)));
        }
        let queued = may.and_then(|()| self.queue(&request, offsets));
        async move {
            let committed = match queued {
                Ok(Some(queued)) => queued.await.map_err(|error| {
                    tracing::warn!(%error, "offsets not committed");
                    of_commit(&error)
                }),
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            response(checked, committed.err())
        }
    }

    fn check_topic(
        &self,
        record: &Result<TopicRecord, Refusal>,
        topic: &OffsetCommitRequestTopic,
        offsets: &mut Vec<(TopicPartition, CommittedOffset)>,
    ) -> Vec<(i32, Option<ResponseError>)> {
        let mut check = |asked: &OffsetCommitRequestPartition| match self.check_partition(record, asked) {
            Ok(offset) => {
                offsets.push(offset);
                (asked.partition_index, None)
            }
            Err(error) => (asked.partition_index, Some(error)),
        };
        topic.partitions.iter().map(&mut check).collect()
    }

    fn check_partition(
        &self,
        record: &Result<TopicRecord, Refusal>,
        asked: &OffsetCommitRequestPartition,
    ) -> Result<(TopicPartition, CommittedOffset), ResponseError> {
        let record = record.as_ref().map_err(|refusal| refusal.code)?;
        let partition = partition_of(record, asked.partition_index).map_err(|refusal| refusal.code)?;
        let metadata = asked.committed_metadata.as_ref().map(ToString::to_string).unwrap_or_default();
        if metadata.len() > self.settings.groups.offset_metadata_bytes as usize {
            return Err(ResponseError::OffsetMetadataTooLarge);
        }
        let epoch = u32::try_from(asked.committed_leader_epoch).ok();
        Ok((partition, CommittedOffset { offset: asked.committed_offset, epoch, metadata, at_ms: 0 }))
    }

    /// `None`: there is nothing to commit.
    fn queue(
        &self,
        request: &OffsetCommitRequest,
        offsets: Vec<(TopicPartition, CommittedOffset)>,
    ) -> Result<Option<impl Future<Output = tidegate::Result<()>> + Send + use<>>, ResponseError> {
        let who = Who { member: &request.member_id, instance: request.group_instance_id.as_deref() };
        self.groups.commit(&request.group_id, &who, request.generation_id_or_member_epoch, |protocol_type| {
            if offsets.is_empty() {
                return None;
            }
            let (group, protocol_type) = (request.group_id.to_string(), protocol_type.to_owned());
            Some(self.storage.commit_offsets(OffsetCommit { group, protocol_type, offsets }))
        })
    }
}

fn response(checked: Vec<Checked>, failed: Option<ResponseError>) -> OffsetCommitResponse {
    let partition = |(index, refused): (i32, Option<ResponseError>)| {
        let error = refused.or(failed).map_or(0, |error| error.code());
        OffsetCommitResponsePartition::default().with_partition_index(index).with_error_code(error)
    };
    let topics = checked.into_iter().map(|(name, partitions)| {
        let partitions = partitions.into_iter().map(partition).collect();
        OffsetCommitResponseTopic::default().with_name(name).with_partitions(partitions)
    });
    OffsetCommitResponse::default().with_topics(topics.collect())
}
