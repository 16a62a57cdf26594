//! Hostile and broken components, made from WebAssembly text: each is refused with its own message, or contained.

use std::sync::Arc;

use proptest::prelude::*;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

use super::*;
use crate::policy::Kind;
use crate::policy::guard::{Fault, FaultClass};
use crate::policy::kinds::{Flush, InitRequest, Policy, PolicySource};
use crate::policy::types::{Context, FlushBounds, FlushDecision, FlushView, IndexSpacing, IndexView};

/// Buffered bytes of the view at which a hostile guest shows itself; with any other it is well behaved.
const TRIGGER: u64 = 666;
const WAIT: &str = "(i32.store8 (i32.const 256) (i32.const 1)) (i64.store (i32.const 264) (i64.const 5000))
    (i64.store (i32.const 272) (i64.const -1)) (i64.store (i32.const 280) (i64.const -1)) (i64.store (i32.const 288) (i64.const -1))
    (i32.store (i32.const 296) (i32.const -1)) (i32.const 256)";

/// A core module of a flush policy: `init` and the part of `decide` that runs at the trigger are given.
fn flush_module(init: &str, hostile: &str, extra: &str) -> String {
    format!(
        r#"(module
  (import "tidegate:policy/log@0.1.0" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (global $top (mut i32) (i32.const 4096))
  (data (i32.const 16) "evil") (data (i32.const 32) "1.0.0") (data (i32.const 48) "no such key: `a\nb`")
  {extra}
  (func $recurse (param i32) (result i32) (i32.add (call $recurse (i32.add (local.get 0) (i32.const 1))) (i32.const 1)))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local i32)
    (local.set 4 (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
    (global.set $top (i32.add (local.get 4) (local.get 3)))
    (local.get 4))
  (func (export "tidegate:policy/describe@0.1.0#describe") (result i32)
    (i32.store (i32.const 128) (i32.const 16)) (i32.store (i32.const 132) (i32.const 4))
    (i32.store (i32.const 136) (i32.const 32)) (i32.store (i32.const 140) (i32.const 5))
    (i32.store (i32.const 144) (i32.const 32)) (i32.store (i32.const 148) (i32.const 0))
    (i32.store (i32.const 152) (i32.const 32)) (i32.store (i32.const 156) (i32.const 0))
    (i32.const 128))
  (func (export "tidegate:policy/flush@0.1.0#init")
    (param i32 i32 i32 i32 i32 i32 i64 i64 i32 i32 i64 i64 i64) (result i32)
    {init})
  (func (export "tidegate:policy/flush@0.1.0#decide")
    (param $reason i32) (param $now i64) (param $bytes i64)
    (param i64 i32 i64 i64 i64 i32 i32 i32 i64 i64 i32 i32 i32) (result i32)
    (if (i64.eq (local.get $bytes) (i64.const {TRIGGER})) (then {hostile}))
    {WAIT}))"#
    )
}

const INIT_OK: &str = "(i32.store8 (i32.const 192) (i32.const 0)) (i32.const 192)";

fn component_of(text: &str, world: &str) -> Vec<u8> {
    let mut module = wat::parse_str(text).expect("the fixture is well-formed text");
    let mut resolve = wit_parser::Resolve::default();
    let (package, _) = resolve.push_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../wit")).expect("the contract parses");
    let world = resolve.select_world(&[package], Some(world)).expect("the contract has the world");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("metadata fits any module");
    let component = ComponentEncoder::default().validate(true).module(&module).and_then(|encoder| encoder.encode());
    component.expect("the fixture keeps the contract")
}

fn flush_component(init: &str, hostile: &str) -> Vec<u8> {
    component_of(&flush_module(init, hostile, ""), "flush-policy")
}

/// Deadlines that a busy machine keeps.
fn settings() -> PolicySettings {
    PolicySettings { decision_deadline_ms: 200, init_deadline_ms: 1_000, ..PolicySettings::default() }
}

fn loader() -> Loader {
    Loader::new(settings())
}

fn instance(component: &[u8], config: &str) -> Result<Box<dyn Policy<Flush>>, Fault> {
    let plugin = loader().load(component, None).expect("it is well behaved while it is loaded");
    plugin.flush(&InitRequest { topic: "t", config, context: &Context::default() })
}

/// The fault at the trigger, after one decision that succeeds.
fn fault_of(hostile: &str) -> Fault {
    let mut policy = instance(&flush_component(INIT_OK, hostile), "{}").expect("init is harmless");
    policy.decide(&FlushView::default()).expect("a harmless view");
    policy.decide(&FlushView { buffered_bytes: TRIGGER, ..FlushView::default() }).expect_err("the trigger")
}

