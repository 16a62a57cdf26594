//! The host's limits on answers.
//!
//! Floors keep a policy from storms of calls and tiny segments, ceilings from harm to memory and readers. An answer that leaves a bound out
//! gets the host's own limit and is not counted as clamped: leaving out is legal, asking for too much is not.

use crate::index::MAX_BLOCK_BYTES;
use crate::policy::Kind;
use crate::policy::types::{
    ANY_UPLOADS, Context, FlushBounds, FlushDecision, FlushReason, FlushView, IndexSpacing, IndexView, ReadAheadDecision, ReadAheadView,
    UNBOUNDED,
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

/// A field of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// A flush of a few young bytes at once.
    Now,
    /// A number of bytes.
    Bytes,
    /// A number of records.
    Records,
    /// An age, or a span of record time.
    Time,
    /// A pause of arrivals.
    Quiet,
    /// A number of slices.
    Slices,
}

impl Field {
    /// All of them.
    pub const ALL: [Field; 6] = [Field::Now, Field::Bytes, Field::Records, Field::Time, Field::Quiet, Field::Slices];

    /// As in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Field::Now => "now",
            Field::Bytes => "bytes",
            Field::Records => "records",
            Field::Time => "time",
            Field::Quiet => "quiet",
            Field::Slices => "slices",
        }
    }

    /// Those of a kind's answers.
    pub fn of(kind: Kind) -> &'static [Field] {
        match kind {
            Kind::Flush => &[Field::Now, Field::Bytes, Field::Records, Field::Time, Field::Quiet],
            Kind::Index => &[Field::Bytes, Field::Records, Field::Time],
            Kind::ReadAhead => &[Field::Bytes, Field::Slices],
        }
    }
}

/// Fields of one answer that asked for something out of bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clamps {
    fields: u8,
    raised: bool,
}

impl Clamps {
    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.fields == 0
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.fields.count_ones()
    }

    /// Whether it is one of them.
    pub fn contains(self, field: Field) -> bool {
        self.fields & (1 << field as u8) != 0
    }

    /// Whether one was raised to a floor: the answer asked for work more often, or in smaller pieces, than the host does it.
    pub fn is_raised(self) -> bool {
        self.raised
    }

    fn note(&mut self, field: Field) {
        self.fields |= 1 << field as u8;
    }

    /// `value` within `[low, high]`, noted unless it was left out.
    fn within(&mut self, field: Field, value: u64, low: u64, high: u64) -> u64 {
        let clamped = value.max(low).min(high);
        if clamped != value && value != UNBOUNDED {
            self.note(field);
            self.raised |= clamped > value;
        }
        clamped
    }
}

/// An answer within the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clamped<A> {
    /// The answer to act on.
    pub answer: A,
    /// What had to be changed for it.
    pub clamps: Clamps,
}

/// A flush decision within the limits of the topic.
pub fn flush(context: &Context, view: &FlushView, answer: FlushDecision) -> Clamped<FlushDecision> {
    let mut clamps = Clamps::default();
    let bounds = match answer {
        FlushDecision::Now => None,
        FlushDecision::Wait(bounds) => Some(FlushBounds {
            bytes: clamps.within(Field::Bytes, bounds.bytes, MIN_FLUSH_BYTES.min(context.max_segment_bytes), context.max_segment_bytes),
            records: clamps.within(Field::Records, bounds.records, 1, UNBOUNDED),
            age_us: clamps.within(Field::Time, bounds.age_us, MIN_FLUSH_AGE_US.min(context.max_age_us), context.max_age_us),
            quiet_us: clamps.within(Field::Quiet, bounds.quiet_us, MIN_QUIET_US, UNBOUNDED),
            uploads_at_most: bounds.uploads_at_most,
        }),
    };
    let now = bounds.is_none_or(|bounds| means_now(context, view, &bounds));
    let answer = if now && is_early(view) {
        clamps.note(Field::Now);
        // After an upload, what has arrived meanwhile is a group commit however little it is: no storm.
        clamps.raised |= view.reason == FlushReason::FirstAppend;
        FlushDecision::Wait(FlushBounds { bytes: FREE_FLUSH_BYTES, age_us: MIN_FLUSH_AGE_US, ..FlushBounds::NONE })
    } else {
        bounds.map_or(FlushDecision::Now, FlushDecision::Wait)
    };
    Clamped { answer, clamps }
}

/// Bounds that any buffer crosses at once: so many records are there, or no more uploads than that can be in flight.
fn means_now(context: &Context, view: &FlushView, bounds: &FlushBounds) -> bool {
    let any_uploads = bounds.uploads_at_most != ANY_UPLOADS && bounds.uploads_at_most >= context.window;
    view.buffered_bytes < bounds.bytes && (any_uploads || view.buffered_records >= bounds.records)
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
        let least = (u128::from(total) * u128::from(MIN_INDEX_BYTES)).div_ceil(u128::from(view.slice_bytes.max(MIN_INDEX_BYTES)));
        u64::try_from(least).unwrap_or(u64::MAX).max(1)
    };
    let answer = IndexSpacing {
        bytes: clamps.within(Field::Bytes, answer.bytes, MIN_INDEX_BYTES, MAX_BLOCK_BYTES),
        records: clamps.within(Field::Records, answer.records, share(view.slice_records), UNBOUNDED),
        time_ms: clamps.within(Field::Time, answer.time_ms, share(view.time_span_ms), UNBOUNDED),
    };
    Clamped { answer, clamps }
}

