//! Fetch.

use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::{FetchRequest, FetchResponse};
use tidegate::env::Env;
use tidegate_tests::wire::fetch;

use crate::seen::{Seen, codes};

/// The code of the whole, then those of the partitions.
fn read(response: FetchResponse) -> String {
    let partitions = codes(response.responses.iter().flat_map(|topic| &topic.partitions).map(|partition| partition.error_code));
    format!("{} [{partitions}]", response.error_code)
}

pub async fn cases(seen: &mut Seen) -> anyhow::Result<()> {
    places(seen).await?;
    requests(seen).await?;
    sessions(seen).await
}

async fn places(seen: &mut Seen) -> anyhow::Result<()> {
    let topic = seen.topic.clone();
    for (what, offset) in [("at the end", 2), ("beyond the end", 3), ("-1", -1), ("far beyond", i64::MAX), ("far below", i64::MIN)] {
        seen.ask(&format!("fetch: offset {what}"), 11, &fetch(&topic, &[(0, offset)], 1 << 20, 0), read).await?;
    }
    for partition in [2, -1, i32::MAX] {
        seen.ask(&format!("fetch: partition {partition} of 2"), 11, &fetch(&topic, &[(partition, 0)], 1 << 20, 0), read).await?;
    }
    let unknown = seen.fresh();
    seen.ask("fetch: unknown topic", 11, &fetch(&unknown, &[(0, 0)], 1 << 20, 0), read).await?;
    seen.ask("fetch: topic name with a slash", 11, &fetch("a/b", &[(0, 0)], 1 << 20, 0), read).await?;
    for (what, id, partition) in [
        ("topic by id", seen.id.0, 0),
        ("partition 7 of a topic by id", seen.id.0, 7),
        ("unknown topic id", Env::system().uuid(), 0),
        ("topic id of zeros", Default::default(), 0),
    ] {
        let wanted = FetchPartition::default().with_partition(partition).with_partition_max_bytes(1 << 20);
        let topic = FetchTopic::default().with_topic_id(id).with_partitions(vec![wanted]);
        seen.ask(&format!("fetch: {what}"), 13, &fetch("", &[], 1 << 20, 0).with_topics(vec![topic]), read).await?;
    }
    let mut newer = fetch(&topic, &[(0, 0)], 1 << 20, 0);
    newer.topics[0].partitions[0].current_leader_epoch = i32::MAX;
    seen.ask("fetch: newer leader epoch", 11, &newer, read).await?;
    newer.topics[0].partitions[0].current_leader_epoch = -5;
    seen.ask("fetch: leader epoch -5", 11, &newer, read).await?;
    let mixed = fetch(&topic, &[(0, 0), (7, 0), (1, 99)], 1 << 20, 0);
    seen.ask("fetch: there, not there, out of range", 11, &mixed, |response| {
        let mut found: Vec<_> = response.responses[0].partitions.iter().map(|p| (p.partition_index, p.error_code)).collect();
        found.sort();
        format!("{found:?}")
    })
    .await
}

async fn requests(seen: &mut Seen) -> anyhow::Result<()> {
    let topic = seen.topic.clone();
    let plain = || fetch(&topic, &[(0, 0)], 1 << 20, 0);
    seen.ask("fetch: wait -1", 11, &plain().with_max_wait_ms(-1), read).await?;
    seen.ask("fetch: min bytes -1", 11, &plain().with_min_bytes(-1), read).await?;
    seen.ask("fetch: max bytes 0", 11, &plain().with_max_bytes(0), read).await?;
    seen.ask("fetch: max bytes -1", 11, &plain().with_max_bytes(-1), read).await?;
    seen.ask("fetch: partition max bytes 0", 11, &fetch(&topic, &[(0, 0)], 0, 0).with_max_bytes(1 << 20), read).await?;
    seen.ask("fetch: partition max bytes -1", 11, &fetch(&topic, &[(0, 0)], -1, 0).with_max_bytes(1 << 20), read).await?;
    seen.ask("fetch: read committed", 11, &plain().with_isolation_level(1), read).await?;
    seen.ask("fetch: isolation level 2", 11, &plain().with_isolation_level(2), read).await?;
    seen.ask("fetch: no topics", 11, &plain().with_topics(vec![]), read).await?;
    seen.ask("fetch: as a replica that is none", 11, &plain().with_replica_id(77.into()), read).await?;
    seen.ask("fetch: as the debugging consumer", 11, &plain().with_replica_id((-2).into()), read).await?;
    seen.ask("fetch: version 4", 4, &plain(), read).await
}

async fn sessions(seen: &mut Seen) -> anyhow::Result<()> {
    let topic = seen.topic.clone();
    let mut client = seen.client().await?;
    let opened = client.call(11, &fetch(&topic, &[(0, 2), (1, 0)], 1 << 20, 0).with_session_epoch(0)).await?;
    seen.note("fetch session: opened", format!("{} {}", opened.session_id != 0, read(opened.clone())));
    let next =
        |id, epoch| -> FetchRequest { fetch(&topic, &[], 1 << 20, 0).with_topics(vec![]).with_session_id(id).with_session_epoch(epoch) };
    let id = opened.session_id;
    for (what, id, epoch, version) in [
        ("unknown id", id ^ 1, 1, 11),
        ("id 0 with an epoch", 0, 5, 11),
        ("epoch before its turn", id, 9, 11),
        ("epoch -7", id, -7, 11),
        ("topic ids in a session by name", id, 1, 13),
        ("nothing new", id, 1, 11),
        ("an epoch again", id, 1, 11),
    ] {
        seen.ask(&format!("fetch session: {what}"), version, &next(id, epoch), read).await?;
    }
    let beyond = fetch(&topic, &[(0, 99), (7, 0)], 1 << 20, 0).with_session_id(id).with_session_epoch(2);
    seen.ask("fetch session: out of range and not there", 11, &beyond, |response| {
        let mut found: Vec<_> = response.responses.iter().flat_map(|t| &t.partitions).map(|p| (p.partition_index, p.error_code)).collect();
        found.sort();
        format!("{found:?}")
    })
    .await?;
    seen.ask("fetch session: closed", 11, &next(id, -1), read).await?;
    seen.ask("fetch session: after its end", 11, &next(id, 3), read).await
}
