//! A policy's state as bytes: JSON, so that a later version can add to it and read what an earlier one wrote.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A state as the bytes of a snapshot. `#[serde(default)]` on its type lets a later version add fields.
///
/// ```
/// let bytes = tidegate_guest::encode(&[1, 2]);
/// assert_eq!(tidegate_guest::decode::<[u32; 2]>(&bytes), Ok([1, 2]));
/// assert!(tidegate_guest::decode::<[u32; 2]>(b"{").is_err());
/// ```
pub fn encode<T: Serialize>(state: &T) -> Vec<u8> {
    serde_json::to_vec(state).unwrap_or_default()
}

/// Reads what [`encode`] wrote; the error is one to refuse a snapshot with.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("the snapshot is not understood: {error}"))
}
