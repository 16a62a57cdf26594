//! Configs of topics and brokers: what is set is in force, described and durable; what cannot be is refused by name.

use std::collections::BTreeMap;

use kafka_protocol::messages::alter_configs_request::{AlterConfigsResource as Replacement, AlterableConfig as Replaced};
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_configs_response::DescribeConfigsResourceResult;
use kafka_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use kafka_protocol::messages::{AlterConfigsRequest, ApiKey, CreateTopicsRequest, DescribeConfigsRequest, IncrementalAlterConfigsRequest};
use kafka_protocol::protocol::StrBytes;
use tidegate::Settings;
use tidegate_broker::BrokerSettings;
use tidegate_tests::wire::{Client, Running, batch, name};

const UNKNOWN_TOPIC: i16 = 3;
const MESSAGE_TOO_LARGE: i16 = 10;
const INVALID_TOPIC: i16 = 17;
const INVALID_CONFIG: i16 = 40;
const INVALID_REQUEST: i16 = 42;

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn op(name: &str, operation: i8, value: &str) -> AlterableConfig {
    AlterableConfig::default().with_name(text(name)).with_config_operation(operation).with_value(Some(text(value)))
}

fn set(name: &str, value: &str) -> AlterableConfig {
    op(name, SET, value)
}

fn resource(kind: i8, name: &str, configs: Vec<AlterableConfig>) -> AlterConfigsResource {
    AlterConfigsResource::default().with_resource_type(kind).with_resource_name(text(name)).with_configs(configs)
}

/// Error code and message of each resource.
async fn alter(client: &mut Client, resources: Vec<AlterConfigsResource>, only_check: bool) -> anyhow::Result<Vec<(i16, String)>> {
    let request = IncrementalAlterConfigsRequest::default().with_resources(resources).with_validate_only(only_check);
    let answer = client.call(1, &request).await?;
    Ok(answer.responses.into_iter().map(|r| (r.error_code, r.error_message.map_or(String::new(), |m| m.to_string()))).collect())
}

async fn alter_topic(client: &mut Client, topic: &str, configs: Vec<AlterableConfig>) -> anyhow::Result<(i16, String)> {
    Ok(alter(client, vec![resource(TOPIC, topic, configs)], false).await?.remove(0))
}

fn asked(kind: i8, name: &str) -> DescribeConfigsRequest {
    let resource = DescribeConfigsResource::default().with_resource_type(kind).with_resource_name(text(name)).with_configuration_keys(None);
    DescribeConfigsRequest::default().with_resources(vec![resource]).with_include_synonyms(true)
}

type Configs = BTreeMap<String, DescribeConfigsResourceResult>;

async fn described(client: &mut Client, kind: i8, name: &str) -> anyhow::Result<Configs> {
    let mut answer = client.call(4, &asked(kind, name).with_include_documentation(true)).await?;
    let result = answer.results.remove(0);
    anyhow::ensure!(result.error_code == 0, "{:?}", result.error_message);
    Ok(result.configs.into_iter().map(|config| (config.name.to_string(), config)).collect())
}

/// Value and source.
fn value<'a>(configs: &'a Configs, name: &str) -> (&'a str, i8) {
    let config = &configs[name];
    (config.value.as_deref().unwrap_or("null"), config.config_source)
}

fn settings(toml: &str) -> Settings {
    toml::from_str(toml).expect("settings")
}

