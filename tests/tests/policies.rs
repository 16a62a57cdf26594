//! The bundled policies as components: what a host runs answers exactly as the same code run natively.

use std::path::PathBuf;
use std::sync::Arc;

use flush_adaptive::Adaptive;
use proptest::prelude::*;
use tidegate::config::PolicySettings;
use tidegate::policy::wasm::LoadedPlugin;
use tidegate::policy::{
    ActiveBinding, Context, Fault, FaultClass, FlushBounds, FlushDecision, FlushReason, FlushView, InitRequest, Kind, Policies,
    PolicyFault, PolicyHost, PolicySource,
};
use tidegate_guest::Flush;

const CONFIG: &str = r#"{"max_age_ms": 120, "puts_per_min": 600}"#;

fn component(name: &str) -> bytes::Bytes {
    let directory = std::env::var_os("TIDEGATE_PLUGINS").map(PathBuf::from);
    let directory = directory.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/plugins")));
    let path = directory.join(format!("{name}.wasm"));
    let built = std::fs::read(&path);
    let build = format!("cargo run -p tidegate-cli -- plugin build plugins/* tests/guests/* --out {}", directory.display());
    built.unwrap_or_else(|error| panic!("{}: {error}; build it first: {build}", path.display())).into()
}

fn host() -> PolicyHost {
    let settings = PolicySettings { decision_deadline_ms: 1_000, init_deadline_ms: 10_000, ..PolicySettings::default() };
    PolicyHost::inline(settings, Arc::default(), Arc::new(|fault: &PolicyFault| panic!("{}", fault.message)))
}

fn load(name: &str) -> Arc<LoadedPlugin> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(host().check_and_load(component(name))).expect("a bundled policy loads")
}

fn views() -> impl Strategy<Value = Vec<FlushView>> {
    let small = || prop_oneof![Just(0_u32), 0..8_u32, any::<u32>()];
    let large = || prop_oneof![Just(0_u64), 0..300_000_u64, any::<u64>()];
    let permille = || prop_oneof![Just(0_u32), 0..=1_000_u32];
    let reason =
        prop_oneof![Just(FlushReason::FirstAppend), Just(FlushReason::Bound), Just(FlushReason::UploadDone), Just(FlushReason::Pressure)];
    let sizes = (large(), large(), small(), large(), large(), large());
    let load = (small(), small(), small(), large(), large());
    let view = (reason, 0..200_u64, sizes, load, (permille(), permille(), permille()));
    prop::collection::vec(view, 1..40).prop_map(|steps| {
        let mut now_ms = 0;
        let step = |(reason, passed, sizes, load, shares): (
            FlushReason,
            u64,
            (u64, u64, u32, u64, u64, u64),
            (u32, u32, u32, u64, u64),
            (u32, u32, u32),
        )| {
            now_ms += passed;
            FlushView {
                reason,
                now_ms,
                buffered_bytes: sizes.0,
                buffered_records: sizes.1,
                buffered_partitions: sizes.2,
                oldest_age_us: sizes.3,
                quiet_us: sizes.4,
                arrival_bytes_per_s: sizes.5,
                arrival_batches_per_s: load.0,
                waiting_acks: load.1,
                uploads_in_flight: load.2,
                upload_p50_us: load.3,
                ack_p99_us: load.4,
                throttled_permille: shares.0,
                pressure_permille: shares.1,
                topic_put_share_permille: shares.2,
            }
        };
        steps.into_iter().map(step).collect()
    })
}

fn guest_view(view: &FlushView) -> tidegate_guest::FlushView {
    tidegate_guest::FlushView {
        reason: match view.reason {
            FlushReason::FirstAppend => tidegate_guest::FlushReason::FirstAppend,
            FlushReason::Bound => tidegate_guest::FlushReason::Bound,
            FlushReason::UploadDone => tidegate_guest::FlushReason::UploadDone,
            FlushReason::Pressure => tidegate_guest::FlushReason::Pressure,
        },
        now_ms: view.now_ms,
        buffered_bytes: view.buffered_bytes,
        buffered_records: view.buffered_records,
        buffered_partitions: view.buffered_partitions,
        oldest_age_us: view.oldest_age_us,
        quiet_us: view.quiet_us,
        arrival_bytes_per_s: view.arrival_bytes_per_s,
        arrival_batches_per_s: view.arrival_batches_per_s,
        waiting_acks: view.waiting_acks,
        uploads_in_flight: view.uploads_in_flight,
        upload_p50_us: view.upload_p50_us,
        ack_p99_us: view.ack_p99_us,
        throttled_permille: view.throttled_permille,
        pressure_permille: view.pressure_permille,
        topic_put_share_permille: view.topic_put_share_permille,
    }
}

