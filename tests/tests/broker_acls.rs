//! Clients do what access rules allow, and are told nothing of what they may not see.

use anyhow::{Context, Result};
use kafka_protocol::messages::create_acls_request::AclCreation;
use kafka_protocol::messages::delete_acls_request::DeleteAclsFilter;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestTopic;
use kafka_protocol::messages::*;
use kafka_protocol::protocol::StrBytes;
use tidegate::Settings;
use tidegate::store::{MemoryStore, Operation};
use tidegate_broker::Mechanism;
use tidegate_tests::security::{add_users, guarded, logged_in};
use tidegate_tests::wire::{Client, Running, batch, name};

/// Kinds of resources, patterns, operations and permissions, by their numbers in the protocol.
const TOPIC: i8 = 2;
const GROUP: i8 = 3;
const CLUSTER: i8 = 4;
const ANY: i8 = 1;
const LITERAL: i8 = 3;
const PREFIXED: i8 = 4;
const READ: i8 = 3;
const WRITE: i8 = 4;
const CREATE: i8 = 5;
const DELETE: i8 = 6;
const DESCRIBE: i8 = 8;
const IDEMPOTENT_WRITE: i8 = 12;
const DENY: i8 = 2;
const ALLOW: i8 = 3;
/// Errors of the protocol.
const TOPIC_DENIED: i16 = 29;
const GROUP_DENIED: i16 = 30;
const CLUSTER_DENIED: i16 = 31;
const DISABLED: i16 = 54;

