//! One value in one object: JSON with a format version and the nonce of its writer.
//!
//! The nonce answers two questions. Whose bytes are these, when the reply to a write was lost? And are these the
//! bytes that were read before? Where versions depend on the content alone (S3's ETags), equal values written
//! twice would otherwise look like one.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::store::{Body, GetRange, ObjectStore, PutMode, StoreError, StoreErrorKind, Version};
use crate::types::Nonce;

/// The format that is written; older ones are read for ever.
const FORMAT: u32 = 1;
/// Tries of a write whose outcome stays unknown.
const TRIES: u32 = 4;

/// What an object holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Document<T> {
    format: u32,
    nonce: String,
    /// `None` is a tombstone: there was a value.
    pub(super) value: Option<T>,
}

#[derive(Deserialize)]
struct Head {
    format: u32,
}

impl<T: Serialize + DeserializeOwned> Document<T> {
    pub(super) fn new(nonce: Nonce, value: Option<T>) -> Self {
        Self { format: FORMAT, nonce: nonce.to_string(), value }
    }

    fn encode(&self) -> Body {
        serde_json::to_vec(self).expect("records have string keys and finite numbers").into()
    }

    fn decode(key: &str, bytes: &[u8]) -> Result<Self> {
        let corrupt = |e: serde_json::Error| {
            let message = format!("the metadata object {key:?} cannot be read; restore it from a backup");
            Error::new(ErrorKind::Corrupt, message).with_source(e)
        };
        // The format comes first: a newer one may look different in everything else.
        let head: Head = serde_json::from_slice(bytes).map_err(corrupt)?;
        if head.format > FORMAT {
            let found = head.format;
            let message =
                format!("the metadata object {key:?} has format {found}, this version reads up to {FORMAT}; run a newer tidegate");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        serde_json::from_slice(bytes).map_err(corrupt)
    }
}

/// The document of a key, and its version.
pub(super) async fn read<T>(store: &dyn ObjectStore, key: &str) -> Result<Option<(Document<T>, Version)>>
where
    T: Serialize + DeserializeOwned,
{
    match store.get(key, GetRange::Full).await {
        Ok(object) => Ok(Some((Document::decode(key, &object.bytes)?, object.version))),
        Err(e) if e.kind == StoreErrorKind::NotFound => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Writes under a precondition and gives the new version; `None` if another write came first. An unknown outcome is
/// resolved by reading back.
pub(super) async fn write<T>(store: &dyn ObjectStore, key: &str, document: &Document<T>, mode: PutMode) -> Result<Option<Version>>
where
    T: Serialize + DeserializeOwned,
{
    let body = document.encode();
    let mut last: Option<StoreError> = None;
    for _ in 0..TRIES {
        let error = match store.put(key, body.clone(), mode.clone()).await {
            Ok(version) => return Ok(Some(version)),
            Err(error) => error,
        };
        if !matches!(error.kind, StoreErrorKind::AlreadyExists | StoreErrorKind::VersionMismatch | StoreErrorKind::OutcomeUnknown) {
            return Err(error.into());
        }
        let found = read::<T>(store, key).await?;
        if let Some((_, version)) = found.as_ref().filter(|(found, _)| found.nonce == document.nonce) {
            return Ok(Some(version.clone()));
        }
        let unchanged = match (&mode, &found) {
            (PutMode::Create, None) => true,
            (PutMode::Replace(version), Some((_, found))) => version == found,
            _ => false,
        };
        if !unchanged {
            return Ok(None);
        }
        last = Some(error);
    }
    let message = format!("the write of {key:?} was not answered {TRIES} times; it may still happen");
    let error = Error::new(ErrorKind::OutcomeUnknown, message);
    Err(match last {
        Some(source) => error.with_source(source),
        None => error,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn format_1_is_read_for_ever() {
        let stored = br#"{"format":1,"nonce":"0000000000000000000000000000002a","value":"x"}"#;
        let document = Document::<String>::decode("k", stored).unwrap();
        assert_eq!(document, Document::new(Nonce(42), Some("x".to_owned())));
        assert_eq!(document.encode().chunks()[0], &stored[..]);
    }

    #[test]
    fn a_newer_format_is_named_whatever_its_shape() {
        let error = Document::<String>::decode("meta/x", br#"{"format":2,"values":[1]}"#).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("meta/x") && error.message().contains("format 2"), "{error}");
    }

    proptest! {
        #[test]
        fn round_trip(nonce: u128, value: Option<String>) {
            let document = Document::new(Nonce(nonce), value);
            prop_assert_eq!(Document::decode("k", &document.encode().chunks()[0]).unwrap(), document);
        }

        #[test]
        fn arbitrary_bytes_are_an_error(bytes: Vec<u8>) {
            prop_assert_eq!(Document::<String>::decode("k", &bytes).unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }
}
