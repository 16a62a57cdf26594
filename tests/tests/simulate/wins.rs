//! Each bundled policy wins where docs/policies.md says so: on the same traces as there.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex};

use tidegate::Settings;
use tidegate_simulate::trace::{Action, Shape, Shaped};
use tidegate_simulate::{Outcome, Plugins, Simulation, StoreModel, Trace, run};

const LATENCY: &str = r#"flush-latency={"target_ms":500}"#;
const THRESHOLD: &str = r#"flush-threshold={"age_ms":1000,"bytes":0}"#;
const FLUSH: [&str; 5] = ["built-in", "flush-adaptive", "flush-budget", LATENCY, THRESHOLD];
const READ_AHEAD: [&str; 4] = ["built-in", "read-ahead-adaptive", "read-ahead-fixed", "read-ahead-pace"];

fn trace(name: &str) -> Trace {
    let shaped = |shape, seconds, rate| Shaped { seconds, rate, ..Shaped::new(shape) };
    let recipe = match name {
        "steady" => shaped(Shape::Steady, 30, 200),
        "spiky" => shaped(Shape::Bursty, 120, 10),
        "idle" => shaped(Shape::Idle, 30, 100),
        _ => shaped(Shape::CatchUp, 30, 200),
    };
    recipe.trace().unwrap()
}

/// What comes of a policy on a trace; each is simulated once.
fn outcome(name: &str, policy: &str) -> Outcome {
    static KNOWN: LazyLock<Mutex<BTreeMap<(String, String), Outcome>>> = LazyLock::new(Mutex::default);
    let key = (name.to_owned(), policy.to_owned());
    if let Some(known) = KNOWN.lock().unwrap().get(&key) {
        return known.clone();
    }
    let outcome = simulated(&trace(name), name.ends_with("fast"), policy);
    KNOWN.lock().unwrap().insert(key, outcome.clone());
    outcome
}

fn simulated(trace: &Trace, express: bool, policy: &str) -> Outcome {
    let mut settings = Settings::default();
    settings.host.cache_bytes = 8 << 20;
    settings.host.prefetch_bytes = 4 << 20;
    let model = if express { StoreModel::s3_express() } else { StoreModel::s3_standard() };
    let directory = tidegate_tests::broker::plugin("flush-adaptive");
    let plugins = Plugins::new(directory.parent(), &settings.policy);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let candidate = runtime.block_on(plugins.candidate(policy)).unwrap();
    run(&Simulation { settings, model, seed: 1 }, trace, &candidate).unwrap()
}

/// The one whose figure is the lowest of those that qualify.
fn lowest<'a>(trace: &str, rivals: &[&'a str], figure: fn(&Outcome) -> f64, qualifies: impl Fn(&Outcome) -> bool) -> &'a str {
    let figures =
        rivals.iter().filter_map(|rival| Some(outcome(trace, rival)).filter(&qualifies).map(|outcome| (figure(&outcome), *rival)));
    figures.min_by(|a, b| a.0.total_cmp(&b.0)).expect("one of them qualifies").1
}

fn misses(outcome: &Outcome) -> f64 {
    1.0 - outcome.hit_ratio.expect("there are readers")
}

#[test]
fn flush_adaptive_acknowledges_soonest_of_the_bundled_ones() {
    for name in ["steady", "idle"] {
        assert_eq!(lowest(name, &FLUSH, |o| o.acks.p99_us as f64, |_| true), "flush-adaptive", "{name}");
    }
}

#[test]
fn flush_budget_acknowledges_soonest_where_requests_are_rationed_and_the_load_is_spiky() {
    let most = outcome("spiky", "flush-adaptive").usage.puts * 2 / 3;
    assert_eq!(lowest("spiky", &FLUSH, |o| o.acks.p50_us as f64, |o| o.usage.puts <= most), "flush-budget");
    // 600 a minute, 20 saved, and what lanes in the shade of others are left with.
    for (name, minutes) in [("steady", 0.5), ("idle", 0.5), ("spiky", 2.0)] {
        let segments = outcome(name, "flush-budget").segments.count as f64;
        assert!(segments <= 1.1 * (600.0 * minutes + 20.0), "{name}: {segments}");
    }
}

#[test]
fn flush_latency_is_the_cheapest_that_keeps_its_target() {
    let kept = |o: &Outcome| o.acks.p99_us <= 510_000;
    for name in ["steady", "idle"] {
        assert_eq!(lowest(name, &FLUSH, |o| o.usage.puts as f64, kept), LATENCY, "{name}");
    }
}

#[test]
fn flush_threshold_is_the_cheapest_where_latency_does_not_count() {
    for name in ["steady", "idle", "spiky"] {
        assert_eq!(lowest(name, &FLUSH, |o| o.monthly_nano as f64, |_| true), THRESHOLD, "{name}");
    }
}

#[test]
fn index_density_saves_bytes_where_nobody_seeks() {
    let uploaded = |index: &str| simulated(&trace("catch-up"), false, &format!("{THRESHOLD}+{index}")).usage.bytes_up;
    assert!(uploaded("index-density") < uploaded("index-spacing"));
}

#[test]
fn index_spacing_takes_what_it_takes_whoever_reads() {
    let read = trace("catch-up");
    let mut unread = read.clone();
    unread.events.retain(|event| matches!(event.action, Action::Append { .. }));
    let policy = format!(r#"{THRESHOLD}+index-spacing={{"bytes":8192}}"#);
    let [with, without] = [&read, &unread].map(|trace| simulated(trace, false, &policy).segments);
    assert_eq!(with, without);
}

#[test]
fn read_ahead_adaptive_serves_late_readers_best_where_segments_are_small() {
    assert_eq!(lowest("catch-up", &READ_AHEAD, misses, |_| true), "read-ahead-adaptive");
    assert_eq!(lowest("catch-up", &READ_AHEAD, |o| o.fetches.p99_us as f64, |_| true), "read-ahead-adaptive");
}

#[test]
fn read_ahead_fixed_serves_late_readers_best_where_segments_are_large() {
    let large = READ_AHEAD[1..].iter().map(|policy| format!("{THRESHOLD}+{policy}")).collect::<Vec<_>>();
    let rivals: Vec<&str> = large.iter().map(String::as_str).collect();
    assert!(lowest("catch-up", &rivals, misses, |_| true).ends_with("read-ahead-fixed"));
    assert!(lowest("catch-up", &rivals, |o| o.usage.gets as f64, |_| true).ends_with("read-ahead-fixed"));
}

#[test]
fn read_ahead_pace_asks_a_fast_store_for_least() {
    assert_eq!(lowest("catch-up-fast", &READ_AHEAD, |o| o.usage.gets as f64, |_| true), "read-ahead-pace");
    assert_eq!(lowest("catch-up-fast", &READ_AHEAD, |o| o.usage.bytes_down as f64, |_| true), "read-ahead-pace");
}
