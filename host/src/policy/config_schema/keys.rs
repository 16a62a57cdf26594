//! The keys of a config, for whoever has to choose among them, and texts as their values.

use serde::Serialize;
use serde_json::Value;

use super::node::{Node, Type};
use super::show::expected;

/// A key that a config may have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfigKey {
    /// Its name.
    pub key: String,
    /// What its value must be, such as `an integer of 1 to 60000`.
    pub expected: String,
    /// What it is where it is left out, if the schema says so.
    pub default: Option<Value>,
    /// Whether it must be there.
    pub required: bool,
    /// What it is for; may be empty.
    pub description: String,
}

pub(super) fn of(root: &Node) -> Vec<ConfigKey> {
    let key = |(key, node): &(String, Node)| ConfigKey {
        key: key.clone(),
        expected: expected(node),
        default: node.default.clone(),
        required: root.required.contains(key),
        description: node.description.clone(),
    };
    root.properties.iter().map(key).collect()
}

/// The text itself where only a string will do; else whatever it is as JSON.
pub(super) fn value_of(node: Option<&Node>, text: &str) -> Value {
    let types = node.map_or(&[][..], |node| node.types.as_slice());
    let of_strings = node.is_some_and(|node| !node.values.is_empty() && node.values.iter().all(Value::is_string));
    if types == [Type::String] || of_strings {
        return Value::String(text.to_owned());
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
