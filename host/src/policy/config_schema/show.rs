//! Schemas and values as people read them. Whatever came from outside is cut and escaped.

use serde_json::Value;

use super::node::{Bound, Node, Type};

/// Of a value or a key, so many characters are shown.
const MAX_SHOWN: usize = 64;
/// Of several, so many are listed.
const MAX_LISTED: usize = 32;

/// `"5" (a string)`.
pub(super) fn shown(value: &Value) -> String {
    let kind = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => return cut(&value.to_string()),
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    format!("{} ({kind})", cut(&value.to_string()))
}

/// A key in backticks.
pub(super) fn shown_key(key: &str) -> String {
    format!("`{}`", escaped(key))
}

/// Values one after the other.
pub(super) fn listed(values: &[Value]) -> String {
    values.iter().take(MAX_LISTED).map(|value| cut(&value.to_string())).collect::<Vec<_>>().join(", ")
}

/// The keys of a node, by name.
pub(super) fn key_names(node: &Node) -> String {
    node.properties.iter().take(MAX_LISTED).map(|(key, _)| shown_key(key)).collect::<Vec<_>>().join(", ")
}

/// What a value must be: `an integer of 1 to 60000`.
pub(super) fn expected(node: &Node) -> String {
    match node.values.as_slice() {
        [] => {}
        [one] => return cut(&one.to_string()),
        several => return format!("one of {}", listed(several)),
    }
    let forms: Vec<String> = node.types.iter().map(|it| form(node, *it)).collect();
    match forms.split_last() {
        None => format!("any value{}", range(node)),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{}, or {last}", others.join(", ")),
    }
}

/// The range of a node's numbers, strings or lists: ` of 1 to 10`, or nothing.
pub(super) fn range(node: &Node) -> String {
    let low = node.low.as_ref().map(|bound| end(bound, "more than "));
    let high = node.high.as_ref().map(|bound| end(bound, "less than "));
    match (low, high) {
        (Some(low), Some(high)) => format!(" of {low} to {high}"),
        (Some(low), None) => format!(" from {low}"),
        (None, Some(high)) => format!(" up to {high}"),
        (None, None) => String::new(),
    }
}

fn form(node: &Node, it: Type) -> String {
    match it {
        Type::Null => "null".to_owned(),
        Type::Boolean => "true or false".to_owned(),
        Type::Integer => format!("an integer{}", range(node)),
        Type::Number => format!("a number{}", range(node)),
        Type::String => format!("a string{}", counted(node.length, "characters")),
        Type::Array => format!("a list{}", counted(node.count, "elements")),
        Type::Object => "an object".to_owned(),
    }
}

fn end(bound: &Bound, excluded: &str) -> String {
    format!("{}{}", if bound.excluded { excluded } else { "" }, bound.value)
}

fn counted(range: (Option<u64>, Option<u64>), what: &str) -> String {
    match range {
        (Some(least), Some(most)) => format!(" of {least} to {most} {what}"),
        (Some(least), None) => format!(" of at least {least} {what}"),
        (None, Some(most)) => format!(" of at most {most} {what}"),
        (None, None) => String::new(),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", escaped(&text[..end])),
        None => text.chars().map(visible).collect(),
    }
}

fn escaped(text: &str) -> String {
    text.chars().take(MAX_SHOWN).map(visible).collect()
}

/// Controls, and what turns the direction of a line, do not reach a terminal.
fn visible(c: char) -> String {
    let hidden = c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if hidden { c.escape_default().to_string() } else { c.to_string() }
}
