//! How a partition is read: what an index policy weighs its spacing against.

use std::collections::VecDeque;
use std::time::Duration;

use crate::env::{self, Instant};

/// Fetches that the median is taken over.
const SAMPLES: usize = 64;
/// Time over which rates are counted.
const PERIOD: Duration = Duration::from_secs(60);
/// Events of one kind that are counted in a period at most.
const MAX_EVENTS: usize = 4_096;

/// A summary of the last minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Fetches that did not go on where an earlier one had ended.
    pub seeks_per_min: u32,
    /// Lookups by timestamp.
    pub time_lookups_per_min: u32,
    /// Median size of recent fetches, in bytes; 0 without any.
    pub fetch_p50_bytes: u64,
}

#[derive(Default)]
pub(super) struct ReadingStats {
    seeks: VecDeque<Instant>,
    time_lookups: VecDeque<Instant>,
    sizes: VecDeque<u64>,
}

impl ReadingStats {
    pub(super) fn fetch(&mut self, bytes: u64, sought: bool) {
        if self.sizes.len() == SAMPLES {
            self.sizes.pop_front();
        }
        self.sizes.push_back(bytes);
        if sought {
            record(&mut self.seeks);
        }
    }

    pub(super) fn time_lookup(&mut self) {
        record(&mut self.time_lookups);
    }

    pub(super) fn summary(&mut self) -> Reading {
        let mut sizes: Vec<u64> = self.sizes.iter().copied().collect();
        sizes.sort_unstable();
        Reading {
            seeks_per_min: recent(&mut self.seeks),
            time_lookups_per_min: recent(&mut self.time_lookups),
            fetch_p50_bytes: sizes.get(sizes.len() / 2).copied().unwrap_or(0),
        }
    }
}

fn record(events: &mut VecDeque<Instant>) {
    if events.len() == MAX_EVENTS {
        events.pop_front();
    }
    events.push_back(env::now());
}

fn recent(events: &mut VecDeque<Instant>) -> u32 {
    let now = env::now();
    while events.front().is_some_and(|at| now.duration_since(*at) > PERIOD) {
        events.pop_front();
    }
    events.len() as u32
}
