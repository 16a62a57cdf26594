//! What producers notice of a misbehaving policy: nothing.

use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};
use tidegate::policy::{BindingStatus, BreakerState, Kind};
use tidegate::runtime::{Bind, FetchPartition};
use tidegate::{Settings, Storage};
use tidegate_tests::records::one;
use tidegate_tests::world::{World, at, commit, create, read_values, until, value};

use crate::kit::{evil, metric};

/// A request to bind.
pub fn bind(pattern: &str, kind: Kind, component: Bytes, config: Value) -> Bind {
    Bind { pattern: pattern.into(), kind, component, source: "a test".into(), config, by: "tester".into(), digest: None, signature: None }
}

/// A call after those that a policy is tried out with before it is bound.
const TRIED: u64 = 6;

/// Appends of one scenario at most: it ends as soon as it has seen what it waits for.
const MOST: u64 = 20_000;

fn limits(settings: &mut Settings) {
    (settings.policy.decision_deadline_ms, settings.policy.init_deadline_ms) = (50, 10_000);
    settings.topic_defaults.max_age_ms = 200;
}

fn status(host: &Storage, kind: Kind) -> BindingStatus {
    host.policy_status().into_iter().find(|status| status.kind == kind).expect("it is bound")
}

/// One record for `topic`, told apart by number.
fn record(number: u64) -> BytesMut {
    one(value(number))
}

/// Appends, each committed, until `seen` or the bound. Returns how many.
async fn append_until(host: &Storage, partition: tidegate::types::TopicPartition, mut seen: impl FnMut(&Storage) -> bool) -> u64 {
    let mut count = 0;
    while count < MOST && !seen(host) {
        let offset = commit(host, partition, record(count)).await.expect("every append is acknowledged");
        assert_eq!(offset, count as i64);
        count += 1;
        // The instances are made on a thread of their own.
        std::thread::yield_now();
    }
    count
}

async fn assert_nothing_is_lost(host: &Storage, partition: tidegate::types::TopicPartition, count: u64, what: &str) {
    let read = read_values(host, partition).await.expect("all of it is readable");
    let expected: Vec<(i64, Vec<u8>)> = (0..count).map(|n| (n as i64, value(n))).collect();
    assert!(read.into_iter().eq(expected), "{what}: what is read is not what was acknowledged");
}

