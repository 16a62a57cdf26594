//! Every bundled policy answers the same as a component and as native code, whatever it is shown: what an author tests is what a host runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use proptest::prelude::*;
use tidegate::config::PolicySettings;
use tidegate::policy::wasm::LoadedPlugin;
use tidegate::policy::{
    Context, FlushBounds, FlushDecision, FlushReason, FlushView, IndexSpacing, IndexView, InitRequest, PolicyFault, PolicyHost,
    PolicySource, ReadAheadDecision, ReadAheadView,
};
use tidegate_guest as guest;
use tidegate_guest::{Flush, Index, ReadAhead};

/// The raw numbers of one view.
type Numbers = [u64; 16];

fn load(name: &str) -> Arc<LoadedPlugin> {
    let directory = std::env::var_os("TIDEGATE_PLUGINS").map(PathBuf::from);
    let directory = directory.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/plugins")));
    let path = directory.join(format!("{name}.wasm"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; `make plugins` builds it", path.display()));
    // A busy machine must not make a deadline of a slow test.
    let settings = PolicySettings { decision_deadline_ms: 1_000, init_deadline_ms: 10_000, ..PolicySettings::default() };
    let host = PolicyHost::inline(settings, Arc::default(), Arc::new(|fault: &PolicyFault| panic!("{}", fault.message)));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(host.check_and_load(bytes.into())).expect("a bundled policy loads")
}

/// Views in a row: zeros, counts, sizes, and what no host would ever show.
fn sequences() -> impl Strategy<Value = Vec<Numbers>> {
    let number = prop_oneof![Just(0_u64), 0..8_u64, 0..1_001_u64, 0..300_000_u64, 0..1_u64 << 31, any::<u64>(), Just(u64::MAX)];
    prop::collection::vec(prop::array::uniform16(number), 1..40)
}

/// The same view twice, for the host and for the guest; what is left out is 0.
macro_rules! twice {
    ($view:ident { $($field:ident: $value:expr),* $(,)? }) => {
        ($view { $($field: $value,)* ..Default::default() }, guest::$view { $($field: $value,)* ..Default::default() })
    };
}

/// Makes the views of an owner. What only grows on a host mostly grows here too, so that policies with a memory get to use it.
#[derive(Default)]
struct Views {
    now_ms: u64,
    run_fetches: u32,
    misses: u32,
    evicted_bytes: u64,
}

#[allow(clippy::needless_update, reason = "one macro for views with and without a reason")]
impl Views {
    fn flush(&mut self, n: &Numbers) -> (FlushView, guest::FlushView) {
        self.now_ms = self.now_ms.saturating_add(n[1] % 200);
        let (mut host, mut guest) = twice!(FlushView {
            now_ms: self.now_ms,
            buffered_bytes: n[2],
            buffered_records: n[3],
            buffered_partitions: n[4] as u32,
            oldest_age_us: n[5],
            quiet_us: n[6],
            arrival_bytes_per_s: n[7],
            arrival_batches_per_s: n[8] as u32,
            waiting_acks: n[9] as u32,
            uploads_in_flight: n[10] as u32,
            upload_p50_us: n[11],
            ack_p99_us: n[12],
            throttled_permille: (n[13] % 1_001) as u32,
            pressure_permille: (n[14] % 1_001) as u32,
            topic_put_share_permille: (n[15] % 1_001) as u32,
        });
        (host.reason, guest.reason) = match n[0] % 4 {
            0 => (FlushReason::FirstAppend, guest::FlushReason::FirstAppend),
            1 => (FlushReason::Bound, guest::FlushReason::Bound),
            2 => (FlushReason::UploadDone, guest::FlushReason::UploadDone),
            _ => (FlushReason::Pressure, guest::FlushReason::Pressure),
        };
        (host, guest)
    }

    fn index(&mut self, n: &Numbers) -> (IndexView, guest::IndexView) {
        twice!(IndexView {
            slice_bytes: n[0],
            slice_records: n[1],
            slice_batches: n[2] as u32,
            time_span_ms: n[3],
            seeks_per_min: n[4] as u32,
            time_lookups_per_min: n[5] as u32,
            fetch_p50_bytes: n[6],
        })
    }

    fn read_ahead(&mut self, n: &Numbers) -> (ReadAheadView, guest::ReadAheadView) {
        self.run_fetches = if n[0] == u64::MAX { 0 } else { self.run_fetches.saturating_add(1) };
        self.misses = self.misses.saturating_add((n[7] % 2) as u32);
        self.evicted_bytes = self.evicted_bytes.saturating_add(if n[8] < 4 { n[8] } else { 0 });
        twice!(ReadAheadView {
            run_fetches: self.run_fetches,
            run_bytes: n[1],
            last_fetch_bytes: n[2],
            pace_bytes_per_s: n[3],
            lag_bytes: n[4],
            ready_bytes: n[5],
            in_flight_bytes: n[6],
            misses: self.misses,
            evicted_bytes: self.evicted_bytes,
            abandoned_bytes: n[9],
            store_first_byte_us: n[10],
            store_bytes_per_s: n[11],
            slice_bytes: n[12],
            budget_free_bytes: n[13],
            cache_free_permille: (n[14] % 1_001) as u32,
            arrival_bytes_per_s: n[15],
        })
    }
}

/// A guest's answer as the host knows it.
trait Answer {
    type Host;
    fn host(self) -> Self::Host;
}

impl Answer for guest::FlushDecision {
    type Host = FlushDecision;
    fn host(self) -> FlushDecision {
        match self {
            Self::Now => FlushDecision::Now,
            Self::Wait(guest::FlushBounds { bytes, records, age_us, quiet_us, uploads_at_most }) => {
                FlushDecision::Wait(FlushBounds { bytes, records, age_us, quiet_us, uploads_at_most })
            }
        }
    }
}

impl Answer for guest::IndexSpacing {
    type Host = IndexSpacing;
    fn host(self) -> IndexSpacing {
        IndexSpacing { bytes: self.bytes, records: self.records, time_ms: self.time_ms }
    }
}

impl Answer for guest::ReadAheadDecision {
    type Host = ReadAheadDecision;
    fn host(self) -> ReadAheadDecision {
        ReadAheadDecision { bytes: self.bytes, slices: self.slices, admit: self.admit }
    }
}

/// One property for each bundled policy, and the list of them.
macro_rules! bundled {
    ($($test:ident: $kind:ident of $plugin:literal, $native:ty, $config:literal;)*) => {
        const COVERED: &[&str] = &[$($plugin),*];

        proptest! {
            #![proptest_config(ProptestConfig::with_cases(200))]
            $(
                #[test]
                fn $test(sequence in sequences()) {
                    static PLUGIN: LazyLock<Arc<LoadedPlugin>> = LazyLock::new(|| load($plugin));
                    let mut native: $native = guest::create($config, &guest::Context::default()).expect("a config of its own");
                    let request = InitRequest { topic: "t", config: $config, context: &Context::default() };
                    let mut wasm = PLUGIN.$kind(&request).expect("the same config");
                    let mut views = Views::default();
                    for numbers in &sequence {
                        let (host_view, guest_view) = views.$kind(numbers);
                        let expected = native.decide(&guest_view).host();
                        prop_assert_eq!(wasm.decide(&host_view).expect("a bundled policy does not fail"), expected, "{:?}", host_view);
                    }
                }
            )*
        }
    };
}

bundled! {
    flush_adaptive_is_the_same: flush of "flush-adaptive", flush_adaptive::Adaptive, r#"{"max_age_ms": 120, "puts_per_min": 600}"#;
    flush_budget_is_the_same: flush of "flush-budget", flush_budget::Budgeted, r#"{"puts_per_min": 300, "burst": 5}"#;
    flush_latency_is_the_same: flush of "flush-latency", flush_latency::Latency, r#"{"target_ms": 20}"#;
    flush_threshold_is_the_same: flush of "flush-threshold", flush_threshold::Threshold, r#"{"bytes": 100000, "records": 500}"#;
    index_density_is_the_same: index of "index-density", index_density::Density, r#"{"index_permille": 5}"#;
    index_spacing_is_the_same: index of "index-spacing", index_spacing::Spacing, r#"{"bytes": 8192, "time_ms": 500}"#;
    read_ahead_adaptive_is_the_same: read_ahead of "read-ahead-adaptive", read_ahead_adaptive::Adaptive, r#"{"cooldown_fetches": 2}"#;
    read_ahead_fixed_is_the_same: read_ahead of "read-ahead-fixed", read_ahead_fixed::Fixed, r#"{"bytes": 100000, "min_fetches": 3}"#;
    read_ahead_pace_is_the_same: read_ahead of "read-ahead-pace", read_ahead_pace::Pace, r#"{"tail_ms": 5}"#;
}

#[test]
fn no_bundled_policy_is_left_out() {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins");
    let crates = std::fs::read_dir(&plugins).expect("the bundled policies lie there").map(|entry| entry.expect("an entry").path());
    let crates: BTreeSet<String> = crates
        .filter(|path| path.join("Cargo.toml").exists())
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    let covered: BTreeSet<String> = COVERED.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(crates, covered);
}
