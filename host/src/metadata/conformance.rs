//! What every [`MetadataStore`] must do, as one suite. Each check panics with what it expected and what it found.
//!
//! Run it from a test against an empty store; it leaves topics, bindings and offsets behind.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use uuid::Uuid;

use super::{Binding, BindingSet, MetadataStore, OffsetShard, TopicRecord, Versioned};
use crate::error::{ErrorKind, Result};
use crate::policy::Kind;
use crate::types::{TopicId, TopicName};

mod documents;
mod offsets;
mod producer_ids;

const RACERS: u128 = 4;

/// Runs all checks; panics at the first that fails.
pub async fn conformance(metadata: Arc<dyn MetadataStore>) {
    an_empty_store_is_empty(&*metadata).await;
    a_name_belongs_to_one_topic(&*metadata).await;
    names_of_all_shapes_are_listed_in_order(&*metadata).await;
    updates_need_the_version_that_was_read(&*metadata).await;
    a_topic_created_again_is_another(&*metadata).await;
    one_of_many_creators_wins(&metadata).await;
    bindings_change_one_after_the_other(&metadata).await;
    producer_ids::no_id_is_given_twice(&metadata).await;
    documents::documents_change_one_after_the_other(&metadata).await;
    offsets::offsets_change_one_after_the_other(&metadata).await;
    offsets::shards_of_offsets_are_apart(&*metadata).await;
}

fn name(name: &str) -> TopicName {
    TopicName::new(name).expect("a valid name")
}

fn id(number: u128) -> TopicId {
    TopicId(Uuid::from_u128(number))
}

fn topic(topic: &str, number: u128) -> TopicRecord {
    let config = BTreeMap::from([("retention_ms".to_owned(), "1000".to_owned())]);
    let annotations = BTreeMap::from([("kept.for.the.broker".to_owned(), "as it is".to_owned())]);
    let (id, name, created_ms) = (id(number), name(topic), 1_700_000_000_000);
    TopicRecord { id, name, partitions: 12, lanes: 4, config, annotations, created_ms, revision: 0 }
}

#[track_caller]
fn assert_kind<T: std::fmt::Debug>(result: Result<T>, expected: ErrorKind, what: &str) {
    match result {
        Err(e) if e.kind() == expected => {}
        other => panic!("{what}: expected {expected:?}, found {other:?}"),
    }
}

async fn create(metadata: &dyn MetadataStore, record: &TopicRecord) {
    metadata.create_topic(record).await.unwrap_or_else(|e| panic!("create of {}: {e}", record.name));
}

async fn read(metadata: &dyn MetadataStore, topic: &str) -> Option<Versioned<TopicRecord>> {
    metadata.topic(&name(topic)).await.unwrap_or_else(|e| panic!("read of {topic}: {e}"))
}

async fn names(metadata: &dyn MetadataStore) -> Vec<String> {
    let topics = metadata.topics().await.unwrap_or_else(|e| panic!("list of topics: {e}"));
    topics.into_iter().map(|topic| topic.name.to_string()).collect()
}

async fn an_empty_store_is_empty(metadata: &dyn MetadataStore) {
    assert_eq!(names(metadata).await, Vec::<String>::new(), "topics of an empty store");
    assert_eq!(read(metadata, "missing").await, None, "a missing topic");
    assert_kind(metadata.delete_topic(&name("missing"), id(1)).await, ErrorKind::NotFound, "delete of a missing topic");
    let bindings = metadata.bindings().await.expect("bindings of an empty store");
    assert_eq!(bindings, Versioned { value: BindingSet::default(), version: None }, "bindings of an empty store");
    let shard = metadata.offset_shard(0).await.expect("offsets of an empty store");
    assert_eq!(shard, Versioned { value: OffsetShard::default(), version: None }, "offsets of an empty store");
    assert_eq!(metadata.offset_shards().await.expect("shards of an empty store"), [], "shards of an empty store");
}

async fn a_name_belongs_to_one_topic(metadata: &dyn MetadataStore) {
    let record = topic("one", 10);
    create(metadata, &record).await;
    let found = read(metadata, "one").await.expect("the topic that was created");
    assert_eq!(found.value, record, "the record read back");
    assert!(found.version.is_some(), "a stored record has a version");
    create(metadata, &record).await;
    assert_kind(metadata.create_topic(&topic("one", 11)).await, ErrorKind::AlreadyExists, "a create with another id");
    assert_eq!(read(metadata, "one").await.map(|t| t.value), Some(record), "after a refused create");
}

async fn names_of_all_shapes_are_listed_in_order(metadata: &dyn MetadataStore) {
    let long = "n".repeat(TopicName::MAX_LEN);
    for (i, shape) in ["b", "a", "a.b", "a-b", "a_b", "A", "0", "..x", long.as_str()].into_iter().enumerate() {
        create(metadata, &topic(shape, 100 + i as u128)).await;
    }
    let expected = ["..x", "0", "A", "a", "a-b", "a.b", "a_b", "b", long.as_str(), "one"];
    assert_eq!(names(metadata).await, expected, "all topics, in name order");
}

