//! The words every layer shares: names, ids and the integer kinds.
//!
//! An *offset* is logical (the number of a record in its partition), a *position* is a byte. Ranges are
//! half-open.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::{Error, ErrorKind};

/// Number of a record in its partition, from 0.
pub type Offset = i64;
/// Number of a partition in its topic, from 0.
pub type PartitionId = u32;
/// Number of a lane in its topic, from 0.
pub type LaneId = u32;
/// Number of a log object in its lane: a dense sequence from 0, with jumps of [`WINDOW`] behind fences.
pub type Slot = u64;
/// How often a lane has changed its leader; the leader epoch of the batches written meanwhile. At most `i32::MAX`.
pub type Epoch = u32;
/// Milliseconds since 1970-01-01T00:00:00Z.
pub type TimestampMs = i64;

/// Slots that may be outstanding in a lane: a constant of the format.
pub const WINDOW: u64 = 64;
/// Largest segment object, in bytes.
pub const MAX_SEGMENT_BYTES: u64 = 256 << 20;

/// The kinds of decision that a policy makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// When to seal a lane's write buffer.
    Flush,
    /// How densely to index a slice.
    Index,
    /// How far to read ahead of a sequential reader.
    ReadAhead,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 3] = [Kind::Flush, Kind::Index, Kind::ReadAhead];

    /// `flush`, `index` or `read-ahead`.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Flush => "flush",
            Kind::Index => "index",
            Kind::ReadAhead => "read-ahead",
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Kind {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Kind::ALL
            .into_iter()
            .find(|k| k.as_str() == s)
            .ok_or_else(|| Error::new(ErrorKind::InvalidInput, format!("unknown policy kind {s:?}: expected flush, index or read-ahead")))
    }
}

/// Identity of a topic. A topic deleted and created again has another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TopicId(pub Uuid);

impl fmt::Debug for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A random number that tells one writer from every other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nonce(pub u128);

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A topic's name by Kafka's rules: 1 to 249 of `a-z A-Z 0-9 . _ -`, neither `.` nor `..`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TopicName(Arc<str>);

impl TopicName {
    /// Longest name, in bytes.
    pub const MAX_LEN: usize = 249;

    /// Checks a name; [`ErrorKind::InvalidInput`] says what is wrong with it.
    pub fn new(name: impl AsRef<str>) -> Result<Self, Error> {
        let name = name.as_ref();
        let problem = if name.is_empty() {
            "it is empty".to_owned()
        } else if name.len() > Self::MAX_LEN {
            format!("it has {} bytes, at most {} are allowed", name.len(), Self::MAX_LEN)
        } else if name == "." || name == ".." {
            "`.` and `..` are reserved".to_owned()
        } else if let Some(c) = name.chars().find(|c| !(c.is_ascii_alphanumeric() || "._-".contains(*c))) {
            format!("{c:?} is none of a-z A-Z 0-9 . _ -")
        } else {
            return Ok(Self(name.into()));
        };
        let shown: String = name.chars().take(64).collect();
        Err(Error::new(ErrorKind::InvalidInput, format!("invalid topic name {shown:?}: {problem}")))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TopicName {
    type Error = Error;
    fn try_from(name: String) -> Result<Self, Error> {
        Self::new(name)
    }
}

impl From<TopicName> for String {
    fn from(name: TopicName) -> Self {
        name.0.as_ref().to_owned()
    }
}

impl fmt::Debug for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// One partition of one topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic.
    pub topic: TopicId,
    /// The partition in it.
    pub partition: PartitionId,
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// One lane of one topic: the partitions `p` with `p % lanes == lane` share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicLane {
    /// The topic.
    pub topic: TopicId,
    /// The lane in it.
    pub lane: LaneId,
}

impl fmt::Display for TopicLane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/lane {}", self.topic, self.lane)
    }
}
