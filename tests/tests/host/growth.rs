//! Topics that grow, and whose settings change, while they are written, on one host and on two: nothing is lost, reordered or undone.

use std::collections::BTreeMap;
use std::time::Duration;

use tidegate::metadata::TopicRecord;
use tidegate::store::{Fault, Request};
use tidegate::{Error, ErrorKind, Storage};
use tidegate_tests::records::one;
use tidegate_tests::world::{World, at, commit, create, read_values, topic_name, value};

async fn grow(host: &Storage, name: &str, partitions: u32) -> Result<TopicRecord, Error> {
    let edit = |topic: &mut TopicRecord| {
        topic.partitions = partitions;
        Ok::<(), Error>(())
    };
    host.alter_topic(&topic_name(name), edit).await
}

async fn set(host: &Storage, name: &str, key: &str, value: &str) -> Result<TopicRecord, Error> {
    let edit = |topic: &mut TopicRecord| {
        topic.config.insert(key.to_owned(), value.to_owned());
        Ok::<(), Error>(())
    };
    host.alter_topic(&topic_name(name), edit).await
}

/// A host that was fenced learns of it at its next write, and then takes the lead back.
async fn regain(host: &Storage, topic: &TopicRecord) {
    assert_eq!(commit(host, at(topic, 0), one(value("fenced"))).await.unwrap_err().kind(), ErrorKind::NotLeader);
    host.take_lead(&topic.name, 0).await.unwrap();
}

fn named(values: &[(i64, &str)]) -> BTreeMap<i64, Vec<u8>> {
    values.iter().map(|(offset, name)| (*offset, value(name))).collect()
}

