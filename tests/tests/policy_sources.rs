//! Where policies come from, over the command line of a running broker: files and directories, S3, a registry; and who vouches for them.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tidegate::config::{StoreSettings, TrustedKey};
use tidegate::policy::wasm::digest;
use tidegate::store::{Body, PutMode};
use tidegate_tests::broker::{BrokerProcess, Cluster, plugin, tidegate};
use tidegate_tests::registry::{Access, Registry};
use tidegate_tests::servers::SeaweedFs;

async fn set(broker: &BrokerProcess, source: &str) -> Result<Value> {
    broker.tidegate(&["policy", "set", "*", "flush", source]).await
}

async fn refusal(broker: &BrokerProcess, arguments: &[&str]) -> Result<String> {
    let all: Vec<&str> = ["policy", "set", "*", "flush"].iter().chain(arguments).copied().collect();
    Ok(broker.tidegate(&all).await.err().with_context(|| format!("{arguments:?} is taken"))?.to_string())
}

fn has(text: &str, parts: &[&str]) -> Result<()> {
    parts.iter().try_for_each(|part| {
        ensure!(text.contains(part), "{part:?} is not in {text}");
        Ok(())
    })
}

/// A key in a file, and its public half.
async fn key(directory: &Path, name: &str) -> Result<(String, TrustedKey)> {
    let file = directory.join(name).display().to_string();
    let made = tidegate(&["plugin", "keygen", "--out", &file], "").await?.map_err(|(_, said)| anyhow::anyhow!(said))?;
    let key = made["public"].as_str().context("a public key")?.to_owned();
    Ok((file, TrustedKey { name: name.to_owned(), key }))
}

