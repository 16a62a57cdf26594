//! State over a swap: what is learned goes on, and whatever a policy does with that, the swap goes on too.

use bytes::Bytes;
use serde_json::{Value, json};
use tidegate::policy::{FlushPolicy, FlushView, Kind, PolicySource, TopicStatus};

use crate::kit::{Bench, GOOD, binding, built, empty, evil, good, is_safe, settings};
use crate::wat::Guest;

/// Two lanes of one topic under a policy, which is then replaced by another.
async fn swap(old: (Bytes, Value), new: (Bytes, Value)) -> (Bench, [Box<dyn FlushPolicy>; 2]) {
    let bench = Bench::new(settings());
    bench.bind(Kind::Flush, old.0, old.1).await;
    let mut lanes = [bench.flush("t"), bench.flush("t")];
    for lane in &mut lanes {
        for _ in 0..3 {
            lane.decide(&empty());
        }
    }
    bench.bind(Kind::Flush, new.0, new.1).await;
    (bench, lanes)
}

/// What the binding shows after both lanes have decided twice more, as good policies do.
async fn after_swap(old: (Bytes, Value), new: (Bytes, Value)) -> TopicStatus {
    let (bench, mut lanes) = swap(old, new).await;
    for lane in &mut lanes {
        assert_eq!([lane.decide(&empty()), lane.decide(&empty())], [good(), good()]);
    }
    bench.status("t")
}

fn in_mode(mode: &str, at: &str) -> (Bytes, Value) {
    (evil(), json!({ "mode": mode, "at": at, "value": 100_000 }))
}

fn well() -> (Bytes, Value) {
    (evil(), json!({ "partitions": 1_000 }))
}

/// Of a lane that has uploaded for a while: with a budget of PUTs, most of which is spent.
fn busy(now_ms: u64) -> FlushView {
    FlushView { now_ms, buffered_bytes: 1_000, buffered_records: 10, waiting_acks: 1, uploads_in_flight: 2, ..FlushView::default() }
}

#[tokio::test]
async fn a_state_survives_a_swap_between_two_versions_of_flush_adaptive() {
    let config = json!({ "puts_per_min": 60 });
    let (kept, swapped) = (Bench::new(settings()), Bench::new(settings()));
    let mut lanes = Vec::new();
    for bench in [&kept, &swapped] {
        bench.bind(Kind::Flush, built("flush-adaptive"), config.clone()).await;
        lanes.push(bench.flush("t"));
    }
    for now_ms in (0..500).step_by(100) {
        assert_eq!(lanes[0].decide(&busy(now_ms)), lanes[1].decide(&busy(now_ms)));
    }
    let next = swapped.load(built("flush-adaptive-next")).await.unwrap();
    assert_eq!((next.name(), next.version(), next.inspection().stateful), ("flush-adaptive", "0.2.0", true));
    swapped.host.set_bindings(vec![binding(Kind::Flush, next, config.clone())]).unwrap();

    let next = FlushView { reason: tidegate::policy::FlushReason::Bound, oldest_age_us: 1_000, ..busy(600) };
    let warm = lanes[1].decide(&next);
    assert_eq!(warm, lanes[0].decide(&next), "its first decision is the old one's next");
    let cold = Bench::new(settings());
    cold.bind(Kind::Flush, built("flush-adaptive-next"), config).await;
    assert_ne!(warm, cold.flush("t").decide(&next), "or else this test shows nothing");
    let status = swapped.status("t");
    assert_eq!((status.warm, status.cold, status.cold_reason.as_str(), status.faults), (1, 0, "", 0));
    assert_eq!(swapped.metric("tidegate_policy_starts_total", &[("plugin", "flush-adaptive"), ("start", "warm")]), 1);
}

