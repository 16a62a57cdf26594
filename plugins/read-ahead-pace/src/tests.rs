use tidegate_guest::{Context, ReadAhead, ReadAheadDecision, ReadAheadView};

use super::*;

fn policy(config: &str) -> Pace {
    tidegate_guest::create(config, &Context::default()).unwrap()
}

/// Reads 50 MB/s of a topic that gets 10, and is 400 MB behind: ten seconds. A GET takes 20 ms to its first byte, and 10 more.
fn catching_up() -> ReadAheadView {
    ReadAheadView {
        run_fetches: 10,
        last_fetch_bytes: 1_000_000,
        pace_bytes_per_s: 50_000_000,
        arrival_bytes_per_s: 10_000_000,
        lag_bytes: 400_000_000,
        store_first_byte_us: 20_000,
        store_bytes_per_s: 100_000_000,
        ..ReadAheadView::default()
    }
}

#[test]
fn stays_ahead_by_what_is_consumed_during_a_get_and_the_horizon() {
    // 130 ms at 50 MB/s.
    assert_eq!(policy("{}").decide(&catching_up()), ReadAheadDecision { bytes: 6_500_000, slices: 0, admit: true });
    assert_eq!(policy(r#"{"horizon_ms": 0}"#).decide(&catching_up()).bytes, 1_500_000);
}

#[test]
fn a_slow_reader_gets_one_fetch_ahead_at_least() {
    let slow = ReadAheadView { pace_bytes_per_s: 10, arrival_bytes_per_s: 0, ..catching_up() };
    assert_eq!(policy("{}").decide(&slow).bytes, 1_000_000);
}

#[test]
fn never_reads_beyond_the_end_of_the_log_nor_the_bound() {
    let near = ReadAheadView { lag_bytes: 5_000_000, ..catching_up() };
    assert_eq!(policy("{}").decide(&near).bytes, 5_000_000);
    assert_eq!(policy(r#"{"max_bytes": 1000}"#).decide(&catching_up()).bytes, 1_000);
}

#[test]
fn a_reader_at_the_tail_is_left_to_the_cache() {
    for lag_bytes in [0, 2_000_000] {
        assert_eq!(policy("{}").decide(&ReadAheadView { lag_bytes, ..catching_up() }).bytes, 0);
    }
}

#[test]
fn a_backfill_is_read_past_the_cache() {
    let hours = ReadAheadView { lag_bytes: 1 << 40, ..catching_up() };
    let falling_behind = ReadAheadView { arrival_bytes_per_s: 60_000_000, ..catching_up() };
    for view in [hours, falling_behind] {
        let decision = policy("{}").decide(&view);
        assert!(!decision.admit && decision.bytes > 0, "{decision:?}");
        assert!(policy(r#"{"backfill_ms": 0}"#).decide(&view).admit);
    }
}

#[test]
fn begins_once_a_reader_has_shown_to_be_sequential() {
    assert_eq!(policy("{}").decide(&ReadAheadView { run_fetches: 1, ..catching_up() }).bytes, 0);
}

#[test]
fn a_wrong_config_is_refused_by_its_key() {
    let refused = |config| tidegate_guest::create::<Pace>(config, &Context::default()).unwrap_err();
    assert!(refused(r#"{"horizon": 5}"#).contains("`horizon`"));
    assert_eq!(refused(r#"{"min_fetches": 0}"#), "min_fetches is 0, expected 1 to 1000");
}