async fn updates_need_the_version_that_was_read(metadata: &dyn MetadataStore) {
    let mut first = read(metadata, "one").await.expect("the topic exists");
    let stale = first.clone();
    first.value.config.insert("cache_enabled".to_owned(), "false".to_owned());
    (first.value.partitions, first.value.revision) = (13, 1);
    metadata.update_topic(first.clone()).await.expect("update on the version that was read");
    let found = read(metadata, "one").await.expect("the topic exists");
    assert_eq!(found.value, first.value, "the updated record");
    assert_ne!(found.version, first.version, "an update must change the version");
    assert_kind(metadata.update_topic(stale).await, ErrorKind::AlreadyExists, "update on a stale version");
    assert_eq!(read(metadata, "one").await, Some(found), "after a refused update");
    let unread = Versioned { value: first.value, version: None };
    assert_kind(metadata.update_topic(unread).await, ErrorKind::InvalidInput, "update on no version");
}

async fn a_topic_created_again_is_another(metadata: &dyn MetadataStore) {
    create(metadata, &topic("again", 20)).await;
    let old = read(metadata, "again").await.expect("the topic exists");
    assert_kind(metadata.delete_topic(&name("again"), id(21)).await, ErrorKind::NotFound, "delete of another id");
    metadata.delete_topic(&name("again"), id(20)).await.expect("delete");
    assert_eq!(read(metadata, "again").await, None, "a deleted topic");
    assert!(!names(metadata).await.contains(&"again".to_owned()), "a deleted topic is not listed");
    assert_kind(metadata.delete_topic(&name("again"), id(20)).await, ErrorKind::NotFound, "a second delete");
    assert_kind(metadata.update_topic(old.clone()).await, ErrorKind::AlreadyExists, "update of a deleted topic");
    create(metadata, &topic("again", 22)).await;
    assert_kind(metadata.delete_topic(&name("again"), id(20)).await, ErrorKind::NotFound, "delete of the old id");
    assert_kind(metadata.update_topic(old).await, ErrorKind::AlreadyExists, "update of the old topic");
    assert_eq!(read(metadata, "again").await.map(|t| t.value.id), Some(id(22)), "the topic that was created again");
    assert!(names(metadata).await.contains(&"again".to_owned()), "a topic created again is listed");
}

async fn one_of_many_creators_wins(metadata: &Arc<dyn MetadataStore>) {
    let racers = (0..RACERS).map(|i| {
        let metadata = metadata.clone();
        tokio::spawn(async move { (i, metadata.create_topic(&topic("raced", 200 + i)).await) })
    });
    let results: Vec<_> = join_all(racers).await.into_iter().map(|r| r.expect("a racer does not panic")).collect();
    let winners: Vec<_> = results.iter().filter(|(_, result)| result.is_ok()).map(|(i, _)| id(200 + i)).collect();
    let found = read(&**metadata, "raced").await.map(|t| t.value.id);
    assert!(winners.len() == 1 && found == Some(winners[0]), "one creator wins: found {found:?} after {results:?}");
    for (_, result) in results.into_iter().filter(|(_, result)| result.is_err()) {
        assert_kind(result, ErrorKind::AlreadyExists, "the creators that came too late");
    }
}

fn binding(by: u128) -> Binding {
    Binding {
        pattern: "logs-*".to_owned(),
        kind: Kind::Flush,
        digest: format!("sha256:{}", "0".repeat(64)),
        source: "file.wasm".to_owned(),
        config: serde_json::json!({ "bytes": 1 }),
        by: by.to_string(),
        at_ms: 7,
        plugin: "by-size".to_owned(),
        generation: 1,
        signature: String::new(),
        signed_by: String::new(),
    }
}

async fn bindings_change_one_after_the_other(metadata: &Arc<dyn MetadataStore>) {
    let empty = metadata.bindings().await.expect("bindings");
    let first = BindingSet { generation: 1, bindings: vec![binding(0)], history: Vec::new() };
    metadata.put_bindings(Versioned { value: first.clone(), version: empty.version.clone() }).await.expect("the first bindings");
    let stored = metadata.bindings().await.expect("bindings");
    assert_eq!(stored.value, first, "the bindings read back");
    assert_kind(metadata.put_bindings(empty).await, ErrorKind::AlreadyExists, "bindings on a stale version");
    let racers = (1..=RACERS).map(|i| {
        let (metadata, version) = (metadata.clone(), stored.version.clone());
        let value = BindingSet { generation: 2, bindings: vec![binding(0), binding(i)], history: Vec::new() };
        tokio::spawn(async move { (value.clone(), metadata.put_bindings(Versioned { value, version }).await) })
    });
    let results: Vec<_> = join_all(racers).await.into_iter().map(|r| r.expect("a racer does not panic")).collect();
    let winners: Vec<_> = results.iter().filter(|(_, result)| result.is_ok()).map(|(value, _)| value).collect();
    let found = metadata.bindings().await.expect("bindings").value;
    assert!(winners == [&found], "one writer wins: found {found:?} after {results:?}");
}
