//! Whoever writes such a guest is told by `tidegate plugin` what a host would call it: the class, before it ever is on a broker.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tidegate::policy::FaultClass;
use tidegate_tests::broker::binary;

use crate::calls::FAILURES;
use crate::kit::{evil, is_safe};
use crate::wat::{Guest, component, outline};

const LOOP: &str = "(loop (br 0))";

fn plugin(args: &[&str]) -> Output {
    Command::new(binary()).arg("plugin").args(args).args(["--json", "--init-deadline-ms", "500"]).output().expect("it runs")
}

/// What a command that fails says; it exits with 1.
fn refusal(args: &[&str]) -> String {
    let output = plugin(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
    // What the guest logged comes first.
    let last = said.lines().last().unwrap_or_default();
    let said: Value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{args:?}: {error}: {said}"));
    said["error"]["message"].as_str().expect("a message").to_owned()
}

fn refused_components() -> Vec<(&'static str, Vec<u8>, FaultClass)> {
    let (loops_at_start, endless) = (format!("(func $start {LOOP}) (start $start)"), format!("{LOOP} (unreachable)"));
    let good = Guest::default().component().to_vec();
    let wat = |text: &str| component(text).to_vec();
    let exports = ["tidegate:policy/flush@0.1.0", "tidegate:policy/describe@0.1.0"];
    vec![
        ("empty", Vec::new(), FaultClass::NotWasm),
        ("json", b"{\"name\": 1}".to_vec(), FaultClass::NotWasm),
        ("text", b"(component)".to_vec(), FaultClass::Text),
        ("core", b"\0asm\x01\0\0\0".to_vec(), FaultClass::CoreModule),
        ("compiled", b"\x7fELF\x02\x01\x01".to_vec(), FaultClass::Precompiled),
        ("half", good[..good.len() / 2].to_vec(), FaultClass::Truncated),
        ("memory64", wat("(component (core module (memory i64 1)))"), FaultClass::FeatureDisabled),
        ("sockets", outline(&["wasi:sockets/tcp@0.2.0"], &exports).to_vec(), FaultClass::ForbiddenImport),
        ("foreign", outline(&[], &["acme:thing/api@1.0.0"]).to_vec(), FaultClass::NoMarker),
        ("newer", Guest { contract: "0.9.0", ..Guest::default() }.component().to_vec(), FaultClass::Unsupported),
        ("mute", outline(&[], &exports[..1]).to_vec(), FaultClass::MissingExport),
        ("fat", Guest { pages: 65, ..Guest::default() }.component().to_vec(), FaultClass::InitOom),
        ("table", Guest { extra: "(table 20000 funcref)", ..Guest::default() }.component().to_vec(), FaultClass::InitLimit),
        ("start", Guest { extra: &loops_at_start, ..Guest::default() }.component().to_vec(), FaultClass::InitTimeout),
        ("describe", Guest { describe: LOOP, ..Guest::default() }.component().to_vec(), FaultClass::InitTimeout),
        ("init", Guest { init: &endless, ..Guest::default() }.component().to_vec(), FaultClass::InitTimeout),
        ("init traps", Guest { init: "(unreachable)", ..Guest::default() }.component().to_vec(), FaultClass::InitTrap),
        ("decide", Guest { decide: "(unreachable)", ..Guest::default() }.component().to_vec(), FaultClass::CanaryFailed),
        ("schema", tidegate_tests::plugins::index_with_schema("{\"anyOf\":[]}"), FaultClass::BadSchema),
    ]
}

#[test]
fn check_and_test_name_the_class_of_whatever_a_host_refuses_and_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    for (name, bytes, class) in refused_components() {
        let file = directory.path().join(format!("{name}.wasm"));
        std::fs::write(&file, bytes).unwrap();
        let file = file.to_str().unwrap();
        for command in ["check", "test", "inspect", "bench"] {
            let told = refusal(&[command, file]);
            assert!(told.contains(&format!("is refused: {class}: ")) && told.contains("; "), "{command} {name}: {told}");
            assert!(is_safe(&told), "{command} {name}: {told}");
        }
    }
}

#[test]
fn check_tries_a_guest_with_its_config_on_everyday_views() {
    let directory = tempfile::tempdir().unwrap();
    let file = in_a_file(directory.path());
    let cases = [
        (r#"{"mode": "trap", "at": "init"}"#, "init.trap"),
        (r#"{"mode": "loop", "at": "init"}"#, "init.timeout"),
        (r#"{"mode": "grow", "at": "init"}"#, "init.oom"),
        (r#"{"mode": "mumble"}"#, "init.config_rejected"),
        (r#"{"mode": "panic", "at": "data"}"#, "swap.canary_failed"),
    ];
    for (config, class) in cases {
        let told = refusal(&["check", &file, "--config", config]);
        assert!(told.contains(&format!("is refused: {class}: policy evil-guest ")), "{config}: {told}");
    }
    assert!(plugin(&["check", &file]).status.success());
}

fn in_a_file(directory: &Path) -> String {
    let file = directory.join("evil-guest.wasm");
    std::fs::write(&file, evil()).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn scenarios_name_the_class_of_every_way_to_fail_in_a_call() {
    let directory = tempfile::tempdir().unwrap();
    let file = in_a_file(directory.path());
    let scenario = |(mode, _): &(&str, FaultClass)| {
        format!(
            "[[scenario]]\nname = \"{mode}\"\nkind = \"flush\"\nconfig = {{ mode = \"{mode}\" }}\nstep = [{{}}, {{ view = {{ buffered_bytes = 666 }} }}]\n"
        )
    };
    let scenarios = directory.path().join("scenarios.toml");
    std::fs::write(&scenarios, FAILURES.iter().map(scenario).collect::<String>()).unwrap();
    let output = plugin(&["test", &file, "--scenarios", scenarios.to_str().unwrap(), "--decision-deadline-ms", "100"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    assert_eq!((&report["failed"], &report["passed"]), (&json!(FAILURES.len()), &json!(3)), "{report}");
    for (mode, class) in FAILURES {
        let told = report["scenarios"].as_array().unwrap().iter().find(|scenario| scenario["name"] == mode).expect(mode);
        assert_eq!(told["class"], class.as_str(), "{mode}: {told}");
        let problem = told["problem"].as_str().unwrap();
        assert!(problem.starts_with(&format!("step 2: {class}: ")) && is_safe(problem), "{mode}: {problem}");
        let costs = &told["steps"][0];
        assert!(costs["fuel"].as_u64().unwrap() > 0 && costs["memory_bytes"].as_u64().unwrap() > 0, "{mode}: {costs}");
    }
}
