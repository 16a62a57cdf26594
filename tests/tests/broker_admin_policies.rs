//! Policies bound through configs of a topic: swapped under load, tried before anything changes, gone with their topic.

use std::path::Path;

use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use kafka_protocol::messages::{CreateTopicsRequest, DeleteTopicsRequest, DescribeConfigsRequest, IncrementalAlterConfigsRequest};
use kafka_protocol::protocol::StrBytes;
use tidegate::Settings;
use tidegate::runtime::Bind;
use tidegate::types::Kind;
use tidegate_broker::BrokerSettings;
use tidegate_tests::plugins::fixed_index;
use tidegate_tests::wire::{Client, Running, batch, name, offsets};

const INVALID_CONFIG: i16 = 40;
const POLICY: &str = "tidegate.policy.index";
const CONFIG: &str = "tidegate.policy.index.config";

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

/// `None` deletes.
fn change(name: &str, value: Option<&str>) -> AlterableConfig {
    let operation = i8::from(value.is_none());
    AlterableConfig::default().with_name(text(name)).with_config_operation(operation).with_value(value.map(text))
}

async fn alter(client: &mut Client, changes: Vec<AlterableConfig>, only_check: bool) -> anyhow::Result<(i16, String)> {
    let resource = AlterConfigsResource::default().with_resource_type(2).with_resource_name(text("topic")).with_configs(changes);
    let request = IncrementalAlterConfigsRequest::default().with_resources(vec![resource]).with_validate_only(only_check);
    let answer = client.call(1, &request).await?.responses.remove(0);
    Ok((answer.error_code, answer.error_message.map_or(String::new(), |message| message.to_string())))
}

/// Value and source of the policy and its config.
async fn shown(client: &mut Client, topic: &str) -> anyhow::Result<[(String, i8); 2]> {
    let resource = DescribeConfigsResource::default().with_resource_type(2).with_resource_name(text(topic));
    let resource = resource.with_configuration_keys(Some(vec![text(POLICY), text(CONFIG)]));
    let answer = client.call(4, &DescribeConfigsRequest::default().with_resources(vec![resource])).await?;
    let found = |at: usize| {
        let config = &answer.results[0].configs[at];
        (config.value.as_ref().map(|value| value.to_string()).unwrap_or_default(), config.config_source)
    };
    Ok([found(0), found(1)])
}

fn is(policy: &str, config: &str, source: i8) -> [(String, i8); 2] {
    [(policy.to_owned(), source), (config.to_owned(), source)]
}

/// A broker that finds two policies in its directory: `wide` and `narrow`.
async fn broker(directory: &Path) -> anyhow::Result<Running> {
    std::fs::write(directory.join("wide.wasm"), fixed_index(32 << 10))?;
    std::fs::write(directory.join("narrow.wasm"), fixed_index(1 << 10))?;
    std::fs::write(directory.join("broken.wasm"), b"no component")?;
    let mut settings = Settings::default();
    settings.policy.directory = Some(directory.to_owned());
    settings.policy.decision_deadline_ms = 200;
    Running::with(settings, BrokerSettings::default()).await
}

#[tokio::test]
async fn a_policy_is_swapped_by_a_config_under_load_and_nothing_is_lost() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let broker = broker(directory.path()).await?;
    let mut client = broker.client().await?;
    client.create("topic", 2).await?;
    let stop = tokio_util::sync::CancellationToken::new();
    let producers: Vec<_> = (0..2)
        .map(|partition| {
            let (stop, address) = (stop.clone(), broker.address);
            tokio::spawn(async move {
                let mut client = Client::connect(address).await?;
                let mut acked = Vec::new();
                while !stop.is_cancelled() {
                    let answer = client.produce("topic", partition, batch(&[b"a", b"b", b"c"])).await?;
                    anyhow::ensure!(answer.error_code == 0, "error {}", answer.error_code);
                    acked.push((answer.base_offset, answer.base_offset + 2));
                }
                anyhow::Ok(acked)
            })
        })
        .collect();
    for round in 0..12 {
        let (policy, other) = if round % 2 == 0 { ("narrow", "wide") } else { ("wide", "narrow") };
        let config = format!("{{\"round\":{round}}}");
        assert_eq!(alter(&mut client, vec![change(POLICY, Some(policy)), change(CONFIG, Some(&config))], false).await?, (0, String::new()));
        assert_eq!(shown(&mut client, "topic").await?, is(policy, &config, 1));
        assert_eq!(alter(&mut client, vec![change(POLICY, Some("broken"))], false).await?.0, INVALID_CONFIG);
        assert_eq!(alter(&mut client, vec![change(POLICY, Some(other))], true).await?.0, 0, "only checked");
        assert_eq!(shown(&mut client, "topic").await?, is(policy, &config, 1), "what was refused or only checked changes nothing");
    }
    stop.cancel();
    for (partition, producer) in (0..).zip(producers) {
        let acked = producer.await??;
        assert!(acked.len() > 3, "there was no load");
        let (mut stored, mut next) = (Vec::new(), 0);
        while stored.len() < acked.len() {
            let found = client.fetch("topic", partition, next, 1 << 20).await?;
            assert_eq!(found.error_code, 0);
            stored.extend(offsets(&found.records.expect("records")));
            next = stored.last().map_or(next, |batch: &(i64, i64)| batch.1 + 1);
        }
        assert_eq!(stored, acked, "partition {partition}: what was acknowledged is stored, once and in order");
    }
    broker.stop().await
}

