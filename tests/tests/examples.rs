//! The policies of `examples/` in other languages: they keep the contract, decide as their scenarios say, and run in a broker.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tidegate_tests::broker::{Cluster, binary, plugin};
use tidegate_tests::load::{Load, check_equal, stored};

/// What an interpreter of a few megabytes takes beyond the defaults: setting of `[policy]`, option of `plugin test`, value.
const LARGER: [(&str, u64); 4] =
    [("component-bytes", 32 << 20), ("memory-bytes", 64 << 20), ("init-deadline-ms", 5_000), ("compile-timeout-ms", 300_000)];
/// Indexes are made at a flush: so many records take dozens of them.
const RECORDS: u64 = 400;

/// Plays an example's scenarios; the report.
fn played(name: &str, limits: &[(&str, u64)]) -> Value {
    let component = plugin(&format!("examples/{name}"));
    let scenarios = format!("{}/../examples/{name}/scenarios.toml", env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(binary());
    command.args(["--json", "plugin", "test"]).arg(component).args(["--scenarios", &scenarios]);
    // A machine may be busy: how long a decision takes is not what is tried here.
    command.arg("--decision-deadline-ms=1000");
    command.args(limits.iter().map(|(limit, value)| format!("--{limit}={value}")));
    let output = command.output().expect("it runs");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{name}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Size of an example's component, in bytes.
fn size(name: &str) -> u64 {
    std::fs::metadata(plugin(&format!("examples/{name}"))).expect("it is built").len()
}

/// Binds an index policy of the examples on a broker with these limits; it decides under load, without a fault.
async fn decides_in_a_broker(name: &str, limits: &[(&str, u64)]) -> Result<()> {
    let limit = |name: &str| limits.iter().find(|(limit, _)| *limit == name).map(|(_, value)| *value);
    let cluster = Cluster::local_with(|settings| {
        let policy = &mut settings.policy;
        policy.component_bytes = limit("component-bytes").unwrap_or(policy.component_bytes);
        policy.memory_bytes = limit("memory-bytes").unwrap_or(policy.memory_bytes);
        policy.init_deadline_ms = limit("init-deadline-ms").unwrap_or(policy.init_deadline_ms);
        policy.compile_timeout_ms = limit("compile-timeout-ms").unwrap_or(policy.compile_timeout_ms);
        policy.decision_deadline_ms = 1_000;
    })?;
    let broker = cluster.start().await?;
    let component = plugin(&format!("examples/{name}"));
    let component = component.to_str().context("a path in UTF-8")?;
    broker.tidegate(&["policy", "set", "*", "index", component, "waste_percent=20"]).await?;
    broker.tidegate(&["topic", "create", "orders", "--partitions", "2"]).await?;
    let load = Load::start(broker.kafka(), "orders", 2, "load");
    load.progress_by(RECORDS).await?;
    check_equal(&load.stop().await?, &stored(broker.kafka(), "orders").await?)?;
    let status = broker.tidegate(&["policy", "list"]).await?["status"][0].clone();
    ensure!(status["plugin"] == name && status["degraded"] == "" && status["faults"] == 0, "{status}");
    ensure!(status["calls"].as_u64() > Some(0), "it is not asked: {status}");
    Ok(())
}

#[test]
fn a_policy_in_c_decides_as_its_scenarios_say_and_fits_in_a_few_kilobytes() {
    let report = played("policy-c", &[]);
    assert_eq!((&report["failed"], &report["passed"]), (&json!(0), &json!(4)), "{report}");
    assert!(size("policy-c") < 16 << 10, "{} bytes", size("policy-c"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs componentize-qjs from npm: `make examples` gets it"]
async fn a_policy_in_javascript_decides_under_the_default_limits() -> Result<()> {
    let report = played("policy-js", &[]);
    assert_eq!((&report["failed"], &report["passed"]), (&json!(0), &json!(4)), "{report}");
    assert!(size("policy-js") < 2 << 20, "{} bytes", size("policy-js"));
    decides_in_a_broker("policy-js", &[]).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs componentize-py from PyPI, and minutes: `make examples` gets it"]
async fn a_policy_in_python_decides_where_the_limits_have_room_for_an_interpreter() -> Result<()> {
    let report = played("policy-python", &LARGER);
    assert_eq!((&report["failed"], &report["passed"]), (&json!(0), &json!(4)), "{report}");
    assert!(size("policy-python") < 24 << 20, "{} bytes", size("policy-python"));
    let broker = Cluster::local()?.start().await?;
    let component = plugin("examples/policy-python");
    let component = component.to_str().context("a path in UTF-8")?;
    let refusal = broker.tidegate(&["policy", "set", "*", "index", component]).await.err().context("it is taken")?.to_string();
    ensure!(refusal.contains("policy.component_bytes"), "the remedy is missing: {refusal}");
    decides_in_a_broker("policy-python", &LARGER).await
}
