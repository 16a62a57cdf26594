//! [`Storage`]: what a broker embeds.
//!
//! ```text
//! api        what goes into the calls             topics     the directory of topics
//! builder    opens a host                         create, alter, deletion
//! host       what the clones share                lanes      opening, once at a time; backoff
//! fetch      many partitions, one wait            bindings   policies bound to topics
//! offsets    places in a partition                upkeep     what is done again and again
//! producer_ids   numbers of idempotent producers   group_offsets   what consumer groups committed
//! recording  what clients ask for                 drain      the end; gate, tasks
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;

pub use self::api::{Bind, BindingChange, Component, EpochEnd, FetchPartition, FetchRequest, OffsetSpec, RollBack, TopicSpec};
pub use self::builder::Builder;
pub use self::group_offsets::OffsetCommit;
use self::host::Host;
use self::recording::Seen;
pub use self::recording::{MAX_RECORDED, MAX_RECORDING_S, Recorded, RecordedAppend, RecordedFetch, RecordedTopic, RecordingSpec};
use crate::config::{Acks, Settings, TopicSettings};
use crate::env::{Env, Instant};
use crate::error::{Error, ErrorKind, Result};
pub use crate::log::Event;
pub use crate::log::lane::{Appended, Committed, KnownProducer, ProducerError};
pub use crate::log::partition::{Fetched, Offsets};
use crate::metadata::{BindingSet, Change, Documents, GroupOffsets, TopicRecord};
use crate::metrics::Metrics;
use crate::policy::{BindingStatus, Kind, ShadowStatus};
use crate::record::{RecordError, RecordSet};
use crate::types::{Epoch, LaneId, Offset, PartitionId, TimestampMs, TopicId, TopicName, TopicPartition};

mod alter;
mod api;
mod backoff;
mod bindings;
mod builder;
mod create;
mod deletion;
mod drain;
mod fetch;
mod gate;
mod group_offsets;
mod host;
mod lanes;
mod offsets;
mod producer_ids;
mod recording;
mod tasks;
mod topics;
mod upkeep;

/// A running host. Cheap to clone; the last clone does not close it: call [`close`](Self::close).
#[derive(Clone)]
pub struct Storage {
    host: Arc<Host>,
}

impl std::fmt::Debug for Storage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Storage").field("store", &self.host.shared.store).finish_non_exhaustive()
    }
}

impl Storage {
    /// A builder over settings.
    pub fn builder(settings: Settings) -> Builder {
        Builder::new(settings)
    }

    /// Creates a topic: its lanes' manifests first, its record last.
    pub async fn create_topic(&self, spec: TopicSpec) -> Result<TopicRecord> {
        create::create(&self.host, spec).await
    }

    /// What [`create_topic`](Self::create_topic) would store, all its checks done; nothing is stored.
    pub async fn plan_topic(&self, spec: TopicSpec) -> Result<TopicRecord> {
        Ok(create::plan(&self.host, spec).await?.0)
    }

    /// Changes a topic's own config, its annotations, or the number of its partitions, which only grows; what else `edit` changes is left as
    /// it was. Durable when this returns; this host follows at once, others at their next look. `edit` is called again where another change
    /// came first, on what that left.
    ///
    /// [`NotFound`](ErrorKind::NotFound), [`InvalidInput`](ErrorKind::InvalidInput), or whatever `edit` refuses with.
    pub async fn alter_topic<E: From<Error>>(
        &self,
        name: &TopicName,
        edit: impl Fn(&mut TopicRecord) -> Result<(), E>,
    ) -> Result<TopicRecord, E> {
        alter::alter(&self.host, name, true, edit).await
    }

    /// What [`alter_topic`](Self::alter_topic) would store, all its checks done; nothing is stored.
    pub async fn plan_alteration<E: From<Error>>(
        &self,
        name: &TopicName,
        edit: impl Fn(&mut TopicRecord) -> Result<(), E>,
    ) -> Result<TopicRecord, E> {
        alter::alter(&self.host, name, false, edit).await
    }

    /// Deletes a topic: its record first; its lanes are tombstoned and its objects go after the grace period.
    pub async fn delete_topic(&self, name: &TopicName) -> Result<()> {
        deletion::delete(&self.host, name).await
    }

