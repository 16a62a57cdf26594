//! P20: a config that is wrong is told in the same words at the command line, by the API and at boot, and the words name the key.

#![allow(clippy::unwrap_used, reason = "the steps of a scenario are functions, not only those marked as tests")]

use serde_json::{Value, json};
use tidegate::config::BindingRule;
use tidegate::policy::Kind;
use tidegate_tests::broker::{BrokerProcess, Cluster, plugin, tidegate};

/// A config, and how the key, what was found and what was expected are told.
fn cases() -> Vec<(Value, &'static str)> {
    vec![
        (json!({"target": 5}), "config key `target` is unknown, expected one of `idle_age_ms`, `max_bytes`, `target_ms`"),
        (json!({"target_ms": "5"}), "config key `target_ms` is \"5\" (a string), expected an integer of 1 to 60000"),
        (json!({"target_ms": 0}), "config key `target_ms` is 0, expected an integer of 1 to 60000"),
    ]
}

/// What is said in front of it, whoever says it.
const SAID: &str = "init.config_rejected: policy flush-latency cannot be bound: ";

/// The sentence about the config, out of whatever it was told with.
fn sentence(told: &str) -> String {
    let from = told.find(SAID).unwrap_or_else(|| panic!("not told as {SAID:?}: {told}"));
    told[from..].trim_end().to_owned()
}

async fn at_boot(config: &Value) -> anyhow::Result<String> {
    let component = plugin("flush-latency").display().to_string();
    let table = toml::Table::try_from(config)?;
    let rule = BindingRule { pattern: "*".into(), kind: Kind::Flush, plugin: component, digest: None, config: table };
    let broker = Cluster::local_with(|settings| settings.bindings.push(rule))?;
    let running = broker.start().await?;
    let listed = running.tidegate(&["policy", "list"]).await?;
    let told = listed["status"][0]["degraded"].as_str().unwrap().to_owned();
    assert!(broker.log().contains("a policy of the settings is not in force"), "{}", broker.log());
    running.terminate().await?;
    Ok(told)
}

/// The status and the body of the API's answer.
async fn asked(broker: &BrokerProcess, config: &Value) -> anyhow::Result<(u16, Value)> {
    use base64::Engine;
    let component = base64::engine::general_purpose::STANDARD.encode(std::fs::read(plugin("flush-latency"))?);
    let body = json!({"pattern": "*", "kind": "flush", "component": component, "config": config});
    let url = format!("{}/v1/policies", broker.admin());
    let told = tokio::task::spawn_blocking(move || {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let mut answer = agent.put(&url).send_json(&body)?;
        let told: Value = answer.body_mut().read_json()?;
        Ok((answer.status().as_u16(), told))
    });
    told.await?
}

async fn by_the_api(broker: &BrokerProcess, config: &Value) -> anyhow::Result<String> {
    let (status, told) = asked(broker, config).await?;
    assert_eq!((status, &told["error"]["class"]), (400, &json!("init.config_rejected")), "{told}");
    Ok(told["error"]["message"].as_str().unwrap().to_owned())
}

/// The message of a command that must fail.
async fn by_a_command(args: &[&str]) -> anyhow::Result<String> {
    let (code, said) = tidegate(args, "").await?.expect_err("the config is wrong");
    assert_eq!(code, Some(1), "{said}");
    let said: Value = serde_json::from_str(said.trim())?;
    Ok(said["error"]["message"].as_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_config_is_told_in_the_same_words_wherever_it_comes_from() -> anyhow::Result<()> {
    let cluster = Cluster::local()?;
    let broker = cluster.start().await?;
    let component = plugin("flush-latency").display().to_string();
    for (config, expected) in cases() {
        let text = config.to_string();
        let check = sentence(&by_a_command(&["plugin", "check", &component, "--config", &text]).await?);
        assert!(check.starts_with(&format!("{SAID}{expected}; ")), "{check}");
        let set = ["policy", "set", "*", "flush", &component, "--config", &text, "--admin", broker.admin()];
        assert_eq!(sentence(&by_a_command(&set).await?), check, "policy set");
        assert_eq!(sentence(&by_the_api(&broker, &config).await?), check, "the API");
        assert_eq!(sentence(&at_boot(&config).await?), check, "boot");
    }
    let listed = broker.tidegate(&["policy", "list"]).await?;
    assert_eq!(listed["status"], json!([]), "nothing was bound");
    broker.terminate().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_config_of_null_is_an_empty_one_wherever_it_comes_from() -> anyhow::Result<()> {
    let cluster = Cluster::local()?;
    let broker = cluster.start().await?;
    let (status, told) = asked(&broker, &Value::Null).await?;
    assert_eq!((status, &told["bindings"][0]["config"]), (200, &json!({})), "{told}");
    let component = plugin("flush-latency").display().to_string();
    for config in ["null", "{}"] {
        let again = broker.tidegate(&["policy", "set", "*", "flush", &component, "--config", config]).await?;
        assert_eq!(again["changed"], false, "{config}: {again}");
    }
    broker.terminate().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_key_is_told_in_the_same_words_by_every_command() -> anyhow::Result<()> {
    // No bundled policy insists on a key.
    let directory = tempfile::tempdir()?;
    let component = directory.path().join("insists.wasm");
    let schema = r#"{"required":["n"],"properties":{"n":{"type":"integer"}}}"#;
    std::fs::write(&component, tidegate_tests::plugins::index_with_schema(schema))?;
    let component = component.display().to_string();
    let cluster = Cluster::local()?;
    let broker = cluster.start().await?;
    let expected = "policy fixed-index cannot be bound: config key `n` is missing, expected an integer; ";
    let set = ["policy", "set", "*", "index", &component, "--admin", broker.admin()];
    for args in [&["plugin", "check", &component][..], &set[..]] {
        let told = by_a_command(args).await?;
        assert!(told.contains(expected), "{args:?}: {told}");
    }
    let bound = broker.tidegate(&["policy", "set", "*", "index", &component, "n=5"]).await?;
    assert_eq!(bound["bindings"][0]["config"], json!({"n": 5}), "typed by its schema");
    broker.terminate().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keys_of_a_config_are_listed_with_what_they_take() -> anyhow::Result<()> {
    let component = plugin("flush-latency").display().to_string();
    let keys = tidegate(&["policy", "config", &component], "").await?.expect("it is a policy");
    let target = keys.as_array().unwrap().iter().find(|key| key["key"] == "target_ms").expect("it is listed");
    assert_eq!((&target["default"], &target["expected"]), (&json!(200), &json!("an integer of 1 to 60000")));
    assert!(target["description"].as_str().unwrap().contains("milliseconds"), "{target}");
    Ok(())
}
