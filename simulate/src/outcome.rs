//! What came of a simulation.

use std::time::Duration;

use serde::Serialize;
use tidegate::Storage;
use tidegate::cost::{Usage, monthly_nano};
use tidegate::metrics::cache::{ABANDONED, CacheMetrics, EVICTED, MEMORY, PREFETCH, STORE};

use crate::measure::Measured;
use crate::store::{Asked, StoreModel, Uploaded};

/// Points of a series.
const POINTS: usize = 100;

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The candidate, as it was named.
    pub policy: String,
    /// Virtual time from the first request to the last answer, in microseconds.
    pub span_us: u64,
    /// Requests to the store, refused ones included.
    pub usage: Usage,
    /// Requests that the store refused because there were too many.
    pub throttled: u64,
    /// What the requests cost, in nano-dollars.
    pub cost_nano: u64,
    /// What a month costs at this pace, in nano-dollars: requests and transfer, without storage.
    pub monthly_nano: u64,
    /// Segments, in bytes.
    pub segments: Sizes,
    /// From append to commit.
    pub acks: Latencies,
    /// From a fetch for which there is something to read to its answer.
    pub fetches: Latencies,
    /// Bytes of batches that were taken.
    pub appended_bytes: u64,
    /// Bytes that readers got.
    pub fetched_bytes: u64,
    /// The most that the host held of batches, cache and what was read ahead, in bytes.
    pub memory_peak_bytes: u64,
    /// Share of the bytes that readers asked the cache for and did not wait for; absent if none were asked for.
    pub hit_ratio: Option<f64>,
    /// Bytes that were asked for ahead of readers.
    pub read_ahead_bytes: u64,
    /// Those of them that a reader came for. The others are wasted.
    pub read_ahead_used_bytes: u64,
    /// Bytes that were asked for ahead of readers and never read.
    pub wasted: Waste,
    /// Appends that were refused or not committed in time.
    pub failed_appends: u64,
    /// Fetches that failed.
    pub failed_fetches: u64,
    /// Polls of readers that still waited for an answer.
    pub skipped_fetches: u64,
    /// Times that policies were asked.
    pub decisions: u64,
    /// Failures of policies: the built-in answered.
    pub faults: u64,
    /// Fields of answers that were moved into the host's limits.
    pub clamps: u64,
    /// The run in 100 parts of equal length.
    pub series: Vec<Point>,
}

/// Prefetched bytes that nobody read, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Waste {
    /// Unread for too long while room was short.
    pub evicted: u64,
    /// The reader went elsewhere or left.
    pub abandoned: u64,
    /// Called off before they arrived.
    pub cancelled: u64,
    /// Still unread when the trace ended.
    pub unread: u64,
}

impl Waste {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.evicted + self.abandoned + self.cancelled + self.unread
    }

    fn of(cache: &CacheMetrics) -> Self {
        // Each on its own: what is handed out is a guard.
        let wasted = |cause| cache.prefetch_wasted_bytes.get_or_create(&cause).get();
        Self {
            evicted: wasted(EVICTED),
            abandoned: wasted(ABANDONED),
            cancelled: cache.prefetch_cancelled_bytes.get(),
            unread: u64::try_from(cache.prefetch_reserved_bytes.get()).unwrap_or(0),
        }
    }
}

/// Sizes by nearest rank; 0 where there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Sizes {
    pub count: u64,
    pub mean: u64,
    pub p50: u64,
    pub p99: u64,
    pub max: u64,
    /// Segments by size: those below 2^10 bytes, then for each power of two those up to twice as large.
    pub by_power: Vec<u64>,
}

impl Sizes {
    fn of(segments: &[Uploaded]) -> Self {
        let mut sorted: Vec<u64> = segments.iter().map(|segment| segment.bytes).collect();
        sorted.sort_unstable();
        let mut by_power = vec![0; 19];
        for bytes in &sorted {
            let power = (u64::BITS - bytes.leading_zeros()).saturating_sub(10) as usize;
            by_power[power.min(18)] += 1;
        }
        let count = sorted.len() as u64;
        let mean = sorted.iter().sum::<u64>().checked_div(count).unwrap_or(0);
        Self { count, mean, p50: rank(&sorted, 500), p99: rank(&sorted, 990), max: rank(&sorted, 1_000), by_power }
    }
}

