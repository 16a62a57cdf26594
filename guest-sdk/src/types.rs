//! The contract's types, with what makes them handy: bounds that are left out, and defaults for tests.

pub use crate::bindings::types::tidegate::policy::types::{
    Context, FlushBounds, FlushDecision, FlushReason, FlushView, IndexSpacing, IndexView, ReadAheadDecision, ReadAheadView,
};

/// Leaves a bound out of an answer.
pub const UNBOUNDED: u64 = u64::MAX;
/// Leaves [`FlushBounds::uploads_at_most`] out of an answer.
pub const ANY_UPLOADS: u32 = u32::MAX;

impl FlushBounds {
    /// No bound at all: the host's own limits remain.
    pub const NONE: Self =
        Self { bytes: UNBOUNDED, records: UNBOUNDED, age_us: UNBOUNDED, quiet_us: UNBOUNDED, uploads_at_most: ANY_UPLOADS };

    /// Whether a buffer has crossed one of the bounds.
    pub fn crossed(&self, view: &FlushView) -> bool {
        let uploads = self.uploads_at_most != ANY_UPLOADS && view.uploads_in_flight <= self.uploads_at_most;
        view.buffered_bytes >= self.bytes
            || view.buffered_records >= self.records
            || view.oldest_age_us >= self.age_us
            || view.quiet_us >= self.quiet_us
            || uploads
    }

    /// [`Now`](FlushDecision::Now) if a bound is crossed, else wait for these bounds.
    pub fn on(self, view: &FlushView) -> FlushDecision {
        if self.crossed(view) { FlushDecision::Now } else { FlushDecision::Wait(self) }
    }
}

impl Default for FlushReason {
    fn default() -> Self {
        Self::FirstAppend
    }
}

impl PartialEq for FlushDecision {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Now, Self::Now) => true,
            (Self::Wait(a), Self::Wait(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for FlushDecision {}

impl Default for Context {
    /// A topic of one partition with the host's default settings, at S3's prices: for tests.
    fn default() -> Self {
        Self {
            topic_partitions: 1,
            lane_partitions: 1,
            lanes: 1,
            window: 64,
            max_segment_bytes: 64 << 20,
            max_age_us: 1_000_000,
            index_entry_bytes: 28,
            read_ahead_slices: 2,
            cache_bytes: 512 << 20,
            put_price_nano: 5_000,
            get_price_nano: 400,
        }
    }
}
