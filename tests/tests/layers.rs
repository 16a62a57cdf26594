//! The layer table of `host/src/lib.rs` holds, and what is confined to one module stays there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the workspace").to_owned()
}

/// All `.rs` files below `dir`, with their text.
fn sources(dir: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found.sort();
    found
}

fn is_test(path: &Path) -> bool {
    let test = |name: &str| matches!(name, "tests" | "tests.rs" | "testing.rs" | "conformance.rs");
    path.components().any(|c| c.as_os_str().to_str().is_some_and(test))
}

/// Code without comments and without the tests, which stand at the end of a file.
fn production(text: &str) -> String {
    let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
    let uncommented = |line: &str| if line.trim_start().starts_with("//") { String::new() } else { line.to_owned() };
    code.lines().map(uncommented).collect::<Vec<_>>().join("\n")
}

/// The modules of the host in the order of the table: a module may name those before it.
fn ranks(lib: &str) -> BTreeMap<String, usize> {
    let rows = lib.lines().filter_map(|line| line.strip_prefix("//! L"));
    let bottom_up: Vec<&str> = rows.collect::<Vec<_>>().into_iter().rev().collect();
    assert!(bottom_up.len() >= 6, "the layer table of host/src/lib.rs was not found");
    let mut ranks = BTreeMap::new();
    for row in bottom_up {
        // Names are set apart by two spaces; what a row is for follows after more.
        let names = row[2..].trim_start().split("   ").next().unwrap_or_default();
        for name in names.split_whitespace() {
            let rank = ranks.len();
            ranks.insert(name.to_owned(), rank);
        }
    }
    ranks
}

/// The table's name for a module path (`policy::wasm::engine`): parts of `policy` lie above its types.
fn table_name(path: &[&str], modules: &[String]) -> Option<String> {
    let first = *path.first()?;
    if first == "policy" {
        let part = path.get(1).is_some_and(|second| modules.contains(&format!("policy::{second}")));
        return Some(if part { "policy::*" } else { "policy" }.to_owned());
    }
    Some(first.to_owned())
}

/// Module path of a file below `host/src`.
fn module_of(path: &Path) -> Vec<String> {
    let mut parts: Vec<String> = path.with_extension("").components().map(|c| c.as_os_str().to_str().unwrap().to_owned()).collect();
    if parts.last().is_some_and(|last| last == "mod" || last == "lib") {
        parts.pop();
    }
    parts
}

/// Every `crate::a::b` in the code, groups (`crate::{a, b}`, `crate::a::{b, c}`) taken apart.
fn crate_paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        expand(&code[at + "crate::".len()..], &mut Vec::new(), &mut found);
    }
    found
}

/// Reads one path, or each path of a group, from the start of `code`; returns what is left.
fn expand<'a>(code: &'a str, prefix: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> &'a str {
    let code = code.trim_start();
    if let Some(mut rest) = code.strip_prefix('{') {
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix('}') {
                return after;
            }
            let left = expand(rest, prefix, found);
            rest = left.trim_start().strip_prefix(',').unwrap_or(left);
            if rest.len() == code.len() || rest.is_empty() {
                return rest;
            }
        }
    }
    let end = code.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(code.len());
    let (name, rest) = code.split_at(end);
    prefix.push(name.to_owned());
    let left = match rest.strip_prefix("::") {
        Some(more) if more.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '{') => expand(more, prefix, found),
        _ => {
            found.push(prefix.clone());
            let rest = rest.trim_start();
            // `a as b`, and a name that is nothing we follow.
            match rest.strip_prefix("as ") {
                Some(renamed) => renamed.trim_start().trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'),
                None if end == 0 => rest.get(1..).unwrap_or_default(),
                None => rest,
            }
        }
    };
    prefix.pop();
    left
}

