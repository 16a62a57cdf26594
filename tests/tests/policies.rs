//! The bundled policies as components: what they say of themselves, how they are bound, and what a hostile one comes to.

use std::path::PathBuf;
use std::sync::Arc;

use tidegate::config::PolicySettings;
use tidegate::policy::wasm::LoadedPlugin;
use tidegate::policy::{ActiveBinding, Context, FlushDecision, FlushView, Kind, Policies, PolicyFault, PolicyHost, PolicySource};

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

#[test]
fn bundled_policies_describe_themselves_and_import_the_log_alone() {
    let bundled = [
        ("flush-adaptive", Kind::Flush),
        ("flush-budget", Kind::Flush),
        ("flush-latency", Kind::Flush),
        ("flush-threshold", Kind::Flush),
        ("index-density", Kind::Index),
        ("index-spacing", Kind::Index),
        ("read-ahead-adaptive", Kind::ReadAhead),
        ("read-ahead-fixed", Kind::ReadAhead),
        ("read-ahead-pace", Kind::ReadAhead),
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
        assert!(error.problem().contains("`max_age`") && error.problem().contains("flush-adaptive"), "{error}");
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