#[tokio::test]
async fn a_created_topic_has_its_configs_and_they_are_told() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    let config = |name: &str, value: &str| CreatableTopicConfig::default().with_name(text(name)).with_value(Some(text(value)));
    let configs = vec![config("retention.ms", "60000"), config("min.insync.replicas", "2"), config("tidegate.lanes", "2")];
    let topic = CreatableTopic::default().with_name(name("topic")).with_num_partitions(3).with_replication_factor(1).with_configs(configs);
    let create = CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(1_000);
    let planned = client.call(7, &create.clone().with_validate_only(true)).await?;
    let told = |configs: &Option<Vec<kafka_protocol::messages::create_topics_response::CreatableTopicConfigs>>, name: &str| {
        let config = configs.iter().flatten().find(|config| config.name.as_str() == name).expect("the config");
        (config.value.as_ref().map(|value| value.to_string()).unwrap_or_default(), config.config_source)
    };
    assert_eq!((planned.topics[0].error_code, planned.topics[0].num_partitions), (0, 3));
    assert_eq!(told(&planned.topics[0].configs, "retention.ms"), ("60000".into(), 1));
    assert_eq!(broker.storage.topics().await?.len(), 0, "only checked");
    let created = client.call(7, &create).await?;
    assert_eq!(created.topics[0].error_code, 0);
    assert_eq!(told(&created.topics[0].configs, "retention.ms"), ("60000".into(), 1));
    assert_eq!(told(&created.topics[0].configs, "segment.ms"), ("604800000".into(), 5));
    let topic = broker.storage.topics().await?.remove(0);
    assert_eq!((topic.lanes, broker.storage.topic_settings(&topic)?.retention_ms), (2, 60_000));
    let configs = described(&mut client, TOPIC, "topic").await?;
    assert_eq!(value(&configs, "min.insync.replicas"), ("2", 1));
    assert_eq!((value(&configs, "tidegate.lanes"), configs["tidegate.lanes"].read_only), (("2", 5), true));

    for (key, bad) in [("retention.ms", "soon"), ("segment.bytes", "1"), ("compression.type", "zstd"), ("no.such.config", "1")] {
        let topic = CreatableTopic::default().with_name(name("bad")).with_num_partitions(1).with_replication_factor(1);
        let topic = topic.with_configs(vec![config(key, bad)]);
        for only_check in [true, false] {
            let request = CreateTopicsRequest::default().with_topics(vec![topic.clone()]).with_validate_only(only_check);
            let refused = client.call(7, &request).await?.topics.remove(0);
            assert_eq!(refused.error_code, INVALID_CONFIG, "{key}");
            assert!(refused.error_message.is_some_and(|message| message.contains(key)), "{key} is not named");
        }
    }
    assert_eq!(broker.storage.topics().await?.len(), 1);
    broker.stop().await
}

#[tokio::test]
async fn a_changed_config_is_in_force_described_and_back_to_its_default_when_deleted() -> anyhow::Result<()> {
    let file = settings("[[topic]]\npattern = \"t*\"\nretention_ms = 1000");
    let broker = Running::with(file, BrokerSettings::default()).await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    let record = broker.storage.topics().await?.remove(0);
    let inherited = described(&mut client, TOPIC, "topic").await?;
    assert_eq!(value(&inherited, "retention.ms"), ("1000", 4), "from the settings file");
    assert_eq!(value(&inherited, "retention.bytes"), ("-1", 5), "a default");

    let configs = vec![set("retention.ms", "5000"), set("max.message.bytes", "2048"), set("message.timestamp.type", "LogAppendTime")];
    assert_eq!(alter_topic(&mut client, "topic", configs).await?.0, 0);
    let own = described(&mut client, TOPIC, "topic").await?;
    assert_eq!(value(&own, "retention.ms"), ("5000", 1));
    let synonyms: Vec<(&str, i8)> = own["retention.ms"].synonyms.iter().map(|s| (s.name.as_str(), s.source)).collect();
    assert_eq!(synonyms, [("retention.ms", 1), ("retention.ms", 4)], "a default without a broker's name is no synonym");
    let synonyms: Vec<(&str, i8)> = own["max.message.bytes"].synonyms.iter().map(|s| (s.name.as_str(), s.source)).collect();
    assert_eq!(synonyms, [("max.message.bytes", 1), ("message.max.bytes", 5)]);
    assert_eq!(broker.storage.topic_settings(&record)?.retention_ms, 5_000);
    let large = vec![b'x'; 4_000];
    assert_eq!(client.produce("topic", 0, batch(&[&large])).await?.error_code, MESSAGE_TOO_LARGE);
    assert!(client.produce("topic", 0, batch(&[b"a"])).await?.log_append_time_ms > 1_000, "the append time counts");

    let deleted = vec![op("retention.ms", DELETE, ""), op("max.message.bytes", DELETE, ""), op("segment.bytes", DELETE, "")];
    assert_eq!(alter_topic(&mut client, "topic", deleted).await?.0, 0);
    assert_eq!(value(&described(&mut client, TOPIC, "topic").await?, "retention.ms"), ("1000", 4));
    assert_eq!(client.produce("topic", 0, batch(&[&large])).await?.error_code, 0);
    broker.stop().await
}

