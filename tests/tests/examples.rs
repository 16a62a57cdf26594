//! The policies of `examples/` in other languages: they keep the contract, and decide as their scenarios say.

use std::process::Command;

use serde_json::{Value, json};
use tidegate_tests::broker::{binary, plugin};

/// Plays an example's scenarios; the report.
fn played(name: &str) -> Value {
    let component = plugin(&format!("examples/{name}"));
    let scenarios = format!("{}/../examples/{name}/scenarios.toml", env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(binary());
    let output = command.args(["--json", "plugin", "test"]).arg(component).args(["--scenarios", &scenarios]).output().expect("it runs");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{name}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn a_policy_in_c_decides_as_its_scenarios_say_and_fits_in_a_few_kilobytes() {
    let report = played("policy-c");
    assert_eq!((&report["failed"], &report["passed"]), (&json!(0), &json!(4)), "{report}");
    let size = std::fs::metadata(plugin("examples/policy-c")).expect("it is built").len();
    assert!(size < 16 << 10, "{size} bytes");
}
