//! How the store has been lately: what flush and read-ahead policies are shown.
//!
//! Writers sample under a short lock; readers load four numbers. Each figure covers its last 128 samples.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

/// Samples that a figure covers.
const SAMPLES: usize = 128;
/// Smaller downloads say nothing of throughput.
const RATE_BYTES: u64 = 64 << 10;

/// The figures; 0 where nothing was measured yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Median time of an upload, in microseconds.
    pub upload_p50_us: u64,
    /// Median time to the first byte of a download, in microseconds.
    pub first_byte_us: u64,
    /// Throughput of one download after its first byte, in bytes per second.
    pub bytes_per_s: u64,
    /// Throttled among a thousand tries.
    pub throttled_permille: u32,
}

/// Samples of requests.
#[derive(Debug, Default)]
pub struct Recent {
    uploads: Mutex<Window>,
    first_bytes: Mutex<Window>,
    /// Bytes and microseconds of downloads.
    rates: Mutex<(Window, Window)>,
    throttled: Mutex<Window>,
    upload_p50_us: AtomicU64,
    first_byte_us: AtomicU64,
    bytes_per_s: AtomicU64,
    throttled_permille: AtomicU64,
}

impl Recent {
    /// The figures as of now.
    pub fn stats(&self) -> StoreStats {
        StoreStats {
            upload_p50_us: self.upload_p50_us.load(Ordering::Relaxed),
            first_byte_us: self.first_byte_us.load(Ordering::Relaxed),
            bytes_per_s: self.bytes_per_s.load(Ordering::Relaxed),
            throttled_permille: self.throttled_permille.load(Ordering::Relaxed) as u32,
        }
    }

    /// An upload succeeded after `took`.
    pub fn uploaded(&self, took: Duration) {
        let mut window = self.uploads.lock();
        window.push(micros(took));
        self.upload_p50_us.store(window.median(), Ordering::Relaxed);
    }

    /// A download's first byte came after `first_byte`, all `bytes` after `took`.
    pub fn downloaded(&self, bytes: u64, first_byte: Duration, took: Duration) {
        let mut window = self.first_bytes.lock();
        window.push(micros(first_byte));
        self.first_byte_us.store(window.median(), Ordering::Relaxed);
        if bytes < RATE_BYTES {
            return;
        }
        let transfer = if first_byte < took { took - first_byte } else { took };
        let mut rates = self.rates.lock();
        rates.0.push(bytes);
        rates.1.push(micros(transfer).max(1));
        let rate = u128::from(rates.0.sum()) * 1_000_000 / u128::from(rates.1.sum());
        self.bytes_per_s.store(rate as u64, Ordering::Relaxed);
    }

    /// A try ended; the store asked to slow down, or did not.
    pub fn answered(&self, throttled: bool) {
        let mut window = self.throttled.lock();
        window.push(u64::from(throttled));
        self.throttled_permille.store(window.sum() * 1_000 / window.len as u64, Ordering::Relaxed);
    }
}

fn micros(duration: Duration) -> u64 {
    duration.as_micros().min(u128::from(u64::MAX >> 16)) as u64
}

#[derive(Debug)]
struct Window {
    samples: [u64; SAMPLES],
    len: usize,
    next: usize,
}

impl Default for Window {
    fn default() -> Self {
        Self { samples: [0; SAMPLES], len: 0, next: 0 }
    }
}

impl Window {
    fn push(&mut self, sample: u64) {
        self.samples[self.next] = sample;
        self.next = (self.next + 1) % SAMPLES;
        self.len = (self.len + 1).min(SAMPLES);
    }

    fn sum(&self) -> u64 {
        self.samples[..self.len].iter().sum()
    }

    fn median(&self) -> u64 {
        let mut samples = self.samples;
        let middle = self.len / 2;
        *samples[..self.len].select_nth_unstable(middle).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_cover_the_last_128_samples() {
        let recent = Recent::default();
        assert_eq!(recent.stats(), StoreStats::default());
        for _ in 0..128 {
            recent.uploaded(Duration::from_secs(9));
            recent.answered(true);
        }
        assert_eq!((recent.stats().upload_p50_us, recent.stats().throttled_permille), (9_000_000, 1_000));
        for i in 0..128 {
            recent.uploaded(Duration::from_millis(i));
            recent.answered(i % 4 == 0);
        }
        assert_eq!((recent.stats().upload_p50_us, recent.stats().throttled_permille), (64_000, 250));
    }

    #[test]
    fn throughput_counts_the_time_after_the_first_byte_of_large_downloads() {
        let recent = Recent::default();
        recent.downloaded(100, Duration::from_millis(10), Duration::from_millis(11));
        assert_eq!((recent.stats().first_byte_us, recent.stats().bytes_per_s), (10_000, 0));
        recent.downloaded(1 << 20, Duration::from_millis(10), Duration::from_millis(510));
        recent.downloaded(3 << 20, Duration::from_millis(10), Duration::from_millis(1_510));
        assert_eq!(recent.stats().bytes_per_s, 2 << 20);
    }
}
