//! Topics that grow, and what is told of them page by page.

use kafka_protocol::messages::create_partitions_request::{CreatePartitionsAssignment, CreatePartitionsTopic};
use kafka_protocol::messages::describe_topic_partitions_request::{Cursor, TopicRequest};
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::{
    ApiKey, CreatePartitionsRequest, DescribeClusterRequest, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse,
    ElectLeadersRequest, ListConfigResourcesRequest,
};
use tidegate_broker::BrokerSettings;
use tidegate_tests::wire::{Client, Running, batch, name, offsets};

const UNKNOWN_TOPIC: i16 = 3;
const INVALID_TOPIC: i16 = 17;
const UNSUPPORTED_VERSION: i16 = 35;
const INVALID_PARTITIONS: i16 = 37;
const INVALID_REPLICA_ASSIGNMENT: i16 = 39;
const INVALID_REQUEST: i16 = 42;
const ELECTION_NOT_NEEDED: i16 = 84;

fn growing(topic: &str, count: i32) -> CreatePartitionsTopic {
    CreatePartitionsTopic::default().with_name(name(topic)).with_count(count).with_assignments(None)
}

async fn grow(client: &mut Client, topics: Vec<CreatePartitionsTopic>, only_check: bool) -> anyhow::Result<Vec<(i16, String)>> {
    let request = CreatePartitionsRequest::default().with_topics(topics).with_timeout_ms(1_000).with_validate_only(only_check);
    let response = client.call(2, &request).await?;
    let told = |r: kafka_protocol::messages::create_partitions_response::CreatePartitionsTopicResult| {
        (r.error_code, r.error_message.map(|message| message.to_string()).unwrap_or_default())
    };
    Ok(response.results.into_iter().map(told).collect())
}

#[tokio::test]
async fn a_topic_grows_in_every_version_and_serves_what_is_new_at_once() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    client.produce("topic", 0, batch(&[b"old"])).await?;
    let mut count = 1;
    for version in client.listed(ApiKey::CreatePartitions).await? {
        assert_eq!(client.produce("topic", count, batch(&[b"early"])).await?.error_code, UNKNOWN_TOPIC, "version {version}");
        count += 1;
        let request = CreatePartitionsRequest::default().with_topics(vec![growing("topic", count)]).with_timeout_ms(1_000);
        let result = &client.call(version, &request).await?.results[0];
        assert_eq!((result.error_code, result.name.as_str()), (0, "topic"), "version {version}: {:?}", result.error_message);
        let produced = client.produce("topic", count - 1, batch(&[b"new"])).await?;
        assert_eq!((produced.error_code, produced.base_offset), (0, 0), "version {version}");
        let fetched = client.fetch("topic", count - 1, 0, 1 << 20).await?;
        assert_eq!(offsets(&fetched.records.expect("records")), [(0, 0)], "version {version}");
    }
    assert_eq!(client.fetch("topic", 0, 0, 1 << 20).await?.high_watermark, 1, "what was there stays");
    broker.stop().await
}

#[tokio::test]
async fn a_topic_does_not_shrink_and_each_refusal_has_its_code() -> anyhow::Result<()> {
    let mut settings = BrokerSettings::default();
    settings.limits.partitions_per_topic = 20;
    let broker = Running::with(tidegate::Settings::default(), settings).await?;
    let mut client = broker.client().await?;
    client.create("topic", 3).await?;
    let assignment =
        |nodes: &[i32]| CreatePartitionsAssignment::default().with_broker_ids(nodes.iter().map(|node| (*node).into()).collect());
    let assigned = |count, assignments| growing("topic", count).with_assignments(Some(assignments));
    let cases = [
        (vec![growing("topic", 3)], INVALID_PARTITIONS),
        (vec![growing("topic", 2)], INVALID_PARTITIONS),
        (vec![growing("topic", 0)], INVALID_PARTITIONS),
        (vec![growing("topic", -1)], INVALID_PARTITIONS),
        (vec![growing("topic", 21)], INVALID_PARTITIONS),
        (vec![growing("topic", i32::MAX)], INVALID_PARTITIONS),
        (vec![growing("missing", 3)], UNKNOWN_TOPIC),
        (vec![growing("a/b", 3)], INVALID_TOPIC),
        (vec![growing("topic", 4), growing("topic", 5)], INVALID_REQUEST),
        (vec![assigned(5, vec![assignment(&[0])])], INVALID_REPLICA_ASSIGNMENT),
        (vec![assigned(4, vec![assignment(&[])])], INVALID_REPLICA_ASSIGNMENT),
    ];
    for (topics, code) in cases {
        let shown = format!("{topics:?}");
        assert!(grow(&mut client, topics, false).await?.iter().all(|(found, message)| *found == code && !message.is_empty()), "{shown}");
    }
    assert_eq!(grow(&mut client, vec![growing("topic", 3)], false).await?[0].1, "Topic already has 3 partition(s).");
    assert_eq!(grow(&mut client, vec![assigned(4, vec![assignment(&[0])])], true).await?[0].0, 0, "only checked");
    assert_eq!(broker.storage.topics().await?[0].partitions, 3);
    assert_eq!(grow(&mut client, vec![assigned(4, vec![assignment(&[0])])], false).await?[0].0, 0);
    assert_eq!(broker.storage.topics().await?[0].partitions, 4);
    broker.stop().await
}

/// Topics with their partitions, and where to go on.
fn page(answer: &DescribeTopicPartitionsResponse) -> (Vec<(&str, Vec<i32>)>, Option<(&str, i32)>) {
    let topics = answer.topics.iter();
    let topics = topics.map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| partition.partition_index).collect();
        (topic.name.as_ref().map_or("", |name| name.as_str()), partitions)
    });
    (topics.collect(), answer.next_cursor.as_ref().map(|cursor| (cursor.topic_name.as_str(), cursor.partition_index)))
}

