//! `tidegate trace` and `tidegate simulate` as people call them.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tidegate_tests::broker::{binary, plugin};

/// Four flush policies: what the table and the page have a column for.
pub(crate) const POLICIES: [&str; 4] = ["built-in", "flush-adaptive", "flush-latency", r#"flush-threshold={"age_ms":500,"bytes":0}"#];

pub(crate) fn tidegate(args: &[&str]) -> Output {
    let plugins = plugin("flush-adaptive");
    let mut command = Command::new(binary());
    command.args(args).env("TIDEGATE_PLUGINS", plugins.parent().unwrap());
    command.output().unwrap()
}

fn succeeded(args: &[&str]) -> String {
    let output = tidegate(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A bursty trace in a file.
pub(crate) fn bursty(directory: &Path) -> String {
    let file = directory.join("bursty.csv");
    std::fs::write(&file, succeeded(&["trace", "generate", "bursty", "--seconds", "20", "--rate", "200"])).unwrap();
    file.to_str().unwrap().to_owned()
}

/// Arguments of a simulation with all four policies.
pub(crate) fn simulate<'a>(trace: &'a str, more: &[&'a str]) -> String {
    let mut args = vec!["simulate", "--trace", trace];
    args.extend(POLICIES.iter().flat_map(|policy| ["--policy", policy]));
    args.extend(more);
    succeeded(&args)
}

#[test]
fn four_policies_on_a_bursty_trace_make_a_table() {
    let directory = tempfile::tempdir().unwrap();
    let trace = bursty(directory.path());
    let table = simulate(&trace, &[]);
    let expected =
        ["PUTs", "GETs", "cost a month", "segment p50", "ack p50", "ack p99", "ack p99.9", "memory peak", "hit ratio", "wasted: evicted"];
    for line in expected {
        assert!(table.lines().any(|text| text.starts_with(line)), "{line} is missing in:\n{table}");
    }
    for policy in POLICIES {
        assert!(table.contains(policy), "{policy} is missing in:\n{table}");
    }
    let json: Value = serde_json::from_str(&simulate(&trace, &["--json"])).unwrap();
    let outcomes = json[0]["outcomes"].as_array().unwrap();
    assert_eq!((json[0]["trace"].as_str(), outcomes.len()), (Some("bursty"), 4));
    let puts = |at: usize| outcomes[at]["usage"]["puts"].as_u64().unwrap();
    assert!(puts(3) < puts(1), "half a second of patience saves requests: {} and {}", puts(3), puts(1));
}

#[test]
fn what_is_wrong_is_said_before_anything_is_simulated() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("t.csv");
    std::fs::write(&file, "at_us,event,topic,partition,bytes,records,reader,offset,lanes\n0,topic,a,1\n5,append,a,0,x,1\n").unwrap();
    let file = file.to_str().unwrap();
    let cases = [
        (vec!["simulate", "--trace", file], "t.csv:3: column bytes is \"x\", expected a number from 61"),
        (vec!["simulate", "--trace", file, "--policy", "no-such"], "policy \"no-such\""),
        (vec!["simulate", "--trace", file, "--policy", r#"flush-adaptive={"max_age":1}"#], "`max_age`"),
        (vec!["simulate", "--trace", file, "--policy", "flush-adaptive+flush-latency"], "both decide flush"),
        (vec!["simulate", "--trace", file, "--store", "s4"], "neither s3-standard nor s3-express"),
        (vec!["trace", "generate", "steady", "--bytes", "1"], "bytes is 1, expected 128 to"),
    ];
    for (args, expected) in cases {
        let output = tidegate(&args);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains(expected), "{args:?}: {told}");
    }
}

#[test]
fn a_recording_that_fails_leaves_the_older_trace() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("t.csv");
    std::fs::write(&file, "an older trace").unwrap();
    // A port that was free a moment ago: nobody answers there.
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = tidegate(&["trace", "record", "--admin", &format!("http://{address}"), file.to_str().unwrap()]);
    assert!(!output.status.success(), "nobody can have answered");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "an older trace");
}
