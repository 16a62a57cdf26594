//! Answers that are legal and mad.

use serde_json::json;
use tidegate::policy::{Context, FlushDecision, FlushView, IndexView, Kind, ReadAheadView};

use crate::kit::{Bench, evil, settings};

const EXTREMES: [u64; 6] = [0, 1, 1 << 31, 1 << 63, u64::MAX - 1, u64::MAX];

fn extreme(value: u64) -> serde_json::Value {
    json!({"mode": "value", "value": value, "at": "data"})
}

#[tokio::test]
async fn extreme_flush_answers_are_clamped_and_each_field_is_counted() {
    let limits = Context::default();
    for value in EXTREMES {
        let bench = Bench::new(settings());
        bench.bind(Kind::Flush, evil(), extreme(value)).await;
        let decided = bench.flush("t").decide(&FlushView { buffered_bytes: 1, buffered_records: 1, ..FlushView::default() });
        let FlushDecision::Wait(bounds) = decided else { panic!("{value}: {decided:?}") };
        assert!((4_096..=limits.max_segment_bytes).contains(&bounds.bytes), "{value}: {bounds:?}");
        assert!((1_000..=limits.max_age_us).contains(&bounds.age_us), "{value}: {bounds:?}");
        assert!(bounds.records > 0 && bounds.quiet_us >= 500, "{value}: {bounds:?}");
        let clamped: u64 = match value {
            0 => 5,
            1 => 4,
            0x8000_0000 => 3,
            u64::MAX => 0,
            _ => 2,
        };
        let seen = bench.status("t");
        assert_eq!((seen.clamps, seen.faults, seen.fallbacks), (clamped, 0, 0), "{value}: {seen:?}");
        let of = |field| bench.metric("tidegate_policy_clamps_total", &[("kind", "flush"), ("plugin", "evil-guest"), ("field", field)]);
        let by_field = ["bytes", "records", "time", "quiet", "now"].map(of);
        let expected = match value {
            // One record is there already: such a bound means at once.
            0 => [1, 1, 1, 1, 1],
            1 => [1, 0, 1, 1, 1],
            // So many uploads are never in flight.
            0x8000_0000 => [1, 0, 1, 0, 1],
            u64::MAX => [0; 5],
            _ => [1, 0, 1, 0, 0],
        };
        assert_eq!(by_field, expected, "{value}");
    }
}

#[tokio::test]
async fn extreme_spacings_and_read_aheads_stay_within_the_hosts_limits() {
    for value in EXTREMES {
        let bench = Bench::new(settings());
        bench.bind(Kind::Index, evil(), extreme(value)).await;
        let slice = IndexView { slice_bytes: 1 << 20, slice_records: 1_000, time_span_ms: 60_000, ..IndexView::default() };
        let spacing = bench.index("t").decide(&slice);
        assert!((4_096..=65_536).contains(&spacing.bytes), "{value}: {spacing:?}");
        // Not closer than 4 KiB on average: 256 entries in a MiB.
        assert!(1_000 / spacing.records <= 256 && 60_000 / spacing.time_ms <= 256, "{value}: {spacing:?}");

        bench.bind(Kind::ReadAhead, evil(), extreme(value)).await;
        let view = ReadAheadView { run_bytes: 1, budget_free_bytes: 1 << 20, slice_bytes: 64 << 10, ..ReadAheadView::default() };
        let ahead = bench.read_ahead("t").decide(&view);
        assert!(ahead.bytes <= 1 << 20 && ahead.slices <= 16, "{value}: {ahead:?}");
        assert_eq!((bench.status("t").faults, bench.status("t").fallbacks), (0, 0), "{value}");
    }
}

#[tokio::test]
async fn asking_for_less_than_the_floors_again_and_again_is_called_thrashing() {
    for (how, thrashes) in [("now", true), ("never", false)] {
        let bench = Bench::new(settings());
        bench.bind(Kind::Flush, evil(), json!({"mode": how, "at": "data"})).await;
        let mut policy = bench.flush("t");
        for _ in 0..64 {
            let young = FlushView { buffered_bytes: 100, buffered_records: 1, ..FlushView::default() };
            let FlushDecision::Wait(bounds) = policy.decide(&young) else { panic!("a hundred young bytes are not flushed at once") };
            assert!(bounds.age_us >= 1_000 && bounds.bytes >= 4_096, "{how}: {bounds:?}");
        }
        let expected: &[&str] = if thrashes { &["thrashing"] } else { &[] };
        assert_eq!(bench.status("t").warnings, expected, "{how}");
        assert_eq!(bench.host.status()[0].total.warnings, expected, "{how}");
        let labels = [("kind", "flush"), ("plugin", "evil-guest"), ("warning", "thrashing")];
        assert_eq!(bench.metric("tidegate_policy_warnings_total", &labels), expected.len() as u64, "{how}");
        assert_eq!((bench.status("t").faults, bench.degraded().as_str()), (0, ""), "{how}: it is legal");
    }
}
