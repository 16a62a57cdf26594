//! Recording what clients ask for: times, sizes and places of appends and fetches; no keys, no values.
//!
//! A recording is bounded in time and in requests, and ends by itself. While none runs a request pays for one atomic load. Partitions are
//! sampled rather than requests: what is recorded of a partition is all of it, so that readers can be followed.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::topics::Topics;
use crate::env::{self, Instant};
use crate::error::{Error, ErrorKind, Result};
use crate::types::{Offset, TopicName, TopicPartition};

/// Requests of one recording at most: 48 bytes of memory each.
pub const MAX_RECORDED: u32 = 2_000_000;
/// Longest recording, in seconds: a day.
pub const MAX_RECORDING_S: u32 = 24 * 3_600;

/// What to record.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordingSpec {
    /// Length, in seconds; 1 to a day.
    pub seconds: u32,
    /// Requests after which it ends early; 1 to 2,000,000.
    pub requests: u32,
    /// Share of the partitions that is recorded, in permille; 1 to 1,000.
    pub permille: u32,
}

/// A topic of which something was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedTopic {
    /// Its name.
    pub name: TopicName,
    /// Its partitions.
    pub partitions: u32,
    /// Its lanes.
    pub lanes: u32,
}

/// An append: microseconds since the recording began, position of its topic, partition, offset of its first record, bytes, records, and whether
/// acks of its topic wait for the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "named above")]
pub struct RecordedAppend {
    pub at_us: u64,
    pub topic: u32,
    pub partition: u32,
    pub offset: Offset,
    pub bytes: u32,
    pub records: u32,
    pub waits: bool,
}

/// A fetch that brought something: microseconds since the recording began, position of its topic, partition, the offset that it asked for, where
/// the next one goes on, and bytes at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "named above")]
pub struct RecordedFetch {
    pub at_us: u64,
    pub topic: u32,
    pub partition: u32,
    pub offset: Offset,
    pub next: Offset,
    pub bytes: u32,
}

/// What was recorded, each list in the order of its times.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recorded {
    /// Whether it has ended: by time, by number or because it was stopped.
    pub ended: bool,
    /// The topics.
    pub topics: Vec<RecordedTopic>,
    /// Appends that were taken.
    pub appends: Vec<RecordedAppend>,
    /// Fetches that brought something.
    pub fetches: Vec<RecordedFetch>,
}

/// One request as it comes in.
pub(super) enum Seen {
    Append { offset: Offset, bytes: usize, records: u64, waits: bool },
    Fetch { offset: Offset, next: Offset, bytes: usize },
}

/// At most one recording of a host.
#[derive(Default)]
pub(super) struct Recorder(ArcSwapOption<Recording>);

struct Recording {
    spec: RecordingSpec,
    began: Instant,
    requests: Mutex<Vec<(u64, TopicPartition, Seen)>>,
}

impl Recording {
    fn is_over(&self) -> bool {
        self.began.elapsed() >= Duration::from_secs(self.spec.seconds.into()) || self.requests.lock().len() >= self.spec.requests as usize
    }

    fn samples(&self, partition: TopicPartition) -> bool {
        let mut bytes = partition.topic.0.into_bytes().to_vec();
        bytes.extend_from_slice(&partition.partition.to_be_bytes());
        crc32fast::hash(&bytes) % 1_000 < self.spec.permille
    }
}

impl Recorder {
    /// Begins a recording; one that has ended is forgotten.
    pub(super) fn start(&self, spec: RecordingSpec) -> Result<()> {
        let ranges =
            [("seconds", spec.seconds, MAX_RECORDING_S), ("requests", spec.requests, MAX_RECORDED), ("permille", spec.permille, 1_000)];
        if let Some((key, value, most)) = ranges.into_iter().find(|(_, value, most)| !(1..=*most).contains(value)) {
            return Err(Error::new(ErrorKind::InvalidInput, format!("{key} is {value}, expected 1 to {most}")));
        }
        let running = self.0.load_full();
        if running.as_ref().is_some_and(|running| !running.is_over()) {
            return Err(Error::new(ErrorKind::Conflict, "a recording is running; wait for its end, or stop it"));
        }
        let next = Arc::new(Recording { spec, began: env::now(), requests: Mutex::default() });
        let seen = self.0.compare_and_swap(&running, Some(next));
        let won = seen.as_ref().map(Arc::as_ptr) == running.as_ref().map(Arc::as_ptr);
        if won { Ok(()) } else { Err(Error::new(ErrorKind::Conflict, "another recording was started at the same moment")) }
    }

    /// When a request began, if there is something to be noted of it.
    pub(super) fn begins(&self) -> Option<Instant> {
        self.0.load().is_some().then(env::now)
    }

    /// Notes a request that began at that time.
    pub(super) fn note(&self, began: Option<Instant>, partition: TopicPartition, seen: Seen) {
        let (Some(at), Some(recording)) = (began, &*self.0.load()) else { return };
        let after = at.saturating_duration_since(recording.began);
        let late = after >= Duration::from_secs(recording.spec.seconds.into());
        if at < recording.began || late || !recording.samples(partition) {
            return;
        }
        let mut requests = recording.requests.lock();
        if requests.len() < recording.spec.requests as usize {
            requests.push((after.as_micros() as u64, partition, seen));
        }
    }

    /// Ends the recording; says what it holds. Nothing is noted afterwards.
    pub(super) fn stop(&self, topics: &Topics) -> Result<Recorded> {
        let recording = self.0.swap(None).ok_or_else(none)?;
        let requests = std::mem::take(&mut *recording.requests.lock());
        Ok(told(requests, topics))
    }

    /// Whether the recording has ended, and the requests that it holds.
    pub(super) fn state(&self) -> Result<(bool, u64)> {
        let recording = self.0.load_full().ok_or_else(none)?;
        let held = recording.requests.lock().len() as u64;
        Ok((recording.is_over(), held))
    }
}

fn none() -> Error {
    Error::new(ErrorKind::NotFound, "there is no recording")
}

/// Topics that are gone by now are left out, and all that was noted of them.
fn told(mut requests: Vec<(u64, TopicPartition, Seen)>, topics: &Topics) -> Recorded {
    requests.sort_by_key(|(at_us, ..)| *at_us);
    let mut recorded = Recorded { ended: true, ..Recorded::default() };
    let mut numbers = std::collections::BTreeMap::new();
    for (at_us, TopicPartition { topic: id, partition }, seen) in requests {
        let known = *numbers.entry(id).or_insert_with(|| {
            let topic = topics.peek(id)?;
            recorded.topics.push(RecordedTopic { name: topic.name.clone(), partitions: topic.partitions(), lanes: topic.lanes });
            Some(recorded.topics.len() as u32 - 1)
        });
        let (Some(topic), count) = (known, |number: u64| u32::try_from(number).unwrap_or(u32::MAX)) else { continue };
        match seen {
            Seen::Append { offset, bytes, records, waits } => {
                let (bytes, records) = (count(bytes as u64), count(records));
                recorded.appends.push(RecordedAppend { at_us, topic, partition, offset, bytes, records, waits });
            }
            Seen::Fetch { offset, next, bytes } => {
                recorded.fetches.push(RecordedFetch { at_us, topic, partition, offset, next, bytes: count(bytes as u64) });
            }
        }
    }
    recorded
}
