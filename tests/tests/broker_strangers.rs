//! Bytes of strangers: whatever comes on the socket ends in an answer or a closed connection, costs no more memory than was
//! sent, and leaves the others alone.

use std::time::Duration;

use allocation_counter::AllocationInfo;
use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::*;
use kafka_protocol::protocol::{Encodable, Request};
use rand::rngs::StdRng;
use rand::{Rng, RngCore, SeedableRng};
use tidegate::Settings;
use tidegate_broker::{BrokerSettings, GroupSettings, Limits};
use tidegate_tests::member::{group, text};
use tidegate_tests::wire::{Client, Running, batch, fetch, name, produce};
use tokio::time::timeout;

/// How long a test waits before it gives up: no measure of anything.
const PATIENCE: Duration = Duration::from_secs(60);

fn frame<R: Request>(version: i16, request: &R) -> Bytes {
    let header = RequestHeader::default().with_request_api_key(R::KEY).with_request_api_version(version).with_correlation_id(7);
    let mut frame = BytesMut::new();
    header.encode(&mut frame, R::header_version(version)).unwrap();
    request.encode(&mut frame, version).unwrap();
    frame.freeze()
}

/// Good requests of many kinds, old and new.
fn good() -> Vec<Bytes> {
    let topic = CreatableTopic::default().with_name(name("made")).with_num_partitions(3).with_replication_factor(1);
    let create = CreateTopicsRequest::default().with_topics(vec![topic]).with_validate_only(true);
    let offsets = ListOffsetsTopic::default().with_name(name("topic")).with_partitions(vec![ListOffsetsPartition::default()]);
    let offsets = ListOffsetsRequest::default().with_topics(vec![offsets]);
    let protocol = JoinGroupRequestProtocol::default().with_name(text("range")).with_metadata(Bytes::from_static(b"metadata"));
    let join = JoinGroupRequest::default().with_group_id(group("g")).with_session_timeout_ms(10_000).with_protocols(vec![protocol]);
    let named = MetadataRequestTopic::default().with_name(Some(name("topic")));
    let metadata = MetadataRequest::default().with_topics(Some(vec![named.clone(), named]));
    let records = || vec![(0, batch(&[b"a", b"b"]).freeze()), (1, batch(&[b"c"]).freeze())];
    let followed = fetch("topic", &[(0, 0), (1, 0)], 1 << 20, 0).with_session_epoch(0);
    vec![
        frame(9, &produce("topic", records())),
        frame(3, &produce("topic", records())),
        frame(11, &followed),
        frame(12, &followed),
        frame(12, &metadata),
        frame(1, &metadata),
        frame(5, &create),
        frame(9, &offsets),
        frame(9, &join),
        frame(8, &OffsetCommitRequest::default().with_group_id(group("g"))),
        frame(2, &DeleteGroupsRequest::default().with_groups_names(vec![group("g"), group("h")])),
        frame(3, &ApiVersionsRequest::default().with_client_software_name(text("a")).with_client_software_version(text("1"))),
    ]
}

/// A good request with some damage, or noise.
fn damaged(rng: &mut StdRng, good: &[Bytes]) -> BytesMut {
    let mut frame = BytesMut::from(&good[rng.random_range(0..good.len())][..]);
    match rng.random_range(0..4) {
        0 => (0..rng.random_range(1..4)).for_each(|_| {
            let at = rng.random_range(0..frame.len());
            frame[at] = rng.random();
        }),
        1 => frame.truncate(rng.random_range(0..frame.len())),
        2 => {
            // A length field that claims much: four bytes of a large number somewhere in the body.
            let at = rng.random_range(8..frame.len() - 4);
            frame[at..at + 4].copy_from_slice(&i32::to_be_bytes(rng.random_range(1 << 20..i32::MAX)));
        }
        _ => {
            frame.resize(rng.random_range(8..200), 0);
            rng.fill_bytes(&mut frame[2..]);
            frame[0] = 0;
            frame[1] %= 70;
        }
    }
    frame
}

/// Sends a frame and waits until it is answered or the connection is closed.
async fn put(broker: &Running, frame: &[u8]) -> anyhow::Result<()> {
    let mut client = broker.client().await?;
    let mut bytes = BytesMut::with_capacity(4 + frame.len());
    bytes.put_u32(frame.len() as u32);
    bytes.put_slice(frame);
    client.send_raw(&bytes).await?;
    client.end().await?;
    while timeout(PATIENCE, client.receive_raw()).await?.is_ok() {}
    Ok(())
}

