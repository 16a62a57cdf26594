use tidegate_guest::{Context, Flush, FlushBounds, FlushDecision, FlushReason, FlushView};

use super::*;

fn policy(config: &str) -> Adaptive {
    tidegate_guest::create(config, &Context::default()).unwrap()
}

fn wait(decision: FlushDecision) -> FlushBounds {
    match decision {
        FlushDecision::Wait(bounds) => bounds,
        FlushDecision::Now => panic!("it must wait"),
    }
}

/// A kilobyte of a producer that waits for its ack.
fn waiting() -> FlushView {
    FlushView { buffered_bytes: 1_000, buffered_records: 1, waiting_acks: 1, arrival_bytes_per_s: 10_000, ..FlushView::default() }
}

#[test]
fn a_lone_producer_waits_a_quiet_gap_and_not_the_age() {
    let mut policy = policy("{}");
    let bounds = wait(policy.decide(&waiting()));
    assert_eq!(bounds.quiet_us, 2_000);
    assert!(bounds.age_us <= 5_000, "{bounds:?}");
    let quiet = FlushView { reason: FlushReason::Bound, quiet_us: 2_000, oldest_age_us: 2_000, ..waiting() };
    assert_eq!(policy.decide(&quiet), FlushDecision::Now);
}

#[test]
fn a_store_faster_than_the_gap_is_not_kept_waiting_for_one() {
    let decide = |upload_p50_us, throttled_permille| {
        let mut policy = policy(r#"{"quiet_us": 3000}"#);
        policy.decide(&FlushView { upload_p50_us, throttled_permille, ..waiting() })
    };
    assert_eq!(decide(900, 0), FlushDecision::Now);
    assert_eq!(wait(decide(3_000, 0)).quiet_us, 3_000);
    assert!(wait(decide(900, 50)).quiet_us > 3_000);
    assert_eq!(wait(decide(0, 0)).quiet_us, 3_000, "a store that nobody knows yet counts as slow");
}

#[test]
fn without_waiting_producers_a_segment_grows_to_what_arrives_within_the_age() {
    let mut policy = policy(r#"{"max_age_ms": 100}"#);
    let view = FlushView { waiting_acks: 0, quiet_us: 50_000, arrival_bytes_per_s: 20_000_000, ..waiting() };
    let bounds = wait(policy.decide(&view));
    assert_eq!((bounds.bytes, bounds.age_us, bounds.quiet_us), (2_000_000, 100_000, UNBOUNDED));
}

#[test]
fn what_arrives_during_an_upload_is_one_group() {
    let mut policy = policy("{}");
    let uploading = FlushView { uploads_in_flight: 2, quiet_us: 10_000, ..waiting() };
    let bounds = wait(policy.decide(&uploading));
    assert_eq!((bounds.uploads_at_most, bounds.quiet_us), (1, UNBOUNDED));
    let one_done = FlushView { reason: FlushReason::UploadDone, uploads_in_flight: 1, ..uploading };
    assert_eq!(policy.decide(&one_done), FlushDecision::Now);
}

#[test]
fn a_group_goes_when_the_last_upload_is_done_however_it_is_asked() {
    for reason in [FlushReason::UploadDone, FlushReason::Bound] {
        let mut policy = policy("{}");
        wait(policy.decide(&FlushView { uploads_in_flight: 1, ..waiting() }));
        assert_eq!(policy.decide(&FlushView { reason, uploads_in_flight: 0, ..waiting() }), FlushDecision::Now);
    }
}

#[test]
fn the_bounds_hold_whatever_the_budget_says() {
    let mut policy = policy(r#"{"max_age_ms": 100, "max_bytes": 5000, "puts_per_min": 1}"#);
    for _ in 0..10 {
        policy.decide(&waiting());
    }
    let broke = wait(policy.decide(&FlushView { quiet_us: 50_000, ..waiting() }));
    assert_eq!((broke.age_us, broke.bytes, broke.quiet_us), (100_000, 5_000, UNBOUNDED));
    assert_eq!(policy.decide(&FlushView { reason: FlushReason::Bound, oldest_age_us: 100_000, ..waiting() }), FlushDecision::Now);
    assert_eq!(policy.decide(&FlushView { reason: FlushReason::Bound, buffered_bytes: 5_000, ..waiting() }), FlushDecision::Now);
}

#[test]
fn memory_pressure_flushes_at_once() {
    let mut policy = policy(r#"{"puts_per_min": 1}"#);
    assert_eq!(policy.decide(&FlushView { reason: FlushReason::Pressure, pressure_permille: 900, ..waiting() }), FlushDecision::Now);
}

#[test]
fn a_throttling_store_is_asked_less_often() {
    let mut policy = policy("{}");
    let calm = wait(policy.decide(&waiting())).quiet_us;
    let throttled = wait(policy.decide(&FlushView { throttled_permille: 100, ..waiting() })).quiet_us;
    assert_eq!(throttled, calm + 10_000);
}

#[test]
fn the_hosts_own_limits_are_respected() {
    let context = Context { max_segment_bytes: 1 << 20, max_age_us: 50_000, ..Context::default() };
    let mut policy: Adaptive = tidegate_guest::create("{}", &context).unwrap();
    let bounds = wait(policy.decide(&FlushView { waiting_acks: 0, arrival_bytes_per_s: u64::MAX, ..waiting() }));
    assert_eq!((bounds.bytes, bounds.age_us), (1 << 20, 50_000));
}

#[test]
fn a_wrong_config_is_refused_by_its_key() {
    let refused = |config| tidegate_guest::create::<Adaptive>(config, &Context::default()).unwrap_err();
    assert!(refused(r#"{"max_age": 5}"#).contains("`max_age`"));
    assert!(refused(r#"{"max_age_ms": 0}"#).contains("max_age_ms"));
    assert!(refused(r#"{"quiet_us": -1}"#).contains("-1"));
}

#[test]
fn a_successor_decides_what_the_policy_itself_would_have() {
    let config = r#"{"puts_per_min": 60}"#;
    let mut old = policy(config);
    for now_ms in (0..500).step_by(100) {
        old.decide(&FlushView { now_ms, uploads_in_flight: 2, ..waiting() });
    }
    let mut new = policy(config);
    new.restore("0.0.1", &old.snapshot()).unwrap();
    let next = FlushView { reason: FlushReason::Bound, now_ms: 600, uploads_in_flight: 2, oldest_age_us: 1_000, ..waiting() };
    let cold = policy(config).decide(&next);
    let warm = new.decide(&next);
    assert_eq!(warm, old.decide(&next));
    assert_ne!(warm, cold);
}

#[test]
fn a_snapshot_of_something_else_is_refused_and_changes_nothing() {
    let mut new = policy("{}");
    let before = new.snapshot();
    for wrong in ["", "{}", r#"{"tokens": -1, "refilled_ms": 0}"#, "nonsense"] {
        assert!(new.restore("9.9.9", wrong.as_bytes()).unwrap_err().contains("not understood"), "{wrong:?}");
    }
    assert_eq!(new.snapshot(), before);
}
