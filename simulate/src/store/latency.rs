//! How long a request takes: a log-normal time to the first byte, and the bytes at a steady pace.
//!
//! Whether a request is lucky is a function of the seed and of the request itself: its operation, its key, where its range begins, and how often that
//! was asked before. What else is asked, and in what order, changes nothing of it. So two policies that are compared see the same luck
//! wherever they ask the same (common random numbers), and the difference between them is theirs. The ids of topics, which hosts draw at random,
//! count by their turn.

use std::collections::HashMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidegate::store::{GetRange, Request};
use uuid::Uuid;

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
    /// How long a request of such luck takes, with so many bytes.
    pub(super) fn of(&self, luck: Luck, bytes: u64) -> Duration {
        let spread = (self.p99_us.max(1) as f64 / self.p50_us.max(1) as f64).ln() / Z_P99;
        let first_us = self.p50_us as f64 * (spread.max(0.0) * luck.normal()).exp();
        let transfer_us = (u128::from(bytes) * 1_000_000).checked_div(u128::from(self.bytes_per_s)).unwrap_or(0);
        Duration::from_micros(first_us as u64 + transfer_us as u64)
    }
}

/// Bits that stand for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Luck(u64);

impl Luck {
    /// A standard normal sample: Box and Muller's transform of two numbers.
    fn normal(self) -> f64 {
        let uniform = |bits: u64| ((bits >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        let first = mix(self.0);
        let (u, v) = (uniform(first), uniform(mix(first)));
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

/// Draws the luck of requests.
pub(super) struct Draws {
    seed: u64,
    /// How often each was asked.
    asked: HashMap<u64, u64>,
    /// Ids that keys name, by their turn.
    ids: HashMap<Uuid, u64>,
}

impl Draws {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed: mix(seed), asked: HashMap::new(), ids: HashMap::new() }
    }

    pub(super) fn next(&mut self, request: &Request<'_>) -> Luck {
        let place = match request.range {
            Some(GetRange::Bounded(range)) => range.start,
            Some(GetRange::Tail(bytes)) => !bytes,
            Some(GetRange::Full) | None => 0,
        };
        let same = mix(self.named(request.key) ^ mix(place ^ mix(request.operation as u64)));
        let times = self.asked.entry(same).or_default();
        *times += 1;
        Luck(self.seed ^ mix(same ^ *times))
    }

    fn named(&mut self, key: &str) -> u64 {
        let mut part = |part: &str| match Uuid::try_parse(part) {
            Ok(id) => {
                let turn = self.ids.len() as u64;
                *self.ids.entry(id).or_insert(turn)
            }
            Err(_) => fnv1a(part.as_bytes()),
        };
        key.split('/').fold(0, |hash, text| mix(hash ^ part(text)))
    }
}

/// Fowler, Noll and Vo's hash, as of 1a with 64 bits.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
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
    use tidegate::store::Operation;

    use super::*;

    fn put(key: &str) -> Request<'_> {
        Request { operation: Operation::Put, key, attempt: 1, mode: None, range: None, size: 0 }
    }

    #[test]
    fn samples_have_the_percentiles_that_were_asked_for() {
        let latency = Latency { p50_us: 30_000, p99_us: 120_000, bytes_per_s: 0 };
        // Keys that differ as little as those of a log do, and one that is asked for again and again.
        let slots = (0..20_000).map(|slot| format!("log/{slot:020}"));
        let again = (0..20_000).map(|_| "manifest".to_owned());
        for keys in [slots.collect::<Vec<_>>(), again.collect()] {
            let mut draws = Draws::new(7);
            let mut all: Vec<u64> = keys.iter().map(|key| latency.of(draws.next(&put(key)), 0).as_micros() as u64).collect();
            all.sort_unstable();
            let (p50, p99) = (all[10_000], all[19_800]);
            assert!((29_000..31_000).contains(&p50) && (112_000..128_000).contains(&p99), "{p50} {p99}");
        }
    }

    #[test]
    fn a_request_has_the_same_luck_whatever_else_is_asked() {
        let (a, b) = (put("a"), put("b"));
        let ranged = |range| Request { operation: Operation::Get, range: Some(range), ..a };
        let [head, tail] = [GetRange::Bounded(0..10), GetRange::Tail(10)];
        let (mut alone, mut among) = (Draws::new(1), Draws::new(1));
        let first = among.next(&b);
        let others = [among.next(&ranged(&head)), among.next(&ranged(&tail)), first];
        let (once, twice) = (among.next(&a), among.next(&a));
        assert_eq!((once, twice), (alone.next(&a), alone.next(&a)));
        assert!(once != twice && !others.contains(&once) && others[0] != others[1]);
        assert_ne!(Draws::new(2).next(&a), once);
    }

    #[test]
    fn topics_are_told_apart_by_their_turn_and_not_by_their_ids() {
        let luck_of = |ids: [u128; 2]| {
            let mut draws = Draws::new(1);
            ids.map(|id| draws.next(&put(&format!("topics/{}/00001/manifest", Uuid::from_u128(id)))))
        };
        let [first, second] = luck_of([7, 8]);
        assert_ne!(first, second);
        assert_eq!(luck_of([9, 5]), [first, second]);
    }

    #[test]
    fn bytes_take_their_time() {
        let latency = Latency { p50_us: 1_000, p99_us: 1_000, bytes_per_s: 1_000_000 };
        assert_eq!(latency.of(Luck(5), 500_000), Duration::from_millis(501));
    }
}