fn from(topic: &str, partition: i32) -> Option<Cursor> {
    Some(Cursor::default().with_topic_name(name(topic)).with_partition_index(partition))
}

fn asked(topics: &[&str], limit: i32, cursor: Option<Cursor>) -> DescribeTopicPartitionsRequest {
    let topics = topics.iter().map(|topic| TopicRequest::default().with_name(name(topic))).collect();
    DescribeTopicPartitionsRequest::default().with_topics(topics).with_response_partition_limit(limit).with_cursor(cursor)
}

#[tokio::test]
async fn topics_are_told_page_by_page_and_none_is_left_out() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    for (topic, partitions) in [("c", 1), ("a", 3), ("b", 2)] {
        client.create(topic, partitions).await?;
    }
    let all = client.call(0, &asked(&[], 2_000, None)).await?;
    assert_eq!(page(&all), (vec![("a", vec![0, 1, 2]), ("b", vec![0, 1]), ("c", vec![0])], None));
    let first = &all.topics[0].partitions[0];
    assert_eq!((all.topics[0].error_code, first.error_code, first.leader_id.0, first.isr_nodes.len()), (0, 0, 0, 1));
    assert!(!all.topics[0].topic_id.is_nil());

    let page_of_two = client.call(0, &asked(&[], 2, None)).await?;
    assert_eq!(page(&page_of_two), (vec![("a", vec![0, 1])], Some(("a", 2))));
    let next = client.call(0, &asked(&[], 3, from("a", 2))).await?;
    assert_eq!(page(&next), (vec![("a", vec![2]), ("b", vec![0, 1])], Some(("c", 0))));
    let last = client.call(0, &asked(&[], 3, from("c", 0))).await?;
    assert_eq!(page(&last), (vec![("c", vec![0])], None));
    let least = client.call(0, &asked(&["b", "a"], 0, None)).await?;
    assert_eq!(page(&least), (vec![("a", vec![0])], Some(("a", 1))), "at least one, in the order of names");

    let missing = client.call(0, &asked(&["missing", "b"], 10, None)).await?;
    let codes: Vec<i16> = missing.topics.iter().map(|topic| topic.error_code).collect();
    assert_eq!(codes, [0, UNKNOWN_TOPIC]);
    for cursor in [from("c", 0), from("b", -1)] {
        let refused = client.call(0, &asked(&["a", "b"], 10, cursor)).await?;
        assert!(refused.topics.len() == 2 && refused.topics.iter().all(|topic| topic.error_code == INVALID_REQUEST));
    }
    broker.stop().await
}

#[tokio::test]
async fn the_cluster_is_this_broker_in_every_version() -> anyhow::Result<()> {
    let settings = BrokerSettings { node_id: 7, cluster_id: "lagoon".into(), ..BrokerSettings::default() };
    let broker = Running::with(tidegate::Settings::default(), settings).await?;
    let mut client = broker.client().await?;
    for version in client.listed(ApiKey::DescribeCluster).await? {
        let answer = client.call(version, &DescribeClusterRequest::default()).await?;
        assert_eq!((answer.error_code, answer.cluster_id.as_str(), answer.controller_id.0), (0, "lagoon", 7), "version {version}");
        let node = &answer.brokers[0];
        assert_eq!((node.broker_id.0, node.host.as_str(), node.port), (7, "127.0.0.1", i32::from(broker.address.port())));
    }
    for (endpoint, code) in [(2, 114), (3, 115), (0, 115)] {
        let answer = client.call(1, &DescribeClusterRequest::default().with_endpoint_type(endpoint)).await?;
        assert_eq!((answer.error_code, answer.brokers.len()), (code, 0), "endpoint type {endpoint}");
    }
    broker.stop().await
}

#[tokio::test]
async fn whoever_leads_is_the_preferred_leader_in_every_version() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    for version in client.listed(ApiKey::ElectLeaders).await? {
        let topic = TopicPartitions::default().with_topic(name("topic")).with_partitions(vec![0, 7]);
        let named = ElectLeadersRequest::default().with_topic_partitions(Some(vec![topic])).with_timeout_ms(1_000);
        let results = client.call(version, &named).await?.replica_election_results;
        let codes: Vec<i16> = results[0].partition_result.iter().map(|partition| partition.error_code).collect();
        assert_eq!(codes, [ELECTION_NOT_NEEDED, UNKNOWN_TOPIC], "version {version}");
        let all = ElectLeadersRequest::default().with_topic_partitions(None).with_timeout_ms(1_000);
        assert!(client.call(version, &all).await?.replica_election_results.is_empty(), "version {version}");
    }
    for version in client.listed(ApiKey::ListConfigResources).await? {
        let answer = client.call(version, &ListConfigResourcesRequest::default()).await?;
        let found: Vec<(i8, &str)> = answer.config_resources.iter().map(|r| (r.resource_type, r.resource_name.as_str())).collect();
        let all = [(2, "topic"), (4, "0")];
        assert_eq!(found, if version == 0 { vec![] } else { all.to_vec() }, "version {version}");
    }
    let ask = |kind| ListConfigResourcesRequest::default().with_resource_types(vec![kind]);
    assert_eq!(client.call(1, &ask(32)).await?.config_resources.len(), 0);
    assert_eq!(client.call(1, &ask(77)).await?.error_code, UNSUPPORTED_VERSION);
    broker.stop().await
}
