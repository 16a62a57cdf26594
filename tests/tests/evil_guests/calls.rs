//! A policy that fails in a decision.

use std::time::Duration;

use serde_json::json;
use tidegate::policy::{BreakerState, FaultClass, Kind};

use crate::kit::{Bench, built_in, empty, evil, good, is_safe, mode, settings, trigger};

/// How the guest fails, and as what that counts.
pub(super) const FAILURES: [(&str, FaultClass); 9] = [
    ("loop", FaultClass::Timeout),
    ("chatter", FaultClass::Timeout),
    ("drop", FaultClass::Timeout),
    ("trap", FaultClass::Trap),
    ("panic", FaultClass::Panic),
    ("recurse", FaultClass::Stack),
    ("grow", FaultClass::Oom),
    // Without WASI there is neither: the standard library traps or panics.
    ("exit", FaultClass::Trap),
    ("clock", FaultClass::Panic),
];

#[tokio::test]
async fn whatever_fails_is_answered_for_counted_and_left_alone() {
    for (how, class) in FAILURES {
        let bench = Bench::new(settings());
        bench.bind(Kind::Flush, evil(), mode(how)).await;
        let (mut bad, mut neighbour) = (bench.flush("bad"), bench.flush("neighbour"));
        assert_eq!((bad.decide(&empty()), neighbour.decide(&empty())), (good(), good()), "{how}");

        // The built-in answers in the same call.
        assert_eq!(bad.decide(&trigger()), built_in(&trigger()), "{how}");
        let seen = bench.status("bad");
        assert_eq!((seen.calls, seen.faults, seen.fallbacks, seen.breaker), (2, 1, 1, BreakerState::Closed), "{how}: {seen:?}");
        assert_eq!(seen.last_class, class.to_string(), "{how}: {seen:?}");
        assert!(is_safe(&seen.last_message), "{how}: {}", seen.last_message);
        let labels = [("kind", "flush"), ("plugin", "evil-guest"), ("class", class.as_str())];
        assert_eq!(bench.metric("tidegate_policy_faults_total", &labels), 1, "{how}");
        assert_eq!(bench.metric("tidegate_policy_fallbacks_total", &labels[..2]), 1, "{how}");
        let told = bench.faults.lock().clone();
        assert_eq!((told.len(), told[0].topic.as_str(), told[0].class), (1, "bad", class), "{how}");

        // A fresh instance decides next, until the faults are too many.
        assert_eq!((bad.decide(&empty()), neighbour.decide(&empty())), (good(), good()), "{how}");
        let most = if class.is_deadline() { 5 } else { 3 };
        for _ in 1..most {
            assert_eq!(bench.status("bad").breaker, BreakerState::Closed, "{how}");
            assert_eq!(bad.decide(&trigger()), built_in(&trigger()), "{how}");
        }
        assert!(bench.degraded().contains(&format!("quarantined after {class}")), "{how}: {}", bench.degraded());
        assert_eq!((bad.decide(&empty()), bad.decide(&trigger())), (built_in(&empty()), built_in(&trigger())), "{how}");
        let seen = bench.status("bad");
        assert_eq!((seen.faults, seen.breaker, seen.instances), (most, BreakerState::Open, 0), "{how}: {seen:?}");

        // The neighbour has noticed nothing.
        assert_eq!(neighbour.decide(&empty()), good(), "{how}");
        let seen = bench.status("neighbour");
        assert_eq!((seen.faults, seen.fallbacks, seen.breaker, seen.instances), (0, 0, BreakerState::Closed, 1), "{how}: {seen:?}");
        assert_eq!(bench.metric("tidegate_policy_instances", &labels[..2]), 1, "{how}");
    }
}

#[tokio::test]
async fn a_panic_shows_its_first_words_and_not_its_mebibyte() {
    let bench = Bench::new(settings());
    bench.bind(Kind::Flush, evil(), mode("panic")).await;
    bench.flush("t").decide(&trigger());
    let message = bench.status("t").last_message;
    assert!(message.contains(r"evil\n\u{1b}[2Jboom\nboom"), "{message}");
    assert!(message.len() < 400 && is_safe(&message), "{} bytes", message.len());
}