#[tokio::test(start_paused = true)]
async fn every_append_is_acknowledged_and_readable_whatever_the_flush_policy_does() {
    for how in ["loop", "drop", "chatter", "trap", "panic", "recurse", "grow", "exit"] {
        let world = World::with(limits);
        let host = world.open().await;
        host.bind(bind("*", Kind::Flush, evil(), json!({"mode": how, "at": {"from": TRIED}, "partitions": 2}))).await.unwrap();
        let (topic, quiet) = (create(&host, "orders", 2, 1).await, create(&host, "quiet", 1, 1).await);
        let count = append_until(&host, at(&topic, 0), |host| status(host, Kind::Flush).total.breaker == BreakerState::Open).await;
        assert_eq!(status(&host, Kind::Flush).total.breaker, BreakerState::Open, "{how}: {count} appends");
        let more = append_until(&host, at(&quiet, 0), |host| {
            status(host, Kind::Flush).topics.iter().any(|topic| topic.topic == "quiet" && topic.calls > 0)
        });
        let quiet_count = more.await;
        assert_nothing_is_lost(&host, at(&topic, 0), count, how).await;
        assert_nothing_is_lost(&host, at(&quiet, 0), quiet_count, how).await;
        let status = status(&host, Kind::Flush);
        let of = |name: &str| status.topics.iter().find(|topic| topic.topic == name).unwrap();
        assert_eq!((of("quiet").faults, of("quiet").breaker), (0, BreakerState::Closed), "{how}: a neighbour suffers");
        assert!(of("orders").faults >= 3 && status.degraded.contains("quarantined"), "{how}: {status:?}");
        let text = host.metrics().encode();
        assert_eq!(metric(&text, "tidegate_policy_faults_total", &[("plugin", "evil-guest")]), of("orders").faults, "{how}");
        host.close().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_whatever_the_index_policy_does() {
    for how in ["loop", "trap", "panic", "grow"] {
        let world = World::with(limits);
        let host = world.open().await;
        host.bind(bind("*", Kind::Index, evil(), json!({"mode": how, "at": {"from": TRIED}}))).await.unwrap();
        let topic = create(&host, "orders", 1, 1).await;
        let count = append_until(&host, at(&topic, 0), |host| status(host, Kind::Index).total.faults > 0).await;
        assert!(status(&host, Kind::Index).total.faults > 0, "{how}: {count} appends");
        assert_nothing_is_lost(&host, at(&topic, 0), count, how).await;
        host.close().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_gets_everything_whatever_the_read_ahead_policy_does() {
    for how in ["loop", "trap", "panic", "grow"] {
        let world = World::with(limits);
        let host = world.open().await;
        host.bind(bind("*", Kind::ReadAhead, evil(), json!({"mode": how, "at": {"from": TRIED}}))).await.unwrap();
        let topic = create(&host, "orders", 1, 1).await;
        for number in 0..50 {
            commit(&host, at(&topic, 0), record(number)).await.unwrap();
        }
        let mut rounds = 0;
        while status(&host, Kind::ReadAhead).total.faults == 0 && rounds < MOST {
            rounds += 1;
            let mut offset = 0;
            while offset < 50 {
                let batch = FetchPartition { partition: at(&topic, 0), offset, max_bytes: 1 };
                let fetched = host.fetch_one(batch, true).await.unwrap();
                assert_eq!(fetched.next_offset, offset + 1, "{how}");
                offset = fetched.next_offset;
            }
            std::thread::yield_now();
        }
        assert!(status(&host, Kind::ReadAhead).total.faults > 0, "{how}: {rounds} rounds");
        host.close().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn extreme_answers_cost_neither_data_nor_a_segment_for_each_append() {
    for extreme in [0, 1, 1 << 63, u64::MAX] {
        let world = World::with(limits);
        let host = world.open().await;
        let config = json!({"mode": "value", "value": extreme, "at": "data"});
        for kind in [Kind::Flush, Kind::Index, Kind::ReadAhead] {
            host.bind(bind("*", kind, evil(), config.clone())).await.unwrap();
        }
        let topic = create(&host, "orders", 1, 1).await;
        let first = append_until(&host, at(&topic, 0), |host| status(host, Kind::Flush).total.calls > 0).await;
        // Many producers at once, as they come: one segment for each would be a storm.
        let before = world.segments().len();
        let mut pending = Vec::new();
        for number in 0..1_000 {
            pending.push(host.append(at(&topic, 0), record(first + number)).await.unwrap());
            // The lane asks its policy about each of them.
            tokio::task::yield_now().await;
        }
        for appended in pending {
            appended.committed.wait().await.expect("every append is acknowledged");
        }
        let segments = world.segments().len() - before;
        assert!(segments <= 20, "{extreme}: {segments} segments for 1,000 appends");
        assert_nothing_is_lost(&host, at(&topic, 0), first + 1_000, &extreme.to_string()).await;
        assert_eq!(status(&host, Kind::Flush).total.faults, 0, "{extreme}: it is legal");
        host.close().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_never_flushes_is_overruled_by_the_hosts_limits() {
    let world = World::with(limits);
    let host = world.open().await;
    host.bind(bind("*", Kind::Flush, evil(), json!({"mode": "never", "at": "data"}))).await.unwrap();
    let topic = create(&host, "orders", 1, 1).await;
    let count = append_until(&host, at(&topic, 0), |host| status(host, Kind::Flush).total.calls > 8).await;
    let began = tidegate::env::now();
    commit(&host, at(&topic, 0), record(count)).await.expect("the oldest batch reaches its age");
    let waited = began.elapsed().as_millis();
    assert!((200..300).contains(&waited), "{waited} ms of virtual time: the topic's largest age is 200");
    assert_nothing_is_lost(&host, at(&topic, 0), count + 1, "never").await;
    assert_eq!(status(&host, Kind::Flush).total.faults, 0);
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_always_flushes_is_slowed_down_and_called_thrashing() {
    let world = World::with(limits);
    let host = world.open().await;
    host.bind(bind("*", Kind::Flush, evil(), json!({"mode": "now", "at": "data"}))).await.unwrap();
    let topic = create(&host, "orders", 1, 1).await;
    let warned = |host: &Storage| status(host, Kind::Flush).total.warnings.contains(&"thrashing");
    let began = tidegate::env::now();
    let count = append_until(&host, at(&topic, 0), warned).await;
    assert!(warned(&host), "{count} appends: {:?}", status(&host, Kind::Flush));
    let passed = began.elapsed().as_millis() as usize;
    assert!(world.segments().len() <= passed + 1, "{} segments in {passed} ms: at most one in a millisecond", world.segments().len());
    assert_nothing_is_lost(&host, at(&topic, 0), count, "now").await;
    until("the warning passes once it behaves", || !warned(&host)).await;
}
