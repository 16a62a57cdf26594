//! A policy's config: JSON from its binding, read with serde.

use alloc::format;
use alloc::string::String;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Config of a policy that takes none: any key is refused by its name.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoConfig {}

/// Reads a config; an empty text counts as `{}`. The error names the key, or the place where the text is no JSON.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    serde_json::from_str(text).map_err(|error| format!("{error}"))
}
