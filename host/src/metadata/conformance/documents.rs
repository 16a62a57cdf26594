//! Documents of the embedder's.

use std::sync::Arc;

use futures::future::join_all;
use serde_json::json;

use super::{RACERS, assert_kind};
use crate::error::ErrorKind;
use crate::metadata::{MAX_DOCUMENT_BYTES, MetadataStore, Versioned};

/// Apart from each other, and each on the version that was read.
pub(super) async fn documents_change_one_after_the_other(metadata: &Arc<dyn MetadataStore>) {
    let empty = metadata.document("users").await.expect("a document that was never stored");
    assert!(empty.value.is_none() && empty.version.is_none(), "a document that was never stored has no value: {empty:?}");
    let put = |value: serde_json::Value, version| Versioned { value, version };
    let first = metadata.put_document("users", put(json!({ "a": [1, null] }), None)).await.expect("the first document");
    let stored = metadata.document("users").await.expect("a document");
    assert_eq!(stored, Versioned { value: Some(json!({ "a": [1, null] })), version: Some(first.clone()) }, "the document read back");
    assert!(metadata.document("acls").await.expect("another document").value.is_none(), "documents are apart");
    assert_kind(metadata.put_document("users", put(json!(2), None)).await, ErrorKind::AlreadyExists, "a document put as new");
    let racers = (0..RACERS as u64).map(|n| {
        let (metadata, version) = (metadata.clone(), Some(first.clone()));
        tokio::spawn(async move { (n, metadata.put_document("users", Versioned { value: json!(n), version }).await) })
    });
    let results: Vec<_> = join_all(racers).await.into_iter().map(|r| r.expect("a racer does not panic")).collect();
    let winners: Vec<_> = results.iter().filter(|(_, result)| result.is_ok()).map(|(n, _)| json!(n)).collect();
    let found = metadata.document("users").await.expect("a document").value;
    assert!(winners.len() == 1 && found.as_ref() == Some(&winners[0]), "one writer wins: found {found:?} after {results:?}");
    assert_kind(metadata.document("../topics/a").await, ErrorKind::InvalidInput, "a name that is no name");
    let large = json!("x".repeat(MAX_DOCUMENT_BYTES));
    assert_kind(metadata.put_document("large", put(large, None)).await, ErrorKind::InvalidInput, "a document that is too large");
}
