//! Views of one side (host, guest SDK, bindings of bare wasmtime) as their namesakes of another. All are generated from one contract or
//! mirror it field by field, and no side may depend on the other, so that a macro stands here for a conversion.

/// A struct whose fields are those of `$value`; some may be given.
macro_rules! rebuilt {
    ($value:expr => $($to:ident)::+ { $($field:ident),* $(,)? } $($given:ident: $with:expr)?) => {{
        let it = &$value;
        $($to)::+ { $($given: $with,)? $($field: it.$field),* }
    }};
}

macro_rules! context {
    ($it:expr => $($to:ident)::+) => {
        rebuilt!($it => $($to)::+ {
            topic_partitions, lane_partitions, lanes, window, max_segment_bytes, max_age_us, index_entry_bytes, read_ahead_slices,
            cache_bytes, put_price_nano, get_price_nano,
        })
    };
}

macro_rules! flush_view {
    ($it:expr, $reason:expr => $($to:ident)::+) => {
        rebuilt!($it => $($to)::+ {
            now_ms, buffered_bytes, buffered_records, buffered_partitions, oldest_age_us, quiet_us, arrival_bytes_per_s,
            arrival_batches_per_s, waiting_acks, uploads_in_flight, upload_p50_us, ack_p99_us, throttled_permille, pressure_permille,
            topic_put_share_permille,
        } reason: $reason)
    };
}

macro_rules! index_view {
    ($it:expr => $($to:ident)::+) => {
        rebuilt!($it => $($to)::+ {
            slice_bytes, slice_records, slice_batches, time_span_ms, seeks_per_min, time_lookups_per_min, fetch_p50_bytes,
        })
    };
}

macro_rules! read_ahead_view {
    ($it:expr => $($to:ident)::+) => {
        rebuilt!($it => $($to)::+ {
            run_fetches, run_bytes, last_fetch_bytes, pace_bytes_per_s, lag_bytes, ready_bytes, in_flight_bytes, misses, evicted_bytes,
            abandoned_bytes, store_first_byte_us, store_bytes_per_s, slice_bytes, budget_free_bytes, cache_free_permille,
            arrival_bytes_per_s,
        })
    };
}
