//! Loading and unloading for ever.

use serde_json::json;
use tidegate::config::PolicySettings;
use tidegate::policy::{Context, InitRequest, Kind, PolicySource};

use crate::kit::{Bench, alone, empty, evil, good, settings, trigger};

/// Resident bytes, mappings and open files of this process.
#[derive(Clone, Copy, Debug)]
struct Held {
    resident: u64,
    mappings: usize,
    files: usize,
}

fn held() -> Held {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("the kernel tells it");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    let mappings = std::fs::read_to_string("/proc/self/maps").unwrap().lines().count();
    let files = std::fs::read_dir("/proc/self/fd").unwrap().count();
    Held { resident: kib << 10, mappings, files }
}

fn assert_flat(before: Held, after: Held) {
    assert!(after.files <= before.files + 2, "{before:?}, then {after:?}");
    assert!(after.mappings <= before.mappings + 16, "{before:?}, then {after:?}");
    assert!(after.resident <= before.resident + (16 << 20), "{before:?}, then {after:?}");
}

#[test]
fn ten_thousand_loads_and_unloads_leave_nothing_behind() {
    if !alone("cycles::ten_thousand_loads_and_unloads_leave_nothing_behind") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let bench = Bench::new(PolicySettings { compile_cache: Some(directory.path().join("compiled")), ..settings() });
    let component = crate::wat::Guest { at_trigger: "(unreachable)", ..Default::default() }.component();
    let cycle = |rounds: usize| {
        for round in 0..rounds {
            runtime.block_on(bench.bind(Kind::Flush, component.clone(), json!({})));
            let mut policy = bench.flush("t");
            assert_eq!(policy.decide(&empty()), good());
            if round % 10 == 0 {
                // A fault throws its store away.
                policy.decide(&trigger());
            }
            drop(policy);
            bench.host.set_bindings(Vec::new()).unwrap();
            bench.faults.lock().clear();
        }
    };
    cycle(1_000);
    let before = held();
    cycle(9_000);
    assert_flat(before, held());
    assert_eq!(bench.metric("tidegate_policy_instances", &[("plugin", "evil")]), 0);
}

#[test]
fn ten_thousand_instances_that_come_and_go_leave_nothing_behind() {
    if !alone("cycles::ten_thousand_instances_that_come_and_go_leave_nothing_behind") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let plugin = runtime.block_on(Bench::new(settings()).load(evil())).unwrap();
    let cycle = |rounds: usize| {
        for round in 0..rounds {
            let mode = if round % 4 == 0 { "grow" } else { "trap" };
            let config = json!({"mode": mode}).to_string();
            let mut policy = plugin.flush(&InitRequest { topic: "t", config: &config, context: &Context::default() }).unwrap();
            policy.decide(&empty()).unwrap();
            policy.decide(&trigger()).unwrap_err();
        }
    };
    cycle(1_000);
    let before = held();
    cycle(9_000);
    assert_flat(before, held());
}
