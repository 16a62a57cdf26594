//! Producer ids.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::join_all;

use super::RACERS;
use crate::metadata::MetadataStore;

/// Whoever asks, and however many ask at once.
pub(super) async fn no_id_is_given_twice(metadata: &Arc<dyn MetadataStore>) {
    let mut given = BTreeSet::new();
    for count in [1, 1_000, 7] {
        let block = metadata.producer_ids(count).await.unwrap_or_else(|e| panic!("{count} producer ids: {e}"));
        assert_eq!(block.clone().count(), count as usize, "as many ids as were asked for, not {block:?}");
        assert!(block.start >= 0, "ids count from 0, not {block:?}");
        block.for_each(|id| assert!(given.insert(id), "id {id} was given twice"));
    }
    let racers = (0..RACERS).map(|_| {
        let metadata = metadata.clone();
        tokio::spawn(async move { metadata.producer_ids(10).await })
    });
    for block in join_all(racers).await {
        let block = block.expect("a racer does not panic").unwrap_or_else(|e| panic!("producer ids beside others: {e}"));
        block.for_each(|id| assert!(given.insert(id), "id {id} was given twice"));
    }
}
