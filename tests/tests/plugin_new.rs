//! `tidegate plugin new`: a project of each kind that builds and passes its own tests at once, in an empty folder.

use std::path::Path;

use serde_json::{Value, json};
use tidegate_tests::author::{command, succeeded};

fn tidegate(directory: &Path, args: &[&str]) -> Value {
    let output = command("tidegate", directory).arg("--json").args(args).output().expect("it runs");
    serde_json::from_str(&succeeded(&format!("tidegate {args:?}"), output)).expect("an answer in JSON")
}

/// Begins a project, runs its scenarios, and checks what they say.
fn begun(directory: &Path, name: &str, kind: &str, sdk: &[&str]) -> Value {
    tidegate(directory, &[&["plugin", "new", name, "--kind", kind], sdk].concat());
    let project = directory.join(name);
    let report = tidegate(&project, &["plugin", "test", "."]);
    assert_eq!((&report["failed"], &report["plugin"]), (&json!(0), &json!(name)), "{report}");
    let found = tidegate(&project, &["plugin", "check", &format!("target/plugins/{name}.wasm")]);
    assert_eq!(
        found["imports"].as_array().map(Vec::len),
        Some(found["imports"].to_string().matches("tidegate:policy/").count()),
        "{found}"
    );
    let bytes = std::fs::read(project.join("target/plugins").join(format!("{name}.wasm"))).unwrap();
    let home = std::env::var("HOME").expect("a home directory") + "/";
    let tells = bytes.windows(home.len()).any(|part| part == home.as_bytes());
    assert!(!tells || home == "//", "the component tells in whose folder it was built");
    found["kinds"].clone()
}

#[test]
fn a_new_project_of_any_kind_builds_and_passes_its_tests_at_once() {
    let directory = tempfile::tempdir().unwrap();
    for kind in ["flush", "index", "read-ahead"] {
        assert_eq!(begun(directory.path(), &format!("my-{kind}"), kind, &[]), json!([kind]));
    }
    assert_eq!(begun(directory.path(), "my-all", "all", &[]), json!(["flush", "index", "read-ahead"]));
    let tested = command("cargo", &directory.path().join("my-all")).arg("test").output().expect("cargo runs");
    let said = succeeded("cargo test", tested);
    assert!(said.contains("3 passed"), "{said}");
}

#[test]
fn a_new_project_takes_the_sdk_of_a_checkout() {
    let directory = tempfile::tempdir().unwrap();
    let sdk = concat!(env!("CARGO_MANIFEST_DIR"), "/../guest-sdk");
    begun(directory.path(), "with-path", "index", &["--sdk", sdk]);
    assert!(!directory.path().join("with-path/sdk").exists());
}

#[test]
fn what_is_there_is_left_alone_and_a_wrong_name_makes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("there")).unwrap();
    for (name, code, told) in [("there", 1, "is there already"), ("../up", 2, "no name of a crate"), ("core", 2, "no name of a crate")] {
        let output = command("tidegate", directory.path()).args(["plugin", "new", name, "--kind", "flush"]).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(code) && said.contains(told), "{name}: {:?} {said}", output.status);
    }
    let found = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(found, 1);
}