#[tokio::test]
async fn one_that_refuses_the_state_starts_cold_and_says_so() {
    let status = after_swap(well(), in_mode("good", "restore")).await;
    assert_eq!((status.warm, status.cold, status.faults), (0, 2, 0));
    let version = env!("CARGO_PKG_VERSION");
    assert!(status.cold_reason.starts_with("swap.state_refused: it refuses the state of version"), "{}", status.cold_reason);
    assert!(status.cold_reason.contains(version) && is_safe(&status.cold_reason), "{}", status.cold_reason);
}

#[tokio::test]
async fn one_that_fails_to_hand_over_is_followed_by_one_that_starts_cold() {
    let classes = [
        ("loop", "call.timeout"),
        ("trap", "call.trap"),
        ("panic", "call.panic"),
        ("recurse", "call.stack"),
        ("grow", "call.oom"),
        ("chatter", "call.timeout"),
        ("exit", "call.trap"),
        ("value", "call.output_limit"),
    ];
    for (mode, class) in classes {
        let status = after_swap(in_mode(mode, "snapshot"), well()).await;
        assert_eq!((status.warm, status.cold, status.faults), (0, 2, 0), "{mode}");
        assert!(status.cold_reason.starts_with(&format!("{class}: ")) && is_safe(&status.cold_reason), "{mode}: {}", status.cold_reason);
        let names_limit = status.cold_reason.contains("policy.handover_bytes");
        assert_eq!(names_limit, class == "call.output_limit", "{mode}: {}", status.cold_reason);
    }
}

#[tokio::test]
async fn one_that_fails_to_take_over_is_replaced_by_another_that_is_not_asked_to() {
    for (mode, class) in [("loop", "call.timeout"), ("trap", "call.trap"), ("panic", "call.panic"), ("grow", "call.oom")] {
        let status = after_swap(well(), in_mode(mode, "restore")).await;
        assert_eq!((status.warm, status.cold, status.faults), (0, 2, 0), "{mode}");
        assert!(status.cold_reason.starts_with(&format!("{class}: ")) && is_safe(&status.cold_reason), "{mode}: {}", status.cold_reason);
        assert_eq!(status.instances, 2, "{mode}: what failed is gone");
    }
}

#[tokio::test]
async fn a_snapshot_that_lies_about_its_size_is_not_believed() {
    let lies = [
        ("(i32.store (i32.const 160) (i32.const 0)) (i32.store (i32.const 164) (i32.const -1)) (i32.const 160)", "beyond its memory"),
        ("(i32.store (i32.const 160) (i32.const 65530)) (i32.store (i32.const 164) (i32.const 100)) (i32.const 160)", "over its end"),
        ("(i32.const 65534)", "told beyond the end"),
    ];
    for (snapshot, what) in lies {
        let old = Guest { snapshot, ..Guest::default() }.component();
        let new = Guest { snapshot, pages: 2, ..Guest::default() }.component();
        let status = after_swap((old, json!({})), (new, json!({}))).await;
        assert_eq!((status.warm, status.cold, status.faults), (0, 2, 0), "{what}");
        let classes = ["call.bad_value: ", "call.output_limit: "];
        assert!(classes.iter().any(|class| status.cold_reason.starts_with(class)), "{what}: {}", status.cold_reason);
    }
}

#[tokio::test]
async fn another_policy_and_one_without_a_state_have_nothing_to_hand_over() {
    for old in [(built("flush-threshold"), json!({ "bytes": GOOD })), (Guest::default().component(), json!({}))] {
        let status = after_swap(old, well()).await;
        assert_eq!((status.warm, status.cold, status.cold_reason.as_str()), (0, 0, ""));
    }
}

#[tokio::test]
async fn a_rollback_takes_the_state_back_too() {
    let (bench, mut lanes) = swap(well(), (evil(), json!({}))).await;
    lanes[0].decide(&empty());
    bench.bind(Kind::Flush, evil(), json!({ "mode": "now", "at": { "call": 5 } })).await;
    let old = FlushView { oldest_age_us: 10_000, ..empty() };
    assert_eq!(lanes[0].decide(&old), tidegate::policy::FlushDecision::Now, "it is the fifth call of this lane");
    assert_eq!(bench.status("t").warm, 1);
}
