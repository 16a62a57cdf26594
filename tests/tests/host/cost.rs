//! What the store is asked for, counted at the store: this is what a bill is made of.

use std::time::Duration;

use tidegate::config::Settings;
use tidegate::metadata::TopicRecord;
use tidegate::runtime::{FetchPartition, FetchRequest};
use tidegate::store::{Fault, Operation, Request};
use tidegate_tests::records::one;
use tidegate_tests::world::{World, at, commit, create, is_log_key, read_from, value};

/// Puts of slots that a minute of the same traffic costs, spread over so many partitions of 4 lanes.
async fn puts_of_a_minute(partitions: u32) -> usize {
    let world = World::with(|s| s.topic_defaults.max_age_ms = 500);
    world.store.set_script(|_: &Request<'_>| Fault::none().before(Duration::from_millis(20)));
    let host = world.open().await;
    let topic = create(&host, "orders", partitions, 4).await;
    for partition in 0..4 {
        host.offsets(at(&topic, partition)).await.unwrap();
    }
    let before = world.count(Operation::Put, is_log_key);
    for tick in 0..6_000_u32 {
        let lane = tick % 4;
        let partition = (tick / 4 * 4 + lane) % partitions;
        drop(host.append(at(&topic, partition), one(vec![1; 500])).await.unwrap());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    host.close().await.unwrap();
    world.count(Operation::Put, is_log_key) - before
}

#[tokio::test(start_paused = true)]
async fn puts_follow_lanes_not_partitions() {
    let few = puts_of_a_minute(4).await;
    let many = puts_of_a_minute(256).await;
    assert!(few >= 4, "{few}");
    assert!(many as f64 <= few as f64 * 1.05, "{many} puts for 256 partitions, {few} for 4");
}

#[tokio::test(start_paused = true)]
async fn a_flush_is_one_put_however_many_partitions_it_holds() {
    let world = World::with(|s| s.topic_defaults.max_age_ms = 60_000);
    let host = world.open().await;
    let topic = create(&host, "orders", 200, 1).await;
    host.offsets(at(&topic, 0)).await.unwrap();
    world.store.reset_counters();
    let appends = (0..200).map(|p| host.append(at(&topic, p), one(value(p))));
    let appended = futures::future::try_join_all(appends).await.unwrap();
    host.flush(at(&topic, 0)).await.unwrap();
    for one in appended {
        one.committed.wait().await.unwrap();
    }
    assert_eq!(world.count(Operation::Put, is_log_key), 1);
    assert_eq!(world.store.total_requests(), 1, "{:?}", world.store.log());
}

async fn log_of(segments: usize, settings: impl FnOnce(&mut Settings)) -> (World, TopicRecord) {
    let world = World::with(settings);
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    for i in 0..segments {
        let appended = host.append(at(&topic, 0), one(value(i))).await.unwrap();
        host.flush(at(&topic, 0)).await.unwrap();
        appended.committed.wait().await.unwrap();
    }
    host.close().await.unwrap();
    (world, topic)
}

#[tokio::test(start_paused = true)]
async fn opening_ten_thousand_segments_takes_six_requests() {
    const SEGMENTS: usize = 10_000;
    let (world, topic) = log_of(SEGMENTS, |_| {}).await;
    assert!(world.segments().len() == SEGMENTS);
    let host = world.open().await;
    world.store.reset_counters();
    assert_eq!(host.offsets(at(&topic, 0)).await.unwrap().high_watermark, SEGMENTS as i64);
    assert!(world.store.total_requests() <= 6, "{:?}", world.store.log());
    for offset in [17, 5_000, 9_990] {
        let host = world.open().await;
        host.take_lead(&topic.name, 0).await.unwrap();
        world.store.reset_counters();
        let ask = FetchPartition { partition: at(&topic, 0), offset, max_bytes: 1 };
        let found = host.fetch_one(ask, true).await.unwrap();
        assert_eq!(found.next_offset, offset + 1);
        assert!(world.store.total_requests() <= 4, "offset {offset}: {:?}", world.store.log());
    }
}

#[tokio::test(start_paused = true)]
async fn a_cold_scan_of_a_whole_topic_downloads_little_more_than_it_serves() {
    let world = World::with(|s| s.topic_defaults.max_age_ms = 60_000);
    let host = world.open().await;
    let topic = create(&host, "orders", 8, 2).await;
    for round in 0..6_u8 {
        let appends = (0..8).flat_map(|p| [p; 10]).map(|p| host.append(at(&topic, p), one(vec![round; 40_000])));
        let appended = futures::future::try_join_all(appends).await.unwrap();
        host.flush(at(&topic, 0)).await.unwrap();
        host.flush(at(&topic, 1)).await.unwrap();
        for one in appended {
            one.committed.wait().await.unwrap();
        }
    }
    host.close().await.unwrap();

    let reader = world.open().await;
    for partition in 0..8 {
        reader.offsets(at(&topic, partition)).await.unwrap();
    }
    world.store.reset_counters();
    let mut at_offset = [0; 8];
    let mut served = 0;
    loop {
        let ask = |p: u32| FetchPartition { partition: at(&topic, p), offset: at_offset[p as usize], max_bytes: 1 << 20 };
        let request = FetchRequest { partitions: (0..8).map(ask).collect(), max_bytes: 8 << 20, min_bytes: 0, max_wait: Duration::ZERO };
        let mut bytes = 0;
        for (p, answer) in reader.fetch(request).await.into_iter().enumerate() {
            let answer = answer.unwrap();
            at_offset[p] = answer.next_offset;
            bytes += answer.len as u64;
        }
        if bytes == 0 {
            break;
        }
        served += bytes;
    }
    assert_eq!(at_offset, [60; 8]);
    assert!(served > 8 * 6 * 10 * 40_000);
    let down = world.store.bytes_down();
    assert!(down as f64 <= served as f64 * 1.02, "{down} bytes downloaded, {served} served, {:?}", world.store.log());
}

#[tokio::test(start_paused = true)]
async fn a_tail_reader_downloads_nothing() {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    commit(&host, at(&topic, 0), one(value("first"))).await.unwrap();
    let gets = world.store.requests(Operation::Get);
    for i in 1..100 {
        let offset = commit(&host, at(&topic, 0), one(value(i))).await.unwrap();
        assert_eq!(read_from(&host, at(&topic, 0), offset).await.unwrap()[0].values, [value(i)]);
    }
    assert_eq!(world.store.requests(Operation::Get), gets);
}
