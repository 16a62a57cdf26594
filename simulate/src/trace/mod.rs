//! Traces: what producers and consumers asked of a broker, and when. No keys, no values.
//!
//! A trace is written and read as CSV ([`Trace::read`], [`Trace::write`]), recorded by a running broker, or [generated](Shape).
//!
//! Readers are followed rather than offsets: a fetch goes on where its reader's last one ended, since what is readable when depends on the
//! policy. Only where a reader begins, or goes elsewhere, an offset is given.

use tidegate::error::{Error, ErrorKind, Result};
use tidegate::types::{Offset, PartitionId, TopicName};

mod csv;
mod generate;
mod readers;
mod recorded;

pub use generate::{Shape, Shaped};

/// Most topics of a trace.
pub const MAX_TOPICS: usize = 10_000;
/// Longest trace, in microseconds: 30 days. Virtual time costs real time too, where nothing happens as well.
pub const MAX_SPAN_US: u64 = 30 * 24 * 3_600 * 1_000_000;
/// Most records of a batch: they are built one by one, whatever the batch is said to weigh.
pub const MAX_RECORDS: u32 = 1_000_000;
/// Most readers of a trace.
pub const MAX_READERS: u32 = 1_000_000;

/// A topic that a trace is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: TopicName,
    /// Its partitions, at least 1.
    pub partitions: u32,
    /// Its lanes; 0: as the settings say.
    pub lanes: u32,
}

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A record batch came.
    Append {
        /// Size of the batch, in bytes.
        bytes: u32,
        /// Its records, at least 1.
        records: u32,
        /// Whether its producer waits until it is committed.
        waits: bool,
    },
    /// A reader wants more.
    Fetch {
        /// Which reader; it reads one partition.
        reader: u32,
        /// Where it begins, counted from the first record of the trace; absent: where its last fetch ended.
        offset: Option<Offset>,
        /// Bytes at most.
        bytes: u32,
    },
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in microseconds since the trace began.
    pub at_us: u64,
    /// Position in [`Trace::topics`].
    pub topic: u32,
    /// Partition of that topic.
    pub partition: PartitionId,
    /// What.
    pub action: Action,
}

/// Requests in the order of their times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The topics.
    pub topics: Vec<Topic>,
    /// The requests.
    pub events: Vec<Event>,
}

impl Trace {
    /// From the first to the last request, in microseconds.
    pub fn span_us(&self) -> u64 {
        self.events.last().map_or(0, |event| event.at_us)
    }

    /// Checks that topics are named once and partitions exist, that times do not go back, that it and its batches are not too long, and that
    /// each reader keeps to one partition.
    ///
    /// [`InvalidInput`](ErrorKind::InvalidInput) names the first event that is wrong.
    pub fn check(&self) -> Result<()> {
        let mut readers = std::collections::BTreeMap::new();
        let mut before = 0;
        for (at, event) in self.events.iter().enumerate() {
            let wrong = |problem: String| Err(Error::new(ErrorKind::InvalidInput, format!("event {} of the trace: {problem}", at + 1)));
            let Some(topic) = self.topics.get(event.topic as usize) else {
                return wrong(format!("there is no topic {}, there are {}", event.topic, self.topics.len()));
            };
            if event.partition >= topic.partitions {
                return wrong(format!("topic {} has {} partitions, there is no {}", topic.name, topic.partitions, event.partition));
            }
            if event.at_us < before {
                return wrong(format!("at {} us, but the one before is at {before} us", event.at_us));
            }
            if event.at_us > MAX_SPAN_US {
                return wrong(format!("at {} us, expected at most {MAX_SPAN_US}", event.at_us));
            }
            before = event.at_us;
            if let Action::Append { records, .. } = event.action
                && records > MAX_RECORDS
            {
                return wrong(format!("{records} records in a batch, expected at most {MAX_RECORDS}"));
            }
            if let Action::Fetch { reader, .. } = event.action {
                let place = (event.topic, event.partition);
                let known = *readers.entry(reader).or_insert(place);
                if known != place {
                    return wrong(format!("reader {reader} reads partition {} of topic {} already", known.1, known.0));
                }
            }
        }
        Ok(())
    }
}
