use tidegate_guest::{Context, ReadAhead, ReadAheadDecision, ReadAheadView};

use super::*;

const MIN: u64 = 256 << 10;
const MAX: u64 = 32 << 20;

fn policy(config: &str) -> Adaptive {
    tidegate_guest::create(config, &Context::default()).unwrap()
}

/// A reader at 50 MB/s far from the end, on a store with 40 ms to the first byte: 8 MB go by during four GETs.
fn reading() -> ReadAheadView {
    ReadAheadView {
        run_fetches: 10,
        last_fetch_bytes: 100_000,
        pace_bytes_per_s: 50_000_000,
        lag_bytes: 1 << 30,
        store_first_byte_us: 40_000,
        budget_free_bytes: 1 << 30,
        cache_free_permille: 500,
        ..ReadAheadView::default()
    }
}

/// The distance after each of some fetches, all of which waited for the store.
fn missing(policy: &mut Adaptive, view: &mut ReadAheadView, fetches: u32) -> Vec<u64> {
    let mut fetch = || {
        view.run_fetches += 1;
        view.misses += 1;
        policy.decide(view).bytes
    };
    (0..fetches).map(|_| fetch()).collect()
}

#[test]
fn begins_small_with_the_second_sequential_fetch() {
    let mut policy = policy("{}");
    let first = ReadAheadView { run_fetches: 1, misses: 1, ..reading() };
    assert_eq!(policy.decide(&first), ReadAheadDecision { bytes: 0, slices: 0, admit: true });
    assert_eq!(policy.decide(&ReadAheadView { run_fetches: 2, ..first }), ReadAheadDecision { bytes: MIN, slices: 0, admit: true });
}

#[test]
fn each_miss_doubles_the_distance_and_hits_leave_it() {
    let (mut policy, mut view) = (policy("{}"), reading());
    policy.decide(&view);
    assert_eq!(missing(&mut policy, &mut view, 3), [2 * MIN, 4 * MIN, 8 * MIN]);
    for _ in 0..100 {
        view.run_fetches += 1;
        assert_eq!(policy.decide(&view).bytes, 8 * MIN);
    }
}

#[test]
fn stays_within_what_the_reader_consumes_during_a_few_gets() {
    let (mut policy, mut view) = (policy("{}"), reading());
    policy.decide(&view);
    assert_eq!(missing(&mut policy, &mut view, 20).last(), Some(&8_000_000));
    view.pace_bytes_per_s /= 10;
    assert_eq!(policy.decide(&view).bytes, 800_000, "a reader that slows down needs less");
    view.store_bytes_per_s = 1_000_000;
    assert_eq!(missing(&mut policy, &mut view, 20).last(), Some(&2_800_000), "a slow store needs more: 100 ms for each fetch's bytes");
}

#[test]
fn the_configured_most_holds_however_fast_the_reader() {
    let (mut policy, mut view) = (policy("{}"), ReadAheadView { pace_bytes_per_s: u64::MAX, ..reading() });
    policy.decide(&view);
    assert_eq!(missing(&mut policy, &mut view, 64).last(), Some(&MAX));
}

