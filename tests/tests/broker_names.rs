//! Fault case D39: topic names that are none.

use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{CreateTopicsRequest, DeleteTopicsRequest, MetadataRequest};
use tidegate_broker::BrokerSettings;
use tidegate_tests::wire::{Running, batch, name, produce};

const INVALID_TOPIC: i16 = 17;

#[tokio::test]
async fn a_name_that_is_none_never_reaches_the_store() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    let long = "x".repeat(250);
    broker.store.reset_counters();
    for bad in ["../other/x", "a/../b", "", "a b", "a/b", "a\0b", long.as_str(), ".", ".."] {
        let topic = MetadataRequestTopic::default().with_name(Some(name(bad)));
        let metadata = client.call(9, &MetadataRequest::default().with_topics(Some(vec![topic]))).await?;
        assert_eq!(metadata.topics[0].error_code, INVALID_TOPIC, "metadata of {bad:?}");
        let topic = CreatableTopic::default().with_name(name(bad)).with_num_partitions(1).with_replication_factor(1);
        let created = client.call(5, &CreateTopicsRequest::default().with_topics(vec![topic])).await?;
        assert_eq!(created.topics[0].error_code, INVALID_TOPIC, "creation of {bad:?}");
        let produced = client.call(9, &produce(bad, vec![(0, batch(&[b"a"]).freeze())])).await?;
        assert_eq!(produced.responses[0].partition_responses[0].error_code, INVALID_TOPIC, "produce to {bad:?}");
        assert_eq!(client.fetch(bad, 0, 0, 100).await?.error_code, INVALID_TOPIC, "fetch from {bad:?}");
        let deleted = client.call(5, &DeleteTopicsRequest::default().with_topic_names(vec![name(bad)])).await?;
        assert_eq!(deleted.responses[0].error_code, INVALID_TOPIC, "deletion of {bad:?}");
    }
    assert_eq!(broker.store.total_requests(), 0);
    broker.stop().await
}

#[tokio::test]
async fn a_named_topic_is_made_where_settings_and_client_allow_it() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    let ask = |topic| MetadataRequest::default().with_topics(Some(vec![MetadataRequestTopic::default().with_name(Some(name(topic)))]));
    let denied = client.call(9, &ask("quiet").with_allow_auto_topic_creation(false)).await?;
    assert_eq!(denied.topics[0].error_code, 3);
    let made = client.call(9, &ask("made").with_allow_auto_topic_creation(true)).await?;
    assert_eq!((made.topics[0].error_code, made.topics[0].partitions.len()), (0, 1));
    assert_eq!(
        client.produce("produced", 0, batch(&[b"a"])).await?.error_code,
        3,
        "records make no topic: a client asks for metadata first"
    );
    assert_eq!(broker.storage.topics().await?.len(), 1);
    broker.stop().await?;

    let settings = BrokerSettings { auto_create_topics: false, ..BrokerSettings::default() };
    let broker = Running::with(tidegate::Settings::default(), settings).await?;
    let mut client = broker.client().await?;
    assert_eq!(client.call(9, &ask("made").with_allow_auto_topic_creation(true)).await?.topics[0].error_code, 3);
    broker.stop().await
}

#[tokio::test]
async fn racing_clients_make_a_topic_once() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let request = MetadataRequest::default().with_topics(Some(vec![MetadataRequestTopic::default().with_name(Some(name("raced")))]));
    let asks = (0..8).map(async |_| broker.client().await?.call(12, &request).await);
    let answers = futures::future::try_join_all(asks).await?;
    assert!(answers.iter().all(|answer| answer.topics[0].error_code == 0 && answer.topics[0].topic_id == answers[0].topics[0].topic_id));
    assert_eq!(broker.storage.topics().await?.len(), 1);
    broker.stop().await
}
