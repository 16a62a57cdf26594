//! Components that must not come to be bound, and those that must.

use serde_json::json;
use tidegate::ErrorKind;
use tidegate::policy::{FaultClass, Kind};
use tidegate_tests::world::World;

use crate::kit::{Bench, built_in, empty, evil, good, is_safe, mode, settings, trigger};
use crate::produce::bind;
use crate::wat::{Guest, component, outline};

const LOOP: &str = "(loop (br 0))";

#[tokio::test]
async fn what_never_returns_is_refused_wherever_it_loops() {
    let bench = Bench::new(tidegate::config::PolicySettings { init_deadline_ms: 200, ..settings() });
    let endless = format!("{LOOP} (unreachable)");
    let start = format!("(func $start {LOOP}) (start $start)");
    let cases = [
        ("start section", Guest { extra: &start, ..Guest::default() }, FaultClass::InitTimeout),
        ("describe", Guest { describe: LOOP, ..Guest::default() }, FaultClass::InitTimeout),
        ("destructor of describe", Guest { post_describe: LOOP, ..Guest::default() }, FaultClass::InitTimeout),
        ("init", Guest { init: &endless, ..Guest::default() }, FaultClass::InitTimeout),
        ("decide", Guest { decide: LOOP, ..Guest::default() }, FaultClass::CanaryFailed),
        ("destructor of decide", Guest { post_decide: LOOP, ..Guest::default() }, FaultClass::CanaryFailed),
    ];
    for (place, guest, class) in cases {
        let error = bench.load(guest.component()).await.expect_err(place);
        assert_eq!(error.class(), class, "{place}: {error}");
        assert!(is_safe(&error.to_string()) && !error.remedy().is_empty(), "{place}: {error}");
    }
}

