//! A policy that is slow and legal: it takes most of its deadline at each call.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use serde_json::json;
use tidegate::config::PolicySettings;
use tidegate::policy::{FlushView, Kind};
use tidegate_tests::records::one;
use tidegate_tests::world::{World, at, commit, create, value};

use crate::kit::{Bench, evil, good, settings};
use crate::produce::bind;

/// Takes a millisecond at least on any machine, and far less than the deadline.
const ROUNDS: u64 = 2_000_000;

#[tokio::test]
async fn a_slow_policy_goes_on_deciding_and_an_operator_hears_of_it() {
    // A hundredth of the deadline counts as slow here, so that the deadline is far away on a busy machine too.
    let bench = Bench::new(PolicySettings { decision_deadline_ms: 1_000, slow_percent: 1, ..settings() });
    bench.bind(Kind::Flush, evil(), json!({"mode": "slow", "at": "data", "rounds": 10 * ROUNDS})).await;
    let mut policy = bench.flush("t");
    let view = FlushView { buffered_records: 1, ..FlushView::default() };
    for _ in 0..8 * 8 {
        assert_eq!(policy.decide(&view), good());
    }
    let seen = bench.status("t");
    assert_eq!((seen.calls, seen.faults, seen.fallbacks), (64, 0, 0), "{seen:?}");
    assert_eq!(seen.warnings, ["slow"], "slowest {} us", seen.slowest_us);
    assert_eq!(bench.degraded(), "");
    let text = bench.metrics.encode();
    let count = crate::kit::metric(&text, "tidegate_policy_decision_seconds_count", &[("kind", "flush"), ("plugin", "evil-guest")]);
    assert_eq!(count, 8, "one in eight is timed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_lanes_do_not_wait_for_a_slow_policy() {
    let world = World::with(|s| {
        (s.policy.decision_deadline_ms, s.policy.init_deadline_ms) = (1_000, 10_000);
        s.topic_defaults.max_age_ms = 5;
    });
    let host = world.open().await;
    let config = json!({"mode": "slow", "at": "data", "rounds": 25 * ROUNDS, "partitions": 2});
    host.bind(bind("*", Kind::Flush, evil(), config)).await.unwrap();
    let (slow, quick) = (create(&host, "slow", 2, 1).await, create(&host, "quick", 1, 1).await);
    let calls = |topic: &str| {
        let status = host.policy_status().remove(0);
        status.topics.iter().find(|it| it.topic == topic).map_or(0, |it| it.calls)
    };
    let done = AtomicBool::new(false);
    let slow_commits = async {
        let mut count = 0;
        while calls("slow") < 20 {
            commit(&host, at(&slow, 0), one(value(count))).await.unwrap();
            count += 1;
        }
        done.store(true, SeqCst);
        count
    };
    let quick_commits = async {
        let mut count = 0;
        while !done.load(SeqCst) {
            commit(&host, at(&quick, 0), one(value(count))).await.unwrap();
            count += 1;
        }
        count
    };
    let (slow_commits, quick_commits) = tokio::join!(slow_commits, quick_commits);
    assert!(quick_commits > slow_commits, "{quick_commits} commits beside {slow_commits} slow ones");
    assert_eq!(host.policy_status()[0].total.faults, 0);
}

#[tokio::test]
async fn a_quick_policy_is_not_warned_about() {
    let bench = Bench::new(settings());
    bench.bind(Kind::Flush, evil(), json!({})).await;
    let mut policy = bench.flush("t");
    for _ in 0..1_000 {
        policy.decide(&FlushView::default());
    }
    assert!(bench.status("t").warnings.is_empty());
}
