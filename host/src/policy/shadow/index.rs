//! Index spacing under a candidate: how many entries a slice would have had.

use super::Model;
use super::candidate::Ask;
use super::queue::Event;
use crate::env::Instant;
use crate::policy::kinds::Index;
use crate::policy::types::{IndexSpacing, IndexView, UNBOUNDED};

impl Model for Index {
    type Owner = ();

    fn owner() {}

    fn happened((): &mut (), event: Event, ask: &mut Ask<'_, Index>) {
        let Event::Indexed(view, live) = event else { return };
        let candidate = entries(&view, &ask.answer(&view));
        let live = entries(&view, &live);
        ask.compared(match candidate.cmp(&live) {
            std::cmp::Ordering::Less => "sparser",
            std::cmp::Ordering::Equal => "same",
            std::cmp::Ordering::Greater => "denser",
        });
        let bytes = u64::from(ask.context().index_entry_bytes);
        ask.count(|figures| {
            figures.live.bytes += live * bytes;
            figures.candidate.bytes += candidate * bytes;
        });
    }

    fn passed((): &mut (), _: Instant, _: &mut Ask<'_, Index>) {}
}

/// Entries of a slice that is evenly filled: by the bound that asks for most, and no more than there are batches.
fn entries(view: &IndexView, spacing: &IndexSpacing) -> u64 {
    let by = |amount: u64, bound: u64| if bound == UNBOUNDED { 0 } else { amount.div_ceil(bound.max(1)) };
    let most = by(view.slice_bytes, spacing.bytes).max(by(view.slice_records, spacing.records)).max(by(view.time_span_ms, spacing.time_ms));
    most.clamp(1, view.slice_batches.max(1).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_that_asks_for_most_counts_and_batches_are_the_limit() {
        let view =
            IndexView { slice_bytes: 100_000, slice_records: 1_000, slice_batches: 50, time_span_ms: 10_000, ..IndexView::default() };
        let none = IndexSpacing { bytes: UNBOUNDED, records: UNBOUNDED, time_ms: UNBOUNDED };
        assert_eq!(entries(&view, &none), 1);
        assert_eq!(entries(&view, &IndexSpacing { bytes: 10_000, records: 50, ..none }), 20);
        assert_eq!(entries(&view, &IndexSpacing { time_ms: 1, ..none }), 50);
    }
}