#[tokio::test]
async fn a_denied_growth_names_the_limit() {
    let bench = Bench::new(settings());
    bench.bind(Kind::Flush, evil(), mode("grow")).await;
    bench.flush("t").decide(&trigger());
    let message = bench.status("t").last_message;
    assert!(message.contains("policy.memory_bytes"), "{message}");
}

#[tokio::test]
async fn a_fault_at_the_first_or_the_nth_call_costs_that_call_only() {
    for call in [1, 2, 7] {
        let bench = Bench::new(settings());
        bench.bind(Kind::Flush, evil(), json!({"mode": "trap", "at": {"call": call}})).await;
        let mut policy = bench.flush("t");
        let answers: Vec<bool> = (1..=call).map(|_| policy.decide(&empty()) == good()).collect();
        let expected: Vec<bool> = (1..=call).map(|n| n != call).collect();
        assert_eq!(answers, expected);
        let seen = bench.status("t");
        assert_eq!((seen.calls, seen.faults, seen.fallbacks), (call, 1, 1), "{seen:?}");
        // The next instance begins to count anew.
        assert_eq!(policy.decide(&empty()) == good(), call != 1);
    }
}

#[tokio::test]
async fn a_policy_that_fails_for_one_topic_decides_for_the_others() {
    let bench = Bench::new(settings());
    bench.bind(Kind::Flush, evil(), json!({"mode": "trap", "partitions": 13})).await;
    let (mut unlucky, mut other) = (bench.flush_of("unlucky", 13), bench.flush_of("other", 12));
    for _ in 0..5 {
        assert_eq!(unlucky.decide(&trigger()), built_in(&trigger()));
        assert_eq!(other.decide(&trigger()), good());
    }
    let of = |topic: &str| bench.status(topic);
    assert_eq!((of("unlucky").faults, of("unlucky").breaker), (3, BreakerState::Open));
    assert_eq!((of("other").faults, of("other").breaker, of("other").calls), (0, BreakerState::Closed, 5));
}

#[tokio::test(start_paused = true)]
async fn a_quarantined_policy_is_tried_again_and_forgiven_after_a_clean_period() {
    let bench = Bench::new(settings());
    bench.bind(Kind::Flush, evil(), mode("trap")).await;
    let mut policy = bench.flush("t");
    for pause in [30, 60] {
        while bench.status("t").breaker != BreakerState::Open {
            policy.decide(&trigger());
        }
        tokio::time::advance(Duration::from_millis(pause * 1_000 - 1)).await;
        assert_eq!(policy.decide(&empty()), built_in(&empty()));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(policy.decide(&empty()), good());
        assert_eq!(bench.status("t").breaker, BreakerState::Probing);
    }
    assert!(bench.degraded().contains("recovering from call.trap"), "{}", bench.degraded());
    tokio::time::advance(Duration::from_secs(600)).await;
    assert_eq!((bench.status("t").breaker, bench.degraded().as_str()), (BreakerState::Closed, ""));
    // Three faults open it again, for 30 s again.
    for _ in 0..3 {
        policy.decide(&trigger());
    }
    tokio::time::advance(Duration::from_secs(30)).await;
    assert_eq!(policy.decide(&empty()), good());
}

#[tokio::test]
async fn a_guest_without_a_standard_library_decides_and_says_why_it_panics() {
    let bench = Bench::new(settings());
    bench.bind(Kind::Flush, crate::kit::built("plain-guest"), json!({"bytes": 5_000})).await;
    let decided = bench.flush("t").decide(&empty());
    assert!(matches!(decided, tidegate::policy::FlushDecision::Wait(bounds) if bounds.bytes == 5_000), "{decided:?}");
    bench.bind(Kind::Flush, crate::kit::built("plain-guest"), json!({})).await;
    let records = tidegate::policy::FlushView { buffered_records: 3, ..empty() };
    assert_eq!(bench.flush("t").decide(&records), built_in(&records));
    let seen = bench.status("t");
    assert!(seen.last_class == "call.panic" && seen.last_message.contains("3 records and no size"), "{seen:?}");
}
