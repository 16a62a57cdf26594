//! Incremental fetch sessions, as clients see them: what is followed is named once, and only news is answered.

use std::collections::BTreeSet;

use bytes::BufMut;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ForgottenTopic};
use kafka_protocol::messages::{ApiKey, FetchRequest, FetchResponse};
use tidegate::Settings;
use tidegate_broker::{BrokerSettings, Limits};
use tidegate_tests::wire::{Client, Running, batch, fetch, name, offsets, produce};

const OFFSET_OUT_OF_RANGE: i16 = 1;
const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
const FETCH_SESSION_ID_NOT_FOUND: i16 = 70;
const INVALID_FETCH_SESSION_EPOCH: i16 = 71;
const UNKNOWN_TOPIC_ID: i16 = 100;
const FETCH_SESSION_TOPIC_ID_ERROR: i16 = 106;

/// A request of a session that changes nothing.
fn next(session_id: i32, epoch: i32) -> FetchRequest {
    fetch("", &[], 1 << 20, 0).with_topics(vec![]).with_session_id(session_id).with_session_epoch(epoch)
}

/// Partitions of an answer, with the number of their records' bytes.
fn told(response: &FetchResponse) -> Vec<(i32, usize)> {
    let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
    partitions.map(|partition| (partition.partition_index, partition.records.as_ref().map_or(0, |records| records.len()))).collect()
}

async fn opened(client: &mut Client, topic: &str, wanted: &[(i32, i64)]) -> anyhow::Result<i32> {
    let response = client.call(11, &fetch(topic, wanted, 1 << 20, 0).with_session_epoch(0)).await?;
    assert_eq!((response.error_code, told(&response).len()), (0, wanted.len()), "all partitions are answered once");
    assert_ne!(response.session_id, 0);
    Ok(response.session_id)
}

#[tokio::test]
async fn a_session_tells_only_news_in_every_version() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 3).await?;
    let id = broker.storage.topics().await?[0].id.0;
    for version in client.listed(ApiKey::Fetch).await?.filter(|version| *version >= 7) {
        let end = client.fetch("topic", 1, 0, 1).await?.high_watermark;
        let named = |topic: FetchTopic| if version >= 13 { topic.with_topic_id(id) } else { topic.with_topic(name("topic")) };
        let all = [(0, 0), (1, end), (2, 0)];
        let wanted =
            all.map(|(p, offset)| FetchPartition::default().with_partition(p).with_fetch_offset(offset).with_partition_max_bytes(99));
        let full = next(0, 0).with_topics(vec![named(FetchTopic::default().with_partitions(wanted.to_vec()))]);
        let plain = |request: FetchRequest| if version >= 15 { request.with_replica_id((-1).into()) } else { request };
        let session = client.call(version, &plain(full)).await?.session_id;
        assert_ne!(session, 0, "version {version}");
        assert_eq!(told(&client.call(version, &plain(next(session, 1))).await?), [], "version {version}");
        client.produce("topic", 1, batch(&[b"a"])).await?;
        let news = client.call(version, &plain(next(session, 2))).await?;
        assert_eq!((news.session_id, news.responses.len(), told(&news)[0].0), (session, 1, 1), "version {version}");
        assert_eq!(offsets(news.responses[0].partitions[0].records.as_ref().unwrap()), [(end, end)]);
        let topic = if version >= 13 { news.responses[0].topic_id == id } else { news.responses[0].topic == name("topic") };
        assert!(topic, "version {version}: {news:?}");
    }
    broker.stop().await
}

#[tokio::test]
async fn what_is_forgotten_is_not_read_any_more_and_what_is_added_is() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 3).await?;
    let session = opened(&mut client, "topic", &[(0, 0), (1, 0)]).await?;
    for partition in 0..3 {
        client.produce("topic", partition, batch(&[b"a"])).await?;
    }
    let forgotten = ForgottenTopic::default().with_topic(name("topic")).with_partitions(vec![0]);
    let changed = fetch("topic", &[(2, 0)], 1 << 20, 0).with_forgotten_topics_data(vec![forgotten]);
    let response = client.call(11, &changed.with_session_id(session).with_session_epoch(1)).await?;
    assert_eq!(told(&response).iter().map(|(partition, _)| *partition).collect::<Vec<_>>(), [1, 2]);
    let moved = fetch("topic", &[(1, 1), (2, 1)], 1 << 20, 0).with_session_id(session).with_session_epoch(2);
    assert_eq!(told(&client.call(11, &moved).await?), []);
    broker.stop().await
}

