//! A component that was damaged on its way.

use tidegate::config::PolicySettings;
use tidegate::policy::FaultClass;
use tidegate::policy::wasm::digest;

use crate::kit::{Bench, evil, is_safe, settings};

#[tokio::test]
async fn a_truncated_component_is_refused_with_the_offset_and_by_its_digest() {
    let bench = Bench::new(settings());
    let whole = evil();
    let step = (whole.len() / 61).max(1);
    let lengths = (8..whole.len()).step_by(step).chain([whole.len() / 2, whole.len() - 7, whole.len() - 1]);
    for length in lengths {
        let pinned = bench.host.check_and_load_pinned(whole.slice(..length), Some(&digest(&whole))).await.expect_err("it is cut");
        assert!(pinned.problem().starts_with("the component's digest is"), "{length}: {pinned}");
        // Cut between two sections at its end it is whole, and lacks what it says of its toolchain.
        let Err(error) = bench.load(whole.slice(..length)).await else { continue };
        let stage = error.class().as_str().split('.').next().unwrap_or_default();
        // Cut between two sections it parses, and lacks what came later.
        assert!(["load", "contract"].contains(&stage), "{length}: {error}");
        assert!(stage == "contract" || error.problem().contains(&format!("of {length})")), "{length}: {error}");
        assert!(is_safe(&error.to_string()), "{length}: {error}");
    }
}

#[tokio::test]
async fn a_flipped_bit_is_found_by_the_pinned_digest_whatever_it_does() {
    let bench = Bench::new(PolicySettings { decision_deadline_ms: 100, init_deadline_ms: 500, ..settings() });
    let (whole, pin) = (evil(), digest(&evil()));
    let step = (whole.len() / 97).max(1);
    for at in (8..whole.len()).step_by(step) {
        let mut flipped = whole.to_vec();
        flipped[at] ^= 1 << (at % 8);
        let error = bench.host.check_and_load_pinned(flipped.into(), Some(&pin)).await.expect_err("it is not what was pinned");
        let expected = matches!(
            error.class(),
            FaultClass::DigestMismatch | FaultClass::NotWasm | FaultClass::Truncated | FaultClass::FeatureDisabled | FaultClass::TooLarge
        );
        assert!(expected, "byte {at}: {error}");
        assert!(error.problem().contains("digest is") && is_safe(&error.to_string()), "byte {at}: {error}");
    }
}

#[tokio::test]
async fn a_flipped_bit_never_takes_the_host_down() {
    let bench = Bench::new(PolicySettings { decision_deadline_ms: 100, init_deadline_ms: 500, ..settings() });
    let whole = crate::wat::Guest::default().component();
    let step = (whole.len() / 61).max(1);
    for at in (8..whole.len()).step_by(step) {
        let mut flipped = whole.to_vec();
        flipped[at] ^= 1 << (at % 8);
        // It may even be another good component; then it is one that decides.
        if let Err(error) = bench.load(flipped.into()).await {
            assert!(is_safe(&error.to_string()), "byte {at}: {error}");
        }
    }
}
