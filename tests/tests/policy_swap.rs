//! Policies of a running broker, bound and unbound over the admin API while producers go on.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tidegate::Settings;
use tidegate_tests::broker::{BrokerProcess, Cluster, plugin};
use tidegate_tests::load::{Load, check_equal, stored};

const TOPIC: &str = "orders";
const PARTITIONS: i32 = 4;
const RECORDS: u64 = 400;
const PATIENCE: Duration = Duration::from_secs(60);

async fn set(broker: &BrokerProcess, pattern: &str, plugin_name: &str) -> Result<Value> {
    set_with(broker, pattern, plugin_name, "{}").await
}

async fn set_with(broker: &BrokerProcess, pattern: &str, plugin_name: &str, config: &str) -> Result<Value> {
    let component = plugin(plugin_name);
    let component = component.to_str().context("a path in UTF-8")?;
    broker.tidegate(&["policy", "set", pattern, "flush", component, "--config", config, "--by", "tester"]).await
}

/// The status of the flush binding of a pattern.
async fn status(broker: &BrokerProcess, pattern: &str) -> Result<Value> {
    let list = broker.tidegate(&["policy", "list"]).await?;
    let found = list["status"].as_array().into_iter().flatten().find(|s| s["pattern"] == pattern && s["kind"] == "flush");
    found.cloned().with_context(|| format!("no flush binding for {pattern} in {list}"))
}

/// Waits until the binding of a pattern has been asked.
async fn asked(broker: &BrokerProcess, pattern: &str) -> Result<Value> {
    counted(broker, pattern, "calls").await
}

/// A busy machine is no fault of a healthy policy: what is told apart here is loops from answers, not fast from slow.
fn patient(settings: &mut Settings) {
    settings.policy.decision_deadline_ms = 200;
}

/// Waits until the binding of a pattern has failed.
async fn faulty(broker: &BrokerProcess, pattern: &str) -> Result<Value> {
    counted(broker, pattern, "faults").await
}

