//! Registries as they are met: with passwords and tokens, over TLS, and not there when a broker starts.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tidegate::Settings;
use tidegate::config::RegistrySettings;
use tidegate_tests::broker::{BrokerProcess, Cluster, plugin};
use tidegate_tests::registry::{Access, Registry};
use tidegate_tests::security::pem;

const PATIENCE: Duration = Duration::from_secs(60);

/// Sets the policy `flush:1` of a registry, on a broker that knows the registry as `known`; the answer, or the refusal.
async fn set_from(registry: &Registry, known: RegistrySettings) -> Result<std::result::Result<Value, String>> {
    let cluster = Cluster::local_with(|s| drop(s.plugins.registry.insert(registry.name(), known)))?;
    let broker = cluster.start().await?;
    let place = format!("oci://{}/policies/flush:1", registry.name());
    Ok(broker.tidegate(&["policy", "set", "*", "flush", &place]).await.map_err(|refusal| refusal.to_string()))
}

async fn refusal(registry: &Registry, known: RegistrySettings, parts: &[&str]) -> Result<()> {
    let refusal = set_from(registry, known).await?.err().context("it is taken")?;
    parts.iter().try_for_each(|part| {
        ensure!(refusal.contains(part), "{part:?} is not in {refusal}");
        Ok(())
    })
}

/// A registry with a policy in it, and from then on this access.
async fn stocked(access: Access) -> Result<Registry> {
    let mut registry = Registry::start(Access::Open).await?;
    registry.push("policies/flush", "1", &std::fs::read(plugin("flush-threshold"))?, None)?;
    registry.begin(access).await?;
    Ok(registry)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_wants_tokens_is_asked_with_one_of_its_token_server() -> Result<()> {
    let registry = stocked(Access::Token).await?;
    let bound = set_from(&registry, registry.settings()).await?.map_err(anyhow::Error::msg)?;
    ensure!(bound["bindings"][0]["plugin"] == "flush-threshold", "{bound}");
    ensure!(registry.scopes() == ["repository:policies/flush:pull"], "one token is enough, for what is read: {:?}", registry.scopes());
    let wrong = RegistrySettings { password: "another".to_owned(), ..registry.settings() };
    refusal(&registry, wrong, &["load.unavailable", "/token", "401", "plugins.registry"]).await?;
    let nobody = RegistrySettings { plain_http: true, ..RegistrySettings::default() };
    refusal(&registry, nobody, &["load.unavailable", "/token", "401", "plugins.registry"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_is_believed_over_tls_only_by_an_authority_that_counts() -> Result<()> {
    let registry = stocked(Access::Tls).await?;
    let bound = set_from(&registry, registry.settings()).await?.map_err(anyhow::Error::msg)?;
    ensure!(bound["bindings"][0]["plugin"] == "flush-threshold", "{bound}");
    for ca in [None, Some(pem("stranger.pem"))] {
        refusal(&registry, RegistrySettings { ca, ..registry.settings() }, &["load.unavailable", "certificate", "ca"]).await?;
    }
    for (ca, problem) in [(pem("none.pem"), "No such file"), (pem("make.sh"), "no certificate")] {
        let known = RegistrySettings { ca: Some(ca), ..registry.settings() };
        refusal(&registry, known, &["load.unavailable", problem, "ca under plugins.registry"]).await?;
    }
    Ok(())
}

/// Entries of the status, once they say yes to `done`.
async fn once(broker: &BrokerProcess, done: impl Fn(&Value) -> bool) -> Result<Value> {
    let waiting = async {
        loop {
            let status = broker.tidegate(&["policy", "list"]).await?["status"].clone();
            if done(&status) {
                return anyhow::Ok(status);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.context("the bindings do not come to that")?
}

/// How many policies of the settings are awaited.
async fn awaited(broker: &BrokerProcess) -> Result<String> {
    let metrics = broker.metrics().await?;
    let value = metrics.lines().find_map(|line| line.strip_prefix("tidegate_runtime_bindings_awaited "));
    Ok(value.context("the metric is missing")?.to_owned())
}

fn degraded(entry: &Value) -> &str {
    entry["degraded"].as_str().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_settings_bind_comes_into_force_when_its_source_is_there() -> Result<()> {
    let mut registry = stocked(Access::Open).await?;
    registry.stop();
    let shelf = tempfile::tempdir()?;
    let file = shelf.path().join("late.wasm");
    let place = format!("oci://{}/policies/flush:1", registry.name());
    let rules = [
        json!({ "pattern": "a*", "kind": "flush", "plugin": place, "config": { "age_ms": 70 } }),
        json!({ "pattern": "b*", "kind": "flush", "plugin": file }),
        json!({ "pattern": "c*", "kind": "flush", "plugin": plugin("flush-threshold"), "digest": format!("sha256:{}", "0".repeat(64)) }),
    ];
    let cluster = Cluster::local_with(|s: &mut Settings| {
        s.plugins.registry.insert(registry.name(), registry.settings());
        s.plugins.retry_max_ms = 200;
        s.bindings = rules.into_iter().map(|rule| serde_json::from_value(rule).expect("a rule")).collect();
    })?;
    let broker = cluster.start().await?;
    let status = once(&broker, |_| true).await?;
    for at in [0, 1] {
        ensure!(degraded(&status[at]).contains("load.unavailable") && degraded(&status[at]).contains("tried again"), "{status}");
    }
    ensure!(degraded(&status[2]).contains("load.digest_mismatch") && !degraded(&status[2]).contains("tried again"), "{status}");
    ensure!(awaited(&broker).await? == "2", "one of the three is not worth a try");

    std::fs::copy(plugin("flush-adaptive"), &file)?;
    let status = once(&broker, |status| degraded(&status[1]).is_empty()).await?;
    ensure!(status[1]["plugin"] == "flush-adaptive" && !degraded(&status[0]).is_empty(), "{status}");
    registry.begin(Access::Open).await?;
    let status = once(&broker, |status| degraded(&status[0]).is_empty()).await?;
    ensure!(status[0]["plugin"] == "flush-threshold" && status[0]["generation"] == 0, "{status}");
    ensure!(!degraded(&status[2]).is_empty() && awaited(&broker).await? == "0", "{status}");
    let log = cluster.log();
    ensure!(log.matches("has come and is in force").count() == 2, "the operator is not told: {log}");
    // What is bound at run time stays above what came late.
    let component = plugin("flush-latency");
    broker.tidegate(&["policy", "set", "a*", "flush", component.to_str().context("a path in UTF-8")?]).await?;
    let list = broker.tidegate(&["policy", "list"]).await?;
    ensure!(list["status"].as_array().map(Vec::len) == Some(4) && list["status"][3]["plugin"] == "flush-latency", "{list}");
    Ok(())
}
