//! The built-in policies: what decides where nothing is bound, and what answers in the same call for a policy that failed.
//!
//! Plain thresholds without state, so that they cannot fail and cost a few nanoseconds.

use super::types::{
    ANY_UPLOADS, Context, FlushBounds, FlushDecision, FlushView, IndexSpacing, IndexView, ReadAheadDecision, ReadAheadView, UNBOUNDED,
};

/// Bytes at which the built-in seals, where the topic allows so large a segment: an upload of this size is bound by bandwidth
/// rather than by the price and the latency of a request.
const SEAL_BYTES: u64 = 8 << 20;
/// Pause of arrivals after which waiting producers are let go on, in microseconds.
const QUIET_US: u64 = 5_000;
/// Bytes between index entries.
const INDEX_BYTES: u64 = 32 << 10;
/// Record time between index entries, in milliseconds.
const INDEX_TIME_MS: u64 = 10_000;
/// Most that it reads ahead where slices are large, in bytes.
const AHEAD_BYTES: u64 = 16 << 20;

/// Seals at 8 MiB or the topic's largest age. While producers wait for acks: what arrived during an upload is the next group
/// commit, and without uploads a pause of arrivals means that they all wait.
pub fn flush(context: &Context, view: &FlushView) -> FlushDecision {
    let waiting = view.waiting_acks > 0;
    let uploading = view.uploads_in_flight > 0;
    let bounds = FlushBounds {
        bytes: SEAL_BYTES.min(context.max_segment_bytes),
        records: UNBOUNDED,
        age_us: context.max_age_us,
        quiet_us: if waiting && !uploading { QUIET_US } else { UNBOUNDED },
        uploads_at_most: if waiting && uploading { view.uploads_in_flight - 1 } else { ANY_UPLOADS },
    };
    let crossed = bounds.crossed(view.buffered_bytes, view.buffered_records, view.oldest_age_us, view.quiet_us, view.uploads_in_flight);
    if crossed { FlushDecision::Now } else { FlushDecision::Wait(bounds) }
}

/// An entry at least every 32 KiB or 10 s of record time.
pub fn index(_: &Context, _: &IndexView) -> IndexSpacing {
    IndexSpacing { bytes: INDEX_BYTES, records: UNBOUNDED, time_ms: INDEX_TIME_MS }
}

/// A fixed number of slices ahead of a reader that has shown to be sequential; nothing while the cache is nearly full.
pub fn read_ahead(context: &Context, view: &ReadAheadView) -> ReadAheadDecision {
    let slices = if view.run_fetches < 2 { 0 } else { context.read_ahead_slices };
    let bytes = view.slice_bytes.saturating_mul(slices.into()).min(AHEAD_BYTES);
    let slices = if bytes < AHEAD_BYTES { slices } else { 0 };
    ReadAheadDecision { bytes, slices, admit: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_lets_waiting_producers_go_on() {
        let view = FlushView { buffered_bytes: 100, waiting_acks: 1, quiet_us: QUIET_US, ..FlushView::default() };
        assert_eq!(flush(&Context::default(), &view), FlushDecision::Now);
        let nobody_waits = FlushView { waiting_acks: 0, ..view };
        assert!(matches!(flush(&Context::default(), &nobody_waits), FlushDecision::Wait(bounds) if bounds.quiet_us == UNBOUNDED));
    }

    #[test]
    fn what_arrives_during_an_upload_is_the_next_group_commit() {
        let view = FlushView { buffered_bytes: 100, waiting_acks: 1, uploads_in_flight: 2, quiet_us: QUIET_US, ..FlushView::default() };
        let FlushDecision::Wait(bounds) = flush(&Context::default(), &view) else { panic!("it must wait for the upload") };
        assert_eq!(bounds.uploads_at_most, 1);
        assert!(bounds.crossed(100, 1, 0, 0, 1));
    }

    #[test]
    fn read_ahead_starts_with_the_second_sequential_fetch() {
        let view = ReadAheadView { run_fetches: 1, slice_bytes: 1 << 20, ..ReadAheadView::default() };
        assert_eq!(read_ahead(&Context::default(), &view).slices, 0);
        let view = ReadAheadView { run_fetches: 2, ..view };
        assert_eq!(read_ahead(&Context::default(), &view), ReadAheadDecision { bytes: 2 << 20, slices: 2, admit: true });
    }
}
