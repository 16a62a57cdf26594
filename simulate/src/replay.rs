//! A trace against a host, in whatever time its runtime has: paused for simulations, real to see whether they are right.
//!
//! Requests come when the trace says, whatever became of earlier ones. A reader has one fetch under way; while it waits for an answer its next
//! polls are skipped.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tidegate::Storage;
use tidegate::env::{self, Instant};
use tidegate::error::{ErrorKind, Result};
use tidegate::metadata::TopicRecord;
use tidegate::runtime::{FetchPartition, FetchRequest, TopicSpec};
use tidegate::types::{Offset, TopicPartition};
use tokio_util::task::TaskTracker;

use crate::appends::Appends;
use crate::batch::Batches;
pub use crate::measure::Measured;
use crate::trace::{Action, Event, Trace};

/// How long a reader at the tail waits for more, as Kafka's consumers do.
const MAX_WAIT: Duration = Duration::from_millis(500);

/// Creates the topics of a trace and opens their lanes, so that the replay begins with what a running broker has.
pub async fn prepare(storage: &Storage, trace: &Trace) -> Result<Vec<TopicRecord>> {
    let mut topics = Vec::with_capacity(trace.topics.len());
    for topic in &trace.topics {
        let lanes = (topic.lanes > 0).then_some(topic.lanes);
        let spec = TopicSpec { partitions: Some(topic.partitions), lanes, ..TopicSpec::named(topic.name.clone()) };
        let record = storage.create_topic(spec).await?;
        for lane in 0..record.lanes {
            storage.offsets(TopicPartition { topic: record.id, partition: lane }).await?;
        }
        topics.push(record);
    }
    Ok(topics)
}

/// Replays a trace whose topics were [prepared](prepare), and waits until all of it is answered.
pub async fn replay(storage: &Storage, trace: &Trace, topics: &[TopicRecord]) -> Measured {
    let run = Arc::new(Run { storage: storage.clone(), began: env::now(), measured: Mutex::new(Measured::new(env::now())) });
    let tasks = TaskTracker::new();
    let (mut batches, mut appends) = (Batches::default(), Appends::new(run.clone(), topics, tasks.clone()));
    let mut readers = HashMap::<u32, Arc<Reader>>::new();
    for Event { at_us, topic, partition, action } in &trace.events {
        let due = run.began + Duration::from_micros(*at_us);
        if due > env::now() {
            tokio::time::sleep_until(due).await;
        }
        let topic = *topic as usize;
        let partition = TopicPartition { topic: topics[topic].id, partition: *partition };
        match *action {
            Action::Append { bytes, records, waits } => {
                let batch = batches.of(bytes, records, storage.env().unix_ms());
                appends.append(topic, partition, batch, waits);
            }
            Action::Fetch { reader, offset, bytes } => {
                let reader = readers.entry(reader).or_default();
                match reader.begin(offset) {
                    Some(from) => drop(tasks.spawn(run.clone().fetch(reader.clone(), partition, from, bytes as usize))),
                    None => run.measured.lock().skipped_fetches += 1,
                }
            }
        }
    }
    drop(appends);
    tasks.close();
    tasks.wait().await;
    let mut measured = std::mem::replace(&mut *run.measured.lock(), Measured::new(run.began));
    measured.ended = env::now();
    measured
}

/// Where a reader is.
#[derive(Default)]
struct Reader(Mutex<Place>);

#[derive(Default)]
struct Place {
    next: Offset,
    busy: bool,
    /// Where it goes once its fetch has ended.
    seek: Option<Offset>,
}

impl Reader {
    /// The offset to fetch from; `None` while a fetch is under way.
    fn begin(&self, seek: Option<Offset>) -> Option<Offset> {
        let mut place = self.0.lock();
        place.seek = seek.or(place.seek);
        if place.busy {
            return None;
        }
        place.busy = true;
        place.next = place.seek.take().unwrap_or(place.next);
        Some(place.next)
    }

    fn end(&self, next: Offset) {
        let mut place = self.0.lock();
        (place.next, place.busy) = (next, false);
    }
}

/// What all that is under way shares.
pub(crate) struct Run {
    pub(crate) storage: Storage,
    pub(crate) began: Instant,
    pub(crate) measured: Mutex<Measured>,
}

impl Run {
    async fn fetch(self: Arc<Self>, reader: Arc<Reader>, partition: TopicPartition, from: Offset, bytes: usize) {
        let began = env::now();
        // A wait at the tail is for producers, not for the store.
        let more = self.storage.offsets(partition).await.is_ok_and(|offsets| offsets.high_watermark > from);
        let asked = FetchPartition { partition, offset: from, max_bytes: bytes };
        let request = FetchRequest { partitions: vec![asked], max_bytes: bytes, min_bytes: 1, max_wait: MAX_WAIT };
        let answer = self.storage.fetch(request).await.pop();
        let next = match &answer {
            Some(Ok(fetched)) => fetched.next_offset,
            // A place that the log does not reach yet, or not any more: the reader goes where it ends.
            Some(Err(error)) if error.kind() == ErrorKind::OffsetOutOfRange => {
                self.storage.offsets(partition).await.map_or(from, |offsets| offsets.high_watermark)
            }
            _ => from,
        };
        reader.end(next);
        let memory = self.memory();
        let mut measured = self.measured.lock();
        measured.holds(memory);
        match answer {
            Some(Ok(fetched)) => measured.fetched(fetched.len as u64, more.then(|| began.elapsed())),
            _ => measured.failed_fetches += 1,
        }
    }

    /// What the host holds now: batches that are not committed, the cache, and what was read ahead.
    pub(crate) fn memory(&self) -> u64 {
        let cache = &self.storage.metrics().cache;
        let gauges = cache.resident_bytes.get() + cache.prefetch_reserved_bytes.get();
        self.storage.buffered_bytes() + u64::try_from(gauges).unwrap_or(0)
    }
}
