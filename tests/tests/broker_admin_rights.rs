//! Administration is for those whom access rules allow it; others change nothing, and learn nothing of topics that they may not see.

use anyhow::Result;
use kafka_protocol::messages::alter_configs_request::AlterConfigsResource;
use kafka_protocol::messages::create_acls_request::AclCreation;
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_topic_partitions_request::TopicRequest;
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource as Alteration, AlterableConfig};
use kafka_protocol::messages::offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use kafka_protocol::messages::*;
use kafka_protocol::protocol::StrBytes;
use tidegate::Settings;
use tidegate::store::MemoryStore;
use tidegate_broker::Mechanism;
use tidegate_tests::security::{add_users, guarded, logged_in};
use tidegate_tests::wire::{Client, Running, name};

const TOPIC_DENIED: i16 = 29;
const CLUSTER_DENIED: i16 = 31;
const UNKNOWN_TOPIC: i16 = 3;
const ELECTION_NOT_NEEDED: i16 = 84;

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

/// The error code of each API's answer about a topic, or about the broker.
async fn codes(client: &mut Client, topic: &str) -> Result<Vec<(&'static str, i16)>> {
    let mut codes = Vec::new();
    let described = |kind, name: &str| {
        let resource = DescribeConfigsResource::default().with_resource_type(kind).with_resource_name(text(name));
        DescribeConfigsRequest::default().with_resources(vec![resource.with_configuration_keys(None)])
    };
    codes.push(("describe topic configs", client.call(4, &described(2, topic)).await?.results[0].error_code));
    codes.push(("describe broker configs", client.call(4, &described(4, "0")).await?.results[0].error_code));
    let config = AlterableConfig::default().with_name(text("retention.ms")).with_value(Some(text("77")));
    let resource = Alteration::default().with_resource_type(2).with_resource_name(text(topic)).with_configs(vec![config]);
    let request = IncrementalAlterConfigsRequest::default().with_resources(vec![resource]);
    codes.push(("alter some", client.call(1, &request).await?.responses[0].error_code));
    let resource = AlterConfigsResource::default().with_resource_type(2).with_resource_name(text(topic));
    let request = AlterConfigsRequest::default().with_resources(vec![resource]);
    codes.push(("alter all", client.call(2, &request).await?.responses[0].error_code));
    let growing = CreatePartitionsTopic::default().with_name(name(topic)).with_count(3).with_assignments(None);
    let request = CreatePartitionsRequest::default().with_topics(vec![growing]).with_timeout_ms(1_000);
    codes.push(("grow", client.call(3, &request).await?.results[0].error_code));
    let partition = DeleteRecordsPartition::default().with_offset(0);
    let trimmed = DeleteRecordsTopic::default().with_name(name(topic)).with_partitions(vec![partition]);
    let request = DeleteRecordsRequest::default().with_topics(vec![trimmed]).with_timeout_ms(30_000);
    codes.push(("delete records", client.call(2, &request).await?.topics[0].partitions[0].error_code));
    let partition = OffsetForLeaderPartition::default().with_current_leader_epoch(-1).with_leader_epoch(0);
    let asked = OffsetForLeaderTopic::default().with_topic(name(topic)).with_partitions(vec![partition]);
    let request = OffsetForLeaderEpochRequest::default().with_topics(vec![asked]);
    codes.push(("epochs", client.call(4, &request).await?.topics[0].partitions[0].error_code));
    let request = DescribeTopicPartitionsRequest::default().with_topics(vec![TopicRequest::default().with_name(name(topic))]);
    codes.push(("describe partitions", client.call(0, &request).await?.topics[0].error_code));
    codes.push(("log dirs", client.call(4, &DescribeLogDirsRequest::default().with_topics(None)).await?.error_code));
    codes.push(("resources", client.call(1, &ListConfigResourcesRequest::default()).await?.error_code));
    let elected = TopicPartitions::default().with_topic(name(topic)).with_partitions(vec![0]);
    let request = ElectLeadersRequest::default().with_topic_partitions(Some(vec![elected])).with_timeout_ms(1_000);
    codes.push(("elect", client.call(2, &request).await?.replica_election_results[0].partition_result[0].error_code));
    Ok(codes)
}

#[tokio::test]
async fn administration_is_for_those_who_are_allowed() -> Result<()> {
    let store = MemoryStore::default();
    add_users(&store, &["admin", "alice"]).await?;
    let broker = Running::on(store, Settings::default(), guarded(&[Mechanism::Plain])).await?;
    let mut admin = logged_in(broker.address, "admin").await?;
    admin.create("orders", 1).await?;
    let mut alice = logged_in(broker.address, "alice").await?;
    let of_cluster = ["describe broker configs", "log dirs", "resources", "elect"];
    for topic in ["orders", "missing"] {
        for (api, code) in codes(&mut alice, topic).await? {
            let expected = if of_cluster.contains(&api) { CLUSTER_DENIED } else { TOPIC_DENIED };
            assert_eq!(code, expected, "{api} of {topic}");
        }
    }
    let topic = broker.storage.topics().await?.remove(0);
    assert_eq!((topic.partitions, topic.config.len()), (1, 0), "nothing was done");
    let all = alice.call(0, &DescribeTopicPartitionsRequest::default()).await?;
    assert!(all.topics.is_empty(), "what may not be seen is left out");

    let rule = |kind: i8, name: &str| {
        let rule = AclCreation::default().with_resource_type(kind).with_resource_name(text(name)).with_resource_pattern_type(3);
        rule.with_principal(text("User:alice")).with_host(text("*")).with_operation(2).with_permission_type(3)
    };
    let rules = vec![rule(2, "*"), rule(4, "kafka-cluster")];
    let added = admin.call(3, &CreateAclsRequest::default().with_creations(rules)).await?;
    assert!(added.results.iter().all(|result| result.error_code == 0), "{added:?}");
    for (api, code) in codes(&mut alice, "orders").await? {
        assert_eq!(code, if api == "elect" { ELECTION_NOT_NEEDED } else { 0 }, "{api}");
    }
    let of_topics = |api: &str| !of_cluster.contains(&api);
    assert!(codes(&mut alice, "missing").await?.iter().filter(|(api, _)| of_topics(api)).all(|(_, code)| *code == UNKNOWN_TOPIC));
    broker.stop().await
}
