//! The bundled policies as native code in the host's terms: the same logic without WebAssembly.

use tidegate::policy::{
    Context, Fault, FaultClass, Flush, FlushBounds, FlushDecision, FlushPolicy, FlushReason, FlushView, Index, IndexPolicy, IndexSpacing,
    IndexView, Infallible, InitRequest, Kind, Policy, PolicySource, ReadAhead, ReadAheadDecision, ReadAheadPolicy, ReadAheadView,
};
use tidegate_guest as guest;

/// Native flush-adaptive, index-spacing and read-ahead-fixed.
pub(crate) struct Native;

impl PolicySource for Native {
    fn name(&self) -> &str {
        "native"
    }
    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }
    fn digest(&self) -> &str {
        "native"
    }
    fn kinds(&self) -> Vec<Kind> {
        vec![Kind::Flush, Kind::Index, Kind::ReadAhead]
    }
    fn flush(&self, request: &InitRequest<'_>) -> Result<Box<dyn Policy<Flush>>, Fault> {
        Ok(Box::new(Infallible(Logic(create::<flush_adaptive::Adaptive>(request)?))))
    }
    fn index(&self, request: &InitRequest<'_>) -> Result<Box<dyn Policy<Index>>, Fault> {
        Ok(Box::new(Infallible(Logic(create::<index_spacing::Spacing>(request)?))))
    }
    fn read_ahead(&self, request: &InitRequest<'_>) -> Result<Box<dyn Policy<ReadAhead>>, Fault> {
        Ok(Box::new(Infallible(Logic(create::<read_ahead_fixed::Fixed>(request)?))))
    }
}

/// A guest's logic.
struct Logic<P>(P);

fn create<P: guest::Policy>(request: &InitRequest<'_>) -> Result<P, Fault> {
    guest::create(request.config, &context(request.context)).map_err(|problem| Fault::new(FaultClass::ConfigRejected, problem))
}

/// Rebuilds a struct of one side as its namesake of the other.
macro_rules! rebuilt {
    ($value:expr => $($to:ident)::+ { $($field:ident),* $(,)? }) => {
        $($to)::+ { $($field: $value.$field),* }
    };
}

fn context(it: &Context) -> guest::Context {
    rebuilt!(it => guest::Context {
        topic_partitions, lane_partitions, lanes, window, max_segment_bytes, max_age_us, index_entry_bytes, read_ahead_slices,
        cache_bytes, put_price_nano, get_price_nano,
    })
}

impl FlushPolicy for Logic<flush_adaptive::Adaptive> {
    fn decide(&mut self, view: &FlushView) -> FlushDecision {
        let reason = match view.reason {
            FlushReason::FirstAppend => guest::FlushReason::FirstAppend,
            FlushReason::Bound => guest::FlushReason::Bound,
            FlushReason::UploadDone => guest::FlushReason::UploadDone,
            FlushReason::Pressure => guest::FlushReason::Pressure,
        };
        let FlushView {
            now_ms,
            buffered_bytes,
            buffered_records,
            buffered_partitions,
            oldest_age_us,
            quiet_us,
            arrival_bytes_per_s,
            arrival_batches_per_s,
            waiting_acks,
            uploads_in_flight,
            upload_p50_us,
            ack_p99_us,
            throttled_permille,
            pressure_permille,
            topic_put_share_permille,
            ..
        } = *view;
        let view = guest::FlushView {
            reason,
            now_ms,
            buffered_bytes,
            buffered_records,
            buffered_partitions,
            oldest_age_us,
            quiet_us,
            arrival_bytes_per_s,
            arrival_batches_per_s,
            waiting_acks,
            uploads_in_flight,
            upload_p50_us,
            ack_p99_us,
            throttled_permille,
            pressure_permille,
            topic_put_share_permille,
        };
        match guest::Flush::decide(&mut self.0, &view) {
            guest::FlushDecision::Now => FlushDecision::Now,
            guest::FlushDecision::Wait(it) => {
                FlushDecision::Wait(rebuilt!(it => FlushBounds { bytes, records, age_us, quiet_us, uploads_at_most }))
            }
        }
    }
}

impl IndexPolicy for Logic<index_spacing::Spacing> {
    fn decide(&mut self, view: &IndexView) -> IndexSpacing {
        let view = rebuilt!(view => guest::IndexView {
            slice_bytes, slice_records, slice_batches, time_span_ms, seeks_per_min, time_lookups_per_min, fetch_p50_bytes,
        });
        let it = guest::Index::decide(&mut self.0, &view);
        rebuilt!(it => IndexSpacing { bytes, records, time_ms })
    }
}

impl ReadAheadPolicy for Logic<read_ahead_fixed::Fixed> {
    fn decide(&mut self, view: &ReadAheadView) -> ReadAheadDecision {
        let view = rebuilt!(view => guest::ReadAheadView {
            run_fetches, run_bytes, last_fetch_bytes, pace_bytes_per_s, lag_bytes, ready_bytes, in_flight_bytes, misses, evicted_bytes,
            abandoned_bytes, store_first_byte_us, store_bytes_per_s, slice_bytes, budget_free_bytes, cache_free_permille,
            arrival_bytes_per_s,
        });
        let it = guest::ReadAhead::decide(&mut self.0, &view);
        rebuilt!(it => ReadAheadDecision { bytes, slices, admit })
    }
}
