//! A store in memory and the hosts on it, in virtual time: what most scenarios begin with.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use tidegate::env::{self, Env, Instant};
use tidegate::metadata::TopicRecord;
use tidegate::runtime::{FetchPartition, TopicSpec};
use tidegate::segment::FENCE_LEN;
use tidegate::store::{MemoryStore, ObjectStore, Operation, Request};
use tidegate::types::{Offset, PartitionId, TopicName, TopicPartition};
use tidegate::{Error, Settings, Storage};

use crate::records::{self, ReadBatch};

/// The time of day at which all scenarios begin.
pub const START_MS: i64 = 1_700_000_000_000;

/// A store, and settings for the hosts on it.
pub struct World {
    /// Survives the hosts.
    pub store: MemoryStore,
    /// Of hosts that are opened from now on.
    pub settings: Settings,
    hosts: AtomicU64,
    began: Instant,
}

impl Default for World {
    fn default() -> Self {
        let store = MemoryStore::new(Env::simulated(0, START_MS));
        let mut settings = Settings::default();
        // Records here are older than any retention: their timestamps begin at 0.
        settings.topic_defaults.retention_ms = -1;
        Self { store, settings, hosts: AtomicU64::new(1), began: env::now() }
    }
}

impl World {
    /// An empty store and default settings, changed by `change`.
    pub fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let mut world = Self::default();
        change(&mut world.settings);
        world
    }

    /// Another host on the store.
    pub async fn open(&self) -> Storage {
        self.open_on(Arc::new(self.store.clone())).await
    }

    /// Another host, with a way of its own to the store.
    pub async fn open_on(&self, store: Arc<dyn ObjectStore>) -> Storage {
        self.try_open_on(store).await.expect("the host opens")
    }

    /// The same, where it may fail.
    pub async fn try_open_on(&self, store: Arc<dyn ObjectStore>) -> Result<Storage, Error> {
        let seed = self.hosts.fetch_add(1, Ordering::Relaxed);
        let now_ms = START_MS + self.began.elapsed().as_millis() as i64;
        Storage::builder(self.settings.clone()).store(store).env(Env::simulated(seed, now_ms)).open().await
    }

    /// Keys of all segments and fences.
    pub fn log_objects(&self) -> Vec<String> {
        self.store.snapshot().into_keys().filter(|key| is_log_key(key)).collect()
    }

    /// Keys of all segments, of any topic.
    pub fn segments(&self) -> Vec<String> {
        let objects = self.store.snapshot().into_iter();
        objects.filter(|(key, bytes)| is_log_key(key) && bytes.len() as u64 > FENCE_LEN).map(|(key, _)| key).collect()
    }

    /// Requests of one kind so far whose key is accepted.
    pub fn count(&self, operation: Operation, key: impl Fn(&str) -> bool) -> usize {
        self.store.log().iter().filter(|r| r.operation == operation && key(&r.key)).count()
    }
}

/// Whether a key is that of a slot.
pub fn is_log_key(key: &str) -> bool {
    key.contains("/log/")
}

/// Whether a request writes a segment.
pub fn is_segment_put(request: &Request<'_>) -> bool {
    request.operation == Operation::Put && is_log_key(request.key) && request.size > FENCE_LEN
}

/// Whether a request writes a manifest.
pub fn is_manifest_put(request: &Request<'_>) -> bool {
    request.operation == Operation::Put && request.key.ends_with("/manifest")
}

/// Creates a topic.
pub async fn create(storage: &Storage, name: &str, partitions: u32, lanes: u32) -> TopicRecord {
    let spec = TopicSpec { partitions: Some(partitions), lanes: Some(lanes), ..TopicSpec::named(topic_name(name)) };
    storage.create_topic(spec).await.expect("the topic is created")
}

/// A valid topic name.
pub fn topic_name(name: &str) -> TopicName {
    TopicName::new(name).expect("a valid name")
}

/// A partition of a topic.
pub fn at(topic: &TopicRecord, partition: PartitionId) -> TopicPartition {
    TopicPartition { topic: topic.id, partition }
}

/// Appends and waits for the commit.
pub async fn commit(storage: &Storage, partition: TopicPartition, records: BytesMut) -> Result<Offset, Error> {
    let appended = storage.append(partition, records).await?;
    appended.committed.wait().await?;
    Ok(appended.base_offset)
}

/// A value that says what it is.
pub fn value(name: impl std::fmt::Display) -> Vec<u8> {
    format!("{name}:{}", "x".repeat(200)).into_bytes()
}

/// Everything from `offset` up to the high watermark.
pub async fn read_from(storage: &Storage, partition: TopicPartition, mut offset: Offset) -> Result<Vec<ReadBatch>, Error> {
    let mut batches = Vec::new();
    loop {
        let fetched = storage.fetch_one(FetchPartition { partition, offset, max_bytes: 8 << 20 }, true).await?;
        if fetched.chunks.is_empty() {
            return Ok(batches);
        }
        assert_eq!(fetched.chunks.iter().map(|c| c.len()).sum::<usize>(), fetched.len);
        batches.extend(records::parse(&fetched.chunks.concat()));
        assert!(fetched.next_offset > offset, "a fetch with data gets on");
        offset = fetched.next_offset;
    }
}

/// Offset and value of every record of a partition, read from its log start.
pub async fn read_values(storage: &Storage, partition: TopicPartition) -> Result<BTreeMap<Offset, Vec<u8>>, Error> {
    let start = storage.offsets(partition).await?.log_start;
    let mut values = BTreeMap::new();
    for batch in read_from(storage, partition, start).await? {
        for (i, value) in batch.values.into_iter().enumerate() {
            let offset = batch.base_offset + i as i64;
            assert!(values.insert(offset, value).is_none(), "offset {offset} is there twice");
        }
    }
    Ok(values)
}

/// Lets virtual time pass until the condition holds, an hour at most.
pub async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..360_000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("an hour passed, and still not: {what}");
}
