//! CreateTopics.
//!
//! Replication is the object store's: any factor is accepted, and 1 is answered. Configs are those of
//! [`configs`](crate::configs); policies among them are tried out before the topic is created, and bound after.

use std::collections::BTreeSet;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::create_topics_request::{CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::create_topics_response::{CreatableTopicConfigs, CreatableTopicResult};
use kafka_protocol::messages::{CreateTopicsRequest, CreateTopicsResponse};
use kafka_protocol::protocol::StrBytes;
use tidegate::metadata::TopicRecord;
use tidegate::runtime::TopicSpec;

use super::{Service, Session};
use crate::configs::edit::{Changes, Op};
use crate::configs::policies::PolicyChange;
use crate::configs::{Entry, describe};
use crate::security::acl::{Operation, Resource};
use crate::topics::{Refusal, checked_name};

/// First version whose answer describes the topic.
const DESCRIBED: i16 = 5;
const TOPIC_IDS: i16 = 7;

impl Service {
    pub(super) async fn create_topics(&self, session: &Session, version: i16, request: CreateTopicsRequest) -> CreateTopicsResponse {
        let repeated = repeated(&request.topics);
        let mut results = Vec::with_capacity(request.topics.len());
        for topic in &request.topics {
            let created = match repeated.contains(topic.name.as_str()) {
                true => Err(Refusal::new(ResponseError::InvalidRequest, format!("topic {:?} is named twice", topic.name))),
                false => self.create_topic(session, topic, request.validate_only).await,
            };
            results.push(self.created(session, version, topic, created, request.validate_only));
        }
        CreateTopicsResponse::default().with_topics(results)
    }

    /// Creates a topic, or says what would be created.
    async fn create_topic(&self, session: &Session, topic: &CreatableTopic, only_check: bool) -> Result<TopicRecord, Refusal> {
        if !self.may(session, Operation::Create, Resource::CLUSTER) {
            self.authorized(session, Operation::Create, Resource::topic(&topic.name))?;
        }
        let (spec, policies) = spec(topic, self.settings.limits.partitions_per_topic)?;
        let name = spec.name.clone();
        if only_check || !policies.is_empty() {
            let planned = self.storage.plan_topic(spec.clone()).await?;
            let policies = self.plan_policies(session, &name, &policies).await?;
            if only_check {
                return Ok(planned);
            }
            let created = self.storage.create_topic(spec).await?;
            return match self.apply_policies(session, &name, policies).await {
                Ok(()) => Ok(created),
                Err(Refusal { code, message }) => Err(Refusal::new(code, format!("the topic was created, but {message}"))),
            };
        }
        Ok(self.storage.create_topic(spec).await?)
    }

    fn created(
        &self,
        session: &Session,
        version: i16,
        asked: &CreatableTopic,
        created: Result<TopicRecord, Refusal>,
        only_checked: bool,
    ) -> CreatableTopicResult {
        let answer = CreatableTopicResult::default().with_name(asked.name.clone());
        let topic = match created {
            Ok(topic) => topic,
            Err(Refusal { code, message }) => {
                return answer.with_error_code(code.code()).with_error_message(Some(StrBytes::from_string(message)));
            }
        };
        if version < DESCRIBED {
            return answer;
        }
        let answer = match self.may(session, Operation::DescribeConfigs, Resource::topic(topic.name.as_str())) {
            true => {
                let configs = describe::topic(&topic, self.storage.settings(), &self.storage.bindings()).into_iter().map(shown).collect();
                answer.with_num_partitions(topic.partitions as i32).with_replication_factor(1).with_configs(Some(configs))
            }
            false => answer.with_topic_config_error_code(ResponseError::TopicAuthorizationFailed.code()),
        };
        // A topic that was not created has no id yet.
        if version >= TOPIC_IDS && !only_checked { answer.with_topic_id(topic.id.0) } else { answer }
    }
}

fn shown(entry: Entry) -> CreatableTopicConfigs {
    CreatableTopicConfigs::default()
        .with_name(StrBytes::from_static_str(entry.name))
        .with_value(Some(StrBytes::from_string(entry.value)))
        .with_read_only(entry.read_only)
        .with_config_source(entry.source as i8)
}

fn repeated(topics: &[CreatableTopic]) -> BTreeSet<&str> {
    let mut seen = BTreeSet::new();
    topics.iter().map(|topic| topic.name.as_str()).filter(|name| !seen.insert(*name)).collect()
}

fn spec(topic: &CreatableTopic, most_partitions: u32) -> Result<(TopicSpec, Vec<PolicyChange>), Refusal> {
    let name = checked_name(&topic.name)?;
    let partitions = partitions(topic, most_partitions)?;
    if topic.replication_factor == 0 || topic.replication_factor < -1 {
        let message = format!("replication factor is {}, expected -1 or at least 1", topic.replication_factor);
        return Err(Refusal::new(ResponseError::InvalidReplicationFactor, message));
    }
    let changes = Changes::checked(topic.configs.iter().map(set).collect::<Result<Vec<_>, _>>()?)?;
    let policies = changes.policies();
    Ok((TopicSpec { partitions, ..changes.into_spec(name)? }, policies))
}

fn set(config: &CreatableTopicConfig) -> Result<(String, Op), Refusal> {
    let missing = || Refusal::new(ResponseError::InvalidConfig, format!("config {} is null: leave it out to get its default", config.name));
    let value = config.value.as_ref().ok_or_else(missing)?;
    Ok((config.name.to_string(), Op::Set(value.to_string())))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(partitions: i32) -> CreatableTopic {
        CreatableTopic::default()
            .with_name(StrBytes::from_static_str("t").into())
            .with_num_partitions(partitions)
            .with_replication_factor(-1)
    }

    fn config(name: &'static str, value: Option<&'static str>) -> CreatableTopicConfig {
        CreatableTopicConfig::default().with_name(StrBytes::from_static_str(name)).with_value(value.map(StrBytes::from_static_str))
    }

    fn code(topic: CreatableTopic) -> ResponseError {
        spec(&topic, 100).unwrap_err().code
    }

    #[test]
    fn partitions_are_bounded() {
        assert_eq!(spec(&topic(-1), 100).unwrap().0.partitions, None);
        assert_eq!(spec(&topic(100), 100).unwrap().0.partitions, Some(100));
        for partitions in [0, -2, 101, i32::MAX] {
            assert_eq!(code(topic(partitions)), ResponseError::InvalidPartitions);
        }
    }

    #[test]
    fn configs_are_taken_or_refused_never_ignored() {
        let configs = vec![config("retention.ms", Some("5")), config("tidegate.lanes", Some("2")), config("segment.ms", Some("7"))];
        let (spec, _) = spec(&topic(4).with_configs(configs), 100).unwrap();
        assert_eq!(spec.config.into_iter().collect::<Vec<_>>(), [("retention_ms".to_owned(), "5".to_owned())]);
        assert_eq!(spec.annotations.into_iter().collect::<Vec<_>>(), [("segment.ms".to_owned(), "7".to_owned())]);
        assert_eq!(spec.lanes, Some(2));
        for bad in [config("compression.type", Some("gzip")), config("retention.ms", None), config("no.such.config", Some("1"))] {
            assert_eq!(code(topic(1).with_configs(vec![bad])), ResponseError::InvalidConfig);
        }
    }

    #[test]
    fn assignments_count_the_partitions() {
        let assignment = |partition| CreatableReplicaAssignment::default().with_partition_index(partition).with_broker_ids(vec![0.into()]);
        assert_eq!(spec(&topic(-1).with_assignments(vec![assignment(1), assignment(0)]), 9).unwrap().0.partitions, Some(2));
        assert_eq!(code(topic(-1).with_assignments(vec![assignment(0), assignment(2)])), ResponseError::InvalidReplicaAssignment);
        assert_eq!(code(topic(-1).with_assignments(vec![assignment(0), assignment(0)])), ResponseError::InvalidReplicaAssignment);
    }
}
