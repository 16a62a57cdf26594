//! A topic of one lane on a memory store, and shorthands.

use std::sync::Arc;
use std::time::Duration;

use crate::buffer::BufferBudget;
use crate::cache::ChunkCache;
use crate::catalog::Manifest;
use crate::config::{HostSettings, PolicySettings, TopicSettings};
use crate::cost::Prices;
use crate::env::Env;
use crate::log::lane::keys::Keys;
use crate::log::lane::{Appended, Committed, Lane};
use crate::log::partition::Offsets;
use crate::log::{Shared, Topic};
use crate::metrics::Metrics;
use crate::policy::PolicyHost;
use crate::record::testing::{batch, set};
use crate::store::{MemoryStore, Operation, PutMode};
use crate::types::{Offset, PartitionId, Slot, TopicId, TopicLane, TopicName};

pub(super) struct World {
    pub(super) env: Env,
    pub(super) store: MemoryStore,
    pub(super) topic: Arc<Topic>,
    pub(super) keys: Keys,
    pub(super) settings: HostSettings,
}

impl World {
    pub(super) async fn new(partitions: u32) -> Self {
        let env = Env::simulated(7, 1_700_000_000_000);
        let topic_settings = TopicSettings { retention_ms: -1, max_age_ms: 60_000, ..TopicSettings::default() };
        let topic = Arc::new(Topic::new(TopicId(env.uuid()), TopicName::new("t").unwrap(), partitions, 1, topic_settings));
        let keys = Keys::new(TopicLane { topic: topic.id, lane: 0 });
        let settings = HostSettings { uploads_per_lane: 64, delete_grace_ms: 0, upload_deadline_ms: 1_000, ..HostSettings::default() };
        let world = Self { store: MemoryStore::new(env.clone()), env, topic, keys, settings };
        Lane::create_all(&world.shared(), &world.topic).await.unwrap();
        world
    }

    /// What a host of its own would have: nothing is shared but the store.
    pub(super) fn shared(&self) -> Shared {
        let metrics = Arc::new(Metrics::default());
        let store = Arc::new(self.store.clone());
        Shared {
            env: self.env.clone(),
            prices: Prices::default(),
            cache: Arc::new(ChunkCache::new(store.clone(), &self.settings, metrics.clone())),
            policies: Arc::new(PolicyHost::inline(PolicySettings::default(), metrics.clone(), Arc::new(|_| {}))),
            buffers: BufferBudget::new(self.settings.buffer_bytes),
            settings: Arc::new(self.settings.clone()),
            events: tokio::sync::broadcast::Sender::new(16),
            metrics,
            store,
        }
    }

    pub(super) async fn open(&self) -> crate::Result<Arc<Lane>> {
        Lane::open(self.shared(), self.topic.clone(), 0).await
    }

    pub(super) fn manifest(&self) -> Manifest {
        Manifest::decode(&self.store.snapshot()[&self.keys.manifest()]).unwrap()
    }

    /// Slots whose creation was sent, in the order of sending.
    pub(super) fn slots_sent(&self) -> Vec<Slot> {
        let creates = |r: &&crate::store::RequestRecord| r.operation == Operation::Put && r.mode == Some(PutMode::Create);
        self.store.log().iter().filter(creates).filter_map(|r| self.keys.parse_slot(&r.key)).collect()
    }

    /// Slots that hold an object.
    pub(super) fn slots(&self) -> Vec<Slot> {
        self.store.snapshot().keys().filter_map(|key| self.keys.parse_slot(key)).collect()
    }
}

/// Appends one record; says its offset.
pub(super) async fn append(lane: &Lane, partition: PartitionId) -> (Offset, Committed) {
    let appended = lane.append(partition, set(&[batch(1, 100)])).await.unwrap();
    (appended.base_offset, appended.committed)
}

/// Appends one record of an idempotent producer: its id, epoch and sequence.
pub(super) async fn produce(lane: &Lane, partition: PartitionId, (id, epoch, sequence): (i64, i16, i32)) -> crate::Result<Appended> {
    lane.append(partition, set(&[batch(1, 100).producer(id, epoch, sequence)])).await
}

/// Appends one record and has it sealed in a segment of its own, whatever becomes of that.
pub(super) async fn append_segment(lane: &Lane, partition: PartitionId) -> Committed {
    let (_, committed) = append(lane, partition).await;
    assert!(tokio::time::timeout(Duration::from_millis(1), lane.flush()).await.is_ok() || !lane.inner.state.lock().pending.is_empty());
    committed
}

/// Appends one record, and waits until it is committed.
pub(super) async fn commit(lane: &Lane, partition: PartitionId) -> Offset {
    let (offset, committed) = append(lane, partition).await;
    lane.flush().await.unwrap();
    committed.wait().await.unwrap();
    offset
}

pub(super) fn offsets(lane: &Lane, partition: PartitionId) -> Offsets {
    lane.partition(partition).unwrap().offsets().unwrap()
}

/// Lets everything that is ready run, and timers of up to a minute fire.
pub(super) async fn settle() {
    tokio::time::sleep(Duration::from_secs(60)).await;
}