#[tokio::test]
async fn sessions_that_are_not_there_and_epochs_out_of_turn_have_their_errors() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    let session = opened(&mut client, "topic", &[(0, 0)]).await?;
    for (id, epoch, version, error) in [
        (session ^ 1, 1, 11, FETCH_SESSION_ID_NOT_FOUND),
        (0, 5, 11, FETCH_SESSION_ID_NOT_FOUND),
        (session, 2, 11, INVALID_FETCH_SESSION_EPOCH),
        (session, -5, 11, INVALID_FETCH_SESSION_EPOCH),
        (session, 1, 13, FETCH_SESSION_TOPIC_ID_ERROR),
    ] {
        let response = client.call(version, &next(id, epoch)).await?;
        assert_eq!((response.error_code, response.session_id, response.responses.len()), (error, 0, 0), "{id} {epoch}");
    }
    let other = broker.client().await?.call(11, &next(session, 1)).await?;
    assert_eq!((other.error_code, other.session_id), (0, session), "a session outlives its connection");
    assert_eq!(client.call(11, &next(session, -1)).await?.error_code, 0);
    assert_eq!(client.call(11, &next(session, 2)).await?.error_code, FETCH_SESSION_ID_NOT_FOUND, "it was closed");
    broker.stop().await
}

/// A request of a consumer that follows thousands of idle partitions, and its answer, are a few bytes.
#[tokio::test]
async fn an_idle_session_sends_and_gets_no_partitions() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 2_000).await?;
    let all: Vec<(i32, i64)> = (0..2_000).map(|partition| (partition, 0)).collect();
    let session = opened(&mut client, "topic", &all).await?;
    broker.store.reset_counters();
    for epoch in 1..=20 {
        client.send(11, &next(session, epoch)).await?;
        assert_eq!(client.receive_raw().await?.len(), 4 + 4 + 2 + 4 + 4, "correlation id, throttle time, error, session, no topics");
    }
    assert_eq!(broker.store.total_requests(), 0);
    let metrics = broker.storage.metrics();
    assert_eq!((metrics.fetch.sessions.get(), metrics.fetch.session_partitions.get()), (1, 2_000));
    broker.stop().await
}

/// Fault case D31, in a session: the first partition always has records, and the answer has room for one.
#[tokio::test]
async fn every_partition_of_a_session_is_served_over_successive_fetches() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 8).await?;
    let large = batch(&[&[1; 700_000][..]]).freeze();
    client.call(9, &produce("topic", (0..8).map(|partition| (partition, large.clone())).collect())).await?;
    let all: Vec<(i32, i64)> = (0..8).map(|partition| (partition, 0)).collect();
    let first = client.call(11, &fetch("topic", &all, 1 << 20, 0).with_session_epoch(0)).await?;
    let with_records = |response: &FetchResponse| told(response).into_iter().filter(|(_, len)| *len > 0).map(|(partition, _)| partition);
    let mut served: BTreeSet<i32> = with_records(&first).collect();
    for epoch in 1..8 {
        let response = client.call(11, &next(first.session_id, epoch)).await?;
        assert_eq!(with_records(&response).count(), 1);
        served.extend(with_records(&response));
    }
    assert_eq!(served.len(), 8, "{served:?}");
    broker.stop().await
}

#[tokio::test]
async fn a_session_waits_for_all_its_partitions() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 3).await?;
    let session = opened(&mut client, "topic", &[(0, 0), (1, 0), (2, 0)]).await?;
    client.send(11, &next(session, 1).with_max_wait_ms(i32::MAX)).await?;
    broker.client().await?.produce("topic", 2, batch(&[b"a"])).await?;
    let response = client.receive::<FetchRequest>(11).await?;
    assert_eq!(told(&response).iter().map(|(partition, _)| *partition).collect::<Vec<_>>(), [2]);
    broker.stop().await
}

