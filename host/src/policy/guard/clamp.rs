//! The host's limits on answers.
//!
//! Floors keep a policy from storms of calls and tiny segments, ceilings from harm to memory and readers. An answer that leaves a bound out
//! gets the host's own limit and is not counted as clamped: leaving out is legal, asking for too much is not.

use crate::index::MAX_BLOCK_BYTES;
use crate::policy::types::{
    Context, FlushBounds, FlushDecision, FlushReason, FlushView, IndexSpacing, IndexView, ReadAheadDecision, ReadAheadView, UNBOUNDED,
};

/// Fewest bytes that a policy may ask a segment to be sealed at, unless time seals it.
pub const MIN_FLUSH_BYTES: u64 = 4 << 10;
/// Youngest that a buffered batch may be when a policy has it sealed, in microseconds, unless there is much of it.
pub const MIN_FLUSH_AGE_US: u64 = 1_000;
/// Shortest pause of arrivals that a policy may wait for, in microseconds.
pub const MIN_QUIET_US: u64 = 500;
/// Bytes at which a buffer may be sealed however young it is.
pub const FREE_FLUSH_BYTES: u64 = 64 << 10;
/// Closest that index entries may lie on average, in bytes.
pub const MIN_INDEX_BYTES: u64 = 4 << 10;
/// Most slices that a policy may read ahead where their size is unknown.
pub const MAX_AHEAD_SLICES: u32 = 1_024;

/// An answer within the limits, and how many of its fields had to be changed for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clamped<A> {
    /// The answer to act on.
    pub answer: A,
    /// Fields that asked for something out of bounds.
    pub clamps: u32,
}

#[derive(Default)]
struct Clamps(u32);

impl Clamps {
    /// `value` within `[low, high]`, counted unless it was left out.
    fn within(&mut self, value: u64, low: u64, high: u64) -> u64 {
        let clamped = value.max(low).min(high);
        self.0 += u32::from(clamped != value && value != UNBOUNDED);
        clamped
    }
}

/// A flush decision within the limits of the topic.
pub fn flush(context: &Context, view: &FlushView, answer: FlushDecision) -> Clamped<FlushDecision> {
    let mut clamps = Clamps::default();
    let answer = match answer {
        FlushDecision::Now if is_early(view) => {
            clamps.0 = 1;
            FlushDecision::Wait(FlushBounds { bytes: FREE_FLUSH_BYTES, age_us: MIN_FLUSH_AGE_US, ..FlushBounds::NONE })
        }
        FlushDecision::Now => FlushDecision::Now,
        FlushDecision::Wait(bounds) => FlushDecision::Wait(FlushBounds {
            bytes: clamps.within(bounds.bytes, MIN_FLUSH_BYTES.min(context.max_segment_bytes), context.max_segment_bytes),
            records: clamps.within(bounds.records, 1, UNBOUNDED),
            age_us: clamps.within(bounds.age_us, MIN_FLUSH_AGE_US.min(context.max_age_us), context.max_age_us),
            quiet_us: clamps.within(bounds.quiet_us, MIN_QUIET_US, UNBOUNDED),
            uploads_at_most: bounds.uploads_at_most,
        }),
    };
    Clamped { answer, clamps: clamps.0 }
}

/// Memory pressure is a reason to seal anything; otherwise a handful of bytes waits its millisecond, so that "always now" means a
/// thousand segments per second at most and not one per append.
fn is_early(view: &FlushView) -> bool {
    view.reason != FlushReason::Pressure && view.buffered_bytes < FREE_FLUSH_BYTES && view.oldest_age_us < MIN_FLUSH_AGE_US
}

/// A spacing between 4 KiB and 64 KiB; records and time may not make entries closer than that on average.
pub fn index(view: &IndexView, answer: IndexSpacing) -> Clamped<IndexSpacing> {
    let mut clamps = Clamps::default();
    let share = |total: u64| {
        let least = u128::from(total) * u128::from(MIN_INDEX_BYTES) / u128::from(view.slice_bytes.max(MIN_INDEX_BYTES));
        u64::try_from(least).unwrap_or(u64::MAX).max(1)
    };
    let answer = IndexSpacing {
        bytes: clamps.within(answer.bytes, MIN_INDEX_BYTES, MAX_BLOCK_BYTES),
        records: clamps.within(answer.records, share(view.slice_records), UNBOUNDED),
        time_ms: clamps.within(answer.time_ms, share(view.time_span_ms), UNBOUNDED),
    };
    Clamped { answer, clamps: clamps.0 }
}

