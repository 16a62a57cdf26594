//! Policies: a view in, a decision out. Pure: no I/O, no clock, no handle.
//!
//! The types mirror `wit/` one to one. The host validates and clamps every answer, acts on it, and answers
//! itself (see [`builtin`]) where a plugin cannot.

pub use crate::types::Kind;

pub mod builtin;
pub mod guard;
pub mod wasm;

/// Leaves a bound out of an answer.
pub const UNBOUNDED: u64 = u64::MAX;

/// What does not change while a policy instance lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// Partitions of the topic.
    pub topic_partitions: u32,
    /// Partitions of this lane.
    pub lane_partitions: u32,
    /// Lanes of the topic.
    pub lanes: u32,
    /// Slots that may be outstanding.
    pub window: u32,
    /// The host's limit for one segment, in bytes; holds whatever a policy answers.
    pub max_segment_bytes: u64,
    /// The host's limit for the age of a buffered batch, in microseconds.
    pub max_age_us: u64,
    /// Size of one index entry, in bytes.
    pub index_entry_bytes: u32,
    /// The host's cache, in bytes.
    pub cache_bytes: u64,
    /// Price of one PUT, in nano-dollars.
    pub put_price_nano: u64,
    /// Price of one GET, in nano-dollars.
    pub get_price_nano: u64,
}

/// Why a flush policy is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlushReason {
    /// The first append into an empty buffer.
    #[default]
    FirstAppend,
    /// A bound of the last answer was crossed.
    Bound,
    /// An upload finished.
    UploadDone,
    /// Memory pressure changed.
    Pressure,
}

/// The write buffer of one lane at the moment of asking. Units are in the names; "recent" is the last 128 samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is documented in wit/, of which this is the mirror")]
pub struct FlushView {
    pub reason: FlushReason,
    pub now_ms: u64,
    pub buffered_bytes: u64,
    pub buffered_records: u64,
    pub buffered_partitions: u32,
    pub oldest_age_us: u64,
    pub quiet_us: u64,
    pub arrival_bytes_per_s: u64,
    pub arrival_batches_per_s: u32,
    pub waiting_acks: u32,
    pub uploads_in_flight: u32,
    pub upload_p50_us: u64,
    pub ack_p99_us: u64,
    pub throttled_permille: u32,
    pub pressure_permille: u32,
    pub topic_put_share_permille: u32,
}

/// Flush when the first bound is crossed; [`UNBOUNDED`] leaves one out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushBounds {
    /// Buffered bytes.
    pub bytes: u64,
    /// Buffered records.
    pub records: u64,
    /// Age of the oldest buffered batch, in microseconds.
    pub age_us: u64,
    /// Time since the last append, in microseconds.
    pub quiet_us: u64,
    /// Crossed when no more than so many uploads are in flight.
    pub uploads_at_most: u32,
}

/// What to do with a lane's write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushDecision {
    /// Seal it now.
    Now,
    /// Wait until the first of these bounds is crossed.
    Wait(FlushBounds),
}

/// One partition's slice of a segment about to be sealed, and how that partition has been read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is documented in wit/, of which this is the mirror")]
pub struct IndexView {
    pub slice_bytes: u64,
    pub slice_records: u64,
    pub slice_batches: u32,
    pub time_span_ms: u64,
    pub seeks_per_min: u32,
    pub time_lookups_per_min: u32,
    pub fetch_p50_bytes: u64,
}

/// An index entry at least every so many bytes, records or milliseconds; [`UNBOUNDED`] leaves one out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the units are in the names")]
pub struct IndexSpacing {
    pub bytes: u64,
    pub records: u64,
    pub time_ms: u64,
}

/// One sequential reader of one partition, at a fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is documented in wit/, of which this is the mirror")]
pub struct ReadAheadView {
    pub run_fetches: u32,
    pub run_bytes: u64,
    pub last_fetch_bytes: u64,
    pub pace_bytes_per_s: u64,
    pub lag_bytes: u64,
    pub ready_bytes: u64,
    pub in_flight_bytes: u64,
    pub misses: u32,
    pub evicted_bytes: u64,
    pub abandoned_bytes: u64,
    pub store_first_byte_us: u64,
    pub store_bytes_per_s: u64,
    pub slice_bytes: u64,
    pub budget_free_bytes: u64,
    pub cache_free_permille: u32,
    pub arrival_bytes_per_s: u64,
}

/// Stay so far ahead: the larger of the two, within the host's budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadAheadDecision {
    /// Bytes ahead of the reader.
    pub bytes: u64,
    /// Slices ahead of the reader.
    pub slices: u32,
    /// Whether what is read enters the cache.
    pub admit: bool,
}

/// Decides when a lane's write buffer is sealed.
pub trait FlushPolicy: Send {
    /// Asked under the lane's lock.
    fn decide(&mut self, view: &FlushView) -> FlushDecision;
}

/// Decides how densely a slice is indexed.
pub trait IndexPolicy: Send {
    /// Asked once per slice, at seal.
    fn decide(&mut self, view: &IndexView) -> IndexSpacing;
}

/// Decides how far to read ahead of a sequential reader.
pub trait ReadAheadPolicy: Send {
    /// Asked per fetch.
    fn decide(&mut self, view: &ReadAheadView) -> ReadAheadDecision;
}

/// Makes policy instances for a topic: what the lanes and partitions know of bindings. Answers are final
/// (validated, clamped, with the built-in's answer in place of a fault); the instances follow rebinding by themselves.
pub trait Policies: Send + Sync {
    /// One for each active lane.
    fn flush(&self, topic: &str, context: &Context) -> Box<dyn FlushPolicy>;
    /// One for each active lane.
    fn index(&self, topic: &str, context: &Context) -> Box<dyn IndexPolicy>;
    /// One for each sequential stream.
    fn read_ahead(&self, topic: &str, context: &Context) -> Box<dyn ReadAheadPolicy>;
}