/// A broker with rules, users `admin`, `alice` and `bob`, and the topics `orders`, `orders-old` and `secret`.
async fn start() -> Result<(Running, Client)> {
    let store = MemoryStore::default();
    add_users(&store, &["admin", "alice", "bob"]).await?;
    let broker = Running::on(store, Settings::default(), guarded(&[Mechanism::Plain])).await?;
    let mut admin = logged_in(broker.address, "admin").await?;
    for topic in ["orders", "orders-old", "secret"] {
        admin.create(topic, 1).await?;
    }
    Ok((broker, admin))
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn rule(kind: i8, pattern: i8, name: &str, user: &str, operation: i8, permission: i8) -> AclCreation {
    let rule = AclCreation::default().with_resource_type(kind).with_resource_name(text(name)).with_resource_pattern_type(pattern);
    let rule = rule.with_principal(text(&format!("User:{user}"))).with_host(text("*"));
    rule.with_operation(operation).with_permission_type(permission)
}

async fn add(admin: &mut Client, rules: &[AclCreation]) -> Result<()> {
    let answer = admin.call(3, &CreateAclsRequest::default().with_creations(rules.to_vec())).await?;
    assert!(answer.results.iter().all(|result| result.error_code == 0), "{answer:?}");
    Ok(())
}

async fn topics(client: &mut Client) -> Result<Vec<String>> {
    let answer = client.call(9, &MetadataRequest::default().with_topics(None)).await?;
    Ok(answer.topics.iter().filter_map(|topic| topic.name.as_ref().map(|name| name.to_string())).collect())
}

async fn metadata_error(client: &mut Client, topic: &str) -> Result<i16> {
    let asked = MetadataRequestTopic::default().with_name(Some(name(topic)));
    let answer = client.call(9, &MetadataRequest::default().with_topics(Some(vec![asked])).with_allow_auto_topic_creation(true)).await?;
    Ok(answer.topics[0].error_code)
}

#[tokio::test]
async fn without_a_rule_nothing_is_allowed_and_nothing_is_seen() -> Result<()> {
    let (broker, mut admin) = start().await?;
    assert_eq!(topics(&mut admin).await?, ["orders", "orders-old", "secret"]);
    let mut alice = logged_in(broker.address, "alice").await?;
    assert_eq!(topics(&mut alice).await?, [""; 0]);
    for topic in ["secret", "no-such-topic"] {
        assert_eq!(metadata_error(&mut alice, topic).await?, TOPIC_DENIED, "{topic}: the same whether it exists");
        assert_eq!(alice.produce(topic, 0, batch(&[b"x"])).await?.error_code, TOPIC_DENIED);
        assert_eq!(alice.fetch(topic, 0, 0, 1_000).await?.error_code, TOPIC_DENIED);
    }
    assert_eq!(topics(&mut admin).await?.len(), 3, "nothing was created");
    let answer = alice.call(3, &InitProducerIdRequest::default().with_transactional_id(None)).await?;
    assert_eq!(answer.error_code, CLUSTER_DENIED);
    let answer = alice.call(3, &CreateAclsRequest::default().with_creations(vec![rule(TOPIC, LITERAL, "*", "alice", READ, ALLOW)])).await?;
    assert_eq!(answer.results[0].error_code, CLUSTER_DENIED, "rules are made by those who may alter the cluster");
    assert!(alice.create("mine", 1).await.unwrap_err().to_string().contains("29"));
    broker.stop().await
}

#[tokio::test]
async fn rules_allow_what_they_say_by_name_and_by_prefix_and_denials_win() -> Result<()> {
    let (broker, mut admin) = start().await?;
    let rules = [
        rule(TOPIC, PREFIXED, "orders", "alice", READ, ALLOW),
        rule(TOPIC, LITERAL, "orders", "alice", WRITE, ALLOW),
        rule(TOPIC, LITERAL, "orders-old", "*", READ, DENY),
        rule(CLUSTER, LITERAL, "kafka-cluster", "alice", CREATE, ALLOW),
    ];
    add(&mut admin, &rules).await?;
    let mut alice = logged_in(broker.address, "alice").await?;
    assert_eq!(topics(&mut alice).await?, ["orders", "orders-old"], "a denied read leaves the right to see it");
    assert_eq!(alice.produce("orders", 0, batch(&[b"x"])).await?.error_code, 0);
    assert_eq!(alice.fetch("orders", 0, 0, 1_000).await?.error_code, 0);
    assert_eq!(alice.produce("orders-old", 0, batch(&[b"x"])).await?.error_code, TOPIC_DENIED);
    assert_eq!(alice.fetch("orders-old", 0, 0, 1_000).await?.error_code, TOPIC_DENIED);
    assert_eq!(
        alice.call(3, &InitProducerIdRequest::default().with_transactional_id(None)).await?.error_code,
        0,
        "she writes to some topic"
    );
    assert_eq!(metadata_error(&mut alice, "orders-new").await?, 0, "she sees it, and may create it");
    alice.create("hers", 1).await?;
    let mut bob = logged_in(broker.address, "bob").await?;
    assert_eq!(bob.fetch("orders", 0, 0, 1_000).await?.error_code, TOPIC_DENIED);
    let text = broker.storage.metrics().encode();
    assert!(text.contains("security_denials_total{operation=\"read\"} 2"), "{text}");
    broker.stop().await
}

#[tokio::test]
async fn an_idempotent_producer_needs_a_topic_or_the_cluster() -> Result<()> {
    let (broker, mut admin) = start().await?;
    add(&mut admin, &[rule(CLUSTER, LITERAL, "kafka-cluster", "bob", IDEMPOTENT_WRITE, ALLOW)]).await?;
    let mut bob = logged_in(broker.address, "bob").await?;
    assert_eq!(bob.call(3, &InitProducerIdRequest::default().with_transactional_id(None)).await?.error_code, 0);
    broker.stop().await
}

#[tokio::test]
async fn groups_are_for_their_readers_and_offsets_for_readers_of_the_topic_too() -> Result<()> {
    let (broker, mut admin) = start().await?;
    let rules = [rule(GROUP, LITERAL, "hers", "alice", READ, ALLOW), rule(TOPIC, LITERAL, "orders", "alice", READ, ALLOW)];
    add(&mut admin, &rules).await?;
    let mut alice = logged_in(broker.address, "alice").await?;
    let commit = |group: &str, topic: &str| {
        let partition = OffsetCommitRequestPartition::default().with_committed_offset(5);
        let topic = OffsetCommitRequestTopic::default().with_name(name(topic)).with_partitions(vec![partition]);
        OffsetCommitRequest::default().with_group_id(text(group).into()).with_generation_id_or_member_epoch(-1).with_topics(vec![topic])
    };
    for (group, topic, expected) in [("hers", "orders", 0), ("hers", "secret", TOPIC_DENIED), ("his", "orders", GROUP_DENIED)] {
        let answer = alice.call(8, &commit(group, topic)).await?;
        assert_eq!(answer.topics[0].partitions[0].error_code, expected, "{group} {topic}");
    }
    let fetch = |group: &str, topic: Option<&str>| {
        let topics = topic.map(|topic| vec![OffsetFetchRequestTopic::default().with_name(name(topic)).with_partition_indexes(vec![0])]);
        OffsetFetchRequest::default().with_group_id(text(group).into()).with_topics(topics)
    };
    let answer = alice.call(7, &fetch("hers", Some("orders"))).await?;
    assert_eq!(answer.topics[0].partitions[0].committed_offset, 5);
    let answer = alice.call(7, &fetch("hers", Some("secret"))).await?;
    assert_eq!((answer.error_code, answer.topics[0].partitions[0].error_code), (0, TOPIC_DENIED));
    assert_eq!(alice.call(7, &fetch("his", None)).await?.error_code, GROUP_DENIED);
    admin.call(8, &commit("his", "orders")).await?;
    admin.call(8, &commit("hers", "secret")).await?;
    let answer = alice.call(7, &fetch("hers", None)).await?;
    assert_eq!(
        answer.topics.iter().map(|topic| topic.name.to_string()).collect::<Vec<_>>(),
        ["orders"],
        "what she may not see is left out"
    );
    let groups = async |client: &mut Client| -> Result<Vec<String>> {
        let answer = client.call(4, &ListGroupsRequest::default()).await?;
        Ok(answer.groups.iter().map(|group| group.group_id.to_string()).collect())
    };
    assert_eq!((groups(&mut alice).await?, groups(&mut admin).await?), (vec!["hers".into()], vec!["hers".into(), "his".into()]));
    let described = |groups: &[&str]| DescribeGroupsRequest::default().with_groups(groups.iter().map(|g| text(g).into()).collect());
    let answer = alice.call(5, &described(&["hers", "his"]).with_include_authorized_operations(true)).await?;
    assert_eq!(answer.groups.iter().map(|group| group.error_code).collect::<Vec<_>>(), [0, GROUP_DENIED]);
    assert_eq!(answer.groups[0].authorized_operations, 1 << READ | 1 << DESCRIBE);
    let answer = alice.call(2, &DeleteGroupsRequest::default().with_groups_names(vec![text("hers").into()])).await?;
    assert_eq!(answer.results[0].error_code, GROUP_DENIED, "reading is not deleting");
    let join = JoinGroupRequest::default().with_group_id(text("his").into()).with_session_timeout_ms(10_000);
    assert_eq!(alice.call(5, &join).await?.error_code, GROUP_DENIED);
    let find = FindCoordinatorRequest::default().with_key(text("his"));
    assert_eq!(alice.call(2, &find).await?.error_code, GROUP_DENIED);
    broker.stop().await
}

#[tokio::test]
async fn topics_are_deleted_by_those_who_may() -> Result<()> {
    let (broker, mut admin) = start().await?;
    add(&mut admin, &[rule(TOPIC, LITERAL, "orders", "alice", DELETE, ALLOW), rule(TOPIC, LITERAL, "secret", "bob", DESCRIBE, ALLOW)])
        .await?;
    let mut alice = logged_in(broker.address, "alice").await?;
    let delete = |topic: &str| DeleteTopicsRequest::default().with_topic_names(vec![name(topic)]).with_timeout_ms(1_000);
    assert_eq!(alice.call(5, &delete("secret")).await?.responses[0].error_code, TOPIC_DENIED);
    assert_eq!(alice.call(5, &delete("orders")).await?.responses[0].error_code, 0);
    let id = broker.storage.topic(&tidegate::types::TopicName::new("secret")?).await?.context("the topic")?.id.0;
    let by_id = delete_topics_request::DeleteTopicState::default().with_name(None).with_topic_id(id);
    let by_id = DeleteTopicsRequest::default().with_topics(vec![by_id]);
    let answer = alice.call(6, &by_id).await?;
    assert_eq!((answer.responses[0].error_code, answer.responses[0].name.clone()), (TOPIC_DENIED, None), "an id does not tell the name");
    let mut bob = logged_in(broker.address, "bob").await?;
    let answer = bob.call(6, &by_id).await?;
    assert_eq!((answer.responses[0].error_code, answer.responses[0].name.clone()), (TOPIC_DENIED, Some(name("secret"))));
    broker.stop().await
}

#[tokio::test]
async fn rules_are_found_and_removed_by_filter() -> Result<()> {
    let (broker, mut admin) = start().await?;
    let rules = [
        rule(TOPIC, LITERAL, "orders", "alice", READ, ALLOW),
        rule(TOPIC, LITERAL, "orders", "bob", READ, ALLOW),
        rule(TOPIC, PREFIXED, "ord", "bob", WRITE, ALLOW),
        rule(GROUP, LITERAL, "g", "bob", READ, ALLOW),
    ];
    add(&mut admin, &rules).await?;
    add(&mut admin, &rules).await?;
    let all = DescribeAclsRequest::default().with_resource_type_filter(ANY).with_resource_name_filter(None).with_pattern_type_filter(ANY);
    let all = all.with_principal_filter(None).with_host_filter(None).with_operation(ANY).with_permission_type(ANY);
    for version in admin.listed(ApiKey::DescribeAcls).await? {
        let answer = admin.call(version, &all).await?;
        let shape: Vec<_> = answer.resources.iter().map(|r| (r.resource_type, r.pattern_type, r.acls.len())).collect();
        assert_eq!(shape, [(TOPIC, LITERAL, 2), (TOPIC, PREFIXED, 1), (GROUP, LITERAL, 1)], "version {version}");
    }
    let about = all.clone().with_resource_type_filter(TOPIC).with_resource_name_filter(Some(text("orders"))).with_pattern_type_filter(2);
    assert_eq!(admin.call(3, &about).await?.resources.len(), 2);
    let filter = DeleteAclsFilter::default().with_resource_type_filter(ANY).with_resource_name_filter(None).with_pattern_type_filter(ANY);
    let filter = filter.with_principal_filter(Some(text("User:bob"))).with_host_filter(None).with_operation(ANY).with_permission_type(ANY);
    let answer = admin.call(3, &DeleteAclsRequest::default().with_filters(vec![filter])).await?;
    assert_eq!((answer.filter_results[0].error_code, answer.filter_results[0].matching_acls.len()), (0, 3));
    let left = admin.call(3, &all).await?;
    assert_eq!((left.resources.len(), left.resources[0].acls[0].principal.as_str()), (1, "User:alice"));
    broker.stop().await
}

#[tokio::test]
async fn another_broker_follows_within_its_interval_and_no_request_asks_the_store() -> Result<()> {
    let (broker, mut admin) = start().await?;
    let mut settings = guarded(&[Mechanism::Plain]);
    settings.node_id = 1;
    let other = Running::on(broker.store.clone(), Settings::default(), settings).await?;
    let mut alice = logged_in(other.address, "alice").await?;
    assert!(topics(&mut alice).await?.is_empty());
    add(&mut admin, &[rule(TOPIC, LITERAL, "orders", "alice", DESCRIBE, ALLOW)]).await?;
    while topics(&mut alice).await?.is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    other.stop().await?;
    let mut alice = logged_in(broker.address, "alice").await?;
    let reads = || broker.store.log().iter().filter(|r| r.operation == Operation::Get && r.key == "meta/documents/acls").count();
    let before = reads();
    for _ in 0..200 {
        topics(&mut alice).await?;
    }
    assert!(reads() - before < 100, "{} reads for 200 requests", reads() - before);
    broker.stop().await
}

#[tokio::test]
async fn without_rules_in_use_none_are_kept() -> Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    let answer = client.call(3, &CreateAclsRequest::default().with_creations(vec![rule(TOPIC, LITERAL, "*", "x", READ, ALLOW)])).await?;
    assert_eq!(answer.results[0].error_code, DISABLED);
    assert_eq!(client.call(3, &DescribeAclsRequest::default()).await?.error_code, DISABLED);
    client.create("topic", 1).await?;
    assert_eq!(topics(&mut client).await?, ["topic"]);
    broker.stop().await
}

