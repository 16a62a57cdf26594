//! CreatePartitions: topics grow, they never shrink.

use std::collections::BTreeSet;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::create_partitions_response::CreatePartitionsTopicResult;
use kafka_protocol::messages::{CreatePartitionsRequest, CreatePartitionsResponse};
use tidegate::metadata::TopicRecord;

use super::told;
use crate::api::{Service, Session};
use crate::security::acl::{Operation, Resource};
use crate::topics::{Refusal, checked_name};

impl Service {
    pub(super) async fn create_partitions(&self, session: &Session, request: CreatePartitionsRequest) -> CreatePartitionsResponse {
        let mut seen = BTreeSet::new();
        let repeated: BTreeSet<&str> = request.topics.iter().map(|topic| topic.name.as_str()).filter(|name| !seen.insert(*name)).collect();
        let mut results = Vec::with_capacity(request.topics.len());
        for topic in &request.topics {
            let grown = match repeated.contains(topic.name.as_str()) {
                true => Err(Refusal::new(ResponseError::InvalidRequest, format!("topic {:?} is named twice", topic.name))),
                false => self.grow(session, topic, request.validate_only).await,
            };
            let (code, message) = told(grown);
            let result = CreatePartitionsTopicResult::default().with_name(topic.name.clone());
            results.push(result.with_error_code(code).with_error_message(message));
        }
        CreatePartitionsResponse::default().with_results(results)
    }

    async fn grow(&self, session: &Session, asked: &CreatePartitionsTopic, only_check: bool) -> Result<(), Refusal> {
        self.authorized(session, Operation::Alter, Resource::topic(&asked.name))?;
        let name = checked_name(&asked.name)?;
        let most = self.settings.limits.partitions_per_topic;
        let edit = |topic: &mut TopicRecord| {
            topic.partitions = grown(asked, topic, most)?;
            Ok::<(), Refusal>(())
        };
        match only_check {
            true => self.storage.plan_alteration(&name, edit).await.map(drop),
            false => self.storage.alter_topic(&name, edit).await.map(drop),
        }
    }
}

/// How many partitions a topic is to have.
fn grown(asked: &CreatePartitionsTopic, topic: &TopicRecord, most: u32) -> Result<u32, Refusal> {
    let (name, now) = (&topic.name, topic.partitions);
    let refused = |message| Err(Refusal::new(ResponseError::InvalidPartitions, message));
    let count = match u32::try_from(asked.count) {
        Ok(count) if count > most => {
            return refused(format!("{count} partitions asked for topic {name}, at most {most} (broker.limits.partitions_per_topic)"));
        }
        Ok(count) if count == now => return refused(format!("Topic already has {now} partition(s).")),
        Ok(count) if count > now => count,
        _ => return refused(format!("The topic {name} currently has {now} partition(s); {} would not be an increase.", asked.count)),
    };
    match &asked.assignments {
        Some(assignments) => check_assignments(asked, assignments.len(), count - now).map(|()| count),
        None => Ok(count),
    }
}

/// Where replicas are to lie is the object store's affair; how many partitions get some must fit.
fn check_assignments(asked: &CreatePartitionsTopic, found: usize, added: u32) -> Result<(), Refusal> {
    let empty = asked.assignments.iter().flatten().any(|assignment| assignment.broker_ids.is_empty());
    let problem = match (found == added as usize, empty) {
        (true, false) => return Ok(()),
        (false, _) => format!("{added} partitions are to be added, and {found} of them are assigned to brokers"),
        (true, true) => "a partition is assigned to no broker".to_owned(),
    };
    Err(Refusal::new(ResponseError::InvalidReplicaAssignment, problem))
}