#[tokio::test]
async fn a_policy_that_does_not_work_is_refused_before_anything_changes() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let broker = broker(directory.path()).await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    assert_eq!(shown(&mut client, "topic").await?, is("builtin", "{}", 5));
    let retention = || change("retention.ms", Some("77"));
    let cases: [(Vec<AlterableConfig>, &[&str]); 8] = [
        (vec![change(POLICY, Some("missing")), retention()], &["missing", "narrow, wide"]),
        (vec![change(POLICY, Some("../wide")), retention()], &["no name of a policy"]),
        (vec![change(POLICY, Some("/etc/passwd")), retention()], &["no name of a policy"]),
        (vec![change(POLICY, Some("broken")), retention()], &["broken", "expected a WebAssembly component"]),
        (vec![change("tidegate.policy.flush", Some("wide")), retention()], &["tidegate.policy.flush", "flush"]),
        (vec![change(POLICY, Some("wide")), change(CONFIG, Some("bytes=1")), retention()], &[CONFIG, "no JSON"]),
        (vec![change(CONFIG, Some("{}")), retention()], &[CONFIG, "set tidegate.policy.index"]),
        (vec![change(POLICY, Some("builtin")), retention()], &["delete it"]),
    ];
    for (changes, parts) in cases {
        let shown = format!("{changes:?}");
        let (code, message) = alter(&mut client, changes, false).await?;
        assert_eq!(code, INVALID_CONFIG, "{shown}: {message}");
        parts.iter().for_each(|part| assert!(message.contains(part), "{part} is missing in: {message}"));
    }
    let topic = broker.storage.topics().await?.remove(0);
    assert!(topic.config.is_empty() && broker.storage.bindings().bindings.is_empty(), "{topic:?}");
    // And a bad setting keeps a good policy out.
    let (code, _) = alter(&mut client, vec![change(POLICY, Some("wide")), change("retention.ms", Some("soon"))], false).await?;
    assert_eq!((code, broker.storage.bindings().bindings.len()), (INVALID_CONFIG, 0));
    broker.stop().await
}

#[tokio::test]
async fn a_policy_config_changes_alone_and_a_policy_goes_with_its_config() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let broker = broker(directory.path()).await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    let component = broker.storage.component("wide").await?;
    let everywhere = Bind {
        pattern: "*".into(),
        kind: Kind::Index,
        component: component.bytes,
        source: component.source,
        config: serde_json::json!({ "all": true }),
        by: "operator".into(),
        digest: None,
        signature: component.signature,
    };
    broker.storage.bind(everywhere).await?;
    assert_eq!(shown(&mut client, "topic").await?, is("fixed-index", r#"{"all":true}"#, 3), "of a pattern");
    assert_eq!(alter(&mut client, vec![change(POLICY, Some("narrow"))], false).await?.0, 0);
    assert_eq!(shown(&mut client, "topic").await?, is("narrow", "{}", 1));
    std::fs::remove_file(directory.path().join("narrow.wasm"))?;
    assert_eq!(alter(&mut client, vec![change(CONFIG, Some(r#"{"a":1}"#))], false).await?, (0, String::new()), "the file is not needed");
    assert_eq!(shown(&mut client, "topic").await?, is("narrow", r#"{"a":1}"#, 1));
    assert_eq!(alter(&mut client, vec![change(CONFIG, None)], false).await?.0, 0);
    assert_eq!(shown(&mut client, "topic").await?, is("narrow", "{}", 1));
    assert_eq!(alter(&mut client, vec![change(POLICY, None)], false).await?.0, 0);
    assert_eq!(shown(&mut client, "topic").await?, is("fixed-index", r#"{"all":true}"#, 3), "what lies below decides again");
    assert_eq!(alter(&mut client, vec![change(POLICY, None), change(CONFIG, None)], false).await?.0, 0, "there is nothing to delete");
    let who: Vec<String> = broker.storage.policy_history().iter().map(|change| change.by.clone()).collect();
    assert!(who.iter().any(|by| by.contains("127.0.0.1")), "{who:?}");
    broker.stop().await
}

#[tokio::test]
async fn a_topic_is_created_with_its_policy_and_takes_it_along_when_it_goes() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let broker = broker(directory.path()).await?;
    let mut client = broker.client().await?;
    let create = |policy: &str, only_check| {
        let config = CreatableTopicConfig::default().with_name(text(POLICY)).with_value(Some(text(policy)));
        let topic = CreatableTopic::default().with_name(name("topic")).with_num_partitions(1).with_replication_factor(1);
        CreateTopicsRequest::default().with_topics(vec![topic.with_configs(vec![config])]).with_validate_only(only_check)
    };
    for only_check in [true, false] {
        assert_eq!(client.call(7, &create("broken", only_check)).await?.topics[0].error_code, INVALID_CONFIG);
    }
    assert_eq!(client.call(7, &create("wide", true)).await?.topics[0].error_code, 0);
    assert!(broker.storage.topics().await?.is_empty() && broker.storage.bindings().bindings.is_empty(), "nothing was done yet");
    let created = client.call(7, &create("wide", false)).await?.topics.remove(0);
    assert_eq!(created.error_code, 0, "{:?}", created.error_message);
    assert_eq!(shown(&mut client, "topic").await?, is("wide", "{}", 1));
    let delete = DeleteTopicsRequest::default().with_topic_names(vec![name("topic")]).with_timeout_ms(1_000);
    assert_eq!(client.call(5, &delete).await?.responses[0].error_code, 0);
    assert!(broker.storage.bindings().bindings.is_empty(), "the next topic of this name begins anew");
    broker.stop().await
}