#[test]
fn waste_of_either_cause_halves_the_distance_and_growth_waits() {
    for cause in [|view: &mut ReadAheadView| view.evicted_bytes += 1, |view: &mut ReadAheadView| view.abandoned_bytes += 1] {
        let (mut policy, mut view) = (policy(r#"{"cooldown_fetches": 3}"#), reading());
        policy.decide(&view);
        missing(&mut policy, &mut view, 3);
        cause(&mut view);
        assert_eq!(policy.decide(&view).bytes, 4 * MIN);
        assert_eq!(missing(&mut policy, &mut view, 5), [4 * MIN, 4 * MIN, 4 * MIN, 8 * MIN, 16 * MIN]);
    }
}

#[test]
fn waste_never_shrinks_below_where_it_began() {
    let (mut policy, mut view) = (policy("{}"), reading());
    for _ in 0..10 {
        view.evicted_bytes += 1_000_000;
        assert_eq!(policy.decide(&view).bytes, MIN);
    }
}

#[test]
fn what_was_missed_and_wasted_before_is_not_this_readers() {
    let before = ReadAheadView { misses: 7, evicted_bytes: 1 << 30, abandoned_bytes: u64::MAX, ..reading() };
    let mut policy = policy("{}");
    policy.decide(&before);
    assert_eq!(policy.decide(&ReadAheadView { misses: 8, ..before }).bytes, 2 * MIN);
}

#[test]
fn a_seek_starts_over() {
    let (mut policy, mut view) = (policy("{}"), reading());
    policy.decide(&view);
    missing(&mut policy, &mut view, 5);
    let sought = ReadAheadView { run_fetches: 1, misses: 0, abandoned_bytes: 5_000_000, ..view };
    assert_eq!(policy.decide(&sought).bytes, 0);
    let mut view = ReadAheadView { run_fetches: 2, ..sought };
    assert_eq!(policy.decide(&view).bytes, MIN);
    assert_eq!(missing(&mut policy, &mut view, 1), [2 * MIN], "what the last run left behind does not hold this one back");
}

#[test]
fn half_of_a_scarce_budget_is_left_to_others() {
    let (mut policy, mut view) = (policy("{}"), reading());
    policy.decide(&view);
    missing(&mut policy, &mut view, 4);
    view.budget_free_bytes = 1_000;
    assert_eq!(policy.decide(&view).bytes, 500);
    view.ready_bytes = 10_000;
    view.in_flight_bytes = 5_000;
    assert_eq!(policy.decide(&view).bytes, 15_500, "what it holds already is its own");
    view.budget_free_bytes = 1 << 30;
    assert_eq!(policy.decide(&view).bytes, 16 * MIN, "it comes back by itself");
}

#[test]
fn a_backfill_is_read_past_a_full_cache_and_a_tail_reader_is_not() {
    let mut policy = policy("{}");
    let full = ReadAheadView { cache_free_permille: 5, ..reading() };
    assert!(!policy.decide(&full).admit, "1 GiB behind, in a cache of 512 MiB");
    assert!(policy.decide(&ReadAheadView { cache_free_permille: 500, ..full }).admit);
    assert!(policy.decide(&ReadAheadView { lag_bytes: 1 << 20, ..full }).admit);
}

#[test]
fn there_is_nothing_to_read_beyond_the_high_watermark() {
    let mut policy = policy("{}");
    assert_eq!(policy.decide(&ReadAheadView { lag_bytes: 0, ..reading() }).bytes, 0);
    assert_eq!(policy.decide(&ReadAheadView { lag_bytes: 1_000, ..reading() }).bytes, 1_000);
}

#[test]
fn the_largest_numbers_do_not_overflow() {
    let most = u64::MAX;
    let view = ReadAheadView {
        run_fetches: u32::MAX,
        run_bytes: most,
        last_fetch_bytes: most,
        pace_bytes_per_s: most,
        lag_bytes: most,
        ready_bytes: most,
        in_flight_bytes: most,
        misses: u32::MAX,
        evicted_bytes: most,
        abandoned_bytes: most,
        store_first_byte_us: most,
        store_bytes_per_s: 1,
        slice_bytes: most,
        budget_free_bytes: most,
        cache_free_permille: u32::MAX,
        arrival_bytes_per_s: most,
    };
    let mut policy = policy("{}");
    for view in [view, ReadAheadView { run_fetches: 0, ..view }, view, ReadAheadView { store_bytes_per_s: 0, ..view }] {
        assert!(policy.decide(&view).bytes <= MAX);
    }
}

#[test]
fn a_wrong_config_is_refused_by_its_key() {
    let refused = |config| tidegate_guest::create::<Adaptive>(config, &Context::default()).unwrap_err();
    assert!(refused(r#"{"max_byte": 5}"#).contains("`max_byte`"));
    assert_eq!(refused(r#"{"max_bytes": 0}"#), "max_bytes is 0, expected 1 to 1073741824");
    assert_eq!(refused(r#"{"min_bytes": 10, "max_bytes": 9}"#), "min_bytes is 10, expected 1 to 9");
    assert_eq!(refused(r#"{"gets_ahead": 65}"#), "gets_ahead is 65, expected 1 to 64");
    assert!(refused(r#"{"full_cache_permille": 1001}"#).contains("full_cache_permille"));
}