fn refusal(bytes: &[u8]) -> LoadError {
    check(bytes, &settings()).expect_err("it must be refused")
}

#[test]
fn a_component_is_described_and_decides() {
    let component = flush_component(INIT_OK, "");
    let found = check(&component, &settings()).expect("it is harmless");
    assert_eq!((found.name.as_str(), found.version.as_str(), found.contract.as_str()), ("evil", "1.0.0", "0.1.0"));
    assert_eq!((found.kinds, found.size, found.digest), (vec![Kind::Flush], component.len() as u64, digest(&component)));
    let mut policy = instance(&component, "{}").expect("init is harmless");
    let expected = FlushDecision::Wait(FlushBounds { bytes: 5_000, ..FlushBounds::NONE });
    assert_eq!(policy.decide(&FlushView::default()), Ok(expected));
}

#[test]
fn every_way_to_fail_in_a_call_has_its_class() {
    let cases = [
        ("(loop (br 0))", FaultClass::Timeout),
        ("(unreachable)", FaultClass::Trap),
        ("(drop (call $recurse (i32.const 0)))", FaultClass::Stack),
        ("(drop (i32.load (i32.const -1)))", FaultClass::Trap),
        ("(loop (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) (unreachable)", FaultClass::Oom),
        ("(call $log (i32.const 3) (i32.const 16) (i32.const 4)) (unreachable)", FaultClass::Panic),
        ("(loop (call $log (i32.const 1) (i32.const 16) (i32.const 4)) (br 0))", FaultClass::Timeout),
        ("(call $log (i32.const 9) (i32.const 16) (i32.const 4))", FaultClass::BadValue),
        ("(call $log (i32.const 1) (i32.const -8) (i32.const 4))", FaultClass::BadValue),
        ("(i32.store8 (i32.const 256) (i32.const 7)) (return (i32.const 256))", FaultClass::BadValue),
        ("(return (i32.const -4))", FaultClass::BadValue),
    ];
    for (hostile, class) in cases {
        let fault = fault_of(hostile);
        assert_eq!(fault.class, class, "{hostile}: {fault}");
    }
}

#[test]
fn a_loop_ends_within_its_deadline_and_a_tick() {
    let machine = engine::Machine::start(&PolicySettings { decision_deadline_ms: 30, ..settings() }).expect("the engine starts");
    let plugin = LoadedPlugin::load(machine.clone(), &flush_component(INIT_OK, "(loop (br 0))"), None).expect("it is harmless at first");
    let ticks = || {
        let mut policy = plugin.flush(&InitRequest { topic: "t", config: "{}", context: &Context::default() }).expect("init is harmless");
        let before = machine.clock.ticks();
        let fault = policy.decide(&FlushView { buffered_bytes: TRIGGER, ..FlushView::default() }).expect_err("it loops");
        assert_eq!(fault.class, FaultClass::Timeout);
        machine.clock.ticks() - before
    };
    // The clock may go on between the interruption and the look at it, never the other way round: the best of a few is exact.
    let spent: Vec<u64> = (0..20).map(|_| ticks()).collect();
    assert!(spent.iter().all(|ticks| *ticks >= 30) && spent.iter().any(|ticks| *ticks <= 31), "{spent:?}");
}

#[test]
fn longer_ticks_make_no_shorter_deadlines() {
    let ticks = |tick_ms| {
        let settings = PolicySettings { tick_ms, decision_deadline_ms: 5, init_deadline_ms: 250, ..PolicySettings::default() };
        let machine = engine::Machine::start(&settings).expect("the engine starts");
        (machine.decision_ticks(), machine.init_ticks())
    };
    assert_eq!((ticks(1), ticks(2), ticks(10)), ((5, 250), (3, 125), (1, 25)));
}

#[test]
fn a_panics_message_is_kept_and_a_denied_growth_names_the_limit() {
    assert_eq!(fault_of("(call $log (i32.const 3) (i32.const 16) (i32.const 4)) (unreachable)").message, "decide panicked: evil");
    let oom = fault_of("(loop (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) (unreachable)");
    assert!(oom.message.contains("policy.memory_bytes"), "{oom}");
}

#[test]
fn handing_over_more_than_the_host_takes_is_a_fault() {
    let big = "(drop (memory.grow (i32.const 4))) (call $log (i32.const 1) (i32.const 0) (i32.const 131072))";
    let fault = fault_of(big);
    assert_eq!(fault.class, FaultClass::OutputLimit);
    assert!(fault.message.contains("policy.handover_bytes"), "{fault}");
}

