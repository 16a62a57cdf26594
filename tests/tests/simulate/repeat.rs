//! One seed gives one outcome, and what differs between candidates is theirs.

use tidegate::Settings;
use tidegate_simulate::trace::{Shape, Shaped};
use tidegate_simulate::{Candidate, Outcome, Plugins, Simulation, StoreModel, Trace, run};

fn simulation(seed: u64) -> Simulation {
    let mut settings = Settings::default();
    // Small enough that what is read is evicted: which chunk goes must not depend on the clock of the machine.
    settings.host.cache_bytes = 8 << 20;
    settings.host.prefetch_bytes = 4 << 20;
    Simulation { settings, model: StoreModel::s3_standard(), seed }
}

fn candidate(text: &str) -> Candidate {
    let directory = tidegate_tests::broker::plugin("flush-adaptive");
    let plugins = Plugins::new(directory.parent(), &Settings::default().policy);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(plugins.candidate(text)).unwrap()
}

fn trace(shape: Shape) -> Trace {
    Shaped { seconds: 20, rate: 200, bytes: 8 << 10, readers: 4, partitions: 8, ..Shaped::new(shape) }.trace().unwrap()
}

fn outcome(seed: u64, trace: &Trace, policy: &str) -> Outcome {
    run(&simulation(seed), trace, &candidate(policy)).unwrap()
}

#[test]
fn the_same_trace_and_seed_give_the_same_outcome() {
    let trace = Shaped { seconds: 20, rate: 100, bytes: 32 << 10, partitions: 2, ..Shaped::new(Shape::CatchUp) }.trace().unwrap();
    let policy = r#"flush-adaptive={"puts_per_min":600}+index-density+read-ahead-fixed={"bytes":1048576}"#;
    let first = outcome(7, &trace, policy);
    assert_eq!(first, outcome(7, &trace, policy));
    assert_ne!(first, outcome(8, &trace, policy), "the seed decides something");
    // It does enough to prove something.
    assert!(first.usage.puts > 50 && first.usage.gets > 50 && first.decisions > 500, "{:?}", first.usage);
    assert!(first.hit_ratio.is_some_and(|ratio| ratio > 0.1 && ratio < 0.999), "{:?}", first.hit_ratio);
    assert_eq!((first.faults, first.failed_appends, first.failed_fetches), (0, 0, 0));
}

#[test]
fn a_buffer_that_is_held_for_longer_makes_fewer_and_later_puts() {
    let trace = trace(Shape::Steady);
    let [soon, late] = [50, 800].map(|age_ms| outcome(1, &trace, &format!(r#"flush-threshold={{"age_ms":{age_ms},"bytes":0}}"#)));
    assert!(soon.usage.puts > 4 * late.usage.puts && soon.monthly_nano > 2 * late.monthly_nano);
    assert!(soon.acks.p99_us < late.acks.p99_us && soon.segments.p50 < late.segments.p50);
    assert_eq!((soon.acks.count, soon.appended_bytes), (late.acks.count, late.appended_bytes));
}

#[test]
fn what_is_read_ahead_is_read_or_known_to_be_wasted() {
    let wasted = [Shape::CatchUp, Shape::Seek].map(|shape| {
        let outcome = outcome(1, &trace(shape), "read-ahead-adaptive");
        assert_eq!(outcome.read_ahead_bytes, outcome.read_ahead_used_bytes + outcome.wasted.total(), "{shape}: {:?}", outcome.wasted);
        assert!(outcome.read_ahead_used_bytes > 1 << 20, "{shape}: {}", outcome.read_ahead_used_bytes);
        outcome.wasted
    });
    assert!(wasted[1].abandoned > 1 << 20 && wasted[1].total() > wasted[0].total(), "{wasted:?}");
}

#[test]
fn every_append_of_a_trace_is_acknowledged_once() {
    let trace = trace(Shape::Bursty);
    let appends = trace.events.iter().filter(|event| matches!(event.action, tidegate_simulate::trace::Action::Append { .. })).count();
    let outcome = outcome(1, &trace, "built-in");
    assert_eq!((outcome.acks.count, outcome.decisions), (appends as u64, 0));
    assert_eq!(outcome.series.iter().map(|point| point.appends).sum::<u64>(), appends as u64);
    assert_eq!(outcome.series.iter().map(|point| point.puts).sum::<u64>(), outcome.segments.count);
    assert_eq!(outcome.segments.by_power.iter().sum::<u64>(), outcome.segments.count);
}
