//! The contract's released versions never change, and what was built for them loads for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tidegate::config::PolicySettings;
use tidegate::policy::wasm::{digest, load};
use tidegate::policy::{
    Context, Flush, FlushDecision, FlushView, Index, IndexView, InitRequest, Kind, PolicyKind, PolicySource, ReadAhead, ReadAheadView,
};

/// Released versions, and the digests of their texts. A line is added with a release; none is ever changed.
const FROZEN: [(&str, &str); 1] = [("0.1.0", "sha256:e44af1b1a15104afc5b2107bb508da689c12fc97315e1ce52e331307d3a15a0f")];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the workspace").to_owned()
}

fn names_in(directory: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_released_version_of_the_contract_never_changes() {
    let frozen = workspace().join("wit/frozen");
    assert_eq!(names_in(&frozen), FROZEN.iter().map(|(version, _)| (*version).to_owned()).collect());
    for (version, pinned) in FROZEN {
        let text = read(&frozen.join(version).join("policy.wit"));
        assert_eq!(digest(&text), pinned, "wit/frozen/{version} is another: take it back, and make a new version");
        let package = format!("package tidegate:policy@{version};");
        assert!(String::from_utf8_lossy(&text).contains(&package), "wit/frozen/{version} holds another version");
    }
}

/// The interfaces of a text by their names, without comments and blanks.
fn interfaces(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    let (mut found, mut name, mut depth) = (BTreeMap::<String, String>::new(), String::new(), 0_i32);
    for line in lines {
        if let Some(rest) = line.strip_prefix("interface ").filter(|_| depth == 0) {
            name = rest.trim_end_matches([' ', '{']).to_owned();
        }
        if !name.is_empty() {
            *found.entry(name.clone()).or_default() += line;
        }
        depth += line.matches('{').count() as i32 - line.matches('}').count() as i32;
        if depth == 0 {
            name.clear();
        }
    }
    found
}

/// What was built against `0.1.x` meets a host of `0.1.y`: interfaces may be added, what they replace is another minor.
#[test]
fn the_interfaces_of_a_released_version_are_in_the_current_text_as_they_were() {
    let current = String::from_utf8(read(&workspace().join("wit/policy.wit"))).unwrap();
    let now = interfaces(&current);
    for (version, _) in FROZEN {
        let (minor, _) = version.rsplit_once('.').expect("three numbers");
        if !current.contains(&format!("package tidegate:policy@{minor}.")) {
            continue;
        }
        let frozen = read(&workspace().join("wit/frozen").join(version).join("policy.wit"));
        let then = interfaces(&String::from_utf8(frozen).unwrap());
        assert!(then.len() >= 6 && then.contains_key("flush"), "{version}: {:?}", then.keys());
        for (name, body) in then {
            assert_eq!(
                now.get(&name),
                Some(&body),
                "interface {name} is not as it was in {version}: give the contract a new minor version"
            );
        }
    }
}

/// Asks an instance of a kind for a decision on a view of zeros.
fn decides<K: PolicyKind>(plugin: &dyn PolicySource, view: K::View) -> K::Answer {
    let request = InitRequest { topic: "t", config: "{}", context: &Context::default() };
    let mut policy = K::build(plugin, &request).unwrap_or_else(|fault| panic!("{}: {fault}", plugin.name()));
    policy.decide(&view).unwrap_or_else(|fault| panic!("{}: {fault}", plugin.name()))
}

#[test]
fn components_of_every_released_version_load_and_decide_for_ever() {
    let settings = PolicySettings { decision_deadline_ms: 1_000, init_deadline_ms: 10_000, ..PolicySettings::default() };
    for (version, _) in FROZEN {
        let directory = workspace().join("tests/fixtures/contract").join(version);
        let mut decided = BTreeSet::new();
        for name in names_in(&directory) {
            let plugin = load(&read(&directory.join(&name)), &settings).unwrap_or_else(|error| panic!("{version}/{name}: {error}"));
            assert_eq!(plugin.inspection().contract, version, "{name}");
            for kind in plugin.kinds() {
                match kind {
                    Kind::Flush => {
                        let decision = decides::<Flush>(&*plugin, FlushView::default());
                        assert!(matches!(decision, FlushDecision::Wait(bounds) if bounds.bytes == 4 << 20), "{name}: {decision:?}");
                    }
                    Kind::Index => assert_eq!(decides::<Index>(&*plugin, IndexView::default()).bytes, 32 << 10, "{name}"),
                    Kind::ReadAhead => {
                        let decision = decides::<ReadAhead>(&*plugin, ReadAheadView::default());
                        assert!(decision.bytes == 0 && decision.admit, "{name}: {decision:?}");
                    }
                }
                decided.insert(kind.as_str());
            }
        }
        assert_eq!(decided.len(), Kind::ALL.len(), "{version}: each kind has a component");
    }
}