/// No further ahead than the budget and what is ahead already; never beyond what there is to read.
pub fn read_ahead(view: &ReadAheadView, answer: ReadAheadDecision) -> Clamped<ReadAheadDecision> {
    let mut clamps = Clamps::default();
    let held = view.ready_bytes.saturating_add(view.in_flight_bytes);
    let most = held.saturating_add(view.budget_free_bytes);
    let slices = if view.slice_bytes == 0 { MAX_AHEAD_SLICES.into() } else { most.div_ceil(view.slice_bytes).min(u32::MAX.into()) };
    let asked = if answer.slices == u32::MAX { UNBOUNDED } else { answer.slices.into() };
    let answer = ReadAheadDecision {
        bytes: clamps.within(answer.bytes, 0, most),
        slices: clamps.within(asked, 0, slices) as u32,
        admit: answer.admit,
    };
    Clamped { answer, clamps: clamps.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn edge() -> impl Strategy<Value = u64> {
        prop_oneof![Just(0), Just(1), Just(u64::MAX), Just(u64::MAX - 1), Just(1 << 63), any::<u64>(), 0..1_000_000u64]
    }

    fn wait(bytes: u64, records: u64, age_us: u64, quiet_us: u64, uploads: u32) -> FlushDecision {
        FlushDecision::Wait(FlushBounds { bytes, records, age_us, quiet_us, uploads_at_most: uploads })
    }

    #[test]
    fn leaving_a_bound_out_is_not_counted_and_zero_is_raised_to_the_floor() {
        let context = Context::default();
        let free = flush(&context, &FlushView::default(), FlushDecision::Wait(FlushBounds::NONE));
        assert_eq!(free.clamps, 0);
        assert_eq!(free.answer, wait(context.max_segment_bytes, UNBOUNDED, context.max_age_us, UNBOUNDED, u32::MAX));
        let zero = flush(&context, &FlushView::default(), wait(0, 0, 0, 0, 0));
        assert_eq!(zero, Clamped { answer: wait(MIN_FLUSH_BYTES, 1, MIN_FLUSH_AGE_US, MIN_QUIET_US, 0), clamps: 4 });
    }

    #[test]
    fn always_now_does_not_seal_each_append() {
        let context = Context::default();
        let first = flush(&context, &FlushView { buffered_bytes: 100, ..FlushView::default() }, FlushDecision::Now);
        assert!(matches!(first, Clamped { answer: FlushDecision::Wait(bounds), clamps: 1 } if bounds.age_us == MIN_FLUSH_AGE_US));
        let aged = FlushView { buffered_bytes: 100, oldest_age_us: MIN_FLUSH_AGE_US, ..FlushView::default() };
        assert_eq!(flush(&context, &aged, FlushDecision::Now), Clamped { answer: FlushDecision::Now, clamps: 0 });
    }

    proptest! {
        #[test]
        fn any_flush_answer_ends_within_the_limits(b in edge(), r in edge(), a in edge(), q in edge(), u in any::<u32>()) {
            let context = Context::default();
            let FlushDecision::Wait(bounds) = flush(&context, &FlushView::default(), wait(b, r, a, q, u)).answer else { panic!() };
            prop_assert!((MIN_FLUSH_BYTES..=context.max_segment_bytes).contains(&bounds.bytes));
            prop_assert!((MIN_FLUSH_AGE_US..=context.max_age_us).contains(&bounds.age_us));
            prop_assert!(bounds.records >= 1 && bounds.quiet_us >= MIN_QUIET_US);
            prop_assert_eq!(flush(&context, &FlushView::default(), FlushDecision::Wait(bounds)).clamps, 0);
        }

        #[test]
        fn any_spacing_ends_within_the_limits(b in edge(), r in edge(), t in edge(), size in edge(), records in edge(), span in edge()) {
            let view = IndexView { slice_bytes: size, slice_records: records, time_span_ms: span, ..IndexView::default() };
            let spacing = index(&view, IndexSpacing { bytes: b, records: r, time_ms: t }).answer;
            prop_assert!((MIN_INDEX_BYTES..=MAX_BLOCK_BYTES).contains(&spacing.bytes));
            let entries = records.checked_div(spacing.records).expect("never zero").max(span / spacing.time_ms);
            prop_assert!(entries <= size / MIN_INDEX_BYTES * 2 + 2, "{} entries of {} bytes", entries, size);
        }

        #[test]
        fn any_read_ahead_stays_within_the_budget(b in edge(), s in any::<u32>(), free in edge(), ready in edge(), slice in edge()) {
            let view = ReadAheadView { budget_free_bytes: free, ready_bytes: ready, slice_bytes: slice, ..ReadAheadView::default() };
            let answer = read_ahead(&view, ReadAheadDecision { bytes: b, slices: s, admit: true }).answer;
            let most = free.saturating_add(ready);
            prop_assert!(answer.bytes <= most);
            let ahead = u128::from(answer.slices) * u128::from(slice);
            prop_assert!(slice == 0 || ahead < u128::from(most) + u128::from(slice));
        }
    }
}
