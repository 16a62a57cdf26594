//! Requests of administrators with something in every array.

use bytes::Bytes;
use kafka_protocol::messages::create_partitions_request::{CreatePartitionsAssignment, CreatePartitionsTopic};
use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_log_dirs_request::DescribableLogDirTopic;
use kafka_protocol::messages::describe_topic_partitions_request::{Cursor, TopicRequest};
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use kafka_protocol::messages::*;
use kafka_protocol::messages::{alter_configs_request, incremental_alter_configs_request};

use super::{encoded, text};

/// `None`: of no administrator.
pub(super) fn body(api: ApiKey, version: i16) -> Option<Bytes> {
    Some(match api {
        ApiKey::AlterConfigs => encoded(&alter(), version),
        ApiKey::IncrementalAlterConfigs => encoded(&alter_some(), version),
        ApiKey::DescribeConfigs => encoded(&describe_configs(version), version),
        ApiKey::CreatePartitions => encoded(&create_partitions(), version),
        ApiKey::DescribeCluster => {
            let request = DescribeClusterRequest::default().with_include_cluster_authorized_operations(true);
            let request = if version >= 1 { request.with_endpoint_type(1) } else { request };
            encoded(&if version >= 2 { request.with_include_fenced_brokers(true) } else { request }, version)
        }
        ApiKey::DescribeTopicPartitions => encoded(&describe_topic_partitions(), version),
        ApiKey::DeleteRecords => {
            let partition = DeleteRecordsPartition::default().with_partition_index(3).with_offset(-1);
            let topic = DeleteRecordsTopic::default().with_name(text("topic").into()).with_partitions(vec![partition.clone(), partition]);
            encoded(&DeleteRecordsRequest::default().with_topics(vec![topic.clone(), topic]).with_timeout_ms(9), version)
        }
        ApiKey::DescribeLogDirs => {
            let topic = DescribableLogDirTopic::default().with_topic(text("topic").into()).with_partitions(vec![1, 2]);
            encoded(&DescribeLogDirsRequest::default().with_topics(Some(vec![topic.clone(), topic])), version)
        }
        ApiKey::ElectLeaders => {
            let topic = TopicPartitions::default().with_topic(text("topic").into()).with_partitions(vec![1, 2]);
            let request = ElectLeadersRequest::default().with_topic_partitions(Some(vec![topic.clone(), topic])).with_timeout_ms(9);
            encoded(&if version >= 1 { request.with_election_type(1) } else { request }, version)
        }
        ApiKey::ListConfigResources => {
            let request = ListConfigResourcesRequest::default();
            encoded(&if version >= 1 { request.with_resource_types(vec![2, 4]) } else { request }, version)
        }
        ApiKey::OffsetForLeaderEpoch => {
            let partition = OffsetForLeaderPartition::default().with_partition(1).with_current_leader_epoch(4).with_leader_epoch(3);
            let topic =
                OffsetForLeaderTopic::default().with_topic(text("topic").into()).with_partitions(vec![partition.clone(), partition]);
            encoded(&OffsetForLeaderEpochRequest::default().with_topics(vec![topic.clone(), topic]), version)
        }
        _ => return None,
    })
}

fn alter() -> AlterConfigsRequest {
    let config = alter_configs_request::AlterableConfig::default().with_name(text("retention.ms")).with_value(Some(text("1")));
    let empty = alter_configs_request::AlterableConfig::default().with_name(text("x")).with_value(None);
    let resource = alter_configs_request::AlterConfigsResource::default().with_resource_type(2).with_resource_name(text("topic"));
    let resource = resource.with_configs(vec![config, empty]);
    AlterConfigsRequest::default().with_resources(vec![resource.clone(), resource]).with_validate_only(true)
}

fn alter_some() -> IncrementalAlterConfigsRequest {
    let config = incremental_alter_configs_request::AlterableConfig::default().with_name(text("retention.ms")).with_config_operation(2);
    let (set, empty) = (config.clone().with_value(Some(text("1"))), config.with_value(None));
    let resource = incremental_alter_configs_request::AlterConfigsResource::default().with_resource_type(2);
    let resource = resource.with_resource_name(text("topic")).with_configs(vec![set, empty]);
    IncrementalAlterConfigsRequest::default().with_resources(vec![resource.clone(), resource]).with_validate_only(true)
}

fn describe_configs(version: i16) -> DescribeConfigsRequest {
    let resource = DescribeConfigsResource::default().with_resource_type(2).with_resource_name(text("topic"));
    let some = resource.clone().with_configuration_keys(Some(vec![text("retention.ms"), text("x")]));
    let request = DescribeConfigsRequest::default().with_resources(vec![some, resource.with_configuration_keys(None)]);
    let request = request.with_include_synonyms(true);
    if version >= 3 { request.with_include_documentation(true) } else { request }
}

fn create_partitions() -> CreatePartitionsRequest {
    let assignment = CreatePartitionsAssignment::default().with_broker_ids(vec![1.into(), 2.into()]);
    let topic = CreatePartitionsTopic::default().with_name(text("topic").into()).with_count(7);
    let (plain, assigned) = (topic.clone().with_assignments(None), topic.with_assignments(Some(vec![assignment.clone(), assignment])));
    CreatePartitionsRequest::default().with_topics(vec![plain, assigned]).with_timeout_ms(8).with_validate_only(true)
}

fn describe_topic_partitions() -> DescribeTopicPartitionsRequest {
    let topic = TopicRequest::default().with_name(text("topic").into());
    let cursor = Cursor::default().with_topic_name(text("topic").into()).with_partition_index(5);
    DescribeTopicPartitionsRequest::default().with_topics(vec![topic.clone(), topic]).with_cursor(Some(cursor))
}
