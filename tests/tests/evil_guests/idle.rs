//! Owners that decide nothing for a while.

use serde_json::json;
use tidegate::Storage;
use tidegate::policy::{BreakerState, Kind, TopicStatus};
use tidegate::runtime::FetchPartition;
use tidegate_tests::records::one;
use tidegate_tests::world::{World, at, commit, create, until, value};

use crate::kit::{Bench, built_in, empty, evil, good, metric, settings};
use crate::produce::bind;

fn instances(host: &Storage) -> [u64; 3] {
    let text = host.metrics().encode();
    [Kind::Flush, Kind::Index, Kind::ReadAhead].map(|kind| metric(&text, "tidegate_policy_instances", &[("kind", kind.as_str())]))
}

fn total(host: &Storage, kind: Kind) -> TopicStatus {
    host.policy_status().into_iter().find(|status| status.kind == kind).unwrap().total
}

#[tokio::test]
async fn an_owner_that_is_looked_at_three_times_in_vain_gives_its_instance_back() {
    let bench = Bench::new(settings());
    bench.bind(Kind::Flush, evil(), json!({})).await;
    let mut policy = bench.flush("t");
    let instances = || bench.status("t").instances;
    for _ in 0..5 {
        assert_eq!(policy.decide(&empty()), good());
        policy.rest();
        policy.rest();
        assert_eq!(instances(), 1, "one that decides is not idle");
    }
    policy.rest();
    assert_eq!(instances(), 0);
    (0..10).for_each(|_| policy.rest());
    // In line with its owner another one is made at once.
    assert_eq!((policy.decide(&empty()), instances()), (good(), 1));
    let seen = bench.status("t");
    assert_eq!((seen.faults, seen.breaker), (0, BreakerState::Closed), "{seen:?}");
    assert_ne!(built_in(&empty()), good());
}

#[tokio::test(start_paused = true)]
async fn idle_lanes_and_readers_hold_no_instance_and_get_one_when_they_wake() {
    let world = World::with(|s| {
        s.policy.idle_ms = 60_000;
        (s.policy.decision_deadline_ms, s.policy.init_deadline_ms) = (1_000, 10_000);
    });
    let host = world.open().await;
    for kind in [Kind::Flush, Kind::Index, Kind::ReadAhead] {
        host.bind(bind("*", kind, evil(), json!({}))).await.unwrap();
    }
    let topic = create(&host, "orders", 8, 4).await;
    let work = async || {
        for partition in 0..8 {
            for number in 0..4 {
                commit(&host, at(&topic, partition), one(value(number))).await.unwrap();
            }
            let mut offset = 0;
            for _ in 0..4 {
                let fetch = FetchPartition { partition: at(&topic, partition), offset, max_bytes: 1 };
                offset = host.fetch_one(fetch, true).await.unwrap().next_offset;
            }
        }
    };
    // Instances come from a thread of their own, in real time.
    for _ in 0..1_000 {
        work().await;
        if instances(&host) == [4, 4, 8] {
            break;
        }
        std::thread::yield_now();
    }
    assert_eq!(instances(&host), [4, 4, 8], "four lanes and eight readers are at work");
    until("all of them are idle", || instances(&host) == [0, 0, 0]).await;
    let before = total(&host, Kind::Flush);
    for _ in 0..1_000 {
        work().await;
        if instances(&host) == [4, 4, 8] {
            break;
        }
        std::thread::yield_now();
    }
    assert_eq!(instances(&host), [4, 4, 8], "they have woken up");
    // How many decisions the built-in made until the instances came is a matter of time: none, where they came at once.
    let after = total(&host, Kind::Flush);
    assert!(after.calls > before.calls, "{before:?}, {after:?}");
    for kind in [Kind::Flush, Kind::Index, Kind::ReadAhead] {
        assert_eq!((total(&host, kind).faults, total(&host, kind).breaker), (0, BreakerState::Closed), "{kind}: a rest is no fault");
    }
}
