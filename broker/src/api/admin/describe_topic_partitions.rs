//! DescribeTopicPartitions: topics in the order of their names, a page at a time.

use std::collections::BTreeSet;
use std::sync::Arc;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::describe_topic_partitions_request::Cursor as From;
use kafka_protocol::messages::describe_topic_partitions_response::{
    Cursor, DescribeTopicPartitionsResponsePartition as Partition, DescribeTopicPartitionsResponseTopic as Topic,
};
use kafka_protocol::messages::metadata_response::MetadataResponsePartition;
use kafka_protocol::messages::{DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse};
use kafka_protocol::protocol::StrBytes;
use tidegate::metadata::TopicRecord;

use crate::api::{Service, Session};
use crate::security::acl::{Operation, Resource};
use crate::topics::Refusal;

/// Partitions of one answer, whatever the client asks for.
const MOST_PARTITIONS: usize = 2_000;

impl Service {
    pub(super) async fn describe_topic_partitions(
        self: Arc<Self>,
        session: &Session,
        request: DescribeTopicPartitionsRequest,
    ) -> DescribeTopicPartitionsResponse {
        let names = match self.names_from(session, &request).await {
            Ok(names) => names,
            Err(refusal) => return all_refused(&request, &refusal),
        };
        let limit = usize::try_from(request.response_partition_limit).unwrap_or(0).clamp(1, MOST_PARTITIONS);
        let mut page = Page { left: limit, answer: DescribeTopicPartitionsResponse::default() };
        for name in names {
            if page.left == 0 {
                page.go_on_at(&name, 0);
                break;
            }
            let first =
                request.cursor.as_ref().filter(|cursor| cursor.topic_name.as_str() == name).map_or(0, |cursor| cursor.partition_index);
            match self.topic_for(session, Operation::Describe, &name).await {
                Ok(topic) => {
                    let operations = self.operations(session, Resource::topic(&name));
                    self.describe_from(&topic, first as u32, operations, &mut page).await;
                }
                Err(refusal) if !request.topics.is_empty() => page.answer.topics.push(refused(&name, refusal.code)),
                // Gone since it was listed.
                Err(_) => {}
            }
            if page.answer.next_cursor.is_some() {
                break;
            }
        }
        page.answer
    }

    /// The topics to describe from the cursor on, in order.
    async fn names_from(&self, session: &Session, request: &DescribeTopicPartitionsRequest) -> Result<BTreeSet<String>, Refusal> {
        let names: BTreeSet<String> = match request.topics.is_empty() {
            true => {
                let topics = self.storage.topics().await.map_err(|error| Refusal::of(&error))?;
                let visible = |name: &&str| self.may(session, Operation::Describe, Resource::topic(name));
                topics.iter().map(|topic| topic.name.as_str()).filter(visible).map(str::to_owned).collect()
            }
            false => request.topics.iter().map(|topic| topic.name.to_string()).collect(),
        };
        let Some(From { topic_name, partition_index, .. }) = &request.cursor else { return Ok(names) };
        let problem = if *partition_index < 0 {
            format!("the cursor is at partition {partition_index}, expected 0 or more")
        } else if !request.topics.is_empty() && !names.contains(topic_name.as_str()) {
            format!("the cursor is at topic {:?}, which is not among those asked for", topic_name.as_str())
        } else {
            return Ok(names.into_iter().filter(|name| name.as_str() >= topic_name.as_str()).collect());
        };
        Err(Refusal::new(ResponseError::InvalidRequest, problem))
    }

    async fn describe_from(&self, topic: &TopicRecord, first: u32, operations: i32, page: &mut Page) {
        let last = topic.partitions.min(first.saturating_add(page.left as u32));
        let partitions: Vec<Partition> = self.opened(topic, first..last).await.into_iter().map(shown).collect();
        page.left -= partitions.len();
        let name = topic.name.to_string();
        let answer = Topic::default().with_name(Some(StrBytes::from_string(name.clone()).into())).with_topic_id(topic.id.0);
        page.answer.topics.push(answer.with_topic_authorized_operations(operations).with_partitions(partitions));
        if last < topic.partitions {
            page.go_on_at(&name, last as i32);
        }
    }
}

/// An answer that is being filled.
struct Page {
    /// Partitions that it still takes.
    left: usize,
    answer: DescribeTopicPartitionsResponse,
}

impl Page {
    fn go_on_at(&mut self, topic: &str, partition: i32) {
        let name = StrBytes::from_string(topic.to_owned()).into();
        self.answer.next_cursor = Some(Cursor::default().with_topic_name(name).with_partition_index(partition));
    }
}

fn shown(found: MetadataResponsePartition) -> Partition {
    Partition::default()
        .with_error_code(found.error_code)
        .with_partition_index(found.partition_index)
        .with_leader_id(found.leader_id)
        .with_leader_epoch(found.leader_epoch)
        .with_replica_nodes(found.replica_nodes)
        .with_isr_nodes(found.isr_nodes)
        .with_eligible_leader_replicas(Some(Vec::new()))
        .with_last_known_elr(Some(Vec::new()))
}

fn refused(name: &str, code: ResponseError) -> Topic {
    Topic::default().with_error_code(code.code()).with_name(Some(StrBytes::from_string(name.to_owned()).into()))
}

/// An answer has no error of its own: each topic gets it.
fn all_refused(request: &DescribeTopicPartitionsRequest, refusal: &Refusal) -> DescribeTopicPartitionsResponse {
    let topics = request.topics.iter().map(|topic| refused(&topic.name, refusal.code)).collect();
    DescribeTopicPartitionsResponse::default().with_topics(topics)
}
