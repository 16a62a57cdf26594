//! CreateTopics.
//!
//! Replication is the object store's: any factor is accepted, and 1 is answered. Settings may carry the
//! names of this project (`retention_ms`, `acks`, ...) or Kafka's for those that mean the same.

use std::collections::{BTreeMap, BTreeSet};

use kafka_protocol::ResponseError;
use kafka_protocol::messages::create_topics_request::{CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::create_topics_response::CreatableTopicResult;
use kafka_protocol::messages::{CreateTopicsRequest, CreateTopicsResponse};
use kafka_protocol::protocol::StrBytes;
use tidegate::metadata::TopicRecord;
use tidegate::runtime::TopicSpec;
use tidegate::{Error, ErrorKind};

use super::{Service, Session};
use crate::security::acl::{Operation, Resource};
use crate::topics::{Refusal, checked_name};

/// Kafka's names of settings that exist here.
const SAME_SETTINGS: [(&str, &str); 4] = [
    ("retention.ms", "retention_ms"),
    ("retention.bytes", "retention_bytes"),
    ("max.message.bytes", "max_batch_bytes"),
    ("message.timestamp.type", "timestamp_type"),
];

/// Settings of Kafka whose only value here is this one.
const FIXED_SETTINGS: [(&str, &str); 3] = [("cleanup.policy", "delete"), ("compression.type", "producer"), ("min.insync.replicas", "1")];

impl Service {
    pub(super) async fn create_topics(&self, session: &Session, version: i16, request: CreateTopicsRequest) -> CreateTopicsResponse {
        let repeated = repeated(&request.topics);
        let mut results = Vec::with_capacity(request.topics.len());
        for topic in &request.topics {
            let created = match repeated.contains(topic.name.as_str()) {
                true => Err(Refusal::new(ResponseError::InvalidRequest, format!("topic {:?} is named twice", topic.name))),
                false => self.create_topic(session, topic, request.validate_only).await,
            };
            results.push(result(version, topic, created));
        }
        CreateTopicsResponse::default().with_topics(results)
    }

    /// Creates a topic, or says what would be created (`None`: only checked, with its partitions).
    async fn create_topic(&self, session: &Session, topic: &CreatableTopic, only_check: bool) -> Result<Created, Refusal> {
        if !self.may(session, Operation::Create, Resource::CLUSTER) {
            self.authorized(session, Operation::Create, Resource::topic(&topic.name))?;
        }
        let spec = spec(topic, self.settings.limits.partitions_per_topic)?;
        let name = spec.name.clone();
        if !only_check {
            let created = self.storage.create_topic(spec).await.map_err(|error| refusal(&error))?;
            return Ok(Created::Topic(created));
        }
        match self.storage.topic(&name).await.map_err(|error| refusal(&error))? {
            Some(_) => Err(Refusal::new(ResponseError::TopicAlreadyExists, format!("topic {name} exists"))),
            None => Ok(Created::Checked(spec.partitions)),
        }
    }
}

enum Created {
    Topic(TopicRecord),
    Checked(Option<u32>),
}

/// What the host refuses after our own checks is a setting.
fn refusal(error: &Error) -> Refusal {
    match error.kind() {
        ErrorKind::InvalidInput => Refusal::new(ResponseError::InvalidConfig, error.to_string()),
        _ => Refusal::of(error),
    }
}

fn repeated(topics: &[CreatableTopic]) -> BTreeSet<&str> {
    let mut seen = BTreeSet::new();
    topics.iter().map(|topic| topic.name.as_str()).filter(|name| !seen.insert(*name)).collect()
}

fn spec(topic: &CreatableTopic, most_partitions: u32) -> Result<TopicSpec, Refusal> {
    let name = checked_name(&topic.name)?;
    let partitions = partitions(topic, most_partitions)?;
    if topic.replication_factor == 0 || topic.replication_factor < -1 {
        let message = format!("replication factor is {}, expected -1 or at least 1", topic.replication_factor);
        return Err(Refusal::new(ResponseError::InvalidReplicationFactor, message));
    }
    let mut config = BTreeMap::new();
    for setting in &topic.configs {
        config.extend(translated(setting)?);
    }
    Ok(TopicSpec { name, partitions, lanes: None, config })
}

/// `None`: as the defaults say.
fn partitions(topic: &CreatableTopic, most: u32) -> Result<Option<u32>, Refusal> {
    if !topic.assignments.is_empty() {
        return assigned(topic, most).map(Some);
    }
    if topic.num_partitions == -1 {
        return Ok(None);
    }
    bounded(topic.num_partitions.into(), most).map(Some)
}

fn bounded(partitions: i64, most: u32) -> Result<u32, Refusal> {
    u32::try_from(partitions).ok().filter(|partitions| (1..=most).contains(partitions)).ok_or_else(|| {
        let message = format!("{partitions} partitions, expected -1 or 1 to {most} (broker.limits.partitions_per_topic)");
        Refusal::new(ResponseError::InvalidPartitions, message)
    })
}

/// Partitions given by where their replicas should lie: they must be numbered from 0 without a gap.
fn assigned(topic: &CreatableTopic, most: u32) -> Result<u32, Refusal> {
    let numbers: BTreeSet<i32> = topic.assignments.iter().map(|a: &CreatableReplicaAssignment| a.partition_index).collect();
    let dense = numbers.len() == topic.assignments.len() && numbers.iter().copied().eq(0..numbers.len() as i32);
    if !dense || topic.assignments.iter().any(|assignment| assignment.broker_ids.is_empty()) {
        let message = "replica assignments do not name brokers for the partitions from 0 on, once each";
        return Err(Refusal::new(ResponseError::InvalidReplicaAssignment, message));
    }
    bounded(numbers.len() as i64, most)
}

fn translated(setting: &CreatableTopicConfig) -> Result<Option<(String, String)>, Refusal> {
    let name = setting.name.as_str();
    let Some(value) = setting.value.as_ref().map(StrBytes::to_string) else { return Ok(None) };
    if let Some((_, expected)) = FIXED_SETTINGS.iter().find(|(kafka, _)| *kafka == name) {
        if value == *expected {
            return Ok(None);
        }
        return Err(Refusal::new(ResponseError::InvalidConfig, format!("setting {name} is {value:?}, only {expected:?} is supported")));
    }
    let ours = SAME_SETTINGS.iter().find(|(kafka, _)| *kafka == name).map_or(name, |(_, ours)| ours);
    Ok(Some((ours.to_owned(), value)))
}

fn result(version: i16, topic: &CreatableTopic, created: Result<Created, Refusal>) -> CreatableTopicResult {
    let answer = CreatableTopicResult::default().with_name(topic.name.clone());
    match created {
        Err(refusal) => answer.with_error_code(refusal.code.code()).with_error_message(Some(StrBytes::from_string(refusal.message))),
        Ok(_) if version < 5 => answer,
        Ok(Created::Checked(partitions)) => {
            answer.with_num_partitions(partitions.map_or(-1, |p| p as i32)).with_replication_factor(1).with_configs(Some(Vec::new()))
        }
        Ok(Created::Topic(topic)) => {
            let answer = answer.with_num_partitions(topic.partitions as i32).with_replication_factor(1).with_configs(Some(Vec::new()));
            if version >= 7 { answer.with_topic_id(topic.id.0) } else { answer }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(partitions: i32) -> CreatableTopic {
        CreatableTopic::default()
            .with_name(StrBytes::from_static_str("t").into())
            .with_num_partitions(partitions)
            .with_replication_factor(-1)
    }

    fn setting(name: &'static str, value: &'static str) -> CreatableTopicConfig {
        CreatableTopicConfig::default().with_name(StrBytes::from_static_str(name)).with_value(Some(StrBytes::from_static_str(value)))
    }

    fn code(topic: CreatableTopic) -> ResponseError {
        spec(&topic, 100).unwrap_err().code
    }

    #[test]
    fn partitions_are_bounded() {
        assert_eq!(spec(&topic(-1), 100).unwrap().partitions, None);
        assert_eq!(spec(&topic(100), 100).unwrap().partitions, Some(100));
        for partitions in [0, -2, 101, i32::MAX] {
            assert_eq!(code(topic(partitions)), ResponseError::InvalidPartitions);
        }
    }

    #[test]
    fn settings_of_kafka_are_translated_or_refused_never_ignored() {
        let spec = spec(&topic(1).with_configs(vec![setting("retention.ms", "5"), setting("cleanup.policy", "delete")]), 100).unwrap();
        assert_eq!(spec.config.into_iter().collect::<Vec<_>>(), [("retention_ms".to_owned(), "5".to_owned())]);
        assert_eq!(code(topic(1).with_configs(vec![setting("cleanup.policy", "compact")])), ResponseError::InvalidConfig);
    }

    #[test]
    fn assignments_count_the_partitions() {
        let assignment = |partition| CreatableReplicaAssignment::default().with_partition_index(partition).with_broker_ids(vec![0.into()]);
        assert_eq!(spec(&topic(-1).with_assignments(vec![assignment(1), assignment(0)]), 9).unwrap().partitions, Some(2));
        assert_eq!(code(topic(-1).with_assignments(vec![assignment(0), assignment(2)])), ResponseError::InvalidReplicaAssignment);
        assert_eq!(code(topic(-1).with_assignments(vec![assignment(0), assignment(0)])), ResponseError::InvalidReplicaAssignment);
    }
}
