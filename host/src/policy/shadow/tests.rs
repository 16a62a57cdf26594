use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::env;
use crate::policy::host::PolicyHost;
use crate::policy::kinds::{Infallible, InitRequest, Policy, PolicySource};
use crate::policy::types::{FlushBounds, FlushDecision, FlushReason, FlushView, IndexSpacing, IndexView, UNBOUNDED};
use crate::policy::{ActiveBinding, FaultClass, FlushPolicy, IndexPolicy, Policies, ShadowTap};

/// Native policies of fixed answers.
struct Fixed {
    flush: FlushBounds,
    index_bytes: u64,
    fails: bool,
}

struct Answers(FlushBounds, u64);

impl FlushPolicy for Answers {
    fn decide(&mut self, view: &FlushView) -> FlushDecision {
        let FlushView { buffered_bytes, buffered_records, oldest_age_us, quiet_us, uploads_in_flight, .. } = *view;
        let crossed = self.0.crossed(buffered_bytes, buffered_records, oldest_age_us, quiet_us, uploads_in_flight);
        if crossed { FlushDecision::Now } else { FlushDecision::Wait(self.0) }
    }
}

impl IndexPolicy for Answers {
    fn decide(&mut self, _: &IndexView) -> IndexSpacing {
        IndexSpacing { bytes: self.1, records: UNBOUNDED, time_ms: UNBOUNDED }
    }
}

struct Failing;

impl Policy<Flush> for Failing {
    fn decide(&mut self, _: &FlushView) -> std::result::Result<FlushDecision, Fault> {
        Err(Fault::new(FaultClass::Trap, "told to fail"))
    }
}

impl PolicySource for Fixed {
    fn name(&self) -> &str {
        "fixed"
    }
    fn version(&self) -> &str {
        "1"
    }
    fn digest(&self) -> &str {
        "sha256:fixed"
    }
    fn kinds(&self) -> Vec<Kind> {
        vec![Kind::Flush, Kind::Index]
    }
    fn flush(&self, _: &InitRequest<'_>) -> std::result::Result<Box<dyn Policy<Flush>>, Fault> {
        if self.fails { Ok(Box::new(Failing)) } else { Ok(Box::new(Infallible(Answers(self.flush, self.index_bytes)))) }
    }
    fn index(&self, _: &InitRequest<'_>) -> std::result::Result<Box<dyn Policy<Index>>, Fault> {
        Ok(Box::new(Infallible(Answers(self.flush, self.index_bytes))))
    }
}

fn by_bytes(bytes: u64) -> Fixed {
    Fixed { flush: FlushBounds { bytes, ..FlushBounds::NONE }, index_bytes: bytes, fails: false }
}

fn host() -> PolicyHost {
    PolicyHost::inline(PolicySettings::default(), Arc::default(), Arc::new(|_| {}))
}

fn shadow(host: &PolicyHost, pattern: &str, kind: Kind, policy: Fixed) {
    let candidate = ActiveBinding { pattern: pattern.into(), kind, plugin: Ok(Arc::new(policy)), config: json!({}), source: "test".into() };
    host.start_shadow(candidate, "me", 7).unwrap();
}

/// A lane at which the live policy makes a segment of every `live` appends of 10,000 bytes, 1 ms apart.
fn traffic(host: &PolicyHost, tap: &mut ShadowTap, appends: u64, live: u64) {
    let start = env::now();
    for n in 0..appends {
        let at = start + Duration::from_millis(n);
        tap.appended(at, 10_000, 10);
        if (n + 1) % live == 0 {
            tap.sealed(at);
            tap.uploaded(Duration::from_millis(20));
            tap.committed(Duration::from_millis(20 + live - 1));
        }
        // The queue is bounded, and this host has no thread.
        if n % 100 == 0 {
            host.shadows();
        }
    }
}