/// A partition that is not there does not end the wait for the others, or its client would ask without pause; one of
/// which the offset is out of range does.
#[tokio::test]
async fn a_missing_partition_is_told_of_without_ending_the_wait() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    let request = fetch("topic", &[(0, 0), (7, 0)], 1 << 20, i32::MAX).with_session_epoch(0);
    client.send(11, &request).await?;
    broker.client().await?.produce("topic", 0, batch(&[b"a"])).await?;
    let response = client.receive::<FetchRequest>(11).await?;
    let partitions = &response.responses[0].partitions;
    assert_eq!((partitions[0].high_watermark, partitions[1].error_code), (1, UNKNOWN_TOPIC_OR_PARTITION));
    let beyond = fetch("topic", &[(0, 9)], 1 << 20, i32::MAX).with_session_id(response.session_id).with_session_epoch(1);
    let response = client.call(11, &beyond).await?;
    let codes: Vec<i16> = response.responses[0].partitions.iter().map(|partition| partition.error_code).collect();
    assert_eq!(codes, [UNKNOWN_TOPIC_OR_PARTITION, OFFSET_OUT_OF_RANGE]);
    broker.stop().await
}

#[tokio::test]
async fn a_topic_made_anew_is_another_one_to_a_session_by_id() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    let topic = broker.storage.topics().await?[0].clone();
    let wanted = FetchPartition::default().with_partition_max_bytes(99);
    let by_id = |id, partition: i32| {
        let wanted = wanted.clone().with_partition(partition);
        next(0, 0).with_topics(vec![FetchTopic::default().with_topic_id(id).with_partitions(vec![wanted])])
    };
    let opened = client.call(13, &by_id(topic.id.0, 0)).await?;
    assert_eq!(opened.responses[0].partitions[0].error_code, 0);
    let missing = client.call(13, &by_id(topic.id.0, 4)).await?;
    assert_eq!(missing.responses[0].partitions[0].error_code, UNKNOWN_TOPIC_OR_PARTITION, "the topic is known, its partition is not");
    for unknown in [Default::default(), broker.storage.env().uuid()] {
        assert_eq!(client.call(13, &by_id(unknown, 0)).await?.responses[0].partitions[0].error_code, UNKNOWN_TOPIC_ID);
    }
    broker.storage.delete_topic(&topic.name).await?;
    client.create("topic", 1).await?;
    let response = client.call(13, &next(opened.session_id, 1)).await?;
    assert_eq!(response.responses[0].partitions[0].error_code, UNKNOWN_TOPIC_ID);
    broker.stop().await
}

#[tokio::test]
async fn without_room_for_sessions_fetches_go_on_without() -> anyhow::Result<()> {
    let limits = Limits { fetch_sessions: 1, ..Limits::default() };
    let broker = Running::with(Settings::default(), BrokerSettings { limits, ..BrokerSettings::default() }).await?;
    let mut client = broker.client().await?;
    client.create("topic", 1).await?;
    let session = opened(&mut client, "topic", &[(0, 0)]).await?;
    let without = client.call(11, &fetch("topic", &[(0, 0)], 1 << 20, 0).with_session_epoch(0)).await?;
    assert_eq!((without.error_code, without.session_id, told(&without)), (0, 0, vec![(0, 0)]));
    assert_eq!(client.call(11, &next(session, 1)).await?.session_id, session, "the first one stays");
    broker.stop().await
}

/// What a session tells is what a client without one is told, whatever happens in between.
#[tokio::test]
async fn a_session_and_plain_fetches_agree() -> anyhow::Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    client.create("topic", 4).await?;
    let mut positions = [0i64; 4];
    let mut told_by_session = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    let all: Vec<(i32, i64)> = (0..4).map(|partition| (partition, 0)).collect();
    let session = opened(&mut client, "topic", &all).await?;
    let mut changed: Vec<(i32, i64)> = Vec::new();
    for round in 0..24u8 {
        if round % 3 != 2 {
            client.produce("topic", i32::from(round * 7 % 4), batch(&[&[round]])).await?;
        }
        let request = fetch("topic", &changed, 1 << 20, 0).with_session_id(session).with_session_epoch(i32::from(round) + 1);
        changed.clear();
        for partition in client.call(11, &request).await?.responses.iter().flat_map(|topic| &topic.partitions) {
            let found = offsets(partition.records.as_ref().unwrap());
            let at = partition.partition_index as usize;
            told_by_session[at].put_slice(partition.records.as_ref().unwrap());
            if let Some((_, last)) = found.last() {
                positions[at] = last + 1;
                changed.push((partition.partition_index, last + 1));
            }
        }
    }
    for partition in 0..4 {
        let plain = client.fetch("topic", partition, 0, 1 << 20).await?;
        assert_eq!(plain.high_watermark, positions[partition as usize]);
        assert_eq!(plain.records.as_deref().unwrap(), told_by_session[partition as usize]);
    }
    broker.stop().await
}
