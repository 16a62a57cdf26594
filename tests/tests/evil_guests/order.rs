//! The checks of a component come in a fixed order: what comes first makes the rest meaningless, so it is told first.

use bytes::Bytes;
use tidegate::config::PolicySettings;
use tidegate::policy::FaultClass;

use crate::kit::{Bench, settings};
use crate::wat::{Guest, outline, with_custom_section};

const PINNED: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const TRAP: &str = "(unreachable)";

/// A component with two defects, or one and a digest that is not its own.
struct Case {
    defects: &'static str,
    component: Bytes,
    pinned: Option<&'static str>,
    class: FaultClass,
    /// What the message of the earlier defect says.
    says: &'static str,
}

fn cases() -> Vec<Case> {
    let case = |defects, component, pinned, class, says| Case { defects, component, pinned, class, says };
    let good = Guest::default().component();
    let cut = good.slice(..good.len() - 7);
    let core = Bytes::from_static(b"\0asm\x01\0\0\0\x01");
    let foreign = outline(&["wasi:sockets/tcp@0.2.0"], &["acme:thing/api@1.0.0"]);
    let newer = outline(&["wasi:sockets/tcp@0.2.0"], &["tidegate:policy/flush@0.9.0"]);
    let nosy = outline(&["wasi:sockets/tcp@0.2.0"], &["tidegate:policy/flush@0.1.0"]);
    let mute_giant = wat::parse_str(
        r#"(component (core module $m (memory 1000)) (core instance (instantiate $m))
            (instance $empty) (export "tidegate:policy/flush@0.1.0" (instance $empty)))"#,
    );
    let start = "(func $start (unreachable)) (start $start)";
    let giant = Guest { pages: 1_000, extra: start, ..Guest::default() }.component();
    let stillborn = Guest { extra: start, describe: TRAP, ..Guest::default() }.component();
    let dumb = Guest { describe: TRAP, init: TRAP, ..Guest::default() }.component();
    let unwilling = Guest { init: TRAP, decide: TRAP, ..Guest::default() }.component();
    let undecided = Guest { decide: TRAP, ..Guest::default() }.component();
    vec![
        case("size, kind", Bytes::from(vec![b'('; 300_000]), None, FaultClass::TooLarge, "300000 bytes"),
        case("kind, parse", core, Some(PINNED), FaultClass::CoreModule, "core WebAssembly module"),
        case("parse, digest", cut, Some(PINNED), FaultClass::Truncated, "cut short"),
        case("custom sections, digest", with_custom_section(&good, 70_000), Some(PINNED), FaultClass::TooLarge, "custom sections"),
        case("digest, contract", foreign.clone(), Some(PINNED), FaultClass::DigestMismatch, PINNED),
        case("contract, imports", foreign, None, FaultClass::NoMarker, "tidegate:policy"),
        case("version, imports", newer, None, FaultClass::Unsupported, "0.9.0"),
        case("imports, exports", nosy, None, FaultClass::ForbiddenImport, "wasi:sockets/tcp"),
        case("exports, resources", mute_giant.expect("well-formed").into(), None, FaultClass::MissingExport, "describe"),
        case("resources, instantiation", giant, None, FaultClass::InitOom, "65536000 bytes of memory"),
        case("instantiation, describe", stillborn, None, FaultClass::InitTrap, "instantiating it"),
        case("describe, init", dumb, None, FaultClass::InitTrap, "describe"),
        case("init, decision", unwilling, None, FaultClass::InitTrap, "init"),
        case("decision", undecided, None, FaultClass::CanaryFailed, "a trial decision"),
    ]
}

#[tokio::test]
async fn of_two_defects_the_earlier_one_is_told() {
    let bench = Bench::new(PolicySettings { component_bytes: 256 << 10, custom_bytes: 64 << 10, ..settings() });
    let mut told = std::collections::BTreeSet::new();
    for case in cases() {
        let error = bench.host.check_and_load_pinned(case.component, case.pinned).await.expect_err(case.defects);
        assert_eq!(error.class(), case.class, "{}: {error}", case.defects);
        assert!(error.problem().contains(case.says), "{}: {error}", case.defects);
        assert!(!error.remedy().is_empty(), "{}: {error}", case.defects);
        assert!(told.insert(error.problem().to_owned()), "{}: told before: {error}", case.defects);
    }
}

#[tokio::test]
async fn a_pinned_digest_admits_its_own_bytes_only_loaded_before_or_not() {
    let bench = Bench::new(settings());
    let component = Guest::default().component();
    let digest = tidegate::policy::wasm::digest(&component);
    for _ in 0..2 {
        let plugin = bench.host.check_and_load_pinned(component.clone(), Some(&digest.to_uppercase().replace("SHA", "sha"))).await;
        let plugin = plugin.expect("these are the bytes");
        let error = bench.host.check_and_load_pinned(component.clone(), Some(PINNED)).await.expect_err("these are others");
        assert_eq!(error.class(), FaultClass::DigestMismatch);
        assert!(error.problem().contains(&digest) && error.problem().contains(PINNED), "{error}");
        drop(plugin);
    }
    for no_digest in ["", "sha256:", "md5:0123", "sha256:\n\x1b[2J"] {
        let error = bench.host.check_and_load_pinned(component.clone(), Some(no_digest)).await.expect_err(no_digest);
        assert_eq!(error.class(), FaultClass::DigestMismatch);
        assert!(error.problem().contains("64 hex digits") && crate::kit::is_safe(&error.to_string()), "{error}");
    }
}
