//! A config against its schema.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::node::{Bound, Node, Others, Type};
use super::show::{expected, key_names, shown, shown_key};

/// The config itself: an object, whatever the schema says.
pub(super) fn object_at_the_top(root: &Node, config: &Value, problems: &mut Vec<String>) {
    match config {
        Value::Object(map) => object(root, map, "", problems),
        other => problems.push(format!("the config is {}, expected an object", shown(other))),
    }
}

/// The value at a key.
pub(super) fn value(node: &Node, value: &Value, path: &str, problems: &mut Vec<String>) {
    if !fits(node, value) {
        problems.push(format!("config key {} is {}, expected {}", shown_key(path), shown(value), expected(node)));
        return;
    }
    match value {
        Value::Object(map) => object(node, map, path, problems),
        Value::Array(items) => list(node, items, path, problems),
        _ => {}
    }
}

fn object(node: &Node, map: &Map<String, Value>, path: &str, problems: &mut Vec<String>) {
    for (key, found) in map {
        match (node.property(key), &node.others) {
            (Some(property), _) => value(property, found, &below(path, key), problems),
            (None, Others::None) => problems.push(unknown(node, &below(path, key))),
            (None, _) => {}
        }
    }
    for key in node.required.iter().filter(|key| !map.contains_key(*key)) {
        let wanted = node.property(key).map_or_else(String::new, |property| format!(", expected {}", expected(property)));
        problems.push(format!("config key {} is missing{wanted}", shown_key(&below(path, key))));
    }
}

fn list(node: &Node, items: &[Value], path: &str, problems: &mut Vec<String>) {
    let Some(item) = &node.items else { return };
    for (at, found) in items.iter().enumerate() {
        value(item, found, &format!("{path}[{at}]"), problems);
    }
}

fn unknown(node: &Node, path: &str) -> String {
    let known = match key_names(node) {
        names if names.is_empty() => "none is taken".to_owned(),
        names => format!("expected one of {names}"),
    };
    format!("config key {} is unknown, {known}", shown_key(path))
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Whether the value itself is right; what is in it is another matter.
fn fits(node: &Node, value: &Value) -> bool {
    let of_type = node.types.is_empty() || node.types.iter().any(|wanted| is(value, *wanted));
    let of_values = node.values.is_empty() || node.values.contains(value);
    of_type && of_values && in_range(node, value)
}

fn is(value: &Value, wanted: Type) -> bool {
    match wanted {
        Type::Null => value.is_null(),
        Type::Boolean => value.is_boolean(),
        Type::Integer => value.is_i64() || value.is_u64(),
        Type::Number => value.is_number(),
        Type::String => value.is_string(),
        Type::Array => value.is_array(),
        Type::Object => value.is_object(),
    }
}

fn in_range(node: &Node, value: &Value) -> bool {
    let between = |(least, most): (Option<u64>, Option<u64>), n: usize| {
        least.is_none_or(|least| n as u64 >= least) && most.is_none_or(|most| n as u64 <= most)
    };
    match value {
        Value::Number(_) => {
            let on = |bound: &Option<Bound>, outside| bound.as_ref().is_none_or(|bound| is_within(value, bound, outside));
            on(&node.low, Ordering::Less) && on(&node.high, Ordering::Greater)
        }
        Value::String(text) => between(node.length, text.chars().count()),
        Value::Array(items) => between(node.count, items.len()),
        _ => true,
    }
}

fn is_within(value: &Value, bound: &Bound, outside: Ordering) -> bool {
    match compare(value, &bound.value) {
        Some(Ordering::Equal) => !bound.excluded,
        Some(order) => order != outside,
        None => false,
    }
}

/// Whole numbers to the last digit, which a float of their size has not.
fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    let whole = |value: &Value| value.as_u64().map(i128::from).or_else(|| value.as_i64().map(i128::from));
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}
