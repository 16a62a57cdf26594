//! `tidegate policy`.

use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tidegate::admin::api::{HistoryQuery, PolicyChange, PolicyHistory, PolicyList, RollBackPolicy, SetPolicy, UnsetPolicy};
use tidegate::metadata::Change;

use crate::args::{PolicyArgs, PolicyCommand};
use crate::client::Admin;
use crate::failure::Usage;
use crate::output::{Output, table, time};

pub(crate) fn run(args: PolicyArgs, output: &Output) -> Result<()> {
    let admin = Admin::new(&args.admin)?;
    match args.command {
        PolicyCommand::List => output.answer(&admin.policies()?, listing),
        PolicyCommand::History { pattern, kind } => output.answer(&admin.policy_history(&HistoryQuery { pattern, kind })?, story),
        PolicyCommand::Set { pattern, kind, component, config, digest, by } => {
            let bytes = std::fs::read(&component).with_context(|| format!("component {} cannot be read", component.display()))?;
            let source = component.display().to_string();
            let (config, component) = (config_of(&config)?, STANDARD.encode(bytes));
            output.answer(&admin.set_policy(&SetPolicy { pattern, kind, component, source, config, by, digest })?, outcome)
        }
        PolicyCommand::Unset { pattern, kind, by } => output.answer(&admin.unset_policy(&UnsetPolicy { pattern, kind, by })?, outcome),
        PolicyCommand::Rollback { pattern, kind, to, by } => {
            output.answer(&admin.roll_back_policy(&RollBackPolicy { pattern, kind, to, by })?, outcome)
        }
    }
}

/// JSON itself, or `@` and the file that holds it.
fn config_of(text: &str) -> Result<Value> {
    let text = match text.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(Path::new(file)).with_context(|| format!("config {file} cannot be read"))?,
        None => text.to_owned(),
    };
    match serde_json::from_str(&text) {
        Ok(config @ Value::Object(_)) => Ok(config),
        Ok(_) => Err(Usage("--config: expected a JSON object".to_owned()).into()),
        Err(e) => Err(Usage(format!("--config: expected a JSON object: {e}")).into()),
    }
}

fn outcome(change: &PolicyChange) -> String {
    let said = if change.changed { "" } else { "nothing changed: it is so already\n" };
    format!("{said}{}", listing(&change.now))
}

fn listing(list: &PolicyList) -> String {
    if list.status.is_empty() {
        return format!("generation {}: nothing is bound, the built-in policies decide", list.generation);
    }
    let head = [
        "PATTERN",
        "KIND",
        "PLUGIN",
        "VERSION",
        "DIGEST",
        "GENERATION",
        "CALLS",
        "FAULTS",
        "FALLBACKS",
        "CLAMPS",
        "BREAKER",
        "STATE",
        "LAST FAULT",
    ];
    let rows: Vec<_> = list.status.iter().map(row).collect();
    format!("generation {}; of several that match a topic the last one wins\n{}", list.generation, table(head, &rows))
}

fn row(status: &Value) -> [String; 13] {
    let text = |key: &str| match &status[key] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let state = match text("degraded") {
        reason if reason.is_empty() => "ok".to_owned(),
        reason => format!("degraded({reason})"),
    };
    let generation = match text("generation").as_str() {
        "0" => "settings".to_owned(),
        generation => generation.to_owned(),
    };
    [
        text("pattern"),
        text("kind"),
        text("plugin"),
        text("version"),
        short(&text("digest")),
        generation,
        text("calls"),
        text("faults"),
        text("fallbacks"),
        text("clamps"),
        text("breaker"),
        state,
        text("last_message"),
    ]
}

fn story(history: &PolicyHistory) -> String {
    if history.history.is_empty() {
        return format!("generation {}: nothing is known to have happened", history.generation);
    }
    let head = ["GENERATION", "AT", "BY", "ACTION", "PATTERN", "KIND", "PLUGIN", "DIGEST", "CONFIG", "WHAT"];
    table(head, &history.history.iter().map(entry).collect::<Vec<_>>())
}

fn entry(change: &Change) -> [String; 10] {
    [
        change.generation.to_string(),
        time(change.at_ms),
        change.by.clone(),
        change.action.as_str().to_owned(),
        change.pattern.clone(),
        change.kind.to_string(),
        if change.plugin.is_empty() { "-".to_owned() } else { change.plugin.clone() },
        short(&change.digest),
        if change.config.is_null() { "-".to_owned() } else { change.config.to_string() },
        change.message.clone(),
    ]
}

/// The first twelve digits of a digest.
fn short(digest: &str) -> String {
    match digest.trim_start_matches("sha256:") {
        "" => "-".to_owned(),
        digits => digits.chars().take(12).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn config_is_a_json_object() {
        assert_eq!(config_of(r#"{"a": 1}"#).unwrap(), serde_json::json!({ "a": 1 }));
        for wrong in ["", "1", "[]", "{"] {
            assert!(config_of(wrong).unwrap_err().is::<Usage>(), "{wrong:?}");
        }
    }

    #[test]
    fn a_degraded_binding_shows_its_reason() {
        let status = serde_json::json!({
            "pattern": "*", "kind": "flush", "plugin": "slow", "version": "1.2.0", "digest": "sha256:0123456789abcdef", "generation": 4,
            "calls": 7, "faults": 3, "fallbacks": 4, "clamps": 1, "breaker": "open", "degraded": "quarantined", "last_message": "too late",
        });
        let expected =
            ["*", "flush", "slow", "1.2.0", "0123456789ab", "4", "7", "3", "4", "1", "open", "degraded(quarantined)", "too late"];
        assert_eq!(row(&status), expected.map(String::from));
    }

    #[test]
    fn what_the_settings_bind_has_no_generation() {
        assert_eq!(row(&serde_json::json!({ "generation": 0 }))[5], "settings");
    }

    #[test]
    fn an_entry_tells_who_did_what_to_what() {
        let change = serde_json::json!({
            "generation": 3, "at_ms": 1_700_000_000_000_i64, "by": "ann", "action": "refused", "pattern": "*", "kind": "flush",
            "plugin": "p", "digest": "sha256:0123456789abcdef", "config": {"a": 1}, "class": "swap.canary_failed", "message": "why",
        });
        let told = entry(&serde_json::from_value(change).unwrap());
        let expected = ["3", "2023-11-14 22:13:20", "ann", "refused", "*", "flush", "p", "0123456789ab", r#"{"a":1}"#, "why"];
        assert_eq!(told, expected.map(String::from));
    }
}
