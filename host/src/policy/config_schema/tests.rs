use proptest::prelude::*;
use serde_json::json;

use super::*;

fn schema() -> ConfigSchema {
    let text = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["target_ms"],
        "properties": {
            "target_ms": { "type": "integer", "minimum": 1, "maximum": 60_000, "description": "What to hold, in milliseconds" },
            "share": { "type": "number", "exclusiveMinimum": 0, "maximum": 1, "default": 0.5 },
            "mode": { "enum": ["calm", "quick"], "default": "calm" },
            "slices": { "type": ["integer", "null"], "minimum": 0 },
            "admit": { "type": "boolean", "default": true },
            "name": { "type": "string", "maxLength": 4 },
            "steps": { "type": "array", "maxItems": 2, "items": { "type": "object", "properties": { "at": { "type": "integer" } } } },
        },
    });
    ConfigSchema::read(&text.to_string()).unwrap()
}

fn problem(config: Value) -> String {
    schema().check(&config).unwrap_err()
}

#[test]
fn a_problem_names_its_key_what_was_found_and_what_was_expected() {
    let keys = "`admit`, `mode`, `name`, `share`, `slices`, `steps`, `target_ms`";
    let cases = [
        (json!({"target_ms": 1, "tempo": 1}), format!("config key `tempo` is unknown, expected one of {keys}")),
        (json!({"target_ms": "5"}), "config key `target_ms` is \"5\" (a string), expected an integer of 1 to 60000".into()),
        (json!({"target_ms": 5.0}), "config key `target_ms` is 5.0, expected an integer of 1 to 60000".into()),
        (json!({"target_ms": 0}), "config key `target_ms` is 0, expected an integer of 1 to 60000".into()),
        (json!({}), "config key `target_ms` is missing, expected an integer of 1 to 60000".into()),
        (json!({"target_ms": 1, "share": 0}), "config key `share` is 0, expected a number of more than 0 to 1".into()),
        (json!({"target_ms": 1, "mode": "fast"}), "config key `mode` is \"fast\" (a string), expected one of \"calm\", \"quick\"".into()),
        (json!({"target_ms": 1, "slices": -1}), "config key `slices` is -1, expected an integer from 0, or null".into()),
        (json!({"target_ms": 1, "admit": 1}), "config key `admit` is 1, expected true or false".into()),
        (
            json!({"target_ms": 1, "name": "longer"}),
            "config key `name` is \"longer\" (a string), expected a string of at most 4 characters".into(),
        ),
        (json!({"target_ms": 1, "steps": [{"at": 1}, {"at": []}]}), "config key `steps[1].at` is [] (a list), expected an integer".into()),
        (json!([1]), "the config is [1] (a list), expected an object".into()),
    ];
    for (config, expected) in cases {
        assert_eq!(problem(config), expected);
    }
}

#[test]
fn every_problem_is_told_up_to_eight() {
    let told = problem(json!({"share": 2, "admit": "no"}));
    assert_eq!(told.matches("config key").count(), 3, "{told}");
    let many: Map<String, Value> = (0..20).map(|n| (format!("k{n}"), json!(n))).collect();
    let told = ConfigSchema::read("").unwrap().check(&Value::Object(many)).unwrap_err();
    assert!(told.contains("`k0` is unknown, none is taken") && told.ends_with(", and 12 more"), "{told}");
}

#[test]
fn what_the_schema_allows_passes() {
    for config in [
        json!({"target_ms": 60_000}),
        json!({"target_ms": 1, "share": 1, "mode": "quick", "slices": null, "admit": false, "name": "four", "steps": [{"at": 1, "other": 2}]}),
    ] {
        schema().check(&config).unwrap();
    }
    ConfigSchema::read("").unwrap().check(&Value::Null).unwrap();
    ConfigSchema::read("{}").unwrap().check(&json!({"any": [1]})).unwrap();
    let bounded = ConfigSchema::read(r#"{"properties": {"n": {"maximum": 18446744073709551614}}}"#).unwrap();
    bounded.check(&json!({"n": u64::MAX - 1})).unwrap();
    bounded.check(&json!({"n": u64::MAX})).unwrap_err();
}

#[test]
fn a_schema_that_is_not_served_or_not_sane_is_refused_by_its_place() {
    let cases = [
        ("{", "is no JSON"),
        ("[]", "is no object"),
        (r#"{"properties": {"a": {"pattern": "^x"}}}"#, "at `a` uses the keyword `pattern`, which is not served"),
        (r#"{"anyOf": []}"#, "uses the keyword `anyOf`"),
        (r#"{"type": "int"}"#, "has \"int\" for `type`, expected a name of a type"),
        (r#"{"properties": {"a": {"type": "integer", "minimum": 1, "default": 0}}}"#, "at `a` refuses its own default"),
        (r#"{"properties": {"a": {"enum": []}}}"#, "for `enum`, expected a list"),
        (r#"{"properties": {"a": {"maximum": "9"}}}"#, "for `maximum`, expected a number"),
    ];
    for (text, expected) in cases {
        let problem = ConfigSchema::read(text).unwrap_err();
        assert!(problem.starts_with("its config schema ") && problem.contains(expected), "{problem}");
    }
}

#[test]
fn keys_tell_what_they_take_and_texts_become_their_values() {
    let keys = schema().keys();
    let target = keys.iter().find(|key| key.key == "target_ms").unwrap();
    assert_eq!((target.expected.as_str(), target.required, &target.default), ("an integer of 1 to 60000", true, &None));
    assert_eq!(target.description, "What to hold, in milliseconds");
    for (key, text, value) in [
        ("target_ms", "5", json!(5)),
        ("name", "5", json!("5")),
        ("mode", "quick", json!("quick")),
        ("admit", "true", json!(true)),
        ("slices", "null", json!(null)),
        ("steps", "[{\"at\": 1}]", json!([{"at": 1}])),
        ("target_ms", "soon", json!("soon")),
        ("unknown", "1", json!(1)),
    ] {
        assert_eq!(schema().value_of(key, text), value, "{key}={text}");
    }
}

#[test]
fn what_a_stranger_wrote_moves_no_cursor() {
    let told = problem(json!({"target_ms": 1, "a\n\u{1b}[2J\u{202e}": 1, "name": "x\u{202e}".repeat(1_000)}));
    assert!(!told.contains(char::is_control) && !told.contains('\u{202e}') && told.len() < 600, "{told}");
}

proptest! {
    #[test]
    fn no_schema_and_no_config_panics(schema in "[\\[\\]{}\":,a-z0-9 ]{0,80}", config in "[\\[\\]{}\":,a-z0-9 ]{0,80}") {
        let config: Value = serde_json::from_str(&config).unwrap_or_default();
        if let Ok(schema) = ConfigSchema::read(&schema) {
            let _ = (schema.check(&config), schema.keys());
        }
    }
}
