use std::time::Duration;

use uuid::Uuid;

use super::*;
use crate::config::Settings;
use crate::env::Env;
use crate::runtime::{Storage, TopicSpec};
use crate::store::{Fault, MemoryStore, Operation, Request, StoreErrorKind};
use crate::types::{TopicId, TopicName};

async fn host(store: &MemoryStore, seed: u64) -> Storage {
    let builder = Storage::builder(Settings::default()).store(Arc::new(store.clone()));
    builder.env(Env::simulated(seed, 1_000_000)).open().await.unwrap()
}

fn at(topic: u128, partition: u32) -> TopicPartition {
    TopicPartition { topic: TopicId(Uuid::from_u128(topic)), partition }
}

fn commit(group: &str, partition: TopicPartition, offset: i64) -> OffsetCommit {
    let offset = CommittedOffset { offset, epoch: None, metadata: String::new(), at_ms: 0 };
    OffsetCommit { group: group.to_owned(), protocol_type: "consumer".to_owned(), offsets: vec![(partition, offset)] }
}

async fn offset(host: &Storage, group: &str, at: TopicPartition) -> Option<i64> {
    let group = host.group_offsets(group).await.unwrap()?;
    group.topics.get(&at.topic)?.get(&at.partition).map(|offset| offset.offset)
}

fn shard_puts(store: &MemoryStore) -> usize {
    store.log().iter().filter(|r| r.operation == Operation::Put && r.key.starts_with("meta/groups/")).count()
}

/// The first puts of shards meet these faults.
fn shard_puts_meet(store: &MemoryStore, faults: Vec<Fault>) {
    let mut faults = faults.into_iter();
    store.set_script(move |r: &Request<'_>| match r.operation {
        Operation::Put if r.key.starts_with("meta/groups/") => faults.next().unwrap_or_else(Fault::none),
        _ => Fault::none(),
    });
}

#[tokio::test(start_paused = true)]
async fn an_answered_commit_survives_a_crash() {
    let store = MemoryStore::default();
    let first = host(&store, 1).await;
    first.commit_offsets(commit("g", at(1, 0), 5)).await.unwrap();
    first.abort();
    let second = host(&store, 2).await;
    assert_eq!(offset(&second, "g", at(1, 0)).await, Some(5));
    assert_eq!(second.group_offsets("g").await.unwrap().unwrap().topics[&at(1, 0).topic][&0].at_ms, 1_000_000);
    assert_eq!(offset(&second, "other", at(1, 0)).await, None);
}

#[tokio::test(start_paused = true)]
async fn commits_that_wait_for_a_write_share_the_next() {
    let store = MemoryStore::default();
    let host = host(&store, 1).await;
    shard_puts_meet(&store, vec![Fault::none().before(Duration::from_secs(1))]);
    let commits: Vec<_> = (0..100).map(|n| host.commit_offsets(commit("g", at(1, n % 7), i64::from(n)))).collect();
    for done in futures::future::join_all(commits).await {
        done.unwrap();
    }
    assert!(shard_puts(&store) <= 2, "{} writes for 100 commits", shard_puts(&store));
    for partition in 0..7 {
        let last = (0..100).filter(|n| n % 7 == partition).max().map(i64::from);
        assert_eq!(offset(&host, "g", at(1, partition)).await, last, "the last commit of a partition wins");
    }
    assert_eq!(host.metrics().group.offset_commits.get(), 100);
}