#[test]
fn a_module_imports_only_from_below() {
    let src = workspace().join("host/src");
    let lib = fs::read_to_string(src.join("lib.rs")).unwrap();
    let ranks = ranks(&lib);
    let files = sources(&src);
    let modules: Vec<String> = files.iter().map(|(path, _)| module_of(path.strip_prefix(&src).unwrap()).join("::")).collect();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (path, text) in &files {
        let module = module_of(path.strip_prefix(&src).unwrap());
        let parts: Vec<&str> = module.iter().map(String::as_str).collect();
        let Some(own) = table_name(&parts, &modules) else { continue };
        if is_test(path) {
            continue;
        }
        let own_rank = *ranks.get(&own).unwrap_or_else(|| panic!("module {own} is not in the layer table of host/src/lib.rs"));
        for used in crate_paths(&production(text)) {
            let used: Vec<&str> = used.iter().map(String::as_str).collect();
            let Some(name) = table_name(&used, &modules) else { continue };
            // What is not a module is re-exported at the root: errors and settings, from the lowest layer.
            let Some(rank) = ranks.get(&name) else { continue };
            seen += 1;
            let inside = name == own || (own.starts_with("policy") && name.starts_with("policy"));
            if *rank > own_rank && !inside {
                wrong.push(format!("{} names crate::{}, which lies above {own}", path.display(), used.join("::")));
            }
        }
    }
    assert!(seen > 50, "only {seen} imports were found: the parser has lost its grip");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Production files below `dir` whose code contains one of `words`, but for those under `allowed`.
fn users_of(words: &[&str], dir: &Path, allowed: &str) -> Vec<String> {
    let outside = |path: &Path| !path.strip_prefix(dir).unwrap().starts_with(allowed);
    let uses = |text: &str| words.iter().any(|word| production(text).contains(word));
    let named = sources(dir).into_iter().filter(|(path, text)| !is_test(path) && outside(path) && uses(text));
    named.map(|(path, _)| path.display().to_string()).collect()
}

#[test]
fn what_is_confined_to_one_module_stays_there() {
    let src = workspace().join("host/src");
    let none: Vec<String> = Vec::new();
    assert_eq!(users_of(&["wasmtime"], &src, "policy/wasm"), none, "only policy::wasm names wasmtime");
    assert_eq!(users_of(&["aws_"], &src, "store"), none, "only store names the S3 SDK");
    assert_eq!(users_of(&["etcd"], &src, "metadata"), none, "only metadata names etcd");
    let time = ["Instant::now", "SystemTime::now", "from_os_rng", "rand::rng", "thread_rng"];
    assert_eq!(users_of(&time, &src, "env.rs"), none, "only env reads time or entropy");
}

#[test]
fn contract_sdk_and_plugins_never_depend_on_the_host() {
    let root = workspace();
    let mut manifests = vec![root.join("guest-sdk/Cargo.toml")];
    manifests.extend(fs::read_dir(root.join("plugins")).unwrap().map(|entry| entry.unwrap().path().join("Cargo.toml")));
    manifests.retain(|manifest| manifest.exists());
    assert!(manifests.len() > 1, "no plugin was found");
    for manifest in manifests {
        let text = fs::read_to_string(&manifest).unwrap();
        let depends = |line: &str| {
            ["tidegate", "tidegate-broker", "tidegate-cli"]
                .iter()
                .any(|name| line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with(['=', '.'])))
        };
        assert!(!text.lines().any(depends), "{} depends on the host", manifest.display());
    }
    assert!(!root.join("wit/Cargo.toml").exists(), "wit/ holds a contract and no code");
}

#[test]
fn the_broker_uses_nothing_but_the_public_api() {
    let manifest = fs::read_to_string(workspace().join("broker/Cargo.toml")).unwrap();
    for name in ["wasmtime", "aws-sdk-s3", "moka"] {
        assert!(!manifest.contains(name), "broker/Cargo.toml names {name}");
    }
}

#[test]
fn the_parser_sees_through_groups() {
    let code = "use crate::{a::b, c::{d, e::f as g}, h};\nlet x = crate::i::j(crate::k);\nnot_crate::l::m;";
    let found: Vec<String> = crate_paths(code).iter().map(|path| path.join("::")).collect();
    assert_eq!(found, ["a::b", "c::d", "c::e::f", "h", "i::j", "k"]);
}
