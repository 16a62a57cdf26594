//! Views for trying out a policy where none were seen lately: a lane, a slice and a reader as they are met every day.

use super::types::{FlushReason, FlushView, IndexView, ReadAheadView};

const MIB: u64 = 1 << 20;

/// A first small batch, a pause with its producer waiting, a busy lane with uploads, one whose upload ended, a full host.
pub(super) fn flush() -> [FlushView; 5] {
    let first = FlushView { buffered_bytes: 1_000, buffered_records: 10, buffered_partitions: 1, waiting_acks: 1, ..FlushView::default() };
    let paused = FlushView { reason: FlushReason::Bound, now_ms: 5, oldest_age_us: 5_000, quiet_us: 5_000, ..first };
    let busy = FlushView {
        now_ms: 1_000,
        buffered_bytes: 4 * MIB,
        buffered_records: 40_000,
        buffered_partitions: 16,
        oldest_age_us: 50_000,
        quiet_us: 100,
        arrival_bytes_per_s: 80 * MIB,
        arrival_batches_per_s: 5_000,
        waiting_acks: 64,
        uploads_in_flight: 2,
        upload_p50_us: 40_000,
        ack_p99_us: 150_000,
        throttled_permille: 0,
        pressure_permille: 300,
        topic_put_share_permille: 250,
        ..paused
    };
    let uploaded = FlushView { reason: FlushReason::UploadDone, now_ms: 1_010, uploads_in_flight: 1, ..busy };
    let full = FlushView { reason: FlushReason::Pressure, now_ms: 1_020, pressure_permille: 950, throttled_permille: 200, ..uploaded };
    [first, paused, busy, uploaded, full]
}

/// A lone batch, a large slice, one of a partition that is searched.
pub(super) fn index() -> [IndexView; 3] {
    let lone = IndexView { slice_bytes: 1_000, slice_records: 10, slice_batches: 1, ..IndexView::default() };
    let large = IndexView { slice_bytes: 8 * MIB, slice_records: 80_000, slice_batches: 600, time_span_ms: 60_000, ..lone };
    [lone, large, IndexView { seeks_per_min: 120, time_lookups_per_min: 30, fetch_p50_bytes: 64 << 10, ..large }]
}

/// A reader that begins, one that waits for the store, one far ahead of itself, one at the end.
pub(super) fn read_ahead() -> [ReadAheadView; 4] {
    let begins = ReadAheadView {
        run_fetches: 2,
        run_bytes: 2 * MIB,
        last_fetch_bytes: MIB,
        lag_bytes: 1_024 * MIB,
        slice_bytes: 2 * MIB,
        budget_free_bytes: 128 * MIB,
        cache_free_permille: 500,
        ..ReadAheadView::default()
    };
    let waits = ReadAheadView {
        run_fetches: 20,
        run_bytes: 20 * MIB,
        pace_bytes_per_s: 50 * MIB,
        misses: 20,
        store_first_byte_us: 30_000,
        store_bytes_per_s: 100 * MIB,
        arrival_bytes_per_s: MIB,
        ..begins
    };
    let ahead = ReadAheadView { run_fetches: 40, ready_bytes: 16 * MIB, in_flight_bytes: 4 * MIB, evicted_bytes: 8 * MIB, ..waits };
    [begins, waits, ahead, ReadAheadView { run_fetches: 60, lag_bytes: 0, ready_bytes: 0, in_flight_bytes: 0, ..ahead }]
}
