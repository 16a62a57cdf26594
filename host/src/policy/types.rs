//! Views, decisions and their plain numbers: the mirror of `wit/`, one to one.
//!
//! Pure data. Every view is flat and has at most 16 scalars; units are in the names.

use serde::{Deserialize, Serialize};

use crate::cost::Prices;

/// Leaves a bound out of an answer.
pub const UNBOUNDED: u64 = u64::MAX;
/// Leaves [`FlushBounds::uploads_at_most`] out of an answer.
pub const ANY_UPLOADS: u32 = u32::MAX;

/// What does not change while a policy instance lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
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
    /// Slices that the built-in read-ahead stays ahead by; 0: the topic does not ask for read-ahead.
    pub read_ahead_slices: u32,
    /// The host's cache, in bytes.
    pub cache_bytes: u64,
    /// Price of one PUT, in nano-dollars.
    pub put_price_nano: u64,
    /// Price of one GET, in nano-dollars.
    pub get_price_nano: u64,
}

impl Default for Context {
    /// A topic of one partition with the default settings.
    fn default() -> Self {
        Self {
            topic_partitions: 1,
            lane_partitions: 1,
            lanes: 1,
            window: crate::types::WINDOW as u32,
            max_segment_bytes: 64 << 20,
            max_age_us: 1_000_000,
            index_entry_bytes: crate::index::ENTRY_LEN as u32,
            read_ahead_slices: 2,
            cache_bytes: 512 << 20,
            put_price_nano: Prices::default().put_nano,
            get_price_nano: Prices::default().get_nano,
        }
    }
}

/// Why a flush policy is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
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

/// Wait until the first of these bounds is crossed; [`UNBOUNDED`] and [`ANY_UPLOADS`] leave one out.
///
/// A lane asks again (with [`FlushReason::Bound`]) when a bound is crossed. An answer of which a bound is crossed already
/// means [`FlushDecision::Now`]: that is how a policy of plain thresholds works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlushBounds {
    /// Buffered bytes.
    pub bytes: u64,
    /// Buffered records.
    pub records: u64,
    /// Age of the oldest buffered batch, in microseconds.
    pub age_us: u64,
    /// Time since the last append, in microseconds.
    pub quiet_us: u64,
    /// Crossed while no more than so many uploads are in flight.
    pub uploads_at_most: u32,
}

impl FlushBounds {
    /// No bound at all: the host's own limits remain.
    pub const NONE: Self =
        Self { bytes: UNBOUNDED, records: UNBOUNDED, age_us: UNBOUNDED, quiet_us: UNBOUNDED, uploads_at_most: ANY_UPLOADS };

    /// Whether a buffer in this state has crossed one of the bounds.
    pub fn crossed(&self, bytes: u64, records: u64, age_us: u64, quiet_us: u64, uploads_in_flight: u32) -> bool {
        let uploads = self.uploads_at_most != ANY_UPLOADS && uploads_in_flight <= self.uploads_at_most;
        bytes >= self.bytes || records >= self.records || age_us >= self.age_us || quiet_us >= self.quiet_us || uploads
    }

    /// Microseconds from now until time alone crosses a bound, if nothing is appended; `None` if it never does.
    pub fn time_left_us(&self, age_us: u64, quiet_us: u64) -> Option<u64> {
        let left = |bound: u64, spent: u64| (bound != UNBOUNDED).then(|| bound.saturating_sub(spent));
        [left(self.age_us, age_us), left(self.quiet_us, quiet_us)].into_iter().flatten().min()
    }
}

/// What to do with a lane's write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlushDecision {
    /// Seal it now.
    Now,
    /// Wait until the first of these bounds is crossed.
    Wait(FlushBounds),
}

/// One partition's slice of a segment about to be sealed, and how that partition has been read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the units are in the names")]
pub struct IndexSpacing {
    pub bytes: u64,
    pub records: u64,
    pub time_ms: u64,
}

/// One sequential reader of one partition, at a fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadAheadDecision {
    /// Bytes ahead of the reader.
    pub bytes: u64,
    /// Slices ahead of the reader.
    pub slices: u32,
    /// Whether what is read enters the cache.
    pub admit: bool,
}
