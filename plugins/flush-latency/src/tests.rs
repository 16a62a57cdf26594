use tidegate_guest::{Context, Flush, FlushBounds, FlushDecision, FlushReason, FlushView};

use super::*;

fn policy(config: &str) -> Latency {
    tidegate_guest::create(config, &Context::default()).unwrap()
}

fn wait(decision: FlushDecision) -> FlushBounds {
    match decision {
        FlushDecision::Wait(bounds) => bounds,
        FlushDecision::Now => panic!("it must wait"),
    }
}

/// The first batch in an empty buffer; its producer waits, and uploads take 20 ms.
fn first(ack_p99_us: u64) -> FlushView {
    FlushView {
        reason: FlushReason::FirstAppend,
        buffered_bytes: 1,
        waiting_acks: 1,
        upload_p50_us: 20_000,
        ack_p99_us,
        ..FlushView::default()
    }
}

#[test]
fn begins_with_the_target_less_two_uploads() {
    assert_eq!(wait(policy("{}").decide(&first(0))).age_us, 160_000);
}

/// A store whose uploads take a while: acks take the hold and that.
fn settle(policy: &mut Latency, upload_us: u64) -> u64 {
    let mut hold_us = wait(policy.decide(&first(0))).age_us;
    for _ in 0..1_000 {
        hold_us = wait(policy.decide(&first(hold_us + upload_us))).age_us;
    }
    hold_us
}

#[test]
fn finds_the_longest_hold_that_keeps_the_target() {
    for upload_us in [1_000, 20_000, 80_000, 150_000] {
        let ack_us = settle(&mut policy("{}"), upload_us) + upload_us;
        assert!((180_000..=200_000).contains(&ack_us), "uploads of {upload_us} us: acks take {ack_us}");
    }
}

/// The host shows the 99th percentile of the last 128 acks; one upload in 50 is slow.
#[test]
fn acks_that_were_late_before_it_shrank_do_not_shrink_it_again() {
    let mut policy = policy(r#"{"target_ms": 500}"#);
    let (mut acks, mut holds) = (Vec::new(), Vec::new());
    for number in 0..1_000 {
        let recent: &[u64] = &acks[acks.len().saturating_sub(128)..];
        let mut sorted = recent.to_vec();
        sorted.sort_unstable();
        let p99 = sorted.get((sorted.len() * 99).div_ceil(100).max(1) - 1).copied().unwrap_or(0);
        let hold = wait(policy.decide(&first(p99))).age_us;
        acks.push(hold + if number % 50 == 7 { 300_000 } else { 60_000 });
        holds.push(hold);
    }
    let least = holds.iter().min().unwrap();
    assert!(*least >= 150_000, "200 ms are right, it went down to {least} us");
    assert!((150_000..=200_000).contains(holds.last().unwrap()), "{:?}", holds.last());
}

#[test]
fn a_target_that_cannot_be_held_flushes_as_often_as_it_may() {
    assert_eq!(settle(&mut policy("{}"), 500_000), 1_000);
}

#[test]
fn a_throttling_store_is_not_asked_more_often() {
    let mut policy = policy("{}");
    let before = wait(policy.decide(&first(0))).age_us;
    let throttled = FlushView { throttled_permille: 100, ..first(900_000) };
    assert_eq!(wait(policy.decide(&throttled)).age_us, before);
}

#[test]
fn without_waiting_producers_only_cost_counts() {
    let nobody = FlushView { waiting_acks: 0, ..first(900_000) };
    assert_eq!(wait(policy("{}").decide(&nobody)).age_us, 1_000_000);
}

#[test]
fn the_bounds_and_memory_pressure_flush_at_once() {
    let full = FlushView { buffered_bytes: 16 << 20, ..first(0) };
    let pressed = FlushView { pressure_permille: 850, ..first(0) };
    let old = FlushView { oldest_age_us: 160_000, ..first(0) };
    for view in [full, pressed, old] {
        assert_eq!(policy("{}").decide(&view), FlushDecision::Now);
    }
}

#[test]
fn a_wrong_config_is_refused_by_its_key() {
    let refused = |config| tidegate_guest::create::<Latency>(config, &Context::default()).unwrap_err();
    assert!(refused(r#"{"target": 5}"#).contains("`target`"));
    assert_eq!(refused(r#"{"target_ms": 0}"#), "target_ms is 0, expected 1 to 60000");
}

#[test]
fn a_successor_goes_on_with_the_hold_that_was_found() {
    let mut old = policy("{}");
    settle(&mut old, 80_000);
    let mut new = policy("{}");
    new.restore("0.0.1", &old.snapshot()).unwrap();
    let warm = new.decide(&first(150_000));
    assert_eq!(warm, old.decide(&first(150_000)));
    assert_ne!(warm, policy("{}").decide(&first(150_000)));
    let mut stricter = policy(r#"{"target_ms": 20}"#);
    stricter.restore("0.0.1", &old.snapshot()).unwrap();
    assert!(wait(stricter.decide(&first(0))).age_us <= 20_000, "a hold beyond its target");
    assert!(stricter.restore("0.0.1", b"{}").is_err());
}
