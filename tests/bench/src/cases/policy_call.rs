//! A decision through the host (guard, deadline, limits, clamps, counters) against the same component in bare wasmtime, with the same view.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::Result;
use tidegate::config::PolicySettings;
use tidegate::policy::{
    ActiveBinding, Context, FlushReason, FlushView, IndexView, Kind, Policies, PolicyHost, PolicySource, ReadAheadView,
};

use crate::bare;
use crate::host::{DEFAULTS, Plugins, runtime};
use crate::measure::{paired, seconds};
use crate::native::Native;
use crate::report::Report;

const ROUNDS: usize = 31;
const CALLS: u32 = 50_000;

const FLUSH: FlushView = FlushView {
    reason: FlushReason::Bound,
    now_ms: 1_000,
    buffered_bytes: 300_000,
    buffered_records: 300,
    buffered_partitions: 4,
    oldest_age_us: 3_000,
    quiet_us: 100,
    arrival_bytes_per_s: 50_000_000,
    arrival_batches_per_s: 3_000,
    waiting_acks: 4,
    uploads_in_flight: 1,
    upload_p50_us: 20_000,
    ack_p99_us: 40_000,
    throttled_permille: 0,
    pressure_permille: 100,
    topic_put_share_permille: 250,
};

pub(crate) fn run(report: &Report, plugins: &Plugins) -> Result<()> {
    let [flush, index, read_ahead] = DEFAULTS.map(|(_, name)| plugins.read(name));
    let (wasm, native) = (loaded(plugins)?, native()?);
    let context = Context::default();
    let bare = |error: wasmtime::Error| anyhow::anyhow!("a component does not run bare: {error:#}");

    let index_view = IndexView { slice_bytes: 1 << 20, slice_records: 1_000, slice_batches: 64, time_span_ms: 250, ..IndexView::default() };
    let ahead_view =
        ReadAheadView { run_fetches: 5, run_bytes: 5 << 20, slice_bytes: 1 << 20, budget_free_bytes: 64 << 20, ..ReadAheadView::default() };

    let through = |host: &PolicyHost| {
        let mut policy = host.flush("bench", &context);
        move || {
            black_box(policy.decide(black_box(&FLUSH)));
        }
    };
    compare(
        report,
        "flush",
        bare::flush(&flush?, flush_view!(FLUSH, bare::FlushReason::Bound => bare::FlushView)).map_err(bare)?,
        through(&wasm),
        through(&native),
    );
    let through = |host: &PolicyHost| {
        let mut policy = host.index("bench", &context);
        move || {
            black_box(policy.decide(black_box(&index_view)));
        }
    };
    compare(
        report,
        "index",
        bare::index(&index?, index_view!(index_view => bare::IndexView)).map_err(bare)?,
        through(&wasm),
        through(&native),
    );
    let through = |host: &PolicyHost| {
        let mut policy = host.read_ahead("bench", &context);
        move || {
            black_box(policy.decide(black_box(&ahead_view)));
        }
    };
    compare(
        report,
        "read-ahead",
        bare::read_ahead(&read_ahead?, read_ahead_view!(ahead_view => bare::ReadAheadView)).map_err(bare)?,
        through(&wasm),
        through(&native),
    );
    for (host, plugin) in [(&wasm, "components"), (&native, "native code")] {
        for status in host.status() {
            anyhow::ensure!(status.total.faults == 0 && status.total.fallbacks == 0 && status.total.calls > 0, "{plugin}: {status:?}");
        }
    }
    Ok(())
}

fn compare(report: &Report, name: &str, mut bare: impl FnMut(), mut wasm: impl FnMut(), mut native: impl FnMut()) {
    let pair = paired(ROUNDS, || nanoseconds(&mut wasm), || nanoseconds(&mut bare));
    report.compared(name, pair, "ns/call", "the same component in bare wasmtime");
    let native = paired(ROUNDS, || nanoseconds(&mut native), || nanoseconds(&mut bare));
    report.value(&format!("{name}-native"), native.value, "ns/call");
}

fn nanoseconds(call: &mut impl FnMut()) -> f64 {
    seconds(|| (0..CALLS).for_each(|_| call())) * 1e9 / f64::from(CALLS)
}

/// A host that makes instances at once, so that no call is answered by a built-in.
fn host() -> PolicyHost {
    PolicyHost::inline(PolicySettings::default(), Arc::default(), Arc::new(|_| {}))
}

fn loaded(plugins: &Plugins) -> Result<PolicyHost> {
    let (host, runtime) = (host(), runtime()?);
    let mut bindings = Vec::new();
    for (kind, name) in DEFAULTS {
        let plugin = runtime.block_on(host.check_and_load(plugins.read(name)?))?;
        bindings.push(binding(kind, plugin));
    }
    host.set_bindings(bindings)?;
    Ok(host)
}

fn native() -> Result<PolicyHost> {
    let host = host();
    host.set_bindings(DEFAULTS.map(|(kind, _)| binding(kind, Arc::new(Native))).to_vec())?;
    Ok(host)
}

fn binding(kind: Kind, plugin: Arc<dyn PolicySource>) -> ActiveBinding {
    ActiveBinding { pattern: "*".to_owned(), kind, plugin: Ok(plugin), config: serde_json::json!({}), source: "bench".to_owned() }
}