/// Latencies in microseconds, by nearest rank; 0 where there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Latencies {
    pub count: u64,
    pub p50_us: u64,
    pub p99_us: u64,
    pub p999_us: u64,
    pub max_us: u64,
    /// The percentiles 0 to 100.
    pub percentiles_us: Vec<u64>,
}

impl Latencies {
    /// Of samples in microseconds, in any order.
    pub fn of(mut samples_us: Vec<u64>) -> Self {
        samples_us.sort_unstable();
        let at = |permille| rank(&samples_us, permille);
        Self {
            count: samples_us.len() as u64,
            p50_us: at(500),
            p99_us: at(990),
            p999_us: at(999),
            max_us: at(1_000),
            percentiles_us: (0..=100).map(|percent| at(10 * percent)).collect(),
        }
    }
}

/// One part of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Point {
    /// When it began, in microseconds.
    pub at_us: u64,
    /// Batches that came.
    pub appends: u64,
    /// Segments that were uploaded.
    pub puts: u64,
    /// The longest that a producer waited, in microseconds.
    pub slowest_ack_us: u64,
}

/// The nearest rank of a permille among sorted numbers.
fn rank(sorted: &[u64], permille: usize) -> u64 {
    let rank = (sorted.len() * permille).div_ceil(1_000).max(1) - 1;
    sorted.get(rank).copied().unwrap_or(0)
}

impl Outcome {
    pub(crate) fn new(policy: &str, model: &StoreModel, storage: &Storage, measured: Measured, before: &Asked, after: &Asked) -> Self {
        let usage = after.usage.since(&before.usage);
        let segments = &after.segments[before.segments.len()..];
        let (span, cost_nano) = (measured.span(), model.prices.of(&usage));
        let cache = &storage.metrics().cache;
        let totals: Vec<_> = storage.policy_status().into_iter().map(|status| status.total).collect();
        Self {
            policy: policy.to_owned(),
            span_us: span.as_micros() as u64,
            usage,
            throttled: after.throttled - before.throttled,
            cost_nano,
            monthly_nano: monthly_nano(cost_nano, span),
            segments: Sizes::of(segments),
            series: series(&measured, segments, span),
            acks: Latencies::of(measured.acks.iter().map(|(_, took)| *took).collect()),
            fetches: Latencies::of(measured.fetches_us),
            appended_bytes: measured.appended_bytes,
            fetched_bytes: measured.fetched_bytes,
            memory_peak_bytes: measured.memory_peak_bytes,
            hit_ratio: hit_ratio(cache),
            read_ahead_bytes: cache.prefetch_issued_bytes.get(),
            read_ahead_used_bytes: cache.prefetch_used_bytes.get(),
            wasted: Waste::of(cache),
            failed_appends: measured.failed_appends,
            failed_fetches: measured.failed_fetches,
            skipped_fetches: measured.skipped_fetches,
            decisions: totals.iter().map(|total| total.calls).sum(),
            faults: totals.iter().map(|total| total.faults).sum(),
            clamps: totals.iter().map(|total| total.clamps).sum(),
        }
    }
}

fn hit_ratio(cache: &CacheMetrics) -> Option<f64> {
    let bytes = |source| cache.chunk_bytes.get_or_create(&source).get();
    let (here, waited) = (bytes(MEMORY) + bytes(PREFETCH), bytes(STORE));
    (here + waited > 0).then(|| here as f64 / (here + waited) as f64)
}

fn series(measured: &Measured, segments: &[Uploaded], span: Duration) -> Vec<Point> {
    let part_us = (span.as_micros() as u64 / POINTS as u64).max(1);
    let mut points: Vec<Point> = (0..POINTS as u64).map(|part| Point { at_us: part * part_us, ..Point::default() }).collect();
    let part = |at_us: u64| ((at_us / part_us) as usize).min(POINTS - 1);
    for (at_us, took_us) in &measured.acks {
        let point = &mut points[part(*at_us)];
        point.appends += 1;
        point.slowest_ack_us = point.slowest_ack_us.max(*took_us);
    }
    for segment in segments {
        let at = segment.at.saturating_duration_since(measured.began);
        points[part(at.as_micros() as u64)].puts += 1;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let latencies = Latencies::of((1..=1_000).rev().collect());
        let found = [latencies.p50_us, latencies.p99_us, latencies.p999_us, latencies.max_us];
        assert_eq!(found, [500, 990, 999, 1_000]);
        assert_eq!(latencies.percentiles_us.len(), 101);
        assert_eq!(Latencies::of(Vec::new()).max_us, 0);
    }
}
