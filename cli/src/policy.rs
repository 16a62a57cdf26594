//! `tidegate policy`.

use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tidegate::admin::api::{PolicyList, SetPolicy, UnsetPolicy};

use crate::args::{PolicyArgs, PolicyCommand};
use crate::client::Admin;
use crate::failure::Usage;
use crate::output::{Output, table};

pub(crate) fn run(args: PolicyArgs, output: &Output) -> Result<()> {
    let admin = Admin::new(&args.admin)?;
    let answer = match args.command {
        PolicyCommand::List => admin.policies()?,
        PolicyCommand::Set { pattern, kind, component, config, by } => {
            let bytes = std::fs::read(&component).with_context(|| format!("component {} cannot be read", component.display()))?;
            let source = component.display().to_string();
            let config = config_of(&config)?;
            admin.set_policy(&SetPolicy { pattern, kind, component: STANDARD.encode(bytes), source, config, by })?
        }
        PolicyCommand::Unset { pattern, kind, by } => admin.unset_policy(&UnsetPolicy { pattern, kind, by })?,
    };
    output.answer(&answer, listing)
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

fn listing(list: &PolicyList) -> String {
    if list.status.is_empty() {
        return format!("generation {}: nothing is bound, the built-in policies decide", list.generation);
    }
    let head = ["PATTERN", "KIND", "PLUGIN", "DIGEST", "CALLS", "FAULTS", "FALLBACKS", "STATE"];
    let rows: Vec<_> = list.status.iter().map(row).collect();
    format!("generation {}; of several that match a topic the last one wins\n{}", list.generation, table(head, &rows))
}

fn row(status: &Value) -> [String; 8] {
    let text = |key: &str| match &status[key] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let digest: String = text("digest").trim_start_matches("sha256:").chars().take(12).collect();
    let state = match text("degraded") {
        reason if reason.is_empty() => "ok".to_owned(),
        reason => format!("degraded ({reason})"),
    };
    [text("pattern"), text("kind"), text("plugin"), digest, text("calls"), text("faults"), text("fallbacks"), state]
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
            "pattern": "*", "kind": "flush", "plugin": "slow", "digest": "sha256:0123456789abcdef",
            "calls": 7, "faults": 3, "fallbacks": 4, "degraded": "call.timeout",
        });
        assert_eq!(row(&status), ["*", "flush", "slow", "0123456789ab", "7", "3", "4", "degraded (call.timeout)"].map(String::from));
    }
}
