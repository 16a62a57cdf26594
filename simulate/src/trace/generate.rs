//! Traces by recipe: the loads that policies are compared under.
//!
//! Batches arrive as a Poisson process whose rate is the shape's; one seed gives one trace.

use std::fmt;
use std::str::FromStr;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tidegate::error::{Error, ErrorKind, Result};
use tidegate::types::TopicName;

use super::{Action, Event, Topic, Trace, readers};

/// A burst: so many times the average rate.
const BURST: f64 = 8.0;
/// Share of time that bursts take.
const BURST_SHARE: f64 = 0.1;
/// Of the partitions of [`Shape::Idle`], one in so many is in use at a time.
const IDLE_ONE_IN: u32 = 100;

/// How batches arrive, and who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// At an even rate; readers follow at the tail.
    Steady,
    /// Mostly below the rate, and a tenth of the time at eight times the rate.
    Bursty,
    /// Between nothing and twice the rate, like a day with its night, in the length of the trace.
    Diurnal,
    /// Over many partitions, of which few are in use at a time; readers poll quiet ones too.
    Idle,
    /// At an even rate; readers come late and read all from the beginning, some go elsewhere half way.
    CatchUp,
    /// At an even rate; readers come late, read on for a few fetches at one place and go to another, again and again.
    Seek,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Steady, Self::Bursty, Self::Diurnal, Self::Idle, Self::CatchUp, Self::Seek];

    /// `steady`, `bursty`, `diurnal`, `idle`, `catch-up` or `seek`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Bursty => "bursty",
            Self::Diurnal => "diurnal",
            Self::Idle => "idle",
            Self::CatchUp => "catch-up",
            Self::Seek => "seek",
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Shape {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let names = || Self::ALL.map(Self::as_str).join(", ");
        let unknown = || Error::new(ErrorKind::InvalidInput, format!("no trace has the shape {text:?}; there are {}", names()));
        Self::ALL.into_iter().find(|shape| shape.as_str() == text).ok_or_else(unknown)
    }
}

/// A recipe.
#[derive(Clone, Debug)]
pub struct Shaped {
    /// How batches arrive.
    pub shape: Shape,
    /// Length, in seconds.
    pub seconds: u64,
    /// Batches a second, on average.
    pub rate: u32,
    /// Size of a batch on average, in bytes; each is between half of it and one and a half.
    pub bytes: u32,
    /// Records of a batch.
    pub records: u32,
    /// Partitions.
    pub partitions: u32,
    /// Lanes; 0: as the settings say.
    pub lanes: u32,
    /// Readers, one partition each.
    pub readers: u32,
    /// Decides everything that is left to chance.
    pub seed: u64,
}

impl Shaped {
    /// A recipe of usual size: a minute, mostly of 1,000 batches of 2 KiB a second.
    pub fn new(shape: Shape) -> Self {
        let usual = Self { shape, seconds: 60, rate: 1_000, bytes: 2 << 10, records: 4, partitions: 16, lanes: 4, readers: 8, seed: 1 };
        match shape {
            Shape::Idle => Self { rate: 100, partitions: 1_000, readers: 100, ..usual },
            Shape::CatchUp | Shape::Seek => Self { rate: 500, bytes: 16 << 10, partitions: 4, lanes: 2, readers: 4, ..usual },
            Shape::Steady | Shape::Bursty | Shape::Diurnal => usual,
        }
    }

    /// The trace. [`InvalidInput`](ErrorKind::InvalidInput) if a number is out of its range.
    pub fn trace(&self) -> Result<Trace> {
        self.check()?;
        let mut rng = StdRng::seed_from_u64(self.seed);
        let mut events = self.appends(&mut rng);
        events.extend(readers::fetches(self, &events, &mut rng));
        events.sort_by_key(|event| event.at_us);
        let topic = Topic { name: TopicName::new(self.shape.as_str())?, partitions: self.partitions, lanes: self.lanes };
        Ok(Trace { topics: vec![topic], events })
    }

    fn check(&self) -> Result<()> {
        let ranges = [
            ("seconds", self.seconds, 1, 30 * 24 * 3_600),
            ("rate", self.rate.into(), 1, 1_000_000),
            ("bytes", self.bytes.into(), 128, 64 << 20),
            ("records", self.records.into(), 1, 100_000),
            ("partitions", self.partitions.into(), 1, tidegate::config::MAX_PARTITIONS.into()),
            ("lanes", self.lanes.into(), 0, self.partitions.into()),
            ("readers", self.readers.into(), 0, 10_000),
        ];
        match ranges.into_iter().find(|(_, value, least, most)| !(*least..=*most).contains(value)) {
            Some((name, value, least, most)) => {
                Err(Error::new(ErrorKind::InvalidInput, format!("{name} is {value}, expected {least} to {most}")))
            }
            None => Ok(()),
        }
    }