/// Signs a component, and gives the signature.
async fn sign(key: &str, file: &Path) -> Result<String> {
    let signed = tidegate(&["plugin", "sign", "--key", key, file.to_str().context("a path in UTF-8")?], "").await?;
    let signed = signed.map_err(|(_, said)| anyhow::anyhow!(said))?;
    Ok(signed[0]["signature"].as_str().context("a signature")?.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_is_bound_from_s3_with_its_digest_pinned() -> Result<()> {
    let s3 = SeaweedFs::start().await?;
    let cluster = Cluster::on(StoreSettings::S3(s3.settings("logs")))?;
    let broker = cluster.start().await?;
    let component = std::fs::read(plugin("flush-threshold"))?;
    let bucket = s3.connect("shelf").await?;
    bucket.put("flush-threshold.wasm", Body::from(component.clone()), PutMode::Create).await?;
    let place = format!("s3://{}/shelf/flush-threshold.wasm", s3.settings("").bucket);
    let bound = set(&broker, &place).await?;
    ensure!(bound["bindings"][0]["plugin"] == "flush-threshold" && bound["bindings"][0]["source"] == place.as_str(), "{bound}");
    let pinned = digest(&component);
    broker.tidegate(&["policy", "set", "a", "flush", &place, "--digest", &pinned]).await?;
    let other = pinned.replace(':', ":0").get(..71).context("a digest")?.to_owned();
    has(&refusal(&broker, &[&place, "--digest", &other]).await?, &["load.digest_mismatch", &pinned])?;
    has(&refusal(&broker, &[&place.replace("threshold", "none")]).await?, &["load.unavailable", "flush-none.wasm"])?;
    has(&refusal(&broker, &["s3://nothing"]).await?, &["load.unavailable", "s3://bucket/key"])?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_is_bound_from_a_registry_by_tag_and_by_digest() -> Result<()> {
    for access in [Access::Open, Access::Password] {
        let registry = Registry::start(access).await?;
        let component = std::fs::read(plugin("flush-threshold"))?;
        let manifest = registry.push("policies/flush-threshold", "1.0", &component, None)?;
        let settings = registry.settings();
        let name = registry.name();
        let known = |settings: &mut tidegate::Settings| drop(settings.plugins.registry.insert(name.clone(), registry.settings()));
        let cluster = Cluster::local_with(known)?;
        let broker = cluster.start().await?;
        let place = format!("oci://{}/policies/flush-threshold", registry.name());
        let bound = set(&broker, &format!("{place}:1.0")).await?;
        ensure!(bound["bindings"][0]["source"] == format!("{place}@{manifest}").as_str(), "the source is not pinned: {bound}");
        let again = set(&broker, &format!("{place}:1.0@{manifest}")).await?;
        ensure!(again["changed"] == false, "{again}");
        has(&refusal(&broker, &[&format!("{place}:2.0")]).await?, &["load.unavailable", "404"])?;
        let other = format!("{place}@sha256:{}", "0".repeat(64));
        has(&refusal(&broker, &[&other]).await?, &["load.unavailable", "404"])?;
        if access == Access::Password {
            let stranger = |s: &mut tidegate::Settings| {
                s.plugins.registry.insert(name.clone(), tidegate::config::RegistrySettings { plain_http: true, ..Default::default() });
            };
            let cluster = Cluster::local_with(stranger)?;
            let broker = cluster.start().await?;
            has(&refusal(&broker, &[&format!("{place}:1.0")]).await?, &["load.unavailable", "401", "plugins.registry"])?;
            ensure!(!settings.password.is_empty(), "it is locked");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_registry_changed_is_not_taken() -> Result<()> {
    let registry = Registry::start(Access::Open).await?;
    let component = std::fs::read(plugin("flush-threshold"))?;
    registry.push("flush", "1", &component, None)?;
    let (name, settings) = (registry.name(), registry.settings());
    let cluster = Cluster::local_with(|s| drop(s.plugins.registry.insert(name, settings)))?;
    let broker = cluster.start().await?;
    let mut changed = component.clone();
    let last = changed.len() - 1;
    changed[last] ^= 1;
    std::fs::write(registry.blob(&digest(&component)), &changed)?;
    let place = format!("oci://{}/flush:1", registry.name());
    has(&refusal(&broker, &[&place]).await?, &["load.digest_mismatch", &digest(&component), &digest(&changed)])?;
    ensure!(broker.tidegate(&["policy", "list"]).await?["bindings"].as_array().is_some_and(Vec::is_empty), "it is bound");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn where_signatures_are_required_only_those_of_trusted_keys_count() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let (ops, trusted) = key(directory.path(), "ops").await?;
    let (stranger, unknown) = key(directory.path(), "stranger").await?;
    let file = directory.path().join("flush-threshold.wasm");
    std::fs::copy(plugin("flush-threshold"), &file)?;
    let name = file.to_str().context("a path in UTF-8")?;
    let registry = Registry::start(Access::Open).await?;
    let strict = |s: &mut tidegate::Settings| {
        s.plugins.require_signed = true;
        s.plugins.trust = vec![trusted.clone()];
        s.plugins.registry.insert(registry.name(), registry.settings());
    };
    let cluster = Cluster::local_with(strict)?;
    let broker = cluster.start().await?;
    let digest = digest(&std::fs::read(&file)?);
    has(&refusal(&broker, &[name]).await?, &["load.unsigned", &digest, "plugin sign"])?;
    sign(&stranger, &file).await?;
    let theirs = unknown.key.parse::<tidegate::policy::signature::PublicKey>().map_err(anyhow::Error::msg)?.id();
    has(&refusal(&broker, &[name]).await?, &["load.untrusted", &theirs, "(ops)"])?;
    let signature = sign(&ops, &file).await?;
    let bound = set(&broker, name).await?;
    ensure!(bound["bindings"][0]["signed_by"] == "ops", "{bound}");

    let other = std::fs::read(plugin("flush-adaptive"))?;
    registry.push("flush", "forged", &other, Some(&signature))?;
    registry.push("flush", "unsigned", &other, None)?;
    registry.push("flush", "signed", &std::fs::read(&file)?, Some(&signature))?;
    let place = |tag: &str| format!("oci://{}/flush:{tag}", registry.name());
    has(&refusal(&broker, &[&place("forged")]).await?, &["load.bad_signature", "ops"])?;
    has(&refusal(&broker, &[&place("unsigned")]).await?, &["load.unsigned"])?;
    ensure!(set(&broker, &place("signed")).await?["changed"] == false, "the same component from elsewhere");
    let history = broker.tidegate(&["policy", "history"]).await?;
    let classes: Vec<_> = history["history"].as_array().into_iter().flatten().map(|e| e["class"].as_str().unwrap_or_default()).collect();
    ensure!(classes == ["load.unsigned", "load.untrusted", "", "load.bad_signature", "load.unsigned"], "{history}");

    // What is stored is believed no more than what is sent.
    broker.kill().await?;
    let broker = cluster.start().await?;
    let status = broker.tidegate(&["policy", "list"]).await?;
    ensure!(status["status"][0]["degraded"] == "" && status["bindings"][0]["signed_by"] == "ops", "{status}");
    broker.kill().await?;
    let settings = std::fs::read_to_string(cluster.settings_file())?.replace(&trusted.key, &unknown.key);
    std::fs::write(cluster.settings_file(), settings)?;
    let broker = cluster.start().await?;
    let status = broker.tidegate(&["policy", "list"]).await?;
    has(status["status"][0]["degraded"].as_str().unwrap_or_default(), &["load.untrusted", &digest])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_is_bound_from_a_directory_and_by_the_settings_from_anywhere() -> Result<()> {
    let directory = tempfile::tempdir()?;
    std::fs::copy(plugin("flush-threshold"), directory.path().join("only.wasm"))?;
    let registry = Registry::start(Access::Open).await?;
    registry.push("flush", "1", &std::fs::read(plugin("flush-threshold"))?, None)?;
    let rule = |plugin: String, digest: Option<String>| {
        serde_json::from_value(serde_json::json!({ "pattern": "*", "kind": "flush", "plugin": plugin, "digest": digest, "config": {} }))
    };
    let cluster = Cluster::local_with(|s| {
        s.plugins.registry.insert(registry.name(), registry.settings());
        let place = format!("oci://{}/flush", registry.name());
        let wrong = Some(format!("sha256:{}", "0".repeat(64)));
        let rules = [(format!("{place}:1"), None), (format!("{place}:2"), None), (format!("{place}:1"), wrong)];
        s.bindings = rules.into_iter().map(|(plugin, digest)| rule(plugin, digest).expect("a rule")).collect();
    })?;
    let broker = cluster.start().await?;
    let status = broker.tidegate(&["policy", "list"]).await?;
    ensure!(status["status"][0]["degraded"] == "" && status["status"][0]["plugin"] == "flush-threshold", "{status}");
    has(status["status"][1]["degraded"].as_str().unwrap_or_default(), &["load.unavailable", "404"])?;
    has(status["status"][2]["degraded"].as_str().unwrap_or_default(), &["load.digest_mismatch"])?;
    let bound = set(&broker, directory.path().to_str().context("a path in UTF-8")?).await?;
    ensure!(bound["bindings"][0]["source"].as_str().is_some_and(|source| source.ends_with("only.wasm")), "{bound}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_beyond_all_that_a_broker_takes_is_refused_with_the_remedy() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("large.wasm");
    std::fs::File::create(&file)?.set_len(64 << 20)?;
    let broker = Cluster::local()?.start().await?;
    has(&refusal(&broker, &[file.to_str().context("a path in UTF-8")?]).await?, &["of that size", "policy.component_bytes"])
}