fn directions(status: &ShadowStatus) -> Vec<(&'static str, u64)> {
    status.directions.iter().map(|(direction, count)| (*direction, *count)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_waits_longer_is_told_so_with_what_it_saves() {
    let host = host();
    shadow(&host, "*", Kind::Flush, by_bytes(400_000));
    let mut tap = host.shadow("t", &Context { put_price_nano: 5_000, ..Context::default() });
    traffic(&host, &mut tap, 800, 10);
    let status = host.shadows().remove(0);
    assert_eq!((status.live.requests, status.candidate.requests), (80, 20), "{status:?}");
    assert_eq!((status.live.nano_dollars, status.candidate.nano_dollars), (400_000, 100_000));
    assert_eq!(directions(&status), [("later", 60), ("same", 20)]);
    assert_eq!((status.live.ack_p99_us, status.candidate.ack_p99_us), (29_000, 59_000), "39 ms of waiting and an upload of 20 ms");
    assert_eq!((status.compared, status.dropped_events, status.faults, status.dropped.as_str()), (80, 0, 0, ""));
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_flushes_more_often_is_told_so() {
    let host = host();
    shadow(&host, "*", Kind::Flush, by_bytes(50_000));
    let mut tap = host.shadow("t", &Context::default());
    traffic(&host, &mut tap, 100, 10);
    let status = host.shadows().remove(0);
    assert_eq!((status.candidate.requests, directions(&status)), (20, vec![("sooner", 10)]));
}

#[tokio::test(start_paused = true)]
async fn time_bounds_are_crossed_at_their_time_however_late_the_shadow_looks() {
    let host = host();
    let quiet = FlushBounds { quiet_us: 5_000, ..FlushBounds::NONE };
    shadow(&host, "*", Kind::Flush, Fixed { flush: quiet, ..by_bytes(0) });
    let mut tap = host.shadow("t", &Context::default());
    let start = env::now();
    for n in 0..4_u64 {
        tap.appended(start + Duration::from_millis(n * 100), 1_000, 1);
    }
    assert_eq!(host.shadows().remove(0).candidate.requests, 3, "the last append is still gathered: no time has passed since");
    tap.asked(&FlushView::default());
    tokio::time::advance(Duration::from_secs(1)).await;
    let status = host.shadows().remove(0);
    assert_eq!(status.candidate.requests, 4, "{status:?}");
    assert_eq!(status.candidate.ack_p99_us, 55_000, "5 ms of quiet, and 50 ms for an upload where none was seen");
}

#[tokio::test(start_paused = true)]
async fn index_candidates_are_compared_on_the_same_views() {
    let host = host();
    let live = ActiveBinding {
        pattern: "*".into(),
        kind: Kind::Index,
        plugin: Ok(Arc::new(by_bytes(32 << 10))),
        config: json!({}),
        source: String::new(),
    };
    host.set_bindings(vec![live]).unwrap();
    let mut index = host.index("t", &Context { index_entry_bytes: 28, ..Context::default() });
    shadow(&host, "*", Kind::Index, by_bytes(8 << 10));
    let view = IndexView { slice_bytes: 1 << 20, slice_records: 1_000, slice_batches: 1_000, ..IndexView::default() };
    for _ in 0..5 {
        index.decide(&view);
    }
    let status = host.shadows().remove(0);
    assert_eq!((directions(&status), status.live.bytes, status.candidate.bytes), (vec![("denser", 5)], 5 * 32 * 28, 5 * 128 * 28));
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_fails_too_often_is_dropped_and_nobody_tells_it_anything() {
    let host = host();
    shadow(&host, "*", Kind::Flush, Fixed { fails: true, ..by_bytes(1) });
    let mut tap = host.shadow("t", &Context::default());
    traffic(&host, &mut tap, 1_000, 10);
    let status = host.shadows().remove(0);
    assert_eq!((status.faults, status.calls, status.last_class.as_str(), status.instances), (3, 3, "call.trap", 0), "{status:?}");
    assert!(status.dropped.contains("after 3 faults") && status.dropped.contains("told to fail"), "{}", status.dropped);
    tap.appended(env::now(), 1, 1);
    assert_eq!(host.shadows().remove(0).owners, 0, "the owner has let go");
    host.drop_shadow("*", Kind::Flush).unwrap();
    assert!(host.shadows().is_empty() && host.drop_shadow("*", Kind::Flush).is_none());
}

#[tokio::test(start_paused = true)]
async fn owners_come_and_go_and_another_shadow_takes_over() {
    let host = host();
    let mut before = host.shadow("logs-a", &Context::default());
    let now = env::now();
    before.appended(now, 1, 1);
    shadow(&host, "logs-*", Kind::Flush, by_bytes(100_000));
    let mut other = host.shadow("orders", &Context::default());
    for tap in [&mut before, &mut other] {
        tap.appended(now, 1, 1);
    }
    assert_eq!(host.shadows().remove(0).owners, 1, "only of topics that match");
    shadow(&host, "logs-*", Kind::Flush, by_bytes(50_000));
    before.appended(now, 1, 1);
    before.asked(&FlushView::default());
    let status = host.shadows();
    assert_eq!((status.len(), status[0].owners, status[0].calls), (1, 1, 1), "it is another one: {status:?}");
    drop(before);
    assert_eq!(host.shadows().remove(0).owners, 0);
}

#[tokio::test(start_paused = true)]
async fn many_shadows_and_many_owners_are_bounded() {
    let host = host();
    (0..MOST).for_each(|n| shadow(&host, &format!("t{n}"), Kind::Flush, by_bytes(1)));
    let candidate = ActiveBinding {
        pattern: "x".into(),
        kind: Kind::Flush,
        plugin: Ok(Arc::new(by_bytes(1))),
        config: json!({}),
        source: "test".into(),
    };
    assert_eq!(host.start_shadow(candidate, "me", 7).unwrap_err().kind(), ErrorKind::Busy);
    shadow(&host, "t0", Kind::Flush, by_bytes(2));
    let mut taps: Vec<ShadowTap> = (0..MOST_OWNERS + 5).map(|_| host.shadow("t0", &Context::default())).collect();
    taps.iter_mut().for_each(|tap| tap.appended(env::now(), 1, 1));
    let status = host.shadows().pop().unwrap();
    assert_eq!((status.owners, status.left_out), (MOST_OWNERS as u64, 5));
}

#[test]
fn the_reasons_of_a_virtual_lane_are_those_of_a_lane() {
    /// Notes why it is asked.
    struct Noting(Arc<Mutex<Vec<FlushReason>>>);
    impl FlushPolicy for Noting {
        fn decide(&mut self, view: &FlushView) -> FlushDecision {
            self.0.lock().push(view.reason);
            let crossed = view.buffered_bytes >= 20_000;
            if crossed { FlushDecision::Now } else { FlushDecision::Wait(FlushBounds { bytes: 20_000, ..FlushBounds::NONE }) }
        }
    }
    struct Source(Arc<Mutex<Vec<FlushReason>>>);
    impl PolicySource for Source {
        fn name(&self) -> &str {
            "noting"
        }
        fn version(&self) -> &str {
            "1"
        }
        fn digest(&self) -> &str {
            "sha256:noting"
        }
        fn kinds(&self) -> Vec<Kind> {
            vec![Kind::Flush]
        }
        fn flush(&self, _: &InitRequest<'_>) -> std::result::Result<Box<dyn Policy<Flush>>, Fault> {
            Ok(Box::new(Infallible(Noting(self.0.clone()))))
        }
    }
    let (host, asked) = (host(), Arc::<Mutex<Vec<FlushReason>>>::default());
    let plugin: Arc<dyn PolicySource> = Arc::new(Source(asked.clone()));
    let candidate = ActiveBinding { pattern: "*".into(), kind: Kind::Flush, plugin: Ok(plugin), config: json!({}), source: "test".into() };
    host.start_shadow(candidate, "me", 7).unwrap();
    let mut tap = host.shadow("t", &Context::default());
    let start = env::now();
    for ms in [0, 1, 30, 60] {
        tap.appended(start + Duration::from_millis(ms), 10_000, 10);
    }
    tap.asked(&FlushView::default());
    host.shadows();
    let expected = [FlushReason::FirstAppend, FlushReason::Bound, FlushReason::FirstAppend, FlushReason::UploadDone, FlushReason::Bound];
    assert_eq!(asked.lock().as_slice(), expected);
}