fn host_decision(decision: tidegate_guest::FlushDecision) -> FlushDecision {
    match decision {
        tidegate_guest::FlushDecision::Now => FlushDecision::Now,
        tidegate_guest::FlushDecision::Wait(bounds) => FlushDecision::Wait(FlushBounds {
            bytes: bounds.bytes,
            records: bounds.records,
            age_us: bounds.age_us,
            quiet_us: bounds.quiet_us,
            uploads_at_most: bounds.uploads_at_most,
        }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn native_and_wasm_answers_of_flush_adaptive_are_equal(views in views()) {
        static PLUGIN: std::sync::LazyLock<Arc<LoadedPlugin>> = std::sync::LazyLock::new(|| load("flush-adaptive"));
        let mut native: Adaptive = tidegate_guest::create(CONFIG, &tidegate_guest::Context::default()).expect("a config of its own");
        let request = InitRequest { topic: "t", config: CONFIG, context: &Context::default() };
        let mut wasm = PLUGIN.flush(&request).expect("the same config");
        for view in &views {
            let expected = host_decision(native.decide(&guest_view(view)));
            prop_assert_eq!(wasm.decide(view).expect("a bundled policy does not fail"), expected, "{:?}", view);
        }
    }
}

#[test]
fn bundled_policies_describe_themselves_and_import_the_log_alone() {
    let bundled = [
        ("flush-adaptive", Kind::Flush),
        ("flush-threshold", Kind::Flush),
        ("index-spacing", Kind::Index),
        ("read-ahead-fixed", Kind::ReadAhead),
    ];
    for (name, kind) in bundled {
        let found = load(name).inspection().clone();
        assert_eq!((found.name.as_str(), found.kinds.as_slice()), (name, [kind].as_slice()));
        let foreign: Vec<&String> = found.imports.iter().filter(|import| !import.starts_with("tidegate:policy/")).collect();
        assert!(foreign.is_empty(), "{name} imports {foreign:?}");
        let schema: serde_json::Value = serde_json::from_str(&found.config_schema).expect("its schema is JSON");
        assert_eq!(schema["additionalProperties"], false, "{name}");
    }
}

#[test]
fn an_unknown_key_of_a_config_reaches_whoever_binds() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let host = host();
        let plugin: Arc<dyn PolicySource> = host.check_and_load(component("flush-adaptive")).await.expect("a bundled policy loads");
        let config = serde_json::json!({"max_age": 5});
        let binding = ActiveBinding { pattern: "*".into(), kind: Kind::Flush, plugin: Ok(plugin), config, source: "test".into() };
        let error = host.try_binding(&binding, &Context::default()).await.expect_err("there is no such key");
        assert!(error.message().contains("`max_age`") && error.message().contains("flush-adaptive"), "{error}");
    });
}

#[test]
fn a_bound_component_decides_for_its_topic() {
    let host = host();
    let plugin: Arc<dyn PolicySource> = load("flush-threshold");
    let config = serde_json::json!({"bytes": 12_345});
    let binding = ActiveBinding { pattern: "logs-*".into(), kind: Kind::Flush, plugin: Ok(plugin), config, source: "test".into() };
    host.set_bindings(vec![binding]).expect("the binding is right");
    let decided = host.flush("logs-a", &Context::default()).decide(&FlushView::default());
    assert!(matches!(decided, FlushDecision::Wait(bounds) if bounds.bytes == 12_345), "{decided:?}");
}

/// The fault of the evil guest in a mode, on a worker of a runtime, as a lane asks.
fn fault_of(plugin: &Arc<LoadedPlugin>, mode: &str) -> Fault {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
    let config = format!(r#"{{"mode": "{mode}"}}"#);
    let plugin = plugin.clone();
    let asked = runtime.spawn(async move {
        let request = InitRequest { topic: "t", config: &config, context: &Context::default() };
        let mut policy = plugin.flush(&request).expect("it initialises");
        policy.decide(&FlushView::default()).expect("it is well behaved at first");
        policy.decide(&FlushView { buffered_bytes: 666, ..FlushView::default() }).expect_err("then it is not")
    });
    runtime.block_on(asked).expect("the task survives")
}

#[test]
fn a_std_guest_that_misbehaves_on_a_worker_is_a_fault_of_its_class() {
    let plugin = load("evil-guest");
    let cases = [
        ("loop", FaultClass::Timeout),
        ("panic", FaultClass::Panic),
        ("recurse", FaultClass::Stack),
        ("grow", FaultClass::Oom),
        ("chatter", FaultClass::Timeout),
    ];
    for (mode, class) in cases {
        let fault = fault_of(&plugin, mode);
        assert_eq!(fault.class, class, "{mode}: {fault}");
        assert!(fault.message.len() < 1_024 && !fault.message.contains(char::is_control), "{mode}: {fault}");
    }
    assert!(fault_of(&plugin, "panic").message.contains(r"evil\n\u{1b}[2Jboom"));
}
