//! A policy's config: JSON from its binding, read with serde.

use alloc::format;
use alloc::string::String;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Config of a policy that takes none: any key is refused by its name.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoConfig {}

/// Checks a config's numbers, each with its key, its value and its range (both ends belong to it). The error names the first that lies outside.
///
/// ```
/// let refused = tidegate_guest::in_ranges(&[("max_age_ms", 0, 1, 60_000)]);
/// assert_eq!(refused, Err("max_age_ms is 0, expected 1 to 60000".to_owned()));
/// ```
pub fn in_ranges(numbers: &[(&str, u64, u64, u64)]) -> Result<(), String> {
    match numbers.iter().find(|(_, value, low, high)| value < low || value > high) {
        Some((key, value, low, high)) => Err(format!("{key} is {value}, expected {low} to {high}")),
        None => Ok(()),
    }
}

/// Reads a config; an empty text counts as `{}`. The error names the key, or the place where the text is no JSON.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    serde_json::from_str(text).map_err(|error| format!("{error}"))
}
