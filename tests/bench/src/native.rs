//! The bundled policies as native code in the host's terms: the same logic without WebAssembly.

use tidegate::policy::{
    Fault, FaultClass, Flush, FlushBounds, FlushDecision, FlushPolicy, FlushReason, FlushView, Index, IndexPolicy, IndexSpacing, IndexView,
    Infallible, InitRequest, Kind, Policy, PolicySource, ReadAhead, ReadAheadDecision, ReadAheadPolicy, ReadAheadView,
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
    guest::create(request.config, &context!(request.context => guest::Context))
        .map_err(|problem| Fault::new(FaultClass::ConfigRejected, problem))
}

impl FlushPolicy for Logic<flush_adaptive::Adaptive> {
    fn decide(&mut self, view: &FlushView) -> FlushDecision {
        let reason = match view.reason {
            FlushReason::FirstAppend => guest::FlushReason::FirstAppend,
            FlushReason::Bound => guest::FlushReason::Bound,
            FlushReason::UploadDone => guest::FlushReason::UploadDone,
            FlushReason::Pressure => guest::FlushReason::Pressure,
        };
        let view = flush_view!(view, reason => guest::FlushView);
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
        let view = index_view!(view => guest::IndexView);
        let it = guest::Index::decide(&mut self.0, &view);
        rebuilt!(it => IndexSpacing { bytes, records, time_ms })
    }
}

impl ReadAheadPolicy for Logic<read_ahead_fixed::Fixed> {
    fn decide(&mut self, view: &ReadAheadView) -> ReadAheadDecision {
        let view = read_ahead_view!(view => guest::ReadAheadView);
        let it = guest::ReadAhead::decide(&mut self.0, &view);
        rebuilt!(it => ReadAheadDecision { bytes, slices, admit })
    }
}