fn settings() -> BrokerSettings {
    // Requests that wait for next to nothing, and no topics of strangers: each costs some memory for good.
    let limits = Limits { fetch_wait_ms: 0, partitions_per_topic: 8, ..Limits::default() };
    let groups = GroupSettings {
        session_timeout_min_ms: 1,
        session_timeout_max_ms: 20_000,
        rebalance_timeout_max_ms: 20,
        initial_rebalance_delay_ms: 0,
        ..GroupSettings::default()
    };
    BrokerSettings { limits, groups, auto_create_topics: false, ..BrokerSettings::default() }
}

/// The broker and its clients share one thread here, so that what is counted is all that there is.
#[test]
fn damaged_requests_take_no_more_memory_than_they_bring() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let broker = runtime.block_on(Running::with(Settings::default(), settings())).unwrap();
    runtime.block_on(async { broker.client().await?.create("topic", 2).await }).unwrap();
    let (mut rng, good) = (StdRng::seed_from_u64(20), good());
    for frame in &good {
        runtime.block_on(put(&broker, frame)).unwrap();
    }
    for round in 0..2_000 {
        let frame = damaged(&mut rng, &good);
        let AllocationInfo { bytes_max, .. } = allocation_counter::measure(|| runtime.block_on(put(&broker, &frame)).unwrap());
        assert!(bytes_max < 512 << 10, "round {round}: {bytes_max} bytes for a frame of {}: {:02x?}", frame.len(), &frame[..]);
    }
    runtime
        .block_on(async {
            let mut client = broker.client().await?;
            assert_eq!(client.produce("topic", 0, batch(&[b"still there"])).await?.error_code, 0);
            broker.stop().await
        })
        .unwrap();
}

/// Raw noise, in pieces, without the care for lengths: no frame is completed, or a bad one is.
#[tokio::test]
async fn noise_ends_in_a_closed_connection() -> anyhow::Result<()> {
    let limits = Limits { idle_ms: 50, stall_ms: 50, request_bytes: 1 << 16, ..settings().limits };
    let broker = Running::with(Settings::default(), BrokerSettings { limits, ..settings() }).await?;
    let mut rng = StdRng::seed_from_u64(21);
    for _ in 0..60 {
        let mut noise = vec![0; rng.random_range(1..300)];
        rng.fill_bytes(&mut noise);
        // Half of them claim a length that is allowed.
        if rng.random() {
            noise.splice(0..noise.len().min(2), [0, 0]);
        }
        let mut client = broker.client().await?;
        client.send_raw(&noise).await?;
        let closed = async { while client.receive_raw().await.is_ok() {} };
        timeout(PATIENCE, closed).await?;
    }
    assert_eq!(broker.client().await?.call(0, &ApiVersionsRequest::default()).await?.error_code, 0);
    broker.stop().await
}

/// Half-sent requests hold room that others wait for; they end, and the others are served.
#[tokio::test]
async fn half_sent_requests_do_not_shut_others_out() -> anyhow::Result<()> {
    let limits =
        Limits { request_bytes: 1 << 20, connection_bytes: 1 << 20, total_request_bytes: 1 << 20, stall_ms: 300, ..settings().limits };
    let broker = Running::with(Settings::default(), BrokerSettings { limits, ..settings() }).await?;
    let mut greedy = Vec::new();
    for _ in 0..4 {
        let mut client = broker.client().await?;
        client.send_raw(&(1u32 << 20).to_be_bytes()).await?;
        client.send_raw(&[0, 3, 0, 1]).await?;
        greedy.push(client);
    }
    let mut good = broker.client().await?;
    let answer = timeout(PATIENCE, good.call(0, &ApiVersionsRequest::default())).await??;
    assert_eq!(answer.error_code, 0);
    for mut client in greedy {
        assert!(timeout(PATIENCE, client.is_closed()).await?);
    }
    broker.stop().await
}

#[tokio::test]
async fn one_address_does_not_take_all_connections() -> anyhow::Result<()> {
    let limits = Limits { connections_per_address: 3, ..settings().limits };
    let broker = Running::with(Settings::default(), BrokerSettings { limits, ..settings() }).await?;
    let mut open: Vec<Client> = Vec::new();
    for _ in 0..3 {
        let mut client = broker.client().await?;
        client.call(0, &ApiVersionsRequest::default()).await?;
        open.push(client);
    }
    assert!(timeout(PATIENCE, broker.client().await?.is_closed()).await?, "the fourth is closed as it comes");
    drop(open.pop());
    let served = async {
        loop {
            let mut client = broker.client().await?;
            if client.call(0, &ApiVersionsRequest::default()).await.is_ok() {
                return anyhow::Ok(());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, served).await??;
    broker.stop().await
}