#[test]
fn a_refused_config_carries_the_plugins_message_escaped() {
    let refuse = "(i32.store8 (i32.const 192) (i32.const 1)) (i32.store (i32.const 196) (i32.const 48))
        (i32.store (i32.const 200) (i32.const 18)) (i32.const 192)";
    let fault = instance(&flush_component(refuse, ""), "{}").err().expect("init refuses");
    assert_eq!((fault.class, fault.message.as_str()), (FaultClass::ConfigRejected, "it refuses its config: no such key: `a\\nb`"));
}

#[test]
fn what_fails_before_its_first_decision_is_refused_at_load() {
    assert_eq!(refusal(&flush_component("(loop (br 0)) (unreachable)", "")).class(), FaultClass::InitTimeout);
    assert_eq!(refusal(&flush_component("(unreachable)", "")).class(), FaultClass::InitTrap);
    let start = "(func $start (loop (br 0))) (start $start)";
    let looping = component_of(&flush_module(INIT_OK, "", start), "flush-policy");
    assert_eq!(refusal(&looping).class(), FaultClass::InitTimeout);
    let at_once = flush_module(INIT_OK, "", "")
        .replace(&format!("(i64.const {TRIGGER})"), "(i64.const 0)")
        .replace("(then )", "(then (unreachable))");
    assert_eq!(refusal(&component_of(&at_once, "flush-policy")).class(), FaultClass::CanaryFailed);
}

#[test]
fn a_large_memory_is_refused_before_it_is_instantiated() {
    let large = flush_module(INIT_OK, "", "").replace("\"memory\") 1)", "\"memory\") 65)");
    let error = refusal(&component_of(&large, "flush-policy"));
    assert_eq!(error.class(), FaultClass::InitOom);
    assert!(error.to_string().contains("policy.memory_bytes"), "{error}");
}

#[test]
fn whatever_is_no_component_has_its_own_message() {
    let cases: [(&[u8], FaultClass); 9] = [
        (b"", FaultClass::NotWasm),
        (b"\0asm\x01\0\0\0", FaultClass::CoreModule),
        (b"\0asm\x63\0\0\0", FaultClass::NotWasm),
        (b"\0asm\x0d", FaultClass::Truncated),
        (b"\x7fELF\x02\x01\x01", FaultClass::Precompiled),
        (b"  (component)", FaultClass::Text),
        (b";; text", FaultClass::Text),
        (b"{\"name\": 1}", FaultClass::NotWasm),
        (b"GIF89a", FaultClass::NotWasm),
    ];
    let mut messages = std::collections::BTreeSet::new();
    for (bytes, class) in cases {
        let error = refusal(bytes);
        assert_eq!(error.class(), class, "{error}");
        assert!(!error.remedy().is_empty());
        messages.insert(error.to_string());
    }
    // The two texts are one case to their author.
    assert_eq!(messages.len(), cases.len() - 1, "{messages:#?}");
}

#[test]
fn precompiled_code_is_never_taken() {
    let machine = engine::Machine::start(&PolicySettings::default()).expect("the engine starts");
    let code = machine.engine.precompile_component(&flush_component(INIT_OK, "")).expect("it compiles");
    assert_eq!(refusal(&code).class(), FaultClass::Precompiled);
}

#[test]
fn a_truncated_component_is_refused_with_the_offset() {
    let component = flush_component(INIT_OK, "");
    for length in [component.len() / 2, component.len() - 7] {
        let error = refusal(&component[..length]);
        assert!(error.to_string().contains(&format!("of {length})")), "{error}");
    }
    let settings = PolicySettings { component_bytes: 100, ..settings() };
    assert_eq!(check(&component, &settings).expect_err("too large").class(), FaultClass::TooLarge);
}

#[test]
fn forbidden_imports_are_named_all_at_once() {
    let text = r#"(component
        (import "wasi:sockets/tcp@0.2.0" (instance)) (import "wasi:filesystem/types@0.2.0" (instance))
        (import "wasi:cli/environment@0.2.0" (instance)) (import "acme:db/query" (func))
        (instance $empty) (export "tidegate:policy/flush@0.1.0" (instance $empty)))"#;
    let error = refusal(&wat::parse_str(text).expect("well-formed"));
    assert_eq!(error.class(), FaultClass::ForbiddenImport);
    for import in ["wasi:sockets/tcp", "wasi:filesystem/types", "acme:db/query"] {
        assert!(error.problem().contains(import), "{error}");
    }
    assert!(!error.problem().contains("environment"), "{error}");
}

