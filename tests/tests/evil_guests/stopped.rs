//! A process that is stopped in the middle of a call, as a debugger, a hypervisor or a container's freezer does.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tidegate_tests::broker::{BrokerProcess, Cluster, plugin};
use tidegate_tests::load::{Load, check_equal, stored};

const STOPS: usize = 5;
/// Longer than the deadline that a call has.
const STOPPED: Duration = Duration::from_millis(500);
const DEADLINE_MS: u64 = 250;

async fn status(broker: &BrokerProcess) -> Result<Value> {
    let list = broker.tidegate(&["policy", "list"]).await?;
    list["status"].get(0).cloned().with_context(|| format!("nothing is bound: {list}"))
}

/// Nearly always in a call: each takes many milliseconds, well within the deadline. Were the time of a stop counted, each stop would be a fault,
/// and so many of them open the breaker; a busy machine alone may cause one or two.
#[tokio::test(flavor = "multi_thread")]
async fn an_innocent_call_survives_a_stop_of_the_process() -> Result<()> {
    let cluster = Cluster::local_with(|settings| settings.policy.decision_deadline_ms = DEADLINE_MS)?;
    let broker = cluster.start().await?;
    broker.tidegate(&["topic", "create", "orders"]).await?;
    let component = plugin("evil-guest");
    let component = component.to_str().context("a path in UTF-8")?;
    let config = r#"{"mode": "slow", "at": "data", "rounds": 30000000}"#;
    broker.tidegate(&["policy", "set", "*", "flush", component, "--config", config]).await?;
    let load = Load::start(broker.kafka(), "orders", 1, "load");
    while status(&broker).await?["calls"].as_u64() < Some(3) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for _ in 0..STOPS {
        broker.signal("-STOP").await?;
        tokio::time::sleep(STOPPED).await;
        broker.signal("-CONT").await?;
        load.progress_by(2).await?;
    }
    let status = status(&broker).await?;
    ensure!(status["breaker"] == "closed" && status["degraded"] == "", "an innocent policy is quarantined: {status}");
    let acked = load.stop().await?;
    check_equal(&acked, &stored(broker.kafka(), "orders").await?)?;
    Ok(())
}