#[tokio::test(start_paused = true)]
async fn two_hosts_that_share_a_shard_lose_nothing() {
    let store = MemoryStore::default();
    let (a, b) = (host(&store, 1).await, host(&store, 2).await);
    for round in 0..5 {
        let (one, two) = (commit("g", at(1, 0), round), commit("g", at(1, 1), 10 + round));
        let (one, two) = tokio::join!(a.commit_offsets(one), b.commit_offsets(two));
        one.and(two).unwrap();
    }
    let fresh = host(&store, 3).await;
    assert_eq!((offset(&fresh, "g", at(1, 0)).await, offset(&fresh, "g", at(1, 1)).await), (Some(4), Some(14)));
    let conflicts = a.metrics().group.offset_write_conflicts.get() + b.metrics().group.offset_write_conflicts.get();
    assert!(conflicts > 0, "the hosts did not meet");
    tokio::time::sleep(Duration::from_secs(30)).await;
    for host in [&a, &b] {
        assert_eq!((offset(host, "g", at(1, 0)).await, offset(host, "g", at(1, 1)).await), (Some(4), Some(14)), "upkeep looks");
    }
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_fails_says_so_and_the_next_one_goes_on() {
    let store = MemoryStore::default();
    let host = host(&store, 1).await;
    host.commit_offsets(commit("g", at(1, 0), 1)).await.unwrap();
    shard_puts_meet(&store, vec![Fault::fail(StoreErrorKind::Refused)]);
    host.commit_offsets(commit("g", at(1, 0), 2)).await.unwrap_err();
    assert_eq!(offset(&host, "g", at(1, 0)).await, Some(1), "what was not stored is not told");
    host.commit_offsets(commit("g", at(1, 0), 3)).await.unwrap();
    assert_eq!(offset(&host, "g", at(1, 0)).await, Some(3));
}

#[tokio::test(start_paused = true)]
async fn a_commit_whose_reply_was_lost_is_durable_all_the_same() {
    let store = MemoryStore::default();
    let host = host(&store, 1).await;
    shard_puts_meet(&store, vec![Fault::lost_reply(), Fault::lost_reply()]);
    host.commit_offsets(commit("g", at(1, 0), 1)).await.unwrap();
    host.commit_offsets(commit("g", at(1, 0), 2)).await.unwrap();
    assert_eq!(offset(&host, "g", at(1, 0)).await, Some(2));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_host_that_has_stopped() {
    let store = MemoryStore::default();
    let host = host(&store, 1).await;
    shard_puts_meet(&store, vec![Fault::none().before(Duration::from_secs(3_600))]);
    let (first, second) = (host.commit_offsets(commit("g", at(1, 0), 1)), host.commit_offsets(commit("g", at(1, 0), 2)));
    tokio::task::yield_now().await;
    let third = host.commit_offsets(commit("g", at(1, 0), 3));
    host.abort();
    for waiting in [first.await, second.await, third.await, host.commit_offsets(commit("g", at(1, 0), 4)).await] {
        assert_eq!(waiting.unwrap_err().kind(), ErrorKind::Closed);
    }
}

#[tokio::test(start_paused = true)]
async fn tidying_removes_what_nobody_needs_and_writes_nothing_else() {
    let store = MemoryStore::default();
    let host = host(&store, 1).await;
    let mut topics = Vec::new();
    for name in ["kept", "deleted"] {
        topics.push(host.create_topic(TopicSpec::named(TopicName::new(name).unwrap())).await.unwrap().id);
    }
    let at = |topic: usize| TopicPartition { topic: topics[topic], partition: 0 };
    for group in ["active", "idle"] {
        for topic in [0, 1] {
            host.commit_offsets(commit(group, at(topic), 7)).await.unwrap();
        }
    }
    let tidy = async || host.tidy_group_offsets(["active".to_owned()].into(), 60_000).await.unwrap();
    tidy().await;
    let writes = shard_puts(&store);
    tidy().await;
    assert_eq!(shard_puts(&store), writes, "nothing changed");
    host.delete_topic(&TopicName::new("deleted").unwrap()).await.unwrap();
    tidy().await;
    let found = async |group: &str| (offset(&host, group, at(0)).await, offset(&host, group, at(1)).await);
    assert_eq!((found("active").await, found("idle").await), ((Some(7), None), (Some(7), None)));
    tokio::time::sleep(Duration::from_secs(61)).await;
    tidy().await;
    assert_eq!((found("active").await, found("idle").await), ((Some(7), None), (None, None)));
    let groups: Vec<_> = host.groups_with_offsets().await.unwrap().into_iter().map(|(group, _)| group).collect();
    assert_eq!(groups, ["active"]);
}

#[tokio::test(start_paused = true)]
async fn a_host_without_groups_never_asks_for_them() {
    let store = MemoryStore::default();
    let _host = host(&store, 1).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(store.log().iter().all(|r| !r.key.starts_with("meta/groups")));
}