/// No further ahead than the budget and what is ahead already; never beyond what there is to read.
pub fn read_ahead(view: &ReadAheadView, answer: ReadAheadDecision) -> Clamped<ReadAheadDecision> {
    let mut clamps = Clamps::default();
    let held = view.ready_bytes.saturating_add(view.in_flight_bytes);
    let most = held.saturating_add(view.budget_free_bytes);
    let slices = if view.slice_bytes == 0 { MAX_AHEAD_SLICES.into() } else { most.div_ceil(view.slice_bytes).min(u32::MAX.into()) };
    let asked = if answer.slices == u32::MAX { UNBOUNDED } else { answer.slices.into() };
    let answer = ReadAheadDecision {
        bytes: clamps.within(Field::Bytes, answer.bytes, 0, most),
        slices: clamps.within(Field::Slices, asked, 0, slices) as u32,
        admit: answer.admit,
    };
    Clamped { answer, clamps }
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
        assert!(free.clamps.is_empty());
        assert_eq!(free.answer, wait(context.max_segment_bytes, UNBOUNDED, context.max_age_us, UNBOUNDED, u32::MAX));
        let zero = flush(&context, &FlushView::default(), wait(0, 0, 0, 0, 0));
        assert_eq!(zero.answer, wait(MIN_FLUSH_BYTES, 1, MIN_FLUSH_AGE_US, MIN_QUIET_US, 0));
        assert!(zero.clamps.count() == 4 && zero.clamps.is_raised() && !zero.clamps.contains(Field::Now), "{zero:?}");
    }

    #[test]
    fn bounds_that_any_buffer_crosses_do_not_seal_each_append() {
        let context = Context::default();
        let one = FlushView { buffered_bytes: 100, buffered_records: 1, ..FlushView::default() };
        for hasty in [wait(8_192, 1, UNBOUNDED, UNBOUNDED, ANY_UPLOADS), wait(8_192, UNBOUNDED, UNBOUNDED, UNBOUNDED, context.window)] {
            let clamped = flush(&context, &one, hasty);
            assert!(matches!(clamped.answer, FlushDecision::Wait(bounds) if bounds.bytes == FREE_FLUSH_BYTES), "{clamped:?}");
            assert!(clamped.clamps.contains(Field::Now), "{clamped:?}");
            let aged = FlushView { oldest_age_us: MIN_FLUSH_AGE_US, ..one };
            assert!(flush(&context, &aged, hasty).clamps.is_empty());
        }
        let group_commit = wait(8_192, UNBOUNDED, UNBOUNDED, UNBOUNDED, 0);
        assert!(flush(&context, &one, group_commit).clamps.is_empty(), "while nothing is in flight: legal");
    }

    #[test]
    fn asking_for_too_much_is_no_storm() {
        let asked = ReadAheadDecision { bytes: 1 << 63, slices: 0, admit: true };
        let clamps = read_ahead(&ReadAheadView::default(), asked).clamps;
        assert!(clamps.contains(Field::Bytes) && !clamps.is_raised(), "{clamps:?}");
    }

    #[test]
    fn always_now_does_not_seal_each_append() {
        let context = Context::default();
        let first = flush(&context, &FlushView { buffered_bytes: 100, ..FlushView::default() }, FlushDecision::Now);
        assert!(matches!(first.answer, FlushDecision::Wait(bounds) if bounds.age_us == MIN_FLUSH_AGE_US));
        assert!(first.clamps.contains(Field::Now) && first.clamps.is_raised());
        let group_commit = FlushView { buffered_bytes: 100, reason: FlushReason::UploadDone, ..FlushView::default() };
        let later = flush(&context, &group_commit, FlushDecision::Now).clamps;
        assert!(later.contains(Field::Now) && !later.is_raised(), "{later:?}");
        let aged = FlushView { buffered_bytes: 100, oldest_age_us: MIN_FLUSH_AGE_US, ..FlushView::default() };
        assert_eq!(flush(&context, &aged, FlushDecision::Now), Clamped { answer: FlushDecision::Now, clamps: Clamps::default() });
    }

    proptest! {
        #[test]
        fn any_flush_answer_ends_within_the_limits(b in edge(), r in edge(), a in edge(), q in edge(), u in any::<u32>()) {
            let context = Context::default();
            let FlushDecision::Wait(bounds) = flush(&context, &FlushView::default(), wait(b, r, a, q, u)).answer else { panic!() };
            prop_assert!((MIN_FLUSH_BYTES..=context.max_segment_bytes).contains(&bounds.bytes));
            prop_assert!((MIN_FLUSH_AGE_US..=context.max_age_us).contains(&bounds.age_us));
            prop_assert!(bounds.records >= 1 && bounds.quiet_us >= MIN_QUIET_US);
            prop_assert!(flush(&context, &FlushView::default(), FlushDecision::Wait(bounds)).clamps.is_empty());
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
