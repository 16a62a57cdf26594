//! DescribeLogDirs: the store stands for the one log directory of this broker.
//!
//! Partitions that are named are opened if need be. Asked for all, those are told that this broker has open: to look is no reason to take the
//! lead of everything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt;
use kafka_protocol::messages::describe_log_dirs_response::{DescribeLogDirsPartition, DescribeLogDirsResult, DescribeLogDirsTopic};
use kafka_protocol::messages::{DescribeLogDirsRequest, DescribeLogDirsResponse};
use kafka_protocol::protocol::StrBytes;
use tidegate::metadata::TopicRecord;
use tidegate::types::TopicPartition;

use crate::api::produce::partition_of;
use crate::api::{LOOKUPS_AT_ONCE, Service, Session};
use crate::configs::broker::store_name;
use crate::security::acl::{Operation, Resource};
use crate::topics::Refusal;

/// First version whose answer has an error of its own.
const ERRORS: i16 = 3;

impl Service {
    pub(super) async fn describe_log_dirs(
        self: Arc<Self>,
        session: &Session,
        version: i16,
        request: DescribeLogDirsRequest,
    ) -> DescribeLogDirsResponse {
        if let Err(error) = self.authorize(session, Operation::Describe, Resource::CLUSTER) {
            let answer = DescribeLogDirsResponse::default();
            return if version >= ERRORS { answer.with_error_code(error.code()) } else { answer };
        }
        let asked = match &request.topics {
            Some(topics) => {
                let named = topics.iter().map(|topic| (topic.topic.as_str(), topic.partitions.as_slice()));
                Ok(self.named_partitions(named).await)
            }
            None => self.open_partitions().await,
        };
        let directory = DescribeLogDirsResult::default().with_log_dir(StrBytes::from_string(store_name(self.storage.settings())));
        let directory = match asked {
            Ok(asked) => directory.with_topics(self.sizes(asked).await),
            Err(refusal) => directory.with_error_code(refusal.code.code()),
        };
        DescribeLogDirsResponse::default().with_results(vec![directory])
    }

    /// What does not exist is left out, as it lies in no directory.
    async fn named_partitions(&self, topics: impl Iterator<Item = (&str, &[i32])>) -> Vec<(TopicRecord, Vec<TopicPartition>)> {
        let mut found = Vec::new();
        for (name, partitions) in topics {
            let Ok(topic) = self.topics.by_name(name, false).await else { continue };
            let partitions = partitions.iter().filter_map(|index| partition_of(&topic, *index).ok());
            let partitions: BTreeSet<TopicPartition> = partitions.collect();
            found.push((topic, partitions.into_iter().collect()));
        }
        found
    }

    async fn open_partitions(&self) -> Result<Vec<(TopicRecord, Vec<TopicPartition>)>, Refusal> {
        let mut open: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
        for (topic, partition, _) in self.storage.open_partitions() {
            open.entry(topic).or_default().insert(partition);
        }
        let topics = self.storage.topics().await.map_err(|error| Refusal::of(&error))?;
        let found = topics.into_iter().filter_map(|topic| {
            let partitions = open.remove(&topic.name)?;
            let partitions = partitions.into_iter().map(|partition| TopicPartition { topic: topic.id, partition }).collect();
            Some((topic, partitions))
        });
        Ok(found.collect())
    }

    /// A partition that cannot be opened is left out: another broker has it.
    async fn sizes(&self, asked: Vec<(TopicRecord, Vec<TopicPartition>)>) -> Vec<DescribeLogDirsTopic> {
        let mut topics = Vec::with_capacity(asked.len());
        for (topic, partitions) in asked {
            let sizes: Vec<_> = partitions.into_iter().map(async |at| (at.partition, self.storage.partition_bytes(at).await)).collect();
            let sizes: Vec<_> = futures::stream::iter(sizes).buffered(LOOKUPS_AT_ONCE).collect().await;
            let partitions = sizes.into_iter().filter_map(|(partition, size)| Some(shown(partition, size.ok()?))).collect();
            let name = StrBytes::from_string(topic.name.to_string()).into();
            topics.push(DescribeLogDirsTopic::default().with_name(name).with_partitions(partitions));
        }
        topics
    }
}

fn shown(partition: u32, size: u64) -> DescribeLogDirsPartition {
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    DescribeLogDirsPartition::default().with_partition_index(partition as i32).with_partition_size(size)
}