    /// The topic of a name, from memory; a miss asks the metadata store.
    pub async fn topic(&self, name: &TopicName) -> Result<Option<TopicRecord>> {
        self.host.gate.readable()?;
        Ok(self.host.topics.by_name(name).await?.map(|known| known.record.clone()))
    }

    /// The topic of an id, from memory; a miss asks the metadata store, at most once a second.
    pub async fn topic_by_id(&self, id: TopicId) -> Result<Option<TopicRecord>> {
        self.host.gate.readable()?;
        match self.host.topics.by_id(id).await {
            Ok(known) => Ok(Some(known.record.clone())),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// All topics, in name order, as this host knows them: other hosts' changes of the last interval may be missing.
    pub async fn topics(&self) -> Result<Vec<TopicRecord>> {
        self.host.gate.readable()?;
        Ok(self.host.topics.all().into_iter().map(|known| known.record.clone()).collect())
    }

    /// A topic's settings as resolved from defaults, rules and its own config.
    pub fn topic_settings(&self, topic: &TopicRecord) -> Result<Arc<TopicSettings>> {
        self.host.topics.settings_of(topic)
    }

    /// Validates a record set, gives it offsets and takes it into the write buffer, waiting for room there at most the append time-out.
    /// Opens the partition's lane if this host has not led it yet. Cancelled before it returns, nothing was appended.
    ///
    /// What an idempotent producer sends again is not appended again: it gets the offset and the fate of its first copy.
    ///
    /// [`InvalidInput`](ErrorKind::InvalidInput) has a [`RecordError`] as its source, or a [`ProducerError`] if an idempotent producer is fenced
    /// or out of order.
    pub async fn append(&self, partition: TopicPartition, records: BytesMut) -> Result<Appended> {
        self.host.gate.writable()?;
        let began = self.host.recorder.begins();
        let topic = self.host.topic_of(partition).await?;
        let limit = topic.settings.load().max_batch_bytes as usize;
        let set = RecordSet::validate(records, limit).map_err(|e| refused(&topic, partition, e))?;
        let lane = self.host.lanes.get(&topic, topic.lane_of(partition.partition)).await?;
        let (bytes, records) = (set.len(), set.record_count());
        let appended = lane.append(partition.partition, set).await?;
        if began.is_some() {
            let waits = topic.settings.load().acks == Acks::Committed;
            self.host.recorder.note(began, partition, Seen::Append { offset: appended.base_offset, bytes, records, waits });
        }
        Ok(appended)
    }

    /// An id for a new idempotent producer, never given to another one.
    pub async fn new_producer_id(&self) -> Result<i64> {
        self.host.gate.writable()?;
        self.host.producer_ids.next().await
    }

    /// The idempotent producers that a partition remembers, by id; opens the lane if need be.
    pub async fn producers(&self, partition: TopicPartition) -> Result<Vec<KnownProducer>> {
        self.host.lane_of(partition).await?.producers(partition.partition)
    }

    /// Reads one partition without waiting.
    pub async fn fetch_one(&self, fetch: FetchPartition, at_least_one: bool) -> Result<Fetched> {
        let began = self.host.recorder.begins();
        let partition = self.host.partition(fetch.partition).await?;
        let fetched = partition.fetch(fetch.offset, fetch.max_bytes, at_least_one).await?;
        self.note_fetch(began, fetch, &fetched);
        Ok(fetched)
    }

    /// Reads many partitions, with one wait for all. One result for each partition asked, in order.
    pub async fn fetch(&self, request: FetchRequest) -> Vec<Result<Fetched>> {
        let Some(began) = self.host.recorder.begins() else { return fetch::fetch(&self.host, request).await };
        let asked = request.partitions.clone();
        let answers = fetch::fetch(&self.host, request).await;
        for (fetch, answer) in asked.into_iter().zip(&answers) {
            if let Ok(fetched) = answer {
                self.note_fetch(Some(began), fetch, fetched);
            }
        }
        answers
    }

    fn note_fetch(&self, began: Option<Instant>, fetch: FetchPartition, fetched: &Fetched) {
        if fetched.len > 0 {
            let seen = Seen::Fetch { offset: fetch.offset, next: fetched.next_offset, bytes: fetch.max_bytes };
            self.host.recorder.note(began, fetch.partition, seen);
        }
    }

    /// Returns once any of the partitions has a record at or above its offset (or fails), or after `max_wait`. Says whether one has.
    pub async fn wait_for_data(&self, partitions: &[(TopicPartition, Offset)], max_wait: Duration) -> bool {
        fetch::wait_for_data(&self.host, partitions, max_wait).await
    }

    /// Offset, and timestamp where known (else -1), of a place in a partition. `None`: no record is there.
    pub async fn list_offset(&self, partition: TopicPartition, spec: OffsetSpec) -> Result<Option<(Offset, TimestampMs)>> {
        offsets::find(&*self.host.partition(partition).await?, spec).await
    }

    /// Log start and high watermark; opens the lane if need be.
    pub async fn offsets(&self, partition: TopicPartition) -> Result<Offsets> {
        self.host.partition(partition).await?.offsets()
    }

    /// The leader epoch under which this host writes the partition.
    pub async fn leader_epoch(&self, partition: TopicPartition) -> Result<Epoch> {
        Ok(self.host.lane_of(partition).await?.epoch())
    }

    /// Where the records of a leader epoch end, or those of the last epoch before it; `None` for an epoch that is not there yet.
    /// A consumer that was told records beyond that place has seen what did not stay.
    pub async fn epoch_end(&self, partition: TopicPartition, epoch: Epoch) -> Result<Option<EpochEnd>> {
        offsets::epoch_end(&*self.host.lane_of(partition).await?, partition.partition, epoch).await
    }

    /// Bytes of a partition's committed segments, from the one that holds the log start on; opens the lane if need be.
    pub async fn partition_bytes(&self, partition: TopicPartition) -> Result<u64> {
        self.host.partition(partition).await?.bytes().await
    }

    /// Brings a partition's chunks from `offset` on into the cache.
    pub async fn warm(&self, partition: TopicPartition, offset: Offset, bytes: u64) -> Result<()> {
        self.host.partition(partition).await?.warm(offset, bytes).await
    }

    /// Seals what the partition's lane has buffered, and waits until it is committed.
    pub async fn flush(&self, partition: TopicPartition) -> Result<()> {
        self.host.lane_of(partition).await?.flush().await
    }

    /// Moves the log start up to `offset` (the high watermark at most), durably. Returns the log start.
    pub async fn trim(&self, partition: TopicPartition, offset: Offset) -> Result<Offset> {
        self.host.gate.writable()?;
        self.host.lane_of(partition).await?.trim(partition.partition, offset).await
    }

    /// Commits offsets of a consumer group. They are queued before this returns, so commits are made in the order of
    /// the calls; the future ends once they are durable, and may be dropped. Topics are not looked up.
    ///
    /// [`InvalidInput`](ErrorKind::InvalidInput) if the group's shard is full; [`Unavailable`](ErrorKind::Unavailable),
    /// [`OutcomeUnknown`](ErrorKind::OutcomeUnknown) or [`Closed`](ErrorKind::Closed) where trying again may help.
    pub fn commit_offsets(&self, commit: OffsetCommit) -> impl Future<Output = Result<()>> + Send + use<> {
        let queued = self.host.gate.writable().map(|()| self.host.group_offsets.commit(commit));
        async move { queued?.await }
    }

    /// What a consumer group has committed; `None` for a group that has nothing.
    pub async fn group_offsets(&self, group: &str) -> Result<Option<Arc<GroupOffsets>>> {
        self.host.gate.readable()?;
        self.host.group_offsets.of_group(group).await
    }

    /// All consumer groups that have committed something, in no order.
    pub async fn groups_with_offsets(&self) -> Result<Vec<(String, Arc<GroupOffsets>)>> {
        self.host.gate.readable()?;
        self.host.group_offsets.groups().await
    }

    /// Forgets committed offsets of a group; says whether there were any. Queued before it returns, as commits are.
    pub fn delete_offsets(&self, group: &str, partitions: Vec<TopicPartition>) -> impl Future<Output = Result<bool>> + Send + use<> {
        let queued = self.host.gate.writable().map(|()| self.host.group_offsets.delete_offsets(group, partitions));
        async move { queued?.await }
    }

    /// Forgets all committed offsets of a group; says whether there were any. Queued before it returns, as commits are.
    pub fn delete_group_offsets(&self, group: &str) -> impl Future<Output = Result<bool>> + Send + use<> {
        let queued = self.host.gate.writable().map(|()| self.host.group_offsets.delete_group(group));
        async move { queued?.await }
    }

    /// Notes which groups have members now, and forgets the offsets of deleted topics, and those of groups that have
    /// had no members for `retention_ms`. To be called again and again, with all groups that have members.
    pub async fn tidy_group_offsets(&self, active: BTreeSet<String>, retention_ms: i64) -> Result<()> {
        self.host.gate.writable()?;
        self.host.group_offsets.tidy(&self.host.topics, active, retention_ms).await
    }

    /// Documents that the embedder keeps in the metadata store. Nothing of them is cached: each call asks the store.
    pub fn documents(&self) -> Documents {
        Documents::new(self.host.metadata.clone(), self.host.shared.env.clone())
    }

    /// Takes the lead of a lane, also one that this host was fenced from. One that it leads, as far as it knows, stays as it is.
    pub async fn take_lead(&self, topic: &TopicName, lane: LaneId) -> Result<Epoch> {
        let known = self.host.topics.existing(topic).await?;
        if lane >= known.topic.lanes {
            let message = format!("topic {topic} has {} lanes, there is no {lane}", known.topic.lanes);
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        self.host.lanes.take_lead(&known.topic, lane).await
    }

    /// Checks a component, tries it out on recent views, stores it, and binds it to the topics that match `pattern`. Running lanes follow
    /// between two decisions; whatever fails leaves the old policy in place.
    ///
    /// [`InvalidInput`](ErrorKind::InvalidInput) has a [`LoadError`](crate::policy::wasm::LoadError) as its source, with the class of what is wrong;
    /// [`Conflict`](ErrorKind::Conflict): a later request for the same pattern and kind won.
    pub async fn bind(&self, bind: Bind) -> Result<BindingChange> {
        self.host.gate.writable()?;
        self.host.bindings.bind(bind).await
    }

    /// Checks a component and tries it out on recent views, as [`bind`](Self::bind) does, and changes nothing.
    pub async fn try_policy(&self, bind: &Bind) -> Result<()> {
        self.host.gate.writable()?;
        self.host.bindings.try_out(bind).await
    }

    /// Lets a candidate run beside what decides for the topics that match, without acting: [`policy_shadows`](Self::policy_shadows) shows how it
    /// does. On this host alone, until it is promoted, dropped, or the host stops. Refused like what is bound.
    pub async fn shadow(&self, bind: Bind) -> Result<ShadowStatus> {
        self.host.gate.writable()?;
        self.host.bindings.shadow(bind).await
    }

    /// All candidates that run on this host, with those that failed too often.
    pub fn policy_shadows(&self) -> Vec<ShadowStatus> {
        self.host.bindings.shadows()
    }

    /// Binds a candidate as it ran, and ends its shadow. [`NotFound`](ErrorKind::NotFound): none of exactly this pattern and kind runs here.
    pub async fn promote_shadow(&self, pattern: &str, kind: Kind, by: &str) -> Result<BindingChange> {
        self.host.gate.writable()?;
        self.host.bindings.promote(pattern, kind, by).await
    }

    /// Ends a shadow, and says what it came to.
    pub fn drop_shadow(&self, pattern: &str, kind: Kind) -> Result<ShadowStatus> {
        self.host.bindings.drop_shadow(pattern, kind)
    }

    /// A component by name: of a file in `policy.directory`, with or without its ending; or by digest (`sha256:` and 64 hex digits), if one is
    /// stored. Nothing else on this machine can be named.
    pub async fn component(&self, name: &str) -> Result<Component> {
        self.host.gate.readable()?;
        self.host.bindings.component(name, &self.host.settings.policy).await
    }

    /// A component from wherever it is: as [`component`](Self::component), or from `s3://bucket/key` or `oci://registry/name:tag`, with the digest that
    /// it must have. [`Unavailable`](ErrorKind::Unavailable) says where it was looked for.
    pub async fn fetch_component(&self, source: &str, pinned: Option<&str>) -> Result<Component> {
        self.host.gate.readable()?;
        self.host.bindings.fetch(source, pinned, &self.host.settings.policy).await
    }

    /// Removes the binding of exactly this pattern and kind.
    pub async fn unbind(&self, pattern: &str, kind: Kind, by: &str) -> Result<BindingChange> {
        self.host.gate.writable()?;
        self.host.bindings.unbind(pattern, kind, by).await
    }

    /// Brings back what was bound before, nothing too. What this process has run lately is still in memory: neither store nor compiler is needed
    /// to load it. [`NotFound`](ErrorKind::NotFound): the history does not reach back so far.
    pub async fn roll_back(&self, roll_back: RollBack) -> Result<BindingChange> {
        self.host.gate.writable()?;
        self.host.bindings.roll_back(roll_back).await
    }

    /// What became of the bindings, oldest first: changes, and attempts that changed nothing.
    pub fn policy_history(&self) -> Vec<Change> {
        self.host.bindings.history()
    }

    /// Every binding with its figures, those of the settings file too, in order of precedence.
    pub fn policy_status(&self) -> Vec<BindingStatus> {
        self.host.bindings.status()
    }

    /// The bindings in force, without those of the settings file.
    pub fn bindings(&self) -> BindingSet {
        self.host.bindings.in_force()
    }

    /// Begins to record what clients ask for: times, sizes and places, no keys and no values. It ends by itself.
    ///
    /// [`InvalidInput`](ErrorKind::InvalidInput) for numbers out of range, [`Conflict`](ErrorKind::Conflict) while another one runs.
    pub fn start_recording(&self, spec: RecordingSpec) -> Result<()> {
        self.host.recorder.start(spec)
    }

    /// Whether the recording has ended, and how many requests it holds. [`NotFound`](ErrorKind::NotFound) if there is none.
    pub fn recording_state(&self) -> Result<(bool, u64)> {
        self.host.recorder.state()
    }

    /// Ends the recording and hands out what it holds, once. [`NotFound`](ErrorKind::NotFound) if there is none.
    pub fn stop_recording(&self) -> Result<Recorded> {
        self.host.recorder.stop(&self.host.topics)
    }

    /// What happens from now on; a slow receiver loses the oldest.
    pub fn events(&self) -> tokio::sync::broadcast::Receiver<Event> {
        self.host.shared.events.subscribe()
    }

    /// Counters and histograms of this host.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.host.shared.metrics
    }

    /// Bytes of batches that were appended and are not committed yet, of all topics.
    pub fn buffered_bytes(&self) -> u64 {
        self.host.shared.buffers.used()
    }

    /// Time and chance of this host.
    pub fn env(&self) -> &Env {
        &self.host.shared.env
    }

    /// The settings that it was opened with.
    pub fn settings(&self) -> &Settings {
        &self.host.settings
    }

    /// Partitions that exist and that this host has open: for diagnosis.
    pub fn open_partitions(&self) -> Vec<(TopicName, PartitionId, Offsets)> {
        self.host.open_partitions()
    }

    /// Stops taking appends, flushes, commits and checkpoints; readers go on. Within the drain deadline.
    pub async fn drain(&self) -> Result<()> {
        drain::drain(&self.host).await
    }

    /// Drains and stops everything.
    pub async fn close(&self) -> Result<()> {
        drain::close(&self.host).await
    }

    /// Stops everything at once, as a crash would: what is not committed is lost, or found by the next leader.
    pub fn abort(&self) {
        drain::abort(&self.host);
    }
}

fn refused(topic: &crate::log::Topic, partition: TopicPartition, error: RecordError) -> Error {
    let message = format!("record set for partition {} of topic {} refused", partition.partition, topic.name);
    Error::new(ErrorKind::InvalidInput, message).with_source(error)
}
