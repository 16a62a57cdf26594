//! A partition over sealed segments in a memory store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;

use crate::buffer::BufferBudget;
use crate::cache::ChunkCache;
use crate::config::{HostSettings, TopicSettings};
use crate::cost::Prices;
use crate::env::Env;
use crate::error::Result;
use crate::index::SliceIndex;
use crate::log::partition::{Offsets, Partition};
use crate::log::{Extent, ExtentLookup, Shared, Topic};
use crate::metrics::Metrics;
use crate::policy::{
    Context, FlushPolicy, IndexPolicy, IndexSpacing, Policies, ReadAheadDecision, ReadAheadPolicy, ReadAheadView, UNBOUNDED,
};
use crate::record::testing::{self, BatchBuilder};
use crate::segment::{Identity, SliceInput, seal};
use crate::store::MemoryStore;
use crate::types::{Nonce, Offset, PartitionId, TimestampMs, TopicId, TopicName};

/// What was committed, as a lane's catalog would tell.
#[derive(Default)]
pub(super) struct Catalog {
    extents: Mutex<BTreeMap<PartitionId, Vec<Extent>>>,
    pub(super) lookups: AtomicU64,
}

#[async_trait]
impl ExtentLookup for Catalog {
    async fn extents_from(&self, partition: PartitionId, offset: Offset, limit: usize) -> Result<Vec<Extent>> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        let extents = self.extents.lock();
        let of_partition = extents.get(&partition).into_iter().flatten();
        Ok(of_partition.filter(|e| e.slice.next_offset > offset).take(limit).cloned().collect())
    }

    async fn extent_at_time(&self, partition: PartitionId, offset: Offset, timestamp: TimestampMs) -> Result<Option<Extent>> {
        let extents = self.extents.lock();
        let mut of_partition = extents.get(&partition).into_iter().flatten();
        Ok(of_partition.find(|e| e.slice.next_offset > offset && e.slice.max_timestamp >= timestamp).cloned())
    }
}

/// Answers every stream alike, and keeps what it was shown.
pub(super) struct Fixed {
    pub(super) decision: Mutex<ReadAheadDecision>,
    pub(super) views: Mutex<Vec<ReadAheadView>>,
    pub(super) instances: AtomicU64,
}

struct FixedStream(Arc<Fixed>);

impl ReadAheadPolicy for FixedStream {
    fn decide(&mut self, view: &ReadAheadView) -> ReadAheadDecision {
        self.0.views.lock().push(*view);
        *self.0.decision.lock()
    }
}

struct Source(Arc<Fixed>);

impl Policies for Source {
    fn flush(&self, _: &str, _: &Context) -> Box<dyn FlushPolicy> {
        unreachable!("a partition does not flush")
    }
    fn index(&self, _: &str, _: &Context) -> Box<dyn IndexPolicy> {
        unreachable!("a partition does not seal")
    }
    fn read_ahead(&self, _: &str, _: &Context) -> Box<dyn ReadAheadPolicy> {
        self.0.instances.fetch_add(1, Ordering::Relaxed);
        Box::new(FixedStream(self.0.clone()))
    }
}

/// One stored batch of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelBatch {
    pub(super) base_offset: Offset,
    pub(super) next_offset: Offset,
    pub(super) bytes: Bytes,
}

/// A sealed and stored slice, before it is committed.
pub(super) struct Stored {
    pub(super) extent: Extent,
    pub(super) index: Arc<SliceIndex>,
    pub(super) bytes: Vec<Bytes>,
}

pub(super) struct Bench {
    pub(super) store: MemoryStore,
    pub(super) shared: Shared,
    pub(super) topic: Arc<Topic>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) policy: Arc<Fixed>,
    pub(super) model: BTreeMap<PartitionId, Vec<ModelBatch>>,
    next_offsets: BTreeMap<PartitionId, Offset>,
    prior_bytes: BTreeMap<PartitionId, u64>,
    slot: u64,
    pub(super) spacing: u64,
}

pub(super) fn small_chunks() -> HostSettings {
    HostSettings { chunk_bytes: 16 << 10, cache_bytes: 64 << 20, prefetch_bytes: 8 << 20, ..HostSettings::default() }
}

pub(super) fn quiet_topic() -> TopicSettings {
    TopicSettings { read_ahead_enabled: false, ..TopicSettings::default() }
}

impl Bench {
    pub(super) fn new(partitions: u32, settings: HostSettings, topic: TopicSettings) -> Self {
        let env = Env::simulated(1, 0);
        let store = MemoryStore::new(env.clone());
        let metrics = Arc::new(Metrics::default());
        let policy = Arc::new(Fixed {
            decision: Mutex::new(ReadAheadDecision { bytes: 0, slices: 0, admit: true }),
            views: Mutex::default(),
            instances: AtomicU64::default(),
        });
        let shared = Shared {
            env,
            prices: Prices::default(),
            cache: Arc::new(ChunkCache::new(Arc::new(store.clone()), &settings, metrics.clone())),
            store: Arc::new(store.clone()),
            policies: Arc::new(Source(policy.clone())),
            buffers: BufferBudget::new(1 << 20),
            settings: Arc::new(settings),
            metrics,
            events: tokio::sync::broadcast::channel(1).0,
        };
        let name = TopicName::new("orders").expect("it is a valid name");
        let topic = Arc::new(Topic::new(TopicId(uuid::Uuid::from_u128(1)), name, partitions, 1, topic));
        Self {
            store,
            shared,
            topic,
            catalog: Arc::default(),
            policy,
            model: BTreeMap::new(),
            next_offsets: BTreeMap::new(),
            prior_bytes: BTreeMap::new(),
            slot: 0,
            spacing: 4 << 10,
        }
    }

