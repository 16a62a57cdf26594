//! A candidate beside the live policy of a running broker, over the command line: begun, looked at, promoted or dropped, under load.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tidegate_tests::broker::{BrokerProcess, Cluster, plugin};
use tidegate_tests::load::{Load, check_equal, stored};

const TOPIC: &str = "orders";
const RECORDS: u64 = 400;
const PATIENCE: Duration = Duration::from_secs(60);

async fn shadow(broker: &BrokerProcess, candidate: &str, config: &str) -> Result<Value> {
    let component = plugin(candidate);
    let component = component.to_str().context("a path in UTF-8")?;
    broker.tidegate(&["policy", "shadow", "ord*", "flush", component, "--config", config, "--by", "tester"]).await
}

/// The only shadow, once it says yes to `done`.
async fn once(broker: &BrokerProcess, done: impl Fn(&Value) -> bool) -> Result<Value> {
    let waiting = async {
        loop {
            let status = broker.tidegate(&["policy", "shadow", "status"]).await?["shadows"][0].clone();
            if done(&status) {
                return anyhow::Ok(status);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.context("the shadow does not come to that")?
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_runs_beside_the_live_policy_and_is_promoted() -> Result<()> {
    let cluster = Cluster::local_with(|settings| settings.policy.decision_deadline_ms = 200)?;
    let broker = cluster.start().await?;
    broker.tidegate(&["topic", "create", TOPIC, "--partitions", "2"]).await?;
    let load = Load::start(broker.kafka(), TOPIC, 2, "load");
    load.progress_by(RECORDS).await?;
    shadow(&broker, "flush-adaptive", r#"{"max_age_ms": 50}"#).await?;
    let status = once(&broker, |status| status["compared"].as_u64() > Some(20)).await?;
    ensure!(status["faults"] == 0 && status["dropped"] == "" && status["plugin"] == "flush-adaptive", "{status}");
    ensure!(status["live"]["requests"] == status["compared"] && status["candidate"]["nano_dollars"].as_u64() > Some(0), "{status}");
    let list = broker.tidegate(&["policy", "list"]).await?;
    ensure!(list["bindings"].as_array().is_some_and(Vec::is_empty) && list["generation"] == 0, "it acts: {list}");

    let promoted = broker.tidegate(&["policy", "shadow", "promote", "ord*", "flush", "--by", "tester"]).await?;
    ensure!(promoted["bindings"][0]["config"]["max_age_ms"] == 50 && promoted["bindings"][0]["by"] == "tester", "{promoted}");
    let left = broker.tidegate(&["policy", "shadow", "status"]).await?;
    ensure!(left["shadows"].as_array().is_some_and(Vec::is_empty), "it runs on: {left}");
    let history = broker.tidegate(&["policy", "history"]).await?;
    ensure!(history["history"].as_array().map(Vec::len) == Some(1), "{history}");
    load.progress_by(RECORDS).await?;
    check_equal(&load.stop().await?, &stored(broker.kafka(), TOPIC).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_looping_candidate_is_dropped_by_itself_and_loses_nothing() -> Result<()> {
    // Rounds of retention come while it runs, however fast the machine is.
    let cluster = Cluster::local_with(|settings| settings.host.retention_interval_ms = 100)?;
    let broker = cluster.start().await?;
    broker.tidegate(&["topic", "create", TOPIC, "--partitions", "2"]).await?;
    let load = Load::start(broker.kafka(), TOPIC, 2, "load");
    load.progress_by(RECORDS).await?;
    // It is good while it is tried out.
    shadow(&broker, "evil-guest", r#"{"mode": "loop", "at": {"from": 50}}"#).await?;
    let status = once(&broker, |status| status["dropped"] != "").await?;
    ensure!(status["last_class"] == "call.timeout" && status["faults"] == 5, "{status}");
    let refusal = broker.tidegate(&["policy", "shadow", "promote", "ord*", "flush"]).await.err().context("it is bound")?.to_string();
    ensure!(refusal.contains("was dropped after 5 faults"), "{refusal}");
    let dropped = broker.tidegate(&["policy", "shadow", "drop", "ord*", "flush"]).await?;
    ensure!(dropped["shadows"][0]["last_class"] == "call.timeout", "{dropped}");
    let again = broker.tidegate(&["policy", "shadow", "drop", "ord*", "flush"]).await.err().context("it is there")?.to_string();
    ensure!(again.contains("not_found") && again.contains("no flush candidate"), "{again}");
    load.progress_by(RECORDS).await?;
    check_equal(&load.stop().await?, &stored(broker.kafka(), TOPIC).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_is_refused_like_a_binding_and_ends_with_the_process() -> Result<()> {
    let cluster = Cluster::local()?;
    let broker = cluster.start().await?;
    let refusal = shadow(&broker, "flush-adaptive", r#"{"max_age": 5}"#).await.err().context("it runs")?.to_string();
    ensure!(refusal.contains("init.config_rejected") && refusal.contains("max_age"), "{refusal}");
    shadow(&broker, "flush-adaptive", "{}").await?;
    broker.kill().await?;
    let broker = cluster.start().await?;
    let left = broker.tidegate(&["policy", "shadow", "status"]).await?;
    ensure!(left["shadows"].as_array().is_some_and(Vec::is_empty), "{left}");
    Ok(())
}