#[tokio::test]
async fn a_refused_change_says_why_and_changes_nothing() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    let before = broker.store.snapshot();
    let refusals: [(AlterableConfig, &[&str]); 10] = [
        (set("retention.ms", "soon"), &["retention.ms", "\"soon\"", "from -1 up", "delete the config"]),
        (set("retention.ms", "-2"), &["retention.ms", "\"-2\"", "from -1 up"]),
        (set("segment.bytes", "1073741824"), &["segment.bytes", "\"1073741824\"", "1024 to 268435456"]),
        (set("max.message.bytes", "0"), &["max.message.bytes", "1024 to 104857600"]),
        (set("message.timestamp.type", "Never"), &["message.timestamp.type", "CreateTime or LogAppendTime"]),
        (set("cleanup.policy", "shred"), &["cleanup.policy", "delete, compact"]),
        (set("compression.type", "zstd"), &["compression.type", "producer alone"]),
        (set("remote.storage.enable", "true"), &["remote.storage.enable", "no second tier"]),
        (set("tidegate.lanes", "1"), &["tidegate.lanes", "fixed"]),
        (set("color", "red"), &["\"color\"", "no config"]),
    ];
    for (config, parts) in refusals {
        for only_check in [false, true] {
            let with_a_good_one = vec![set("retention.bytes", "100"), config.clone()];
            let (code, message) = alter(&mut client, vec![resource(TOPIC, "topic", with_a_good_one)], only_check).await?.remove(0);
            assert_eq!(code, INVALID_CONFIG, "{config:?}: {message}");
            parts.iter().for_each(|part| assert!(message.contains(part), "{part} is missing in: {message}"));
        }
    }
    let codes = [
        (resource(TOPIC, "missing", vec![set("retention.ms", "1")]), UNKNOWN_TOPIC),
        (resource(TOPIC, "a/b", vec![set("retention.ms", "1")]), INVALID_TOPIC),
        (resource(TOPIC, "topic", vec![op("retention.ms", 9, "1")]), INVALID_REQUEST),
        (resource(TOPIC, "topic", vec![set("retention.ms", "1").with_value(None)]), INVALID_REQUEST),
        (resource(TOPIC, "topic", vec![set("retention.ms", "1"), op("retention.ms", DELETE, "")]), INVALID_REQUEST),
        (resource(TOPIC, "topic", vec![op("retention.ms", APPEND, "1")]), INVALID_CONFIG),
        (resource(BROKER, "0", vec![set("log.retention.ms", "1")]), INVALID_REQUEST),
        (resource(BROKER, "", vec![set("log.retention.ms", "1")]), INVALID_REQUEST),
        (resource(8, "0", vec![set("root", "DEBUG")]), INVALID_REQUEST),
        (resource(16, "x", vec![]), INVALID_REQUEST),
        (resource(77, "x", vec![]), INVALID_REQUEST),
    ];
    for (resource, code) in codes {
        let shown = format!("{resource:?}");
        let (found, message) = alter(&mut client, vec![resource], false).await?.remove(0);
        assert!(found == code && !message.is_empty(), "{shown}: {found} {message}");
    }
    let twice = vec![resource(TOPIC, "topic", vec![set("retention.ms", "1")]), resource(TOPIC, "topic", vec![])];
    assert!(alter(&mut client, twice, false).await?.iter().all(|(code, _)| *code == INVALID_REQUEST));
    assert_eq!(alter(&mut client, vec![resource(TOPIC, "topic", vec![set("retention.ms", "1")])], true).await?[0].0, 0, "only checked");
    assert_eq!(broker.store.snapshot(), before, "nothing was written");
    broker.stop().await
}

#[tokio::test]
async fn configs_change_in_every_version_of_both_ways() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    for version in client.listed(ApiKey::IncrementalAlterConfigs).await? {
        let wanted = format!("{}", 7_000 + version);
        let request = IncrementalAlterConfigsRequest::default();
        let request = request.with_resources(vec![resource(TOPIC, "topic", vec![set("retention.ms", &wanted), set("segment.ms", "9")])]);
        let answer = &client.call(version, &request).await?.responses[0];
        assert_eq!((answer.error_code, answer.resource_type, answer.resource_name.as_str()), (0, TOPIC, "topic"), "version {version}");
        assert_eq!(value(&described(&mut client, TOPIC, "topic").await?, "retention.ms").0, wanted, "version {version}");
    }
    for version in client.listed(ApiKey::AlterConfigs).await? {
        let wanted = format!("{}", 100 + version);
        let config = |name: &str, value: Option<&str>| Replaced::default().with_name(text(name)).with_value(value.map(text));
        let replace = |config| {
            let resource = Replacement::default().with_resource_type(TOPIC).with_resource_name(text("topic")).with_configs(vec![config]);
            AlterConfigsRequest::default().with_resources(vec![resource])
        };
        let only_check = replace(config("retention.bytes", Some("3"))).with_validate_only(true);
        assert_eq!(client.call(version, &only_check).await?.responses[0].error_code, 0, "version {version}");
        assert_ne!(value(&described(&mut client, TOPIC, "topic").await?, "retention.bytes").0, "3", "version {version}");
        let answer = &client.call(version, &replace(config("retention.bytes", Some(&wanted)))).await?.responses[0];
        assert_eq!((answer.error_code, answer.resource_name.as_str()), (0, "topic"), "version {version}");
        let configs = described(&mut client, TOPIC, "topic").await?;
        assert_eq!(value(&configs, "retention.bytes"), (wanted.as_str(), 1), "version {version}");
        assert_eq!((value(&configs, "retention.ms").1, value(&configs, "segment.ms").1), (5, 5), "what is not named is a default again");
        assert_eq!(client.call(version, &replace(config("retention.bytes", None))).await?.responses[0].error_code, INVALID_REQUEST);
    }
    for version in client.listed(ApiKey::DescribeConfigs).await? {
        let answer = client.call(version, &asked(TOPIC, "topic")).await?;
        assert!(answer.results[0].error_code == 0 && answer.results[0].configs.len() > 30, "version {version}");
        let types: Vec<i8> = answer.results[0].configs.iter().map(|config| config.config_type).collect();
        assert!(types.iter().all(|kind| (*kind != 0) == (version >= 3)), "version {version}");
    }
    broker.stop().await
}

