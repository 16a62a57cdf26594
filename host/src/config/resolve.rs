//! From defaults, rules and a topic's own config to the settings of one topic.
//!
//! Each layer is a table of a few fields that is laid over the one below, field by field, so a rule that names
//! one field leaves all others to earlier rules and defaults.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::bounds::Bounds;
use super::{Pattern, Settings, TopicRule, TopicSettings};
use crate::error::Result;
use crate::types::TopicName;

/// The settings of `topic`: the defaults, the rules that match it in their order, and its own `config`.
///
/// [`InvalidInput`](crate::ErrorKind::InvalidInput) names each unknown key, wrong type and value out of bounds.
pub fn resolve(settings: &Settings, topic: &TopicName, config: &BTreeMap<String, String>) -> Result<TopicSettings> {
    let mut bounds = Bounds::default();
    let mut table = to_table(&settings.topic_defaults);
    for (at, rule) in settings.topic_rules.iter().enumerate() {
        if Pattern::new(&rule.pattern)?.matches(topic.as_str()) {
            overlay(&mut table, &rule.settings, &format!("topic[{at}]"), &mut bounds);
        }
    }
    let section = format!("topic {:?}", topic.as_str());
    let own = config.iter().map(|(key, text)| (key.clone(), value_of(&table, key, text))).collect();
    overlay(&mut table, &own, &section, &mut bounds);
    let resolved = from_table(table);
    resolved.check(&section, &mut bounds);
    let (batch, buffer) = (u64::from(resolved.max_batch_bytes), settings.host.buffer_bytes);
    if batch > buffer {
        let problem = format!("is {batch}, above host.buffer_bytes = {buffer}: such a batch could never be taken");
        bounds.problem(&format!("{section}.max_batch_bytes"), problem);
    }
    bounds.into_result()?;
    Ok(resolved)
}

/// Checks a rule as it works out over the defaults.
pub(super) fn check_rule(settings: &Settings, at: usize, rule: &TopicRule, bounds: &mut Bounds) {
    let section = format!("topic[{at}]");
    if let Err(e) = Pattern::new(&rule.pattern) {
        bounds.problem(&format!("{section}.pattern"), e.message());
    }
    let mut table = to_table(&settings.topic_defaults);
    overlay(&mut table, &rule.settings, &section, bounds);
    let resolved = from_table(table);
    let mut found = Bounds::default();
    resolved.check(&section, &mut found);
    // What the defaults get wrong is theirs to report.
    let own = |key: &str| key.rsplit('.').next().is_some_and(|field| rule.settings.contains_key(field));
    for problem in found.problems().iter().filter(|p| own(&p.key)) {
        bounds.problem(&problem.key, problem.text.clone());
    }
}

/// Lays `fields` over `table`; a field that does not fit is left out and noted.
fn overlay(table: &mut Table, fields: &Table, section: &str, bounds: &mut Bounds) {
    for (key, value) in fields {
        match fits(key, value) {
            Ok(()) => {
                table.insert(key.clone(), value.clone());
            }
            Err(problem) => bounds.problem(&format!("{section}.{key}"), problem),
        }
    }
}

/// Whether this key exists and takes this value.
fn fits(key: &str, value: &Value) -> Result<(), String> {
    let alone = Table::from_iter([(key.to_owned(), value.clone())]);
    match alone.try_into::<TopicSettings>() {
        Ok(_) => Ok(()),
        Err(_) if !to_table(&TopicSettings::default()).contains_key(key) => {
            Err(format!("is not a setting of a topic; there are {}", known_keys()))
        }
        Err(e) => Err(format!("does not take {value}: {}", e.message())),
    }
}

/// A topic's own config is text: read it as the type that the setting has.
fn value_of(table: &Table, key: &str, text: &str) -> Value {
    let parsed = match table.get(key) {
        Some(Value::Integer(_)) => text.parse().ok().map(Value::Integer),
        Some(Value::Boolean(_)) => text.parse().ok().map(Value::Boolean),
        _ => None,
    };
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}

fn known_keys() -> String {
    let table = to_table(&TopicSettings::default());
    table.keys().cloned().collect::<Vec<_>>().join(", ")
}

fn to_table(settings: &TopicSettings) -> Table {
    Table::try_from(settings).expect("topic settings are a flat table of integers, booleans and words")
}

fn from_table(table: Table) -> TopicSettings {
    table.try_into().expect("each field was accepted before it was laid over")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Acks;

    fn settings(text: &str) -> Settings {
        toml::from_str(text).unwrap()
    }

    fn resolve_for(settings: &Settings, topic: &str, config: &[(&str, &str)]) -> Result<TopicSettings> {
        let config = config.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        resolve(settings, &TopicName::new(topic).unwrap(), &config)
    }

    #[test]
    fn own_config_wins_over_rules_and_rules_over_defaults_field_by_field() {
        let settings = settings(
            r#"
            topic_defaults = { partitions = 8, max_age_ms = 100, acks = "committed" }
            [[topic]]
            pattern = "logs-*"
            max_age_ms = 200
            acks = "buffered"
            [[topic]]
            pattern = "logs-eu"
            max_age_ms = 300
            [[topic]]
            pattern = "other"
            max_age_ms = 400
            "#,
        );
        let plain = resolve_for(&settings, "orders", &[]).unwrap();
        assert_eq!((plain.partitions, plain.max_age_ms, plain.acks), (8, 100, Acks::Committed));
        let ruled = resolve_for(&settings, "logs-eu", &[]).unwrap();
        assert_eq!((ruled.partitions, ruled.max_age_ms, ruled.acks), (8, 300, Acks::Buffered));
        let own = resolve_for(&settings, "logs-eu", &[("max_age_ms", "500"), ("cache_enabled", "false")]).unwrap();
        assert_eq!((own.max_age_ms, own.cache_enabled, own.acks), (500, false, Acks::Buffered));
    }

    #[test]
    fn each_wrong_key_type_and_value_is_named() {
        let config = [("max_age_ms", "soon"), ("linger", "5"), ("acks", "never"), ("retention_ms", "-2"), ("lanes", "9")];
        let error = resolve_for(&Settings::default(), "orders", &config).unwrap_err();
        for part in
            ["max_age_ms does not take \"soon\"", "linger is not a setting", "acks does not take", "retention_ms is -2", "lanes is 9"]
        {
            assert!(error.message().contains(part), "{part} is missing in: {error}");
        }
    }

    #[test]
    fn a_rule_is_checked_at_load_and_blamed_only_for_its_own_fields() {
        let settings = settings(
            r#"
            topic_defaults = { max_age_ms = 0 }
            [[topic]]
            pattern = "a"
            lanes = 3
            color = "red"
            "#,
        );
        let message = settings.validate().unwrap_err().message().to_owned();
        assert!(message.contains("topic[0].lanes is 3"), "{message}");
        assert!(message.contains("topic[0].color is not a setting"), "{message}");
        assert_eq!(message.matches("max_age_ms is 0").count(), 1, "{message}");
    }
}
