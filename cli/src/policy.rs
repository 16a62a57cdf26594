//! `tidegate policy`.

use std::path::Path;

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tidegate::admin::api::{HistoryQuery, PolicyChange, PolicyHistory, PolicyList, RollBackPolicy, SetPolicy, UnsetPolicy};
use tidegate::config::PolicySettings;
use tidegate::metadata::Change;
use tidegate::policy::{ConfigKey, ConfigSchema, Kind};

use crate::args::{PolicyArgs, PolicyCommand};
use crate::client::Admin;
use crate::config::ConfigArgs;
use crate::failure::Usage;
use crate::output::{Output, table, time};
use crate::plugin::component;

mod shadow;
mod source;

pub(crate) fn run(args: PolicyArgs, output: &Output) -> Result<()> {
    let admin = Admin::new(&args.admin)?;
    match args.command {
        PolicyCommand::List => output.answer(&admin.policies()?, listing),
        PolicyCommand::History { pattern, kind } => output.answer(&admin.policy_history(&HistoryQuery { pattern, kind })?, story),
        PolicyCommand::Config { component, names } => {
            let keys = keys_of(&component, &component::read(&component)?)?.keys();
            output.answer(&keys, |keys| if names { names_of(keys) } else { keys_listing(keys) })
        }
        PolicyCommand::Set { pattern, kind, component, config, digest, by } => {
            let candidate = candidate(&component, &config)?;
            output.answer(&admin.set_policy(&SetPolicy { pattern, kind, by, digest, ..candidate })?, outcome)
        }
        PolicyCommand::Shadow(args) => shadow::run(args, &admin, output),
        PolicyCommand::Unset { pattern, kind, by } => output.answer(&admin.unset_policy(&UnsetPolicy { pattern, kind, by })?, outcome),
        PolicyCommand::Rollback { pattern, kind, to, by } => {
            output.answer(&admin.roll_back_policy(&RollBackPolicy { pattern, kind, to, by })?, outcome)
        }
    }
}

/// What is to be bound, without where: the bytes of a file with its signature, or a place that the broker fetches it from.
fn candidate(component: &str, config: &ConfigArgs) -> Result<SetPolicy> {
    let mut whole = config.whole()?;
    let mut wanted = SetPolicy {
        pattern: String::new(),
        kind: Kind::Flush,
        component: String::new(),
        plugin: String::new(),
        signature: None,
        source: String::new(),
        config: Value::Null,
        by: String::new(),
        digest: None,
    };
    if ["s3://", "oci://"].iter().any(|scheme| component.starts_with(scheme)) {
        if !config.assignments.is_empty() {
            let problem =
                format!("{component} is for the broker to fetch, and KEY=VALUE needs the schema of a component here: use --config");
            return Err(Usage(problem).into());
        }
        component.clone_into(&mut wanted.plugin);
    } else {
        let found = source::read(Path::new(component))?;
        if !config.assignments.is_empty() {
            whole = config.typed(&keys_of(&found.path, &found.bytes)?)?;
        }
        wanted.source = found.path.display().to_string();
        (wanted.component, wanted.signature) = (STANDARD.encode(found.bytes), found.signature);
    }
    wanted.config = Value::Object(whole);
    Ok(wanted)
}

/// What a component says that its config may be.
fn keys_of(file: &Path, bytes: &[u8]) -> Result<ConfigSchema> {
    // A broker may allow more than its defaults; reading a schema harms nobody.
    let limits = PolicySettings {
        component_bytes: u64::MAX,
        custom_bytes: u64::MAX,
        memory_bytes: 1 << 30,
        table_elements: 10_000_000,
        init_deadline_ms: 10_000,
        compile_timeout_ms: 600_000,
        ..PolicySettings::default()
    };
    Ok(component::inspect(file, bytes, &limits)?.1)
}

/// A line for each key, as `policy set` takes it.
fn names_of(keys: &[ConfigKey]) -> String {
    keys.iter().map(|key| format!("{}=\n", key.key)).collect()
}

fn keys_listing(keys: &[ConfigKey]) -> String {
    if keys.is_empty() {
        return "it names no key of its config".to_owned();
    }
    let row = |key: &ConfigKey| {
        let default = key.default.as_ref().map_or_else(|| if key.required { "required" } else { "-" }.to_owned(), Value::to_string);
        [key.key.clone(), default, key.expected.clone(), key.description.clone()]
    };
    table(["KEY", "DEFAULT", "EXPECTED", "WHAT"], &keys.iter().map(row).collect::<Vec<_>>())
}

fn outcome(change: &PolicyChange) -> String {
    let said = match (change.changed, change.state.as_str()) {
        (false, _) => "nothing changed: it is so already\n".to_owned(),
        (true, "") => String::new(),
        (true, state) => format!("takes over what was learned before: {state}\n"),
    };
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
        "SWAPS",
        "LAST FAULT",
    ];
    let rows: Vec<_> = list.status.iter().map(row).collect();
    format!("generation {}; of several that match a topic the last one wins\n{}", list.generation, table(head, &rows))
}

fn row(status: &Value) -> [String; 14] {
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
        swaps(status),
        text("last_message"),
    ]
}

/// How many owners took over warm at a swap, how many cold, and why.
fn swaps(status: &Value) -> String {
    let count = |key: &str| status[key].as_u64().unwrap_or(0);
    match (count("warm"), count("cold"), status["cold_reason"].as_str().unwrap_or_default()) {
        (0, 0, _) => "-".to_owned(),
        (warm, 0, _) => format!("{warm} warm"),
        (warm, cold, reason) => format!("{warm} warm, {cold} cold({reason})"),
    }
}

fn story(history: &PolicyHistory) -> String {
    if history.history.is_empty() {
        return format!("generation {}: nothing is known to have happened", history.generation);
    }
    let head = ["GENERATION", "AT", "BY", "ACTION", "PATTERN", "KIND", "PLUGIN", "DIGEST", "CONFIG", "STATE", "WHAT"];
    table(head, &history.history.iter().map(entry).collect::<Vec<_>>())
}

fn entry(change: &Change) -> [String; 11] {
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
        if change.state.is_empty() { "-".to_owned() } else { change.state.clone() },
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
    fn keys_show_what_they_are_where_they_are_left_out() {
        let schema = r#"{"required": ["must"], "properties": {"must": {"type": "integer"}, "may": {"type": "boolean", "default": true}}}"#;
        let shown = keys_listing(&ConfigSchema::read(schema).unwrap().keys());
        let lines: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["may", "true", "true", "or", "false"]);
        assert_eq!(lines[2], ["must", "required", "an", "integer"]);
    }

    #[test]
    fn a_degraded_binding_shows_its_reason() {
        let status = serde_json::json!({
            "pattern": "*", "kind": "flush", "plugin": "slow", "version": "1.2.0", "digest": "sha256:0123456789abcdef", "generation": 4,
            "calls": 7, "faults": 3, "fallbacks": 4, "clamps": 1, "breaker": "open", "degraded": "quarantined", "last_message": "too late",
            "warm": 1, "cold": 2, "cold_reason": "why",
        });
        let expected = [
            "*",
            "flush",
            "slow",
            "1.2.0",
            "0123456789ab",
            "4",
            "7",
            "3",
            "4",
            "1",
            "open",
            "degraded(quarantined)",
            "1 warm, 2 cold(why)",
            "too late",
        ];
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
        let expected = ["3", "2023-11-14 22:13:20", "ann", "refused", "*", "flush", "p", "0123456789ab", r#"{"a":1}"#, "-", "why"];
        assert_eq!(told, expected.map(String::from));
    }
}