    /// Leaves offsets out, as a log does that lost a lane's tail to a fence.
    pub(super) fn gap(&mut self, partition: PartitionId, offsets: i64) {
        *self.next_offsets.entry(partition).or_default() += offsets;
    }

    /// Seals and stores a segment; the catalog knows it then. Each inner list is one appended set.
    pub(super) fn segment(&mut self, inputs: Vec<(PartitionId, Vec<Vec<BatchBuilder>>)>) -> Vec<Stored> {
        let identity = Identity { topic: self.topic.id, lane: 0, slot: self.slot, epoch: 1, nonce: Nonce(1) };
        let object: Arc<str> = format!("topics/t/lane-0/log/{:04}", self.slot).into();
        self.slot += 1;
        let inputs = inputs.into_iter().map(|(partition, sets)| self.input(partition, sets)).collect();
        let mut sealed = seal(identity, 0, inputs);
        self.store.insert(&object, Bytes::from(sealed.body.chunks().concat()));
        let indexes = std::mem::take(&mut sealed.indexes);
        let slices = sealed.footer.slices.iter().zip(indexes).zip(sealed.slices());
        let stored = slices.map(|((slice, index), bytes)| {
            let prior = self.prior_bytes.entry(slice.partition).or_default();
            let extent = Extent { object: object.clone(), slice: *slice, epoch: 1, prior_bytes: *prior };
            *prior += slice.len;
            self.catalog.extents.lock().entry(slice.partition).or_default().push(extent.clone());
            Stored { extent, index: Arc::new(index), bytes: bytes.to_vec() }
        });
        stored.collect()
    }

    fn input(&mut self, partition: PartitionId, sets: Vec<Vec<BatchBuilder>>) -> SliceInput {
        let next = self.next_offsets.entry(partition).or_default();
        let model = self.model.entry(partition).or_default();
        let sets = sets.iter().map(|batches| {
            let set = testing::set(batches).assign(*next, 1, None);
            *next = set.next_offset();
            for (i, batch) in set.batches.iter().enumerate() {
                let end = set.batches.get(i + 1).map_or(set.bytes.len(), |b| b.position);
                model.push(ModelBatch {
                    base_offset: batch.header.base_offset,
                    next_offset: batch.header.next_offset(),
                    bytes: set.bytes.slice(batch.position..end),
                });
            }
            set
        });
        let sets = sets.collect();
        SliceInput { partition, sets, spacing: IndexSpacing { bytes: self.spacing, records: UNBOUNDED, time_ms: UNBOUNDED } }
    }

    /// A segment with one slice of `batches` batches of `value` bytes, a set each.
    pub(super) fn plain(&mut self, partition: PartitionId, batches: usize, value: usize) -> Stored {
        let sets = (0..batches).map(|_| vec![testing::batch(1, value)]).collect();
        self.segment(vec![(partition, sets)]).remove(0)
    }

    /// The partition as it opens over what is stored: nothing in memory.
    pub(super) fn open(&self, partition: PartitionId) -> Partition {
        let high_watermark = self.next_offsets.get(&partition).copied().unwrap_or(0);
        self.open_at(partition, Offsets { log_start: 0, high_watermark })
    }

    /// The partition before anything was committed.
    pub(super) fn open_empty(&self, partition: PartitionId) -> Partition {
        self.open_at(partition, Offsets { log_start: 0, high_watermark: 0 })
    }

    pub(super) fn open_at(&self, partition: PartitionId, offsets: Offsets) -> Partition {
        Partition::new(self.shared.clone(), self.topic.clone(), partition, offsets, self.catalog.clone())
    }

    pub(super) fn high_watermark(&self, partition: PartitionId) -> Offset {
        self.next_offsets[&partition]
    }

    /// Bytes of a partition's batches.
    pub(super) fn bytes_of(&self, partition: PartitionId) -> u64 {
        self.model[&partition].iter().map(|b| b.bytes.len() as u64).sum()
    }

    /// The batches that a fetch from `offset` starts with.
    pub(super) fn from(&self, partition: PartitionId, offset: Offset) -> &[ModelBatch] {
        let batches = &self.model[&partition];
        &batches[batches.partition_point(|b| b.next_offset <= offset)..]
    }
}

/// Commits what was stored, as a lane does after a flush.
pub(super) fn commit(partition: &Partition, stored: Stored) {
    partition.commit(stored.extent, stored.index, &stored.bytes);
}

/// Commits an extent whose bytes are not at hand, as a lane does for what an older writer left.
pub(super) fn commit_cold(partition: &Partition, stored: Stored) {
    partition.commit(stored.extent, stored.index, &[]);
}
