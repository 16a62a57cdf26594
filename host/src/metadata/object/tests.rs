use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use super::*;
use crate::metadata::conformance::conformance;
use crate::store::{Fault, LocalStore, MemoryStore, Operation, Request, StoreErrorKind};

fn env() -> Env {
    Env::simulated(3, 1_000)
}

fn metadata(memory: &MemoryStore) -> ObjectMetadata {
    ObjectMetadata::new(Arc::new(memory.clone()), env())
}

fn topic(name: &str, id: u128) -> TopicRecord {
    let name = TopicName::new(name).unwrap();
    let (config, annotations) = (BTreeMap::new(), BTreeMap::new());
    TopicRecord { id: TopicId(Uuid::from_u128(id)), name, partitions: 3, lanes: 1, config, annotations, created_ms: 5, revision: 0 }
}

/// Puts meet these faults, one after the other; everything else goes well.
fn puts_meet(memory: &MemoryStore, faults: Vec<Fault>) {
    let mut faults = faults.into_iter();
    memory.set_script(move |r: &Request<'_>| match r.operation {
        Operation::Put => faults.next().unwrap_or_else(Fault::none),
        _ => Fault::none(),
    });
}

#[tokio::test]
async fn memory_passes_the_conformance_suite() {
    conformance(Arc::new(metadata(&MemoryStore::default()))).await;
}

#[tokio::test]
async fn a_local_directory_passes_the_conformance_suite() {
    let dir = tempfile::tempdir().unwrap();
    let store = LocalStore::open(dir.path(), &Env::system()).unwrap();
    conformance(Arc::new(ObjectMetadata::new(Arc::new(store), Env::system()))).await;
}

#[tokio::test(start_paused = true)]
async fn lost_replies_to_own_writes_are_seen_through() {
    let memory = MemoryStore::default();
    let metadata = metadata(&memory);
    let record = topic("t", 1);
    puts_meet(&memory, vec![Fault::lost_reply()]);
    metadata.create_topic(&record).await.unwrap();
    let mut read = metadata.topic(&record.name).await.unwrap().unwrap();
    read.value.config.insert("retention_ms".into(), "1".into());
    puts_meet(&memory, vec![Fault::lost_reply()]);
    metadata.update_topic(read.clone()).await.unwrap();
    puts_meet(&memory, vec![Fault::lost_reply()]);
    metadata.put_bindings(Versioned { value: BindingSet::default(), version: None }).await.unwrap();
    puts_meet(&memory, vec![Fault::lost_reply(), Fault::lost_reply()]);
    let version = metadata.put_offset_shard(1, Versioned { value: OffsetShard::default(), version: None }).await.unwrap();
    metadata.put_offset_shard(1, Versioned { value: OffsetShard::default(), version: Some(version) }).await.unwrap();
    puts_meet(&memory, vec![Fault::lost_reply()]);
    metadata.delete_topic(&record.name, record.id).await.unwrap();
    assert_eq!(metadata.topic(&record.name).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_never_happened_is_repeated_and_not_for_ever() {
    let memory = MemoryStore::default();
    let metadata = metadata(&memory);
    let lost = Fault::fail(StoreErrorKind::OutcomeUnknown);
    puts_meet(&memory, vec![lost.clone(), lost.clone()]);
    metadata.create_topic(&topic("t", 1)).await.unwrap();
    puts_meet(&memory, vec![lost; 100]);
    let error = metadata.create_topic(&topic("u", 2)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    assert!(memory.requests(Operation::Put) < 10);
}

#[tokio::test(start_paused = true)]
async fn a_create_that_arrives_late_does_not_bring_a_deleted_topic_back() {
    let memory = MemoryStore::default();
    let metadata = metadata(&memory);
    let record = topic("t", 1);
    puts_meet(&memory, vec![Fault::late(Duration::from_secs(60))]);
    metadata.create_topic(&record).await.unwrap();
    metadata.delete_topic(&record.name, record.id).await.unwrap();
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(metadata.topic(&record.name).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_topic_created_again_meanwhile_is_never_deleted() {
    let memory = MemoryStore::default();
    let (mine, other) = (metadata(&memory), ObjectMetadata::new(Arc::new(memory.clone()), Env::simulated(4, 0)));
    let (old, new) = (topic("t", 1), topic("t", 2));
    mine.create_topic(&old).await.unwrap();
    // The tombstone is on its way for a while; meanwhile another host deletes the topic and creates it again.
    puts_meet(&memory, vec![Fault::none().before(Duration::from_secs(10))]);
    let deleting = mine.delete_topic(&old.name, old.id);
    let meanwhile = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        other.delete_topic(&old.name, old.id).await.unwrap();
        other.create_topic(&new).await.unwrap();
    };
    let (deleted, ()) = tokio::join!(deleting, meanwhile);
    assert_eq!(deleted.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(mine.topic(&new.name).await.unwrap().unwrap().value, new);
}

#[tokio::test(start_paused = true)]
async fn bindings_of_equal_content_have_different_versions() {
    let memory = MemoryStore::default();
    let metadata = metadata(&memory);
    metadata.put_bindings(Versioned { value: BindingSet::default(), version: None }).await.unwrap();
    let first = memory.snapshot()[BINDINGS].clone();
    let read = metadata.bindings().await.unwrap();
    metadata.put_bindings(read).await.unwrap();
    assert_ne!(memory.snapshot()[BINDINGS], first, "a version made of content alone must change too");
}

#[tokio::test(start_paused = true)]
async fn listing_reads_only_what_changed() {
    let memory = MemoryStore::default();
    let metadata = metadata(&memory);
    for i in 0..50 {
        metadata.create_topic(&topic(&format!("t{i:02}"), i)).await.unwrap();
    }
    assert_eq!(metadata.topics().await.unwrap().len(), 50);
    metadata.delete_topic(&TopicName::new("t07").unwrap(), TopicId(Uuid::from_u128(7))).await.unwrap();
    memory.reset_counters();
    let names: Vec<_> = metadata.topics().await.unwrap().into_iter().map(|t| t.name.to_string()).collect();
    assert_eq!(names, (0..50).filter(|i| *i != 7).map(|i| format!("t{i:02}")).collect::<Vec<_>>());
    assert_eq!((memory.requests(Operation::List), memory.requests(Operation::Get)), (1, 1));
    metadata.topics().await.unwrap();
    assert_eq!(memory.requests(Operation::Get), 1);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_named_and_not_overwritten() {
    let memory = MemoryStore::default();
    let metadata = metadata(&memory);
    let other = serde_json::to_vec(&Document::new(crate::types::Nonce(1), Some(topic("other", 1)))).unwrap();
    let cases = [
        (Bytes::from_static(b""), ErrorKind::Corrupt),
        (Bytes::from_static(b"{\"format\":1,\"nonce\":"), ErrorKind::Corrupt),
        (Bytes::from_static(b"{\"format\":9}"), ErrorKind::Unsupported),
        (Bytes::from(other), ErrorKind::Corrupt),
    ];
    for (bytes, kind) in cases {
        memory.insert("meta/topics/t", bytes.clone());
        for error in [
            metadata.topic(&TopicName::new("t").unwrap()).await.map(|_| ()).unwrap_err(),
            metadata.topics().await.map(|_| ()).unwrap_err(),
            metadata.create_topic(&topic("t", 1)).await.unwrap_err(),
            metadata.delete_topic(&TopicName::new("t").unwrap(), TopicId(Uuid::from_u128(1))).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.message().contains("meta/topics/t"), "{error}");
        }
        assert_eq!(memory.snapshot()["meta/topics/t"], bytes);
    }
}
