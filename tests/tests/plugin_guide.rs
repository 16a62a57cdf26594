//! The guide for authors of policies does what it says: its commands are run as they stand, in an empty folder, against a broker that they start.

use std::fmt::Write;
use std::net::TcpListener;

use tidegate_tests::author::{command, succeeded};

const GUIDE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/plugin-guide.md"));

/// A fenced block: what stands behind the fence, and its lines.
fn blocks() -> Vec<(&'static str, String)> {
    let mut blocks: Vec<(&str, String)> = Vec::new();
    let mut open = false;
    for line in GUIDE.lines() {
        match (line.strip_prefix("```"), open) {
            (Some(info), false) => {
                blocks.push((info, String::new()));
                open = true;
            }
            (Some(_), true) => open = false,
            (None, true) => writeln!(blocks.last_mut().expect("a block is open").1, "{line}").expect("it fits"),
            (None, false) => {}
        }
    }
    blocks
}

/// One script of all commands; what must fail is said on its standard output, behind a mark.
fn script() -> String {
    let mut script = "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null' EXIT\n".to_owned();
    for (info, text) in blocks() {
        match info {
            "sh" => script += &text,
            "sh fails" => writeln!(script, "if {{ {text}}} 2> refused.txt; then echo 'it did not fail' >&2; exit 1; fi").expect("it fits"),
            _ => {}
        }
    }
    script
}

fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").and_then(|bound| bound.local_addr()).expect("a free port").to_string()
}

#[test]
fn the_guide_for_authors_does_what_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let (kafka, admin) = (free_port(), free_port());
    let serve = format!("tidegate serve --listen {kafka} --admin-listen {admin} ");
    let script = script().replace("tidegate serve ", &serve).replace("127.0.0.1:9092", &kafka);
    let mut shell = command("bash", directory.path());
    let output =
        shell.args(["-c", &script]).env("TIDEGATE_ADMIN", format!("http://{admin}")).env("USER", "author").output().expect("bash runs");
    let said = succeeded("the guide", output);
    assert!(said.contains("rollback"), "its history is shown last: {said}");

    let refused = std::fs::read_to_string(directory.path().join("my-flush/refused.txt")).unwrap();
    let expected = blocks().into_iter().find(|(info, _)| *info == "text").expect("the guide shows the refusal").1;
    assert_eq!(refused, expected, "the guide shows what is said");
}

#[test]
fn the_guide_names_every_keyword_of_a_schema_that_is_served() {
    for (keyword, value) in
        [("type", "\"null\""), ("maxItems", "1"), ("additionalProperties", "false"), ("deprecated", "true"), ("$comment", "\"\"")]
    {
        tidegate::policy::ConfigSchema::read(&format!("{{\"{keyword}\": {value}}}")).expect("it is served");
        assert!(GUIDE.contains(&format!("`{keyword}`")), "{keyword}");
    }
}