#[tokio::test]
async fn compact_keeps_every_record_and_delete_comes_back() -> anyhow::Result<()> {
    let file = settings("host = { retention_interval_ms = 50 }");
    let broker = Running::with(file, BrokerSettings::default()).await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    assert_eq!(alter_topic(&mut client, "topic", vec![set("cleanup.policy", "compact"), set("retention.ms", "1")]).await?.0, 0);
    // Timestamps of these batches are 1970's: any retention is over.
    client.produce("topic", 0, batch(&[b"a", b"b"])).await?;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    assert_eq!(client.fetch("topic", 0, 0, 1 << 20).await?.log_start_offset, 0, "everything is kept");
    let configs = described(&mut client, TOPIC, "topic").await?;
    assert_eq!(value(&configs, "cleanup.policy"), ("compact", 1));
    let told = configs["cleanup.policy"].documentation.as_ref().expect("documentation");
    assert!(told.contains("not compacted"), "{told}");
    assert_eq!(alter_topic(&mut client, "topic", vec![op("cleanup.policy", APPEND, "delete")]).await?.0, 0);
    assert_eq!(alter_topic(&mut client, "topic", vec![op("cleanup.policy", SUBTRACT, "compact")]).await?.0, 0);
    assert_eq!(value(&described(&mut client, TOPIC, "topic").await?, "cleanup.policy"), ("delete", 1));
    for _ in 0..200 {
        if client.fetch("topic", 0, 2, 1 << 20).await?.log_start_offset == 2 {
            return broker.stop().await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("retention does not come back");
}

#[tokio::test]
async fn a_broker_tells_its_configs_and_takes_none() -> anyhow::Result<()> {
    let broker = Running::with(Settings::default(), BrokerSettings { node_id: 7, ..BrokerSettings::default() }).await?;
    let mut client = broker.client().await?;
    let configs = described(&mut client, BROKER, "7").await?;
    assert_eq!((value(&configs, "node.id"), value(&configs, "log.retention.ms")), (("7", 4), ("604800000", 5)));
    assert!(configs.values().all(|config| config.read_only && config.documentation.is_some() && config.config_type != 0));
    assert_eq!(described(&mut client, BROKER, "").await?.len(), 0, "there are no defaults of the cluster");
    let some = DescribeConfigsResource::default().with_resource_type(BROKER).with_resource_name(text("7"));
    let some = some.with_configuration_keys(Some(vec![text("node.id"), text("no.such.config")]));
    let answer = client.call(4, &DescribeConfigsRequest::default().with_resources(vec![some])).await?;
    let names: Vec<&str> = answer.results[0].configs.iter().map(|config| config.name.as_str()).collect();
    assert_eq!(names, ["node.id"]);
    for (kind, name, code) in [
        (BROKER, "8", INVALID_REQUEST),
        (BROKER, "seven", INVALID_REQUEST),
        (TOPIC, "missing", UNKNOWN_TOPIC),
        (TOPIC, "a/b", INVALID_TOPIC),
        (8, "7", INVALID_REQUEST),
        (77, "x", INVALID_REQUEST),
    ] {
        let result = client.call(4, &asked(kind, name)).await?.results.remove(0);
        assert!(result.error_code == code && result.configs.is_empty() && result.error_message.is_some(), "{kind} {name}: {result:?}");
    }
    broker.stop().await
}
