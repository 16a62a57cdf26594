//! CreateTopics and DeleteTopics.

use kafka_protocol::messages::create_topics_request::{CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::{BrokerId, CreateTopicsRequest, CreateTopicsResponse, DeleteTopicsRequest, DeleteTopicsResponse};
use kafka_protocol::protocol::StrBytes;
use tidegate::env::Env;
use tidegate_tests::wire::name;

use crate::seen::{Seen, codes};

fn read(response: CreateTopicsResponse) -> String {
    codes(response.topics.iter().map(|topic| topic.error_code))
}

fn topic(topic: &str, partitions: i32, replication: i16) -> CreatableTopic {
    CreatableTopic::default().with_name(name(topic)).with_num_partitions(partitions).with_replication_factor(replication)
}

fn create(topics: Vec<CreatableTopic>) -> CreateTopicsRequest {
    CreateTopicsRequest::default().with_topics(topics).with_timeout_ms(30_000)
}

fn config(topic: CreatableTopic, key: &str, value: Option<&str>) -> CreatableTopic {
    let text = |text: &str| StrBytes::from_string(text.into());
    let config = CreatableTopicConfig::default().with_name(text(key)).with_value(value.map(text));
    topic.with_configs(vec![config])
}

pub async fn cases(seen: &mut Seen) -> anyhow::Result<()> {
    numbers(seen).await?;
    names(seen).await?;
    configs(seen).await?;
    deletions(seen).await
}

async fn numbers(seen: &mut Seen) -> anyhow::Result<()> {
    for partitions in [1, 0, -1, -2, i32::MAX] {
        let request = create(vec![topic(&seen.fresh(), partitions, 1)]);
        seen.ask(&format!("create topics: {partitions} partitions"), 6, &request.with_validate_only(true), read).await?;
    }
    for replication in [0, -1, -2, 2, i16::MAX] {
        let request = create(vec![topic(&seen.fresh(), 1, replication)]);
        seen.ask(&format!("create topics: replication factor {replication}"), 6, &request.with_validate_only(true), read).await?;
    }
    let on = |partition: i32, brokers: &[i32]| {
        let brokers = brokers.iter().map(|broker| BrokerId(*broker)).collect();
        CreatableReplicaAssignment::default().with_partition_index(partition).with_broker_ids(brokers)
    };
    for (what, partitions, replication, assignments) in [
        ("with a number too", 1, 1, vec![on(0, &[1])]),
        ("to an unknown broker", -1, -1, vec![on(0, &[4711])]),
        ("without brokers", -1, -1, vec![on(0, &[])]),
        ("with a gap", -1, -1, vec![on(1, &[1])]),
    ] {
        let assigned = topic(&seen.fresh(), partitions, replication).with_assignments(assignments);
        seen.ask(&format!("create topics: assigned {what}"), 6, &create(vec![assigned]).with_validate_only(true), read).await?;
    }
    Ok(())
}

async fn names(seen: &mut Seen) -> anyhow::Result<()> {
    let (long, there) = ("x".repeat(250), seen.topic.clone());
    for (what, bad) in
        [("empty", ""), (".", "."), ("..", ".."), ("with a slash", "a/b"), ("with a space", "a b"), ("of 250 characters", &*long)]
    {
        seen.ask(&format!("create topics: name {what}"), 6, &create(vec![topic(bad, 1, 1)]), read).await?;
    }
    seen.ask("create topics: one that exists", 6, &create(vec![topic(&there, 1, 1)]), read).await?;
    let twice = topic(&seen.fresh(), 1, 1);
    seen.ask("create topics: one twice", 6, &create(vec![twice.clone(), twice]), read).await?;
    let dotted = seen.fresh().replace('-', ".");
    seen.ask("create topics: with a dot", 6, &create(vec![topic(&dotted, 1, 1)]), read).await?;
    let collides = create(vec![topic(&dotted.replace('.', "_"), 1, 1)]);
    seen.ask("create topics: only a dot from another one", 6, &collides, read).await?;
    seen.ask("create topics: none", 6, &create(vec![]), read).await?;
    let hurried = create(vec![topic(&seen.fresh(), 1, 1)]).with_timeout_ms(-1).with_validate_only(true);
    seen.ask("create topics: time-out -1", 6, &hurried, read).await
}

async fn configs(seen: &mut Seen) -> anyhow::Result<()> {
    for (key, value) in [
        ("no.such.key", Some("1")),
        ("retention.ms", Some("soon")),
        ("retention.ms", Some("-7")),
        ("retention.ms", None),
        ("retention.ms", Some("1000")),
        ("max.message.bytes", Some("-1")),
        ("cleanup.policy", Some("delete")),
        ("cleanup.policy", Some("burn")),
        ("message.timestamp.type", Some("LogAppendTime")),
        ("message.timestamp.type", Some("Never")),
    ] {
        let request = create(vec![config(topic(&seen.fresh(), 1, 1), key, value)]).with_validate_only(true);
        seen.ask(&format!("create topics: {key} = {}", value.unwrap_or("null")), 6, &request, read).await?;
    }
    Ok(())
}

async fn deletions(seen: &mut Seen) -> anyhow::Result<()> {
    let read = |response: DeleteTopicsResponse| codes(response.responses.iter().map(|topic| topic.error_code));
    let of = |topics: Vec<DeleteTopicState>| DeleteTopicsRequest::default().with_topics(topics).with_timeout_ms(30_000);
    let named = |topic: &str| DeleteTopicState::default().with_name(Some(name(topic)));
    let by_id = |id| DeleteTopicState::default().with_name(None).with_topic_id(id);
    let (unknown, (gone, _)) = (seen.fresh(), seen.new_topic(1).await?);
    let (both, id) = seen.new_topic(1).await?;
    let (twice, _) = seen.new_topic(1).await?;
    let (each, each_id) = seen.new_topic(1).await?;
    seen.ask("delete topics: unknown", 6, &of(vec![named(&unknown)]), read).await?;
    seen.ask("delete topics: name with a slash", 6, &of(vec![named("a/b")]), read).await?;
    seen.ask("delete topics: empty name", 6, &of(vec![named("")]), read).await?;
    seen.ask("delete topics: unknown id", 6, &of(vec![by_id(Env::system().uuid())]), read).await?;
    seen.ask("delete topics: neither name nor id", 6, &of(vec![by_id(Default::default())]), read).await?;
    seen.ask("delete topics: name and id", 6, &of(vec![named(&both).with_topic_id(id.0)]), read).await?;
    seen.ask("delete topics: one twice", 6, &of(vec![named(&twice), named(&twice)]), read).await?;
    seen.ask("delete topics: by name and by id", 6, &of(vec![named(&each), by_id(each_id.0)]), read).await?;
    seen.ask("delete topics: none", 6, &of(vec![]), read).await?;
    seen.ask("delete topics: one that exists", 6, &of(vec![named(&gone)]), read).await
}
