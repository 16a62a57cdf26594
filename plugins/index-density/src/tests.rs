use tidegate_guest::{Context, Index, IndexSpacing, IndexView, UNBOUNDED};

use super::*;

fn policy(config: &str) -> Density {
    tidegate_guest::create(config, &Context { index_entry_bytes: 16, ..Context::default() }).unwrap()
}

/// A slice of 10 MB over 100 seconds whose readers seek and then fetch 100 KB.
fn searched() -> IndexView {
    IndexView { slice_bytes: 10_000_000, time_span_ms: 100_000, seeks_per_min: 10, fetch_p50_bytes: 100_000, ..IndexView::default() }
}

#[test]
fn where_nobody_seeks_entries_are_as_far_apart_as_the_host_allows() {
    let quiet = IndexView { seeks_per_min: 0, ..searched() };
    assert_eq!(policy("{}").decide(&quiet), IndexSpacing { bytes: 64 << 10, records: UNBOUNDED, time_ms: UNBOUNDED });
}

#[test]
fn half_a_spacing_is_what_a_seek_may_read_in_vain() {
    assert_eq!(policy("{}").decide(&searched()).bytes, 20_000);
    assert_eq!(policy(r#"{"waste_permille": 50}"#).decide(&searched()).bytes, 10_000);
}

#[test]
fn smaller_fetches_make_a_denser_index_down_to_its_largest_size() {
    let small = IndexView { fetch_p50_bytes: 1_000, ..searched() };
    // 16 bytes for each 8,000 are 2 in 1,000.
    assert_eq!(policy("{}").decide(&small).bytes, 8_000);
    assert_eq!(policy(r#"{"index_permille": 100}"#).decide(&small).bytes, 4 << 10);
}

#[test]
fn lookups_by_time_space_entries_by_time_too() {
    let looked_up = IndexView { time_lookups_per_min: 6, ..searched() };
    // 20 KB of 10 MB are a 500th of the 100 seconds.
    assert_eq!(policy("{}").decide(&looked_up).time_ms, 200);
    assert_eq!(policy("{}").decide(&IndexView { time_lookups_per_min: 5, ..looked_up }).time_ms, UNBOUNDED);
    let at_once = IndexView { time_span_ms: 0, ..looked_up };
    assert_eq!(policy("{}").decide(&at_once).time_ms, 1);
}

#[test]
fn a_wrong_config_is_refused_by_its_key() {
    let refused = |config| tidegate_guest::create::<Density>(config, &Context::default()).unwrap_err();
    assert!(refused(r#"{"waste": 5}"#).contains("`waste`"));
    assert_eq!(refused(r#"{"index_permille": 101}"#), "index_permille is 101, expected 1 to 100");
}
