//! An answer against what was expected of it.
//!
//! Both are JSON: `"now"`, `{"wait": {"bytes": 1000}}`, `{"bytes": 8192, "records": "unbounded"}`. A number may be a range:
//! `{ min = 1, max = 5 }`, either end alone too.

use serde_json::{Map, Value, json};
use tidegate::policy::{ANY_UPLOADS, UNBOUNDED};

/// A bound that is left out of an answer.
const LEFT_OUT: &str = "unbounded";

/// An answer with words for the bounds that it leaves out.
pub(crate) fn shown(answer: Value) -> Value {
    match answer {
        Value::Object(fields) => Value::Object(fields.into_iter().map(|(key, value)| (key.clone(), field(&key, value))).collect()),
        other => other,
    }
}

fn field(key: &str, value: Value) -> Value {
    let left_out = value == json!(UNBOUNDED) || (key == "uploads_at_most" && value == json!(ANY_UPLOADS));
    if left_out { LEFT_OUT.into() } else { shown(value) }
}

/// How an answer, as it is shown, differs from what was expected; `None`: it does not.
pub(crate) fn differs(expected: &Value, answer: &Value) -> Option<String> {
    match (expected, answer) {
        // `wait` without bounds is any wait.
        (Value::String(word), Value::Object(fields)) if fields.contains_key(word) => None,
        (Value::Object(wanted), Value::Object(found)) if !is_range(wanted) => fields(wanted, found),
        (Value::Object(range), Value::Number(_)) if is_range(range) => {
            let within = |end: &str, ok: fn(f64, f64) -> bool| {
                range.get(end).is_none_or(|end| matches!((answer.as_f64(), end.as_f64()), (Some(found), Some(end)) if ok(found, end)))
            };
            let within = within("min", |found, min| found >= min) && within("max", |found, max| found <= max);
            (!within).then(|| told(expected, answer))
        }
        _ => (expected != answer).then(|| told(expected, answer)),
    }
}

fn fields(wanted: &Map<String, Value>, found: &Map<String, Value>) -> Option<String> {
    wanted.iter().find_map(|(key, wanted)| match found.get(key) {
        Some(value) => differs(wanted, value).map(|problem| format!("{key}: {problem}")),
        None => {
            let names: Vec<&str> = found.keys().map(String::as_str).collect();
            Some(format!("expected {key}, it answered {}", names.join(", ")))
        }
    })
}

fn is_range(fields: &Map<String, Value>) -> bool {
    !fields.is_empty() && fields.keys().all(|key| key == "min" || key == "max")
}

fn told(expected: &Value, answer: &Value) -> String {
    format!("expected {expected}, it answered {answer}")
}

#[cfg(test)]
mod tests {
    use tidegate::policy::{FlushBounds, FlushDecision, ReadAheadDecision};

    use super::*;

    fn answer<T: serde::Serialize>(answer: T) -> Value {
        shown(serde_json::to_value(answer).unwrap())
    }

    #[test]
    fn only_what_is_named_counts() {
        let wait = answer(FlushDecision::Wait(FlushBounds { bytes: 1_000, ..FlushBounds::NONE }));
        for right in [
            json!("wait"),
            json!({"wait": {}}),
            json!({"wait": {"bytes": 1_000}}),
            json!({"wait": {"records": "unbounded", "uploads_at_most": "unbounded"}}),
            json!({"wait": {"bytes": {"min": 1, "max": 1_000}}}),
            json!({"wait": {"bytes": {"min": 1_000}}}),
        ] {
            assert_eq!(differs(&right, &wait), None, "{right}");
        }
        assert_eq!(differs(&json!("now"), &answer(FlushDecision::Now)), None);
        let ahead = answer(ReadAheadDecision { bytes: 1, slices: 2, admit: false });
        assert_eq!(differs(&json!({"admit": false, "slices": 2}), &ahead), None);
    }

    #[test]
    fn a_difference_names_the_field_what_was_expected_and_what_came() {
        let wait = answer(FlushDecision::Wait(FlushBounds { bytes: 1_000, ..FlushBounds::NONE }));
        let cases = [
            (json!("now"), "expected \"now\", it answered"),
            (json!({"wait": {"bytes": 999}}), "wait: bytes: expected 999, it answered 1000"),
            (json!({"wait": {"bytes": {"max": 999}}}), "wait: bytes: expected {\"max\":999}, it answered 1000"),
            (json!({"wait": {"records": 1}}), "wait: records: expected 1, it answered \"unbounded\""),
            (json!({"wait": {"byte": 1}}), "wait: expected byte, it answered age_us, bytes"),
        ];
        for (expected, problem) in cases {
            let told = differs(&expected, &wait).unwrap();
            assert!(told.starts_with(problem), "{told}");
        }
        assert!(differs(&json!("wait"), &answer(FlushDecision::Now)).unwrap().contains("\"now\""));
    }
}