    pub(super) fn end_us(&self) -> u64 {
        self.seconds * 1_000_000
    }

    fn appends(&self, rng: &mut StdRng) -> Vec<Event> {
        let mut events = Vec::with_capacity((self.seconds * u64::from(self.rate)) as usize);
        let mut bursts = Bursts { until_us: 0, on: true };
        let most = self.rate as f64 * if self.shape == Shape::Bursty { BURST } else { 2.0 };
        let mut at_us = 0.0;
        // Thinning (Lewis and Shedler, 1979): arrivals at the highest rate, of which those above the rate of the moment are left out.
        loop {
            at_us += exponential(rng, most / 1e6);
            if at_us >= self.end_us() as f64 {
                return events;
            }
            let rate = self.rate_at(at_us as u64, &mut bursts, rng);
            if rng.random::<f64>() * most < rate {
                events.push(self.append(at_us as u64, rng));
            }
        }
    }

    /// Batches a second at a moment.
    fn rate_at(&self, at_us: u64, bursts: &mut Bursts, rng: &mut StdRng) -> f64 {
        let average = f64::from(self.rate);
        match self.shape {
            Shape::Steady | Shape::Idle | Shape::CatchUp | Shape::Seek => average,
            Shape::Diurnal => average * (1.0 - (std::f64::consts::TAU * at_us as f64 / self.end_us() as f64).cos()),
            Shape::Bursty if bursts.is_on(at_us, rng) => average * BURST,
            Shape::Bursty => average * (1.0 - BURST * BURST_SHARE) / (1.0 - BURST_SHARE),
        }
    }

    fn append(&self, at_us: u64, rng: &mut StdRng) -> Event {
        let bytes = rng.random_range(self.bytes / 2..=self.bytes + self.bytes / 2).max(61);
        let partition = match self.shape {
            Shape::Idle => {
                // Those in use change every ten seconds.
                let in_use = (self.partitions / IDLE_ONE_IN).max(1);
                let first = (at_us / 10_000_000).wrapping_mul(7_919) % u64::from(self.partitions);
                (first as u32 + rng.random_range(0..in_use)) % self.partitions
            }
            _ => rng.random_range(0..self.partitions),
        };
        Event { at_us, topic: 0, partition, action: Action::Append { bytes, records: self.records, waits: true } }
    }
}

/// Bursts of half a second to two, with pauses that keep their share.
struct Bursts {
    until_us: u64,
    on: bool,
}

impl Bursts {
    fn is_on(&mut self, at_us: u64, rng: &mut StdRng) -> bool {
        while at_us >= self.until_us {
            self.on = !self.on;
            let burst = rng.random_range(500_000..2_000_000);
            self.until_us += if self.on { burst } else { (burst as f64 * (1.0 / BURST_SHARE - 1.0)) as u64 };
        }
        self.on
    }
}

fn exponential(rng: &mut StdRng, rate: f64) -> f64 {
    -(1.0 - rng.random::<f64>()).ln() / rate
}

#[cfg(test)]
mod tests {
    use super::*;

    fn appended(trace: &Trace) -> usize {
        trace.events.iter().filter(|event| matches!(event.action, Action::Append { .. })).count()
    }

    #[test]
    fn every_shape_keeps_its_rate_and_is_valid() {
        for shape in Shape::ALL {
            let trace = Shaped { seconds: 100, rate: 200, ..Shaped::new(shape) }.trace().unwrap();
            trace.check().unwrap();
            let count = appended(&trace);
            // Few bursts make a sum of great variance.
            let range = if shape == Shape::Bursty { 8_000..40_000 } else { 19_000..21_000 };
            assert!(range.contains(&count), "{shape}: {count}");
            assert_eq!(shape.as_str().parse::<Shape>().unwrap(), shape);
        }
    }

    #[test]
    fn one_seed_gives_one_trace() {
        let recipe = Shaped { seconds: 10, rate: 100, ..Shaped::new(Shape::Bursty) };
        assert_eq!(recipe.trace().unwrap(), recipe.trace().unwrap());
        assert_ne!(recipe.trace().unwrap(), Shaped { seed: 2, ..recipe }.trace().unwrap());
    }

    #[test]
    fn a_number_out_of_range_is_named() {
        let error = Shaped { bytes: 1, ..Shaped::new(Shape::Steady) }.trace().unwrap_err();
        assert!(error.message().contains("bytes is 1, expected 128 to"), "{error}");
        assert!("stedy".parse::<Shape>().unwrap_err().message().contains("steady, bursty"));
    }
}