async fn counted(broker: &BrokerProcess, pattern: &str, counter: &str) -> Result<Value> {
    let waiting = async {
        loop {
            let status = status(broker, pattern).await?;
            if status[counter].as_u64() > Some(0) {
                return anyhow::Ok(status);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.with_context(|| format!("no {counter} are counted for {pattern}"))?
}

/// Plugin and config in force for a pattern, once it has been asked without a fault and some more records came through.
async fn decides(broker: &BrokerProcess, load: &Load, pattern: &str) -> Result<(String, Value)> {
    let status = asked(broker, pattern).await?;
    ensure!(status["degraded"] == "" && status["faults"] == 0, "a healthy policy is in trouble: {status}");
    load.progress_by(RECORDS).await?;
    let list = broker.tidegate(&["policy", "list"]).await?;
    let bound = list["bindings"].as_array().into_iter().flatten().find(|b| b["pattern"] == pattern);
    let bound = bound.with_context(|| format!("{pattern} is not bound: {list}"))?;
    ensure!(bound["plugin"] == status["plugin"] && bound["generation"] == status["generation"], "{bound} but {status}");
    Ok((bound["plugin"].as_str().unwrap_or_default().to_owned(), bound["config"].clone()))
}

/// Action, plugin and class of each entry of the history.
fn told(history: &Value) -> Vec<(String, String, String)> {
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let entries = history["history"].as_array().into_iter().flatten();
    entries.map(|entry| (text(entry, "action"), text(entry, "plugin"), text(entry, "class"))).collect()
}

/// What the whole swap below leaves in the history.
const STORY: [(&str, &str, &str); 8] = [
    ("set", "flush-threshold", ""),
    ("set", "flush-adaptive", ""),
    ("set", "flush-adaptive", ""),
    ("refused", "flush-loop", "swap.canary_failed"),
    ("refused", "", "load.not_wasm"),
    ("rollback", "flush-adaptive", "swap.rolled_back"),
    ("rollback", "flush-threshold", "swap.rolled_back"),
    ("unset", "", ""),
];

/// Swaps, changes a config, tries two broken plugins, rolls back twice, unsets: all while `load` goes on.
async fn whole_swap(broker: &BrokerProcess, load: &Load) -> Result<()> {
    const PATTERN: &str = "ord*";
    let is = |plugin: &str, config: &str| -> Result<(String, Value)> { Ok((plugin.to_owned(), serde_json::from_str(config)?)) };
    set(broker, PATTERN, "flush-threshold").await?;
    ensure!(decides(broker, load, PATTERN).await? == is("flush-threshold", "{}")?, "the first");
    let another = set(broker, PATTERN, "flush-adaptive").await?;
    ensure!(another["state"] == "", "another policy takes over a state: {another}");
    ensure!(decides(broker, load, PATTERN).await? == is("flush-adaptive", "{}")?, "the swap");
    let config = r#"{"max_age_ms": 50}"#;
    let warm = set_with(broker, PATTERN, "flush-adaptive", config).await?;
    ensure!(warm["state"] == "warm", "another config starts cold: {warm}");
    let again = set_with(broker, PATTERN, "flush-adaptive", config).await?;
    ensure!(again["changed"] == false, "the same again is a change: {again}");
    ensure!(decides(broker, load, PATTERN).await? == is("flush-adaptive", config)?, "the config");
    let status = status(broker, PATTERN).await?;
    ensure!(status["warm"].as_u64() > Some(0) && status["cold"] == 0, "no lane started warm: {status}");

    let refusal = set_with(broker, PATTERN, "flush-loop", r#"{"decision": 1}"#).await.err().context("a loop was bound")?.to_string();
    ensure!(refusal.contains("swap.canary_failed") && refusal.contains("topic orders"), "it does not say why: {refusal}");
    let settings = env!("CARGO_MANIFEST_PATH");
    let refusal = broker.tidegate(&["policy", "set", PATTERN, "flush", settings]).await.err().context("a text was bound")?.to_string();
    ensure!(refusal.contains("load.not_wasm"), "it does not say why: {refusal}");
    ensure!(decides(broker, load, PATTERN).await? == is("flush-adaptive", config)?, "the old policy stays");

    broker.tidegate(&["policy", "rollback", PATTERN, "flush"]).await?;
    ensure!(decides(broker, load, PATTERN).await? == is("flush-adaptive", "{}")?, "the rollback");
    broker.tidegate(&["policy", "rollback", PATTERN, "flush", "--to", "1"]).await?;
    ensure!(decides(broker, load, PATTERN).await? == is("flush-threshold", "{}")?, "the rollback to a generation");
    broker.tidegate(&["policy", "unset", PATTERN, "flush"]).await?;
    load.progress_by(RECORDS).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_swap_under_load_loses_nothing_and_its_history_survives_a_crash() -> Result<()> {
    let cluster = Cluster::local_with(patient)?;
    let broker = cluster.start().await?;
    broker.tidegate(&["topic", "create", TOPIC, "--partitions", &PARTITIONS.to_string()]).await?;
    let load = Load::start(broker.kafka(), TOPIC, PARTITIONS, "load");
    load.progress_by(RECORDS).await?;
    whole_swap(&broker, &load).await?;
    let acked = load.stop().await?;
    check_equal(&acked, &stored(broker.kafka(), TOPIC).await?)?;
    let history = broker.tidegate(&["policy", "history"]).await?;
    let expected = STORY.map(|(action, plugin, class)| (action.to_owned(), plugin.to_owned(), class.to_owned()));
    ensure!(told(&history) == expected, "another story: {history}");
    let filtered = broker.tidegate(&["policy", "history", "--pattern", "ord*", "--kind", "flush"]).await?;
    ensure!(filtered == history, "all of it is of this pattern: {filtered}");
    broker.tidegate(&["policy", "rollback", "ord*", "flush"]).await?;
    let (bindings, history) = (broker.tidegate(&["policy", "list"]).await?, broker.tidegate(&["policy", "history"]).await?);
    broker.kill().await?;

    let broker = cluster.start().await?;
    let after = broker.tidegate(&["policy", "list"]).await?;
    ensure!(after["bindings"] == bindings["bindings"] && after["generation"] == bindings["generation"], "{bindings} became {after}");
    ensure!(broker.tidegate(&["policy", "history"]).await? == history, "the history changed: {history}");
    broker.tidegate(&["policy", "rollback", "ord*", "flush", "--to", "3"]).await?;
    broker.tidegate(&["topic", "create", "orders-after"]).await?;
    let load = Load::start(broker.kafka(), "orders-after", 1, "after");
    let config = serde_json::json!({"max_age_ms": 50});
    ensure!(decides(&broker, &load, "ord*").await? == ("flush-adaptive".to_owned(), config), "the rollback after the restart");
    load.stop().await?;
    check_equal(&acked, &stored(broker.kafka(), TOPIC).await?)?;
    ensure!(broker.terminate().await?.success(), "the stop failed: {}", cluster.log());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binding_survives_a_restart() -> Result<()> {
    let cluster = Cluster::local()?;
    let broker = cluster.start().await?;
    set(&broker, "*", "flush-threshold").await?;
    let before = status(&broker, "*").await?;
    broker.kill().await?;

    let broker = cluster.start().await?;
    broker.tidegate(&["topic", "create", TOPIC]).await?;
    let load = Load::start(broker.kafka(), TOPIC, 1, "after");
    load.progress_by(RECORDS).await?;
    let after = asked(&broker, "*").await?;
    ensure!(before["digest"] == after["digest"], "another component: {before}, {after}");
    load.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_config_is_refused_in_the_same_words_at_boot_and_at_run_time() -> Result<()> {
    for (config, key) in [(r#"{"max_age": 5}"#, "`max_age`"), (r#"{"max_age_ms": "x"}"#, r#""x""#)] {
        let cluster = Cluster::local()?;
        let rule = serde_json::json!([{
            "pattern": "*", "kind": "flush", "plugin": plugin("flush-adaptive"), "config": serde_json::from_str::<Value>(config)?,
        }]);
        let mut settings: toml::Table = std::fs::read_to_string(cluster.settings_file())?.parse()?;
        settings.insert("binding".to_owned(), toml::Value::try_from(rule)?);
        std::fs::write(cluster.settings_file(), settings.to_string())?;
        let broker = cluster.start().await?;
        let at_boot = status(&broker, "*").await?["degraded"].as_str().unwrap_or_default().to_owned();
        ensure!(at_boot.contains("init.config_rejected") && at_boot.contains(key), "at boot: {at_boot:?}");
        let at_run_time = set_with(&broker, "*", "flush-adaptive", config).await.err().context("it was bound")?.to_string();
        let told: Value = serde_json::from_str(at_run_time.split_once("failed: ").context("no failure")?.1)?;
        let message = told["error"]["message"].as_str().unwrap_or_default();
        ensure!(message.ends_with(&at_boot), "at run time {message:?}, at boot {at_boot:?}");
        ensure!(told["error"]["class"] == "init.config_rejected", "{told}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_looping_policy_loses_nothing_and_leaves_other_topics_alone() -> Result<()> {
    let cluster = Cluster::local_with(patient)?;
    let broker = cluster.start().await?;
    for topic in ["looping", "quiet"] {
        broker.tidegate(&["topic", "create", topic, "--partitions", "2"]).await?;
    }
    set(&broker, "quiet", "flush-threshold").await?;
    let component = plugin("flush-loop");
    let component = component.to_str().context("a path in UTF-8")?;
    broker.tidegate(&["policy", "set", "looping", "flush", component]).await?;
    let loads = ["looping", "quiet"].map(|topic| (topic, Load::start(broker.kafka(), topic, 2, topic)));
    for (_, load) in &loads {
        load.progress_by(RECORDS).await?;
    }
    let looping = faulty(&broker, "looping").await?;
    ensure!(looping["last_class"].as_str().is_some_and(|class| class.contains("timeout")), "another fault: {looping}");
    let quiet = asked(&broker, "quiet").await?;
    ensure!(quiet["faults"] == 0 && quiet["degraded"] == "", "a neighbour's policy suffers: {quiet}");
    for (topic, load) in loads {
        let acked = load.stop().await?;
        check_equal(&acked, &stored(broker.kafka(), topic).await?)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_component_is_refused_and_changes_nothing() -> Result<()> {
    let cluster = Cluster::local()?;
    let broker = cluster.start().await?;
    set(&broker, "*", "flush-threshold").await?;
    let before = broker.tidegate(&["policy", "list"]).await?;
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("no.wasm");
    std::fs::write(&file, b"{\"not\": \"wasm\"}")?;
    let refusal = broker.tidegate(&["policy", "set", "*", "flush", file.to_str().context("a path in UTF-8")?]).await;
    ensure!(refusal.is_err(), "accepted: {refusal:?}");
    let after = broker.tidegate(&["policy", "list"]).await?;
    ensure!(before["bindings"] == after["bindings"], "{before} became {after}");
    Ok(())
}
