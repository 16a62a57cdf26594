//! A candidate that misbehaves where it runs beside a live policy: it is dropped, and the live path never hears of it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tidegate::policy::{FlushView, Kind, Policies, PolicySource, ShadowStatus};

use crate::kit::{Bench, GOOD, binding, built, evil, good, settings};

/// How the guest fails, and as what that counts.
const FAILURES: [(&str, &str); 8] = [
    ("loop", "call.timeout"),
    ("chatter", "call.timeout"),
    ("drop", "call.timeout"),
    ("trap", "call.trap"),
    ("panic", "call.panic"),
    ("recurse", "call.stack"),
    ("grow", "call.oom"),
    ("exit", "call.trap"),
];

/// A good policy decides, and a guest that fails at each view with data runs beside it.
async fn beside_a_good_one(kind: Kind, mode: &str) -> Bench {
    let bench = Bench::new(settings());
    bench.bind(kind, evil(), json!({})).await;
    let candidate: Arc<dyn PolicySource> = bench.load(evil()).await.unwrap();
    let candidate = binding(kind, candidate, json!({ "mode": mode, "at": "data" }));
    bench.host.start_shadow(candidate, "tester", 0).unwrap();
    bench
}

fn dropped(bench: &Bench, mode: &str, class: &str) -> ShadowStatus {
    let status = bench.host.shadows().remove(0);
    assert_eq!((status.last_class.as_str(), status.instances), (class, 0), "{mode}: {status:?}");
    let most = if class == "call.timeout" { 5 } else { 3 };
    assert_eq!(status.faults, most, "{mode}: {status:?}");
    assert!(status.dropped.contains(class), "{mode}: {}", status.dropped);
    let live = bench.status("t");
    assert_eq!((live.faults, live.fallbacks), (0, 0), "{mode}: the live policy suffers: {live:?}");
    assert!(bench.faults.lock().is_empty(), "{mode}: a fault of the live path is announced");
    status
}

#[tokio::test]
async fn a_flush_candidate_that_fails_is_dropped_with_its_class() {
    for (mode, class) in FAILURES {
        let bench = beside_a_good_one(Kind::Flush, mode).await;
        let (mut live, mut tap) = (bench.flush("t"), bench.host.shadow("t", &Default::default()));
        let start = tidegate::env::now();
        for n in 0..20 {
            let at = start + Duration::from_millis(n * 300);
            tap.appended(at, GOOD + 1, 10);
            let view = FlushView { buffered_bytes: GOOD + 1, buffered_records: 10, ..FlushView::default() };
            live.decide(&view);
            tap.asked(&view);
            tap.sealed(at);
        }
        let status = dropped(&bench, mode, class);
        assert!(status.calls <= 6, "{mode}: it is asked no more: {status:?}");
        assert_eq!(live.decide(&FlushView::default()), good(), "{mode}");
    }
}

#[tokio::test]
async fn an_index_candidate_that_fails_is_dropped_with_its_class() {
    for (mode, class) in FAILURES {
        let bench = beside_a_good_one(Kind::Index, mode).await;
        let mut live = bench.index("t");
        let view = tidegate::policy::IndexView { slice_bytes: 1 << 20, slice_records: 100, slice_batches: 100, ..Default::default() };
        let answers: Vec<_> = (0..20).map(|_| live.decide(&view)).collect();
        assert!(answers.iter().all(|answer| answer.bytes == 8_192), "{mode}: {answers:?}");
        dropped(&bench, mode, class);
    }
}

#[tokio::test]
async fn a_read_ahead_candidate_that_fails_is_dropped_with_its_class() {
    for (mode, class) in FAILURES {
        let bench = beside_a_good_one(Kind::ReadAhead, mode).await;
        let mut live = bench.read_ahead("t");
        let view = tidegate::policy::ReadAheadView { run_fetches: 2, run_bytes: 1_000, lag_bytes: 1 << 30, ..Default::default() };
        for _ in 0..20 {
            live.decide(&view);
        }
        dropped(&bench, mode, class);
    }
}

#[tokio::test]
async fn nonsense_is_clamped_and_counted_and_decides_nothing() {
    let bench = Bench::new(settings());
    let candidate: Arc<dyn PolicySource> = bench.load(evil()).await.unwrap();
    let candidate = binding(Kind::Flush, candidate, json!({ "mode": "value", "at": "data", "value": 0 }));
    bench.host.start_shadow(candidate, "tester", 0).unwrap();
    let mut tap = bench.host.shadow("t", &Default::default());
    let start = tidegate::env::now();
    (0..50).for_each(|n| tap.appended(start + Duration::from_millis(n * 10), 100, 1));
    let status = bench.host.shadows().remove(0);
    assert!(status.clamps > 0 && status.faults == 0 && status.dropped.is_empty(), "{status:?}");
}

#[tokio::test]
async fn a_candidate_with_a_state_of_its_own_leaves_the_live_one_alone() {
    let bench = Bench::new(settings());
    bench.bind(Kind::Flush, built("flush-adaptive"), json!({ "puts_per_min": 60 })).await;
    let candidate: Arc<dyn PolicySource> = bench.load(built("flush-adaptive")).await.unwrap();
    bench.host.start_shadow(binding(Kind::Flush, candidate, json!({})), "tester", 0).unwrap();
    let (mut live, mut tap) = (bench.flush("t"), bench.host.shadow("t", &Default::default()));
    let view = FlushView { buffered_bytes: 100, buffered_records: 1, waiting_acks: 1, ..FlushView::default() };
    let alone = Bench::new(settings());
    alone.bind(Kind::Flush, built("flush-adaptive"), json!({ "puts_per_min": 60 })).await;
    let mut unshadowed = alone.flush("t");
    let start = tidegate::env::now();
    for now_ms in (0..1_000).step_by(50) {
        tap.appended(start + Duration::from_millis(now_ms), 100, 1);
        bench.host.shadows();
        let view = FlushView { now_ms, ..view };
        assert_eq!(live.decide(&view), unshadowed.decide(&view));
    }
    let status = bench.host.shadows().remove(0);
    assert!(status.calls > 0 && status.faults == 0, "{status:?}");
}
