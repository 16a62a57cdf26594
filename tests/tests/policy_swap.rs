//! Policies of a running broker, bound and unbound over the admin API while producers go on.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tidegate_tests::broker::{BrokerProcess, Cluster, plugin};
use tidegate_tests::load::{Load, check_equal, stored};

const TOPIC: &str = "orders";
const PARTITIONS: i32 = 4;
const RECORDS: u64 = 400;
const PATIENCE: Duration = Duration::from_secs(60);

async fn set(broker: &BrokerProcess, pattern: &str, plugin_name: &str) -> Result<Value> {
    let component = plugin(plugin_name);
    broker.tidegate(&["policy", "set", pattern, "flush", component.to_str().context("a path in UTF-8")?]).await
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

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_changes_under_load_without_error_gap_or_duplicate() -> Result<()> {
    let cluster = Cluster::local()?;
    let broker = cluster.start().await?;
    broker.tidegate(&["topic", "create", TOPIC, "--partitions", &PARTITIONS.to_string()]).await?;
    let load = Load::start(broker.kafka(), TOPIC, PARTITIONS, "load");
    load.progress_by(RECORDS).await?;
    for name in ["flush-threshold", "flush-adaptive", "flush-threshold"] {
        set(&broker, "ord*", name).await?;
        let status = asked(&broker, "ord*").await?;
        ensure!(status["degraded"] == "" && status["faults"] == 0, "{name}: {status}");
        load.progress_by(RECORDS).await?;
    }
    broker.tidegate(&["policy", "unset", "ord*", "flush"]).await?;
    load.progress_by(RECORDS).await?;
    let acked = load.stop().await?;
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
async fn a_looping_policy_loses_nothing_and_leaves_other_topics_alone() -> Result<()> {
    let cluster = Cluster::local()?;
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