#[tokio::test(start_paused = true)]
async fn a_topic_grows_while_it_is_written_and_loses_nothing() {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 2, 2).await;
    let mut acked: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
    for round in 0..40u32 {
        if round % 5 == 4 {
            assert_eq!(grow(&host, "orders", 2 + round).await.unwrap().partitions, 2 + round);
        }
        let partitions = host.topic(&topic.name).await.unwrap().unwrap().partitions;
        for partition in 0..partitions {
            let name = format!("{partition}/{round}");
            let appended = host.append(at(&topic, partition), one(value(&name))).await.unwrap();
            let written = acked.entry(partition).or_default();
            assert_eq!(appended.base_offset, written.len() as i64, "offsets go on without a gap");
            written.push(value(&name));
            if partition == partitions - 1 {
                appended.committed.wait().await.unwrap();
            }
        }
    }
    for lane in 0..2 {
        host.flush(at(&topic, lane)).await.unwrap();
    }
    host.close().await.unwrap();
    let next = world.open().await;
    for (partition, values) in acked {
        let found = read_values(&next, at(&topic, partition)).await.unwrap();
        assert_eq!(found, (0..).zip(values).collect(), "partition {partition}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_does_not_know_of_the_growth_keeps_what_others_wrote_there() {
    let world = World::with(|s| s.host.metadata_interval_ms = 3_600_000);
    let (a, b) = (world.open().await, world.open().await);
    let topic = create(&a, "orders", 1, 1).await;
    let (old, new) = (at(&topic, 0), at(&topic, 1));
    assert!(b.topic(&topic.name).await.unwrap().is_some(), "b knows the topic as it was");
    commit(&a, old, one(value("old0"))).await.unwrap();
    grow(&a, "orders", 2).await.unwrap();
    assert_eq!(commit(&a, new, one(value("new0"))).await.unwrap(), 0);

    // The stale host leads, writes, trims and checkpoints, and all that it knows is partition 0.
    b.take_lead(&topic.name, 0).await.unwrap();
    for i in 1..40 {
        assert_eq!(commit(&b, old, one(value(format!("old{i}")))).await.unwrap(), i);
    }
    assert_eq!(b.trim(old, 20).await.unwrap(), 20);
    regain(&a, &topic).await;
    assert_eq!(read_values(&a, new).await.unwrap(), named(&[(0, "new0")]));
    assert_eq!(commit(&a, new, one(value("new1"))).await.unwrap(), 1, "offsets go on behind what is there");

    // It learns of the growth while it leads.
    regain(&b, &topic).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(read_values(&b, new).await.unwrap(), named(&[(0, "new0"), (1, "new1")]), "a miss asks the metadata store");
    assert_eq!(commit(&b, new, one(value("new2"))).await.unwrap(), 2);
    regain(&a, &topic).await;
    assert_eq!(read_values(&a, new).await.unwrap(), named(&[(0, "new0"), (1, "new1"), (2, "new2")]));
    let olds = read_values(&a, old).await.unwrap();
    assert_eq!(olds, (20..40).map(|i| (i, value(format!("old{i}")))).collect());
}

#[tokio::test(start_paused = true)]
async fn a_partition_of_a_lane_that_is_fenced_is_not_made_up() {
    let world = World::default();
    let (a, b) = (world.open().await, world.open().await);
    let topic = create(&a, "orders", 1, 1).await;
    commit(&a, at(&topic, 0), one(value("x"))).await.unwrap();
    b.take_lead(&topic.name, 0).await.unwrap();
    commit(&b, at(&topic, 0), one(value("y"))).await.unwrap();
    assert_eq!(commit(&a, at(&topic, 0), one(value("z"))).await.unwrap_err().kind(), ErrorKind::NotLeader);
    grow(&a, "orders", 3).await.unwrap();
    for partition in [1, 2] {
        assert_eq!(a.offsets(at(&topic, partition)).await.unwrap_err().kind(), ErrorKind::NotLeader);
        assert_eq!(a.append(at(&topic, partition), one(value("z"))).await.unwrap_err().kind(), ErrorKind::NotLeader);
    }
}

#[tokio::test(start_paused = true)]
async fn two_hosts_grow_a_topic_at_once_and_it_ends_at_the_larger() {
    let world = World::default();
    let (a, b) = (world.open().await, world.open().await);
    create(&a, "orders", 1, 1).await;
    let at_least = |partitions: u32| {
        move |topic: &mut TopicRecord| {
            topic.partitions = topic.partitions.max(partitions);
            Ok::<(), Error>(())
        }
    };
    let name = topic_name("orders");
    let (first, second) = tokio::join!(a.alter_topic(&name, at_least(5)), b.alter_topic(&name, at_least(9)));
    assert_eq!(first.unwrap().partitions.max(second.unwrap().partitions), 9);
    for host in [&a, &b] {
        tokio::time::sleep(Duration::from_secs(11)).await;
        assert_eq!(host.topic(&name).await.unwrap().unwrap().partitions, 9);
    }
}

#[tokio::test(start_paused = true)]
async fn a_topic_never_shrinks_and_what_is_fixed_stays() {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 4, 2).await;
    let before = world.store.snapshot();
    for partitions in [0, 3, 10_001] {
        assert_eq!(grow(&host, "orders", partitions).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    for (key, value) in [("retention_ms", "soon"), ("no_such_setting", "1"), ("max_batch_bytes", "1")] {
        assert_eq!(set(&host, "orders", key, value).await.unwrap_err().kind(), ErrorKind::InvalidInput, "{key}");
    }
    assert_eq!(grow(&host, "missing", 9).await.unwrap_err().kind(), ErrorKind::NotFound);
    let fixed = |topic: &mut TopicRecord| {
        (topic.lanes, topic.created_ms, topic.revision) = (4, 0, 99);
        topic.name = topic_name("other");
        Ok::<(), Error>(())
    };
    assert_eq!(host.alter_topic(&topic.name, fixed).await.unwrap(), topic);
    let planned = |topic: &mut TopicRecord| {
        topic.partitions = 8;
        Ok::<(), Error>(())
    };
    assert_eq!(host.plan_alteration(&topic.name, planned).await.unwrap().partitions, 8);
    assert_eq!(world.store.snapshot(), before, "nothing was written");
    assert_eq!(host.topic(&topic.name).await.unwrap(), Some(topic));
}

#[tokio::test(start_paused = true)]
async fn a_changed_setting_reaches_every_host_and_its_lanes_and_survives() {
    let world = World::with(|s| {
        s.host.retention_interval_ms = 1_000;
        s.host.metadata_interval_ms = 1_000;
    });
    let (a, b) = (world.open().await, world.open().await);
    let topic = create(&a, "orders", 1, 1).await;
    let partition = at(&topic, 0);
    assert!(b.topic(&topic.name).await.unwrap().is_some());
    for i in 0..20 {
        commit(&b, partition, one(value(i))).await.unwrap();
    }
    set(&a, "orders", "retention_bytes", "1").await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(b.offsets(partition).await.unwrap().log_start, 19, "the leader applies what another host was told");
    set(&a, "orders", "cleanup_policy", "compact").await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    for i in 0..20 {
        commit(&b, partition, one(value(i))).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(b.offsets(partition).await.unwrap().log_start, 19, "compact keeps everything from now on");
    let again = world.open().await;
    let found = again.topic(&topic.name).await.unwrap().unwrap();
    assert_eq!((found.config["retention_bytes"].as_str(), found.config["cleanup_policy"].as_str()), ("1", "compact"));
}

#[tokio::test(start_paused = true)]
async fn a_change_whose_reply_is_lost_is_made_once() {
    let world = World::default();
    let host = world.open().await;
    create(&host, "orders", 1, 1).await;
    let mut left = 1;
    world.store.set_script(move |r: &Request<'_>| {
        let hit = r.key.starts_with("meta/topics/") && r.operation == tidegate::store::Operation::Put && left > 0;
        left -= i32::from(hit);
        if hit { Fault::lost_reply() } else { Fault::none() }
    });
    let grown = grow(&host, "orders", 3).await.unwrap();
    assert_eq!((grown.partitions, grown.revision), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn epochs_end_where_the_next_leader_began() {
    let world = World::default();
    let a = world.open().await;
    let topic = create(&a, "orders", 1, 1).await;
    let partition = at(&topic, 0);
    let mut ends = Vec::new();
    let mut host = a;
    for records in [3, 0, 1, 100, 2] {
        for i in 0..records {
            commit(&host, partition, one(value(i))).await.unwrap();
        }
        ends.push((host.leader_epoch(partition).await.unwrap(), host.offsets(partition).await.unwrap().high_watermark));
        host = world.open().await;
        host.take_lead(&topic.name, 0).await.unwrap();
    }
    let current = host.leader_epoch(partition).await.unwrap();
    assert_eq!(host.epoch_end(partition, current + 1).await.unwrap(), None);
    let end = |epoch| {
        let host = &host;
        async move { host.epoch_end(partition, epoch).await.unwrap().map(|end| (end.epoch, end.offset)) }
    };
    assert_eq!(end(current).await, Some((current, 106)), "the leader's own, without a record of it");
    assert_eq!(end(0).await, Some((0, 0)), "nothing was written under an epoch that old");
    let last_with_records = |at: usize| ends[..=at].iter().rev().find(|(_, end)| *end == ends[at].1).map_or(0, |(epoch, _)| *epoch);
    for (at, (epoch, offset)) in ends.iter().enumerate() {
        let found = end(*epoch).await.unwrap();
        assert_eq!(found.1, *offset, "epoch {epoch}");
        assert!(found.0 <= *epoch && found.0 <= last_with_records(at), "epoch {epoch}: {found:?}");
    }
    assert!(host.partition_bytes(partition).await.unwrap() > 106 * 200);
    host.trim(partition, 106).await.unwrap();
    assert_eq!(host.partition_bytes(partition).await.unwrap(), 0);
    assert_eq!(end(ends[0].0).await, Some((ends[0].0, 106)), "of what was deleted no epoch is known");
}
