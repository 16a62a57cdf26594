//! A policy's config as it is given on a command line: JSON, a file of it, or `KEY=VALUE`, typed as the policy's schema says.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use serde_json::{Map, Value};
use tidegate::policy::{ConfigSchema, config_or_empty};

use crate::failure::Usage;
use crate::input::Input;

/// A host takes 16 KiB of it as JSON; a file may be laid out for people.
const CONFIG: Input =
    Input { what: "config", most_bytes: 1 << 20, remedy: "a policy takes 16 KiB of JSON, keep what is large in the component" };

/// A policy's config.
#[derive(Clone, Debug, Args)]
pub(crate) struct ConfigArgs {
    /// Keys of its config, over those of `--config`; `tidegate policy config` lists them
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) assignments: Vec<String>,
    /// Its config: JSON, or `@FILE` to read it from a file
    #[arg(long, value_name = "JSON", default_value = "{}")]
    config: String,
}

impl ConfigArgs {
    /// What `--config` says.
    pub(crate) fn whole(&self) -> Result<Map<String, Value>> {
        parse(&self.config)
    }

    /// The same with the single keys over it, in the types of a schema.
    pub(crate) fn typed(&self, schema: &ConfigSchema) -> Result<Map<String, Value>> {
        let mut config = self.whole()?;
        assign(&mut config, &self.assignments, schema)?;
        Ok(config)
    }
}

/// JSON itself, or `@` and the file that holds it.
pub(crate) fn parse(text: &str) -> Result<Map<String, Value>> {
    let text = match text.strip_prefix('@') {
        Some(file) => CONFIG.text(Path::new(file))?,
        None => text.to_owned(),
    };
    match serde_json::from_str(&text).map(config_or_empty) {
        Ok(Value::Object(config)) => Ok(config),
        Ok(_) => Err(Usage("--config: expected a JSON object".to_owned()).into()),
        Err(e) => Err(Usage(format!("--config: expected a JSON object: {e}")).into()),
    }
}

/// The keys in `assignments` over those of `config`. Whether they are right is for the one check of configs to say.
fn assign(config: &mut Map<String, Value>, assignments: &[String], schema: &ConfigSchema) -> Result<()> {
    for assignment in assignments {
        let wrong = || Usage(format!("{assignment:?} is no setting of the policy, expected KEY=VALUE"));
        let (key, text) = assignment.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(wrong)?;
        config.insert(key.to_owned(), schema.value_of(key, text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn config_is_a_json_object_or_null() {
        assert_eq!(Value::Object(parse(r#"{"a": 1}"#).unwrap()), serde_json::json!({ "a": 1 }));
        assert_eq!(parse("null").unwrap(), Map::new());
        for wrong in ["", "1", "[]", "{"] {
            assert!(parse(wrong).unwrap_err().is::<Usage>(), "{wrong:?}");
        }
    }

    #[test]
    fn a_file_without_end_is_refused() {
        let refused = parse("@/dev/zero").unwrap_err().to_string();
        assert!(refused.starts_with("config /dev/zero has more than 1048576 bytes: a policy takes 16 KiB"), "{refused}");
    }

    #[test]
    fn assignments_win_and_have_the_types_of_the_schema() {
        let schema = ConfigSchema::read(r#"{"properties": {"n": {"type": "integer"}, "name": {"type": "string"}}}"#).unwrap();
        let mut config = parse(r#"{"n": 1, "kept": true}"#).unwrap();
        assign(&mut config, &["n=2".into(), "name=2".into(), "empty=".into()], &schema).unwrap();
        assert_eq!(Value::Object(config), serde_json::json!({"n": 2, "kept": true, "name": "2", "empty": ""}));
        for wrong in ["n", "=1"] {
            assert!(assign(&mut Map::new(), &[wrong.to_owned()], &schema).unwrap_err().is::<Usage>(), "{wrong}");
        }
    }
}
