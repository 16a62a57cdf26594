//! How long a request takes: a log-normal time to the first byte, and the bytes at a steady pace.
//!
//! The time is a function of seed, operation and the number of the request, so that two runs that ask the same see the same.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidegate::store::Operation;

/// The standard normal distribution's 99th percentile.
const Z_P99: f64 = 2.326_347_874_040_841;

/// Latency of one kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Median time to the first byte (of a GET) or to the answer (of an empty PUT), in microseconds.
    pub p50_us: u64,
    /// 99th percentile of the same, in microseconds; at least the median.
    pub p99_us: u64,
    /// Bytes a second beyond that; 0: no limit.
    pub bytes_per_s: u64,
}

impl Latency {
    /// How long the `number`th request of its kind takes, with so many bytes.
    pub(super) fn of(&self, seed: u64, operation: Operation, number: u64, bytes: u64) -> Duration {
        let z = normal(seed ^ (operation as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15), number);
        let spread = (self.p99_us.max(1) as f64 / self.p50_us.max(1) as f64).ln() / Z_P99;
        let first_us = self.p50_us as f64 * (spread.max(0.0) * z).exp();
        let transfer_us = (u128::from(bytes) * 1_000_000).checked_div(u128::from(self.bytes_per_s)).unwrap_or(0);
        Duration::from_micros(first_us as u64 + transfer_us as u64)
    }
}

/// A standard normal sample: Box and Muller's transform of two numbers that only the arguments decide.
fn normal(seed: u64, number: u64) -> f64 {
    let uniform = |bits: u64| ((bits >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let first = mix(seed.wrapping_add(number.wrapping_mul(0xa076_1d64_78bd_642f)));
    let (u, v) = (uniform(first), uniform(mix(first)));
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
fn mix(bits: u64) -> u64 {
    let mut z = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_the_percentiles_that_were_asked_for() {
        let latency = Latency { p50_us: 30_000, p99_us: 120_000, bytes_per_s: 0 };
        let mut all: Vec<u64> = (0..20_000).map(|n| latency.of(7, Operation::Get, n, 0).as_micros() as u64).collect();
        all.sort_unstable();
        let (p50, p99) = (all[10_000], all[19_800]);
        assert!((29_000..31_000).contains(&p50) && (112_000..128_000).contains(&p99), "{p50} {p99}");
    }

    #[test]
    fn bytes_take_their_time_and_the_same_request_the_same() {
        let latency = Latency { p50_us: 1_000, p99_us: 1_000, bytes_per_s: 1_000_000 };
        assert_eq!(latency.of(1, Operation::Put, 5, 500_000), Duration::from_millis(501));
        let spread = Latency { p99_us: 9_000, ..latency };
        assert_eq!(spread.of(1, Operation::Put, 5, 0), spread.of(1, Operation::Put, 5, 0));
        assert_ne!(spread.of(1, Operation::Put, 5, 0), spread.of(1, Operation::Put, 6, 0));
        assert_ne!(spread.of(1, Operation::Put, 5, 0), spread.of(1, Operation::Get, 5, 0));
    }
}
