//! Kafka's configs: what they mean here.
//!
//! Every config of a topic is one row of [`TOPIC`], the table that docs/kafka.md shows: it is a setting of the host, or kept and
//! shown without an effect, or taken with one value only, or a policy. What is in no row is refused. So nothing that a client asks for is
//! ignored by accident.
//!
//! ```text
//! value     types, ranges, and the message of a bad value
//! table     the rows
//! edit      a client's changes, applied to a topic's record
//! describe  a topic's configs with their sources
//! policies  the rows that bind policies
//! broker    the broker's own configs: read-only
//! ```

pub(crate) mod broker;
pub(crate) mod describe;
pub(crate) mod edit;
pub(crate) mod policies;
mod table;
mod value;

pub(crate) use table::{Config, Meaning, TOPIC, find};

/// Where a value comes from, in the numbers of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The topic's own.
    Topic = 1,
    /// Bound at run time to a pattern over topics.
    Pattern = 3,
    /// The settings file.
    SettingsFile = 4,
    /// Nobody said anything.
    Default = 5,
}

/// A config with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) source: Source,
    pub(crate) read_only: bool,
    /// The protocol's number of its type.
    pub(crate) kind: i8,
    pub(crate) documentation: &'static str,
    /// From the most specific to the most general.
    pub(crate) synonyms: Vec<Synonym>,
}

/// A value that is, or would be, in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Synonym {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) source: Source,
}