#[test]
fn another_contract_is_told_from_none_and_from_a_missing_export() {
    let exporting =
        |name: &str| wat::parse_str(format!("(component (instance $i) (export \"{name}\" (instance $i)))")).expect("well-formed");
    let none = refusal(&exporting("acme:thing/api@1.0.0"));
    assert_eq!(none.class(), FaultClass::NoMarker);
    let newer = refusal(&exporting("tidegate:policy/flush@0.3.0"));
    assert_eq!(newer.class(), FaultClass::Unsupported);
    assert!(newer.problem().contains("0.3.0") && newer.problem().contains("serves 0.1"), "{newer}");
    let missing = refusal(&exporting("tidegate:policy/flush@0.1.0"));
    assert_eq!(missing.class(), FaultClass::MissingExport);
    assert!(missing.problem().contains("describe"), "{missing}");
}

#[test]
fn the_same_bytes_are_loaded_once() {
    let (loader, component) = (loader(), flush_component(INIT_OK, ""));
    let first = loader.load(&component, None).expect("it is harmless");
    assert!(Arc::ptr_eq(&first, &loader.load(&component, None).expect("it is harmless")));
}

#[test]
fn a_damaged_compile_cache_is_a_miss() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let cache = directory.path().join("compiled");
    let settings = PolicySettings { compile_cache: Some(cache.clone()), ..settings() };
    let component = flush_component(INIT_OK, "");
    let files = || std::fs::read_dir(&cache).expect("it was made").map(|entry| entry.expect("readable").path()).collect::<Vec<_>>();
    check(&component, &settings).expect("it is harmless");
    let written = files();
    assert_eq!(written.len(), 1);
    let good = std::fs::read(&written[0]).expect("readable");
    check(&component, &settings).expect("from the cache");
    std::fs::write(&written[0], &good[..good.len() / 2]).expect("writable");
    check(&component, &settings).expect("compiled again");
    assert_eq!(std::fs::read(&files()[0]).expect("readable").len(), good.len());
}

#[test]
fn the_calls_of_one_seal_share_one_deadline() {
    let text = flush_module(INIT_OK, "", "").replace("tidegate:policy/flush", "tidegate:policy/index");
    let before_decide = &text[..text.find("    (param $reason").expect("the fixture's decide")];
    let slow = "(param i64 i64 i32 i64 i32 i32 i64) (result i32) (local $n i32)
        (loop (local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if 0 (i32.lt_u (local.get $n) (i32.const 5000000))))
        (i64.store (i32.const 256) (i64.const 8192)) (i64.store (i32.const 264) (i64.const -1))
        (i64.store (i32.const 272) (i64.const -1)) (i32.const 256)))";
    let component = component_of(&format!("{before_decide}{slow}"), "index-policy");
    let plugin = loader().load(&component, None).expect("it is slow, and legal");
    let mut policy = plugin.index(&InitRequest { topic: "t", config: "{}", context: &Context::default() }).expect("init is harmless");
    policy.begin_seal();
    let mut slices = 0;
    while !policy.is_spent() && slices < 1_000_000 {
        slices += 1;
        match policy.decide(&IndexView::default()) {
            Ok(spacing) => assert_eq!(spacing, IndexSpacing { bytes: 8_192, records: u64::MAX, time_ms: u64::MAX }),
            Err(fault) if slices > 1 => {
                assert_eq!(fault.class, FaultClass::SealTimeout, "{fault}");
                return;
            }
            Err(fault) => panic!("one slice alone is within the deadline: {fault}"),
        }
    }
    assert!(policy.is_spent(), "{slices} slow slices within one deadline");
    policy.begin_seal();
    assert!(!policy.is_spent(), "the next seal has its own deadline");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_components_never_panic_the_host(at in any::<prop::sample::Index>(), bit in 0..8_u8, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        static GOOD: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| flush_component(INIT_OK, ""));
        let mut flipped = GOOD.clone();
        let at = at.index(flipped.len());
        flipped[at] ^= 1 << bit;
        // Reading an outline is what meets foreign bytes; compiling each would take minutes.
        let _ = bytes_kind::require_component(&flipped, 1 << 20).and_then(|()| outline::Outline::read(&flipped, 1 << 20));
        let _ = bytes_kind::require_component(&bytes, 1 << 20).and_then(|()| outline::Outline::read(&bytes, 1 << 20));
    }
}
