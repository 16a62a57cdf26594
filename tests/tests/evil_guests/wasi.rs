//! A guest as its own toolchain makes it, with all that a standard library imports, asked on a worker of a runtime as a lane asks.

use std::sync::Arc;

use serde_json::json;
use tidegate::policy::wasm::LoadedPlugin;
use tidegate::policy::{Context, Fault, FaultClass, FlushDecision, FlushView, InitRequest, PolicySource};

use crate::kit::{Bench, GOOD, built, empty, is_safe, settings, trigger};

/// Asks once well and once at the trigger.
fn ask(plugin: &Arc<LoadedPlugin>, mode: &str) -> Result<FlushDecision, Fault> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (plugin, config) = (plugin.clone(), json!({"mode": mode}).to_string());
    let asked = runtime.spawn(async move {
        let request = InitRequest { topic: "t", config: &config, context: &Context::default() };
        let mut policy = plugin.flush(&request).expect("it initialises");
        policy.decide(&empty()).expect("it is well behaved at first");
        policy.decide(&trigger())
    });
    runtime.block_on(asked).expect("the task on the worker survives")
}

fn load(name: &str) -> Arc<LoadedPlugin> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(Bench::new(settings()).load(built(name))).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn a_std_guest_loads_with_inert_wasi_and_its_misbehaviour_is_a_fault_of_its_class() {
    let plugin = load("wasi/evil-guest");
    let foreign = plugin.inspection().imports.iter().filter(|import| import.starts_with("wasi:")).count();
    assert!(foreign > 5, "it is no guest of a standard library: {:?}", plugin.inspection().imports);
    let cases = [
        ("loop", FaultClass::Timeout),
        ("chatter", FaultClass::Timeout),
        ("trap", FaultClass::Trap),
        ("panic", FaultClass::Panic),
        ("recurse", FaultClass::Stack),
        ("grow", FaultClass::Oom),
        ("exit", FaultClass::Limit),
        ("clock", FaultClass::Limit),
    ];
    for (mode, class) in cases {
        let fault = ask(&plugin, mode).expect_err(mode);
        assert_eq!(fault.class, class, "{mode}: {fault}");
        assert!(is_safe(&fault.message), "{mode}: {fault}");
    }
    let refused = ask(&plugin, "clock").unwrap_err();
    assert!(refused.message.contains("wasi:clocks/wall-clock"), "{refused}");
    let refused = ask(&plugin, "exit").unwrap_err();
    assert!(refused.message.contains("wasi:cli/exit"), "{refused}");
}

#[test]
fn chance_is_the_same_for_every_guest_on_every_host() {
    let plugin = load("wasi/evil-guest");
    for mode in ["good", "random"] {
        let decided = ask(&plugin, mode).unwrap_or_else(|fault| panic!("{mode}: {fault}"));
        assert!(matches!(decided, FlushDecision::Wait(bounds) if bounds.bytes == GOOD), "{mode}: {decided:?}");
    }
}

#[test]
fn both_builds_of_one_guest_decide_alike() {
    let (plain, wasi) = (load("evil-guest"), load("wasi/evil-guest"));
    assert!(plain.inspection().imports.iter().all(|import| import.starts_with("tidegate:policy/")), "{:?}", plain.inspection().imports);
    let mut policies = [plain, wasi].map(|plugin| {
        plugin.flush(&InitRequest {
            topic: "t",
            config: r#"{"mode": "value", "value": 7, "at": {"call": 3}}"#,
            context: &Context::default(),
        })
    });
    for call in 0..5 {
        let [plain, wasi] = policies.each_mut().map(|policy| policy.as_mut().expect("it initialises").decide(&FlushView::default()));
        assert_eq!(plain.unwrap(), wasi.unwrap(), "call {call}");
    }
}
