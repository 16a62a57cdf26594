//! What must hold of the shards of group offsets.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;

use super::{RACERS, assert_kind, id};
use crate::error::ErrorKind;
use crate::metadata::{CommittedOffset, GroupOffsets, MetadataStore, OFFSET_SHARDS, OffsetShard, Versioned};

fn offsets(group: &str, offset: i64) -> OffsetShard {
    let committed = CommittedOffset { offset, epoch: Some(1), metadata: "\u{1F980} \" note".to_owned(), at_ms: 7 };
    let topics = BTreeMap::from([(id(1), BTreeMap::from([(0, committed.clone()), (u32::MAX, committed)]))]);
    let group_offsets = GroupOffsets { protocol_type: "consumer".to_owned(), idle_since_ms: None, topics };
    OffsetShard { groups: BTreeMap::from([(group.to_owned(), Arc::new(group_offsets))]) }
}

pub(super) async fn offsets_change_one_after_the_other(metadata: &Arc<dyn MetadataStore>) {
    let first = Versioned { value: offsets("a group / of \u{e9}", 1), version: None };
    let version = metadata.put_offset_shard(7, first.clone()).await.expect("the first offsets of a shard");
    let stored = metadata.offset_shard(7).await.expect("offsets");
    assert_eq!(stored, Versioned { value: first.value.clone(), version: Some(version.clone()) }, "the offsets read back");
    assert_kind(metadata.put_offset_shard(7, first.clone()).await, ErrorKind::AlreadyExists, "offsets where some are stored");
    let again = Versioned { value: first.value.clone(), version: Some(version.clone()) };
    let next = metadata.put_offset_shard(7, again.clone()).await.expect("offsets on the version that a put gave");
    assert_ne!(next, version, "equal offsets put again have another version");
    assert_kind(metadata.put_offset_shard(7, again).await, ErrorKind::AlreadyExists, "offsets on a stale version");
    let racers = (0..RACERS).map(|i| {
        let (metadata, version) = (metadata.clone(), Some(next.clone()));
        let value = offsets("raced", i as i64);
        tokio::spawn(async move { (value.clone(), metadata.put_offset_shard(7, Versioned { value, version }).await) })
    });
    let results: Vec<_> = join_all(racers).await.into_iter().map(|r| r.expect("a racer does not panic")).collect();
    let winners: Vec<_> = results.iter().filter(|(_, result)| result.is_ok()).map(|(value, _)| value).collect();
    let found = metadata.offset_shard(7).await.expect("offsets").value;
    assert!(winners == [&found], "one writer wins: found {found:?} after {results:?}");
}

pub(super) async fn shards_of_offsets_are_apart(metadata: &dyn MetadataStore) {
    let last = OFFSET_SHARDS - 1;
    let put = Versioned { value: offsets("g", 2), version: None };
    let version = metadata.put_offset_shard(last, put.clone()).await.expect("offsets of the last shard");
    assert_eq!(metadata.offset_shard(0).await.expect("offsets").value, OffsetShard::default(), "another shard");
    let listed = metadata.offset_shards().await.expect("shards");
    assert_eq!(listed.iter().map(|(shard, _)| *shard).collect::<Vec<_>>(), [7, last], "the shards that are stored");
    assert!(listed[1].1.is_none() || listed[1].1 == Some(version), "a listed version is the stored one: {listed:?}");
    assert_kind(metadata.offset_shard(OFFSET_SHARDS).await, ErrorKind::InvalidInput, "a shard that is none");
    assert_kind(metadata.put_offset_shard(OFFSET_SHARDS, put).await, ErrorKind::InvalidInput, "a shard that is none");
}
