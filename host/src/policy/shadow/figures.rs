//! What a shadow has come to.

use std::collections::BTreeMap;

use serde::Serialize;

/// Samples that a percentile is taken of.
const SAMPLES: usize = 1_024;

/// One side of the comparison, as the cost model has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShadowCost {
    /// PUTs of a flush policy, GETs of what a read-ahead policy wants prefetched; an index policy makes none.
    pub requests: u64,
    /// Their price, in nano-dollars (10^-9 USD).
    pub nano_dollars: u64,
    /// Bytes of index entries, or prefetched; 0 of a flush policy, under which the same bytes are uploaded.
    pub bytes: u64,
    /// Recent median of the time from the oldest append of a segment to its commit, in microseconds; of a flush policy only.
    pub ack_p50_us: u64,
    /// The 99th percentile.
    pub ack_p99_us: u64,
}

/// Sums over all owners.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) calls: u64,
    pub(super) clamps: u64,
    pub(super) dropped: u64,
    pub(super) directions: BTreeMap<&'static str, u64>,
    pub(super) live: Side,
    pub(super) candidate: Side,
}

/// One side of the comparison.
#[derive(Debug, Default)]
pub(super) struct Side {
    pub(super) requests: u64,
    pub(super) nano_dollars: u64,
    pub(super) bytes: u64,
    pub(super) acks_us: Samples,
}

impl Figures {
    /// Counts a comparison.
    pub(super) fn compared(&mut self, direction: &'static str) {
        *self.directions.entry(direction).or_default() += 1;
    }
}

impl Side {
    pub(super) fn pay(&mut self, requests: u64, price_nano: u64) {
        self.requests += requests;
        self.nano_dollars = self.nano_dollars.saturating_add(requests.saturating_mul(price_nano));
    }

    pub(super) fn cost(&self) -> ShadowCost {
        ShadowCost {
            requests: self.requests,
            nano_dollars: self.nano_dollars,
            bytes: self.bytes,
            ack_p50_us: self.acks_us.percentile(50),
            ack_p99_us: self.acks_us.percentile(99),
        }
    }
}

/// The last samples of something.
#[derive(Debug, Default)]
pub(super) struct Samples {
    kept: Vec<u64>,
    seen: usize,
}

impl Samples {
    pub(super) fn add(&mut self, sample: u64) {
        if self.kept.len() < SAMPLES {
            self.kept.push(sample);
        } else {
            self.kept[self.seen % SAMPLES] = sample;
        }
        self.seen += 1;
    }

    /// By nearest rank; 0 without any.
    pub(super) fn percentile(&self, percent: usize) -> u64 {
        let mut sorted = self.kept.clone();
        let Some(rank) = (sorted.len() * percent).div_ceil(100).max(1).checked_sub(1).filter(|rank| *rank < sorted.len()) else { return 0 };
        *sorted.select_nth_unstable(rank).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_last_samples() {
        let mut samples = Samples::default();
        assert_eq!(samples.percentile(99), 0);
        samples.add(7);
        assert_eq!((samples.percentile(50), samples.percentile(99)), (7, 7));
        (1..=10_000).for_each(|sample| samples.add(sample));
        assert_eq!((samples.percentile(50), samples.percentile(99)), (10_000 - 512, 10_000 - 10));
    }
}