/// Whoever adds an API says here, and in the API, what right it needs.
#[tokio::test]
async fn every_api_that_is_served_is_in_the_table_of_rights() -> Result<()> {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/security.md"))?;
    let table = page.split("## Access rules").nth(1).context("the page has no table of rights")?;
    let named: Vec<&str> = table.split(|c: char| !c.is_alphanumeric()).collect();
    let broker = Running::start().await?;
    let listed = broker.client().await?.call(0, &ApiVersionsRequest::default()).await?;
    let apis = listed.api_keys.iter().map(|api| format!("{:?}", ApiKey::try_from(api.api_key).expect("a known key")));
    let missing: Vec<String> = apis.filter(|api| !named.contains(&api.as_str())).collect();
    assert!(missing.is_empty(), "docs/security.md does not say what right these need: {missing:?}");
    broker.stop().await
}

#[tokio::test]
async fn a_client_that_asks_is_told_what_it_may_do() -> Result<()> {
    let (broker, mut admin) = start().await?;
    add(&mut admin, &[rule(TOPIC, LITERAL, "orders", "alice", READ, ALLOW)]).await?;
    let mut alice = logged_in(broker.address, "alice").await?;
    let request = MetadataRequest::default().with_topics(None).with_include_topic_authorized_operations(true);
    let request = request.with_include_cluster_authorized_operations(true);
    let answer = alice.call(9, &request).await?;
    assert_eq!(answer.topics[0].topic_authorized_operations, 1 << READ | 1 << DESCRIBE);
    assert_eq!(answer.cluster_authorized_operations, 0);
    let answer = admin.call(9, &request).await?;
    assert_eq!(answer.topics[0].topic_authorized_operations, 3_576);
    broker.stop().await
}