#[tokio::test]
async fn a_destructor_that_loops_later_is_a_fault_of_its_decision() {
    let bench = Bench::new(settings());
    let guest = Guest { post_decide: "(if (i64.eq (global.get $last) (i64.const 666)) (then (loop (br 0))))", ..Guest::default() };
    bench.bind(Kind::Flush, guest.component(), json!({})).await;
    let mut policy = bench.flush("t");
    assert_eq!((policy.decide(&empty()), policy.decide(&trigger())), (good(), built_in(&trigger())));
    assert_eq!(bench.status("t").last_class, "call.timeout");
    assert_eq!(policy.decide(&empty()), good());
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_leaves_the_policy_before_it_in_place() {
    let world = World::with(|s| s.policy.init_deadline_ms = 500);
    let host = world.open().await;
    let set = host.bind(bind("*", Kind::Flush, evil(), json!({}))).await.unwrap().set;
    let components = || world.store.snapshot().into_keys().filter(|key| key.starts_with("plugins/")).count();
    let endless = format!("{LOOP} (unreachable)");
    let refused = [
        bind("*", Kind::Flush, Guest { describe: LOOP, ..Guest::default() }.component(), json!({})),
        bind("*", Kind::Flush, Guest { init: &endless, ..Guest::default() }.component(), json!({})),
        bind("*", Kind::Flush, evil(), json!({"mode": "loop", "at": "init"})),
        bind("*", Kind::Flush, evil(), json!({"mode": "panic", "at": "init"})),
        bind("*", Kind::Flush, evil(), json!({"mode": "mumble"})),
    ];
    for attempt in refused {
        let config = attempt.config.clone();
        let error = host.bind(attempt).await.expect_err("it must be refused");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{config}: {error}");
        assert!(is_safe(error.message()), "{config}: {error}");
    }
    let after = host.bindings();
    assert_eq!((after.generation, after.bindings, components()), (set.generation, set.bindings, 1));
    let status = host.policy_status();
    assert_eq!((status.len(), status[0].plugin.as_str(), status[0].degraded.as_str()), (1, "evil-guest", ""));
}

#[tokio::test]
async fn every_patch_of_the_served_contract_loads_as_far_as_it_needs_what_is_served() {
    let bench = Bench::new(settings());
    for contract in ["0.1.0", "0.1.1", "0.1.99"] {
        let plugin = bench.load(Guest { contract, ..Guest::default() }.component()).await.unwrap_or_else(|e| panic!("{contract}: {e}"));
        assert_eq!(plugin.inspection().contract, contract);
        bench.bind(Kind::Flush, Guest { contract, ..Guest::default() }.component(), json!({})).await;
        assert_eq!(bench.flush("t").decide(&empty()), good(), "{contract}");
    }
    let needs_more = outline(&["tidegate:policy/history@0.1.7"], &["tidegate:policy/flush@0.1.7", "tidegate:policy/describe@0.1.7"]);
    let error = bench.load(needs_more).await.expect_err("this host has no history");
    assert_eq!(error.class(), FaultClass::Unsupported);
    assert!(error.problem().contains("history") && error.problem().contains("0.1.7") && error.problem().contains("serves 0.1"), "{error}");
}

#[tokio::test]
async fn another_major_is_refused_and_both_versions_are_named() {
    let bench = Bench::new(settings());
    for contract in ["0.0.9", "0.2.0", "0.10.0", "1.0.0", "0.1.0-rc.1"] {
        let error = bench.load(Guest { contract, ..Guest::default() }.component()).await.expect_err(contract);
        assert_eq!(error.class(), FaultClass::Unsupported, "{error}");
        assert!(error.problem().contains(contract) && error.problem().contains("serves 0.1"), "{error}");
    }
}

#[tokio::test]
async fn a_huge_table_is_refused_and_a_growing_one_is_denied() {
    let bench = Bench::new(settings());
    let error = bench.load(Guest { extra: "(table 20000 funcref)", ..Guest::default() }.component()).await.expect_err("20,000 elements");
    assert_eq!(error.class(), FaultClass::InitLimit);
    assert!(error.to_string().contains("policy.table_elements"), "{error}");
    let grows = "(if (i32.ne (table.grow $t (ref.null func) (i32.const 20000)) (i32.const -1)) (then (unreachable)))";
    let guest = Guest { extra: "(table $t 1 funcref)", at_trigger: grows, ..Guest::default() };
    bench.bind(Kind::Flush, guest.component(), json!({})).await;
    assert_eq!(bench.flush("t").decide(&trigger()), good(), "the guest goes on without");
}

#[tokio::test]
async fn a_component_that_asks_for_a_disabled_feature_is_told_which() {
    let bench = Bench::new(settings());
    let memory64 = component("(component (core module (memory i64 1)))");
    let error = bench.load(memory64).await.expect_err("64-bit memories are off");
    assert_eq!(error.class(), FaultClass::FeatureDisabled);
    assert!(error.problem().contains("memory64") && error.problem().contains("at byte"), "{error}");
}

#[tokio::test]
async fn a_schema_that_promises_what_nobody_checks_is_refused() {
    let bench = Bench::new(settings());
    for (schema, told) in
        [("{\"properties\":{\"a\":{\"pattern\":\"^x\"}}}", "`pattern`"), ("{", "no JSON"), ("{\"type\":\"int\"}", "`type`")]
    {
        let component = tidegate_tests::plugins::index_with_schema(schema).into();
        let error = bench.load(component).await.expect_err(schema);
        assert_eq!(error.class(), FaultClass::BadSchema, "{schema}: {error}");
        assert!(error.problem().contains(told) && is_safe(&error.to_string()), "{error}");
    }
}

#[tokio::test]
async fn a_config_is_tried_on_the_binding_that_brings_it() {
    let bench = Bench::new(settings());
    let plugin = bench.load(evil()).await.expect("it takes any config while it is loaded");
    let trial = crate::kit::binding(Kind::Flush, plugin, mode("mumble"));
    let error = bench.host.try_binding(&trial, &tidegate::policy::Context::default()).await.expect_err("there is no such mode");
    assert!(error.problem().contains("mumble") && error.problem().contains("evil-guest"), "{error}");
}
