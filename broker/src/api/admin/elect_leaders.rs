//! ElectLeaders: whoever leads here is the one that should.

use std::sync::Arc;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::elect_leaders_response::{PartitionResult, ReplicaElectionResult};
use kafka_protocol::messages::{ElectLeadersRequest, ElectLeadersResponse};

use super::told;
use crate::api::produce::partition_of;
use crate::api::{Service, Session};
use crate::security::acl::{Operation, Resource};
use crate::topics::Refusal;

impl Service {
    /// Asked for all partitions, those that need no election are left out, which are all.
    pub(super) async fn elect_leaders(self: Arc<Self>, session: &Session, request: ElectLeadersRequest) -> ElectLeadersResponse {
        let right = self.authorized(session, Operation::Alter, Resource::CLUSTER);
        let mut results = Vec::new();
        for topic in request.topic_partitions.into_iter().flatten() {
            results.push(self.elect(&right, topic).await);
        }
        ElectLeadersResponse::default().with_replica_election_results(results)
    }

    async fn elect(&self, right: &Result<(), Refusal>, asked: TopicPartitions) -> ReplicaElectionResult {
        let topic = self.topics.by_name(&asked.topic, false).await;
        let elected = |index: i32| {
            right.clone()?;
            partition_of(topic.as_ref().map_err(Clone::clone)?, index)?;
            Err(Refusal::new(ResponseError::ElectionNotNeeded, format!("partition {index} is led by its preferred leader")))
        };
        let result = |index: i32| {
            let (code, message) = told(elected(index));
            PartitionResult::default().with_partition_id(index).with_error_code(code).with_error_message(message)
        };
        let results = asked.partitions.iter().map(|index| result(*index)).collect();
        ReplicaElectionResult::default().with_topic(asked.topic).with_partition_result(results)
    }
}
