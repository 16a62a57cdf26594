use tidegate_guest::{Context, Flush, FlushBounds, FlushDecision, FlushReason, FlushView};

use super::*;

fn policy(config: &str) -> Budgeted {
    tidegate_guest::create(config, &Context::default()).unwrap()
}

fn wait(decision: FlushDecision) -> FlushBounds {
    match decision {
        FlushDecision::Wait(bounds) => bounds,
        FlushDecision::Now => panic!("it must wait"),
    }
}

/// The first batch in an empty buffer of the topic's only busy lane; its producer waits.
fn first(now_ms: u64) -> FlushView {
    FlushView { now_ms, buffered_bytes: 1_000, waiting_acks: 1, topic_put_share_permille: 1_000, ..FlushView::default() }
}

/// Flushes in a minute under a producer that always has something, and the longest that a batch was held, in microseconds.
fn a_busy_minute(policy: &mut Budgeted, from_ms: u64) -> (u64, u64) {
    let (mut now_us, mut flushes, mut longest) = (from_ms * 1_000, 0, 0);
    while now_us < (from_ms + 60_000) * 1_000 {
        let mut view = first(now_us / 1_000);
        // The lane asks again when a bound is crossed.
        while let FlushDecision::Wait(bounds) = policy.decide(&view) {
            let age_us = bounds.age_us.next_multiple_of(1_000);
            view = FlushView { reason: FlushReason::Bound, oldest_age_us: age_us, ..first((now_us + age_us) / 1_000) };
        }
        now_us += view.oldest_age_us.max(1_000);
        (flushes, longest) = (flushes + 1, longest.max(view.oldest_age_us));
    }
    (flushes, longest)
}

#[test]
fn a_busy_topic_keeps_to_its_rate_and_its_burst() {
    let mut policy = policy(r#"{"puts_per_min": 120, "burst": 20}"#);
    let (flushes, longest) = a_busy_minute(&mut policy, 0);
    assert!((110..=145).contains(&flushes), "{flushes}");
    assert!((490_000..=1_000_000).contains(&longest), "{longest}");
}

#[test]
fn after_a_quiet_time_a_batch_goes_at_once() {
    let mut policy = policy(r#"{"puts_per_min": 120, "burst": 20, "gather_ms": 3}"#);
    a_busy_minute(&mut policy, 0);
    let bounds = wait(policy.decide(&first(600_000)));
    assert_eq!(bounds.age_us, 3_000);
}

#[test]
fn the_fewer_are_saved_the_longer_a_batch_is_held() {
    let mut policy = policy(r#"{"puts_per_min": 60, "burst": 10}"#);
    policy.decide(&first(600_000));
    let held: Vec<u64> = (0..5).map(|_| wait(policy.decide(&first(600_000))).age_us).collect();
    assert!(held.is_sorted() && held[0] < held[4], "{held:?}");
}

#[test]
fn a_batch_that_nobody_waits_for_costs_nothing_of_the_budget() {
    let mut policy = policy(r#"{"max_age_ms": 700}"#);
    assert_eq!(wait(policy.decide(&FlushView { waiting_acks: 0, ..first(0) })).age_us, 700_000);
}

#[test]
fn bounds_and_pressure_hold_whatever_the_budget_says() {
    let mut policy = policy(r#"{"puts_per_min": 1, "burst": 0, "max_age_ms": 100, "max_bytes": 5000}"#);
    for _ in 0..10 {
        policy.decide(&first(0));
    }
    let broke = wait(policy.decide(&first(0)));
    assert_eq!((broke.age_us, broke.bytes), (100_000, 5_000));
    let bound = |view: FlushView| FlushView { reason: FlushReason::Bound, ..view };
    assert_eq!(policy.decide(&bound(FlushView { oldest_age_us: 100_000, ..first(0) })), FlushDecision::Now);
    assert_eq!(policy.decide(&bound(FlushView { buffered_bytes: 5_000, ..first(0) })), FlushDecision::Now);
    assert_eq!(policy.decide(&bound(FlushView { pressure_permille: 900, ..first(0) })), FlushDecision::Now);
}

#[test]
fn the_hosts_own_limits_are_respected() {
    let context = Context { max_segment_bytes: 1 << 20, max_age_us: 50_000, ..Context::default() };
    let mut policy: Budgeted = tidegate_guest::create("{}", &context).unwrap();
    let bounds = wait(policy.decide(&FlushView { waiting_acks: 0, ..first(0) }));
    assert_eq!((bounds.bytes, bounds.age_us), (1 << 20, 50_000));
}

#[test]
fn a_wrong_config_is_refused_by_its_key() {
    let refused = |config| tidegate_guest::create::<Budgeted>(config, &Context::default()).unwrap_err();
    assert!(refused(r#"{"puts": 5}"#).contains("`puts`"));
    assert!(refused(r#"{"puts_per_min": 0}"#).contains("puts_per_min is 0, expected 1 to 1000000"));
}

#[test]
fn a_successor_goes_on_with_what_was_saved() {
    let make = || tidegate_guest::create::<Budgeted>(r#"{"puts_per_min": 60, "burst": 2}"#, &Context::default()).unwrap();
    let mut old = make();
    let view = |now_ms: u64| FlushView { now_ms, buffered_bytes: 1_000, waiting_acks: 1, ..FlushView::default() };
    for now_ms in [0, 10, 20, 30] {
        old.decide(&view(now_ms));
    }
    let mut new = make();
    new.restore("0.0.1", &old.snapshot()).unwrap();
    let warm = new.decide(&view(40));
    assert_eq!(warm, old.decide(&view(40)));
    assert_ne!(warm, make().decide(&view(40)));
    assert!(new.restore("0.0.1", b"{}").is_err());
}
