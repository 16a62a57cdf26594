//! Rounds and medians.

use std::time::Duration;

use tidegate::env;

/// Medians of two sides and of the rounds' ratios.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) value: f64,
    pub(crate) baseline: f64,
    pub(crate) ratio: f64,
}

impl Pair {
    /// Of two figures that were counted rather than timed.
    pub(crate) fn of(value: f64, baseline: f64) -> Self {
        Self { value, baseline, ratio: value / baseline }
    }
}

/// What both sides came to, round by round.
#[derive(Default)]
pub(crate) struct Rounds {
    values: Vec<f64>,
    baselines: Vec<f64>,
    ratios: Vec<f64>,
}

impl Rounds {
    /// A round.
    pub(crate) fn add(&mut self, value: f64, baseline: f64) {
        self.values.push(value);
        self.baselines.push(baseline);
        self.ratios.push(value / baseline);
    }

    /// The medians.
    pub(crate) fn pair(self) -> Pair {
        Pair { value: median(self.values), baseline: median(self.baselines), ratio: median(self.ratios) }
    }
}

/// Runs both sides in turns, who begins changing with each round; the first round warms up and counts for nothing.
pub(crate) fn paired(rounds: usize, mut value: impl FnMut() -> f64, mut baseline: impl FnMut() -> f64) -> Pair {
    let mut all = Rounds::default();
    for round in 0..=rounds {
        let (v, b) = if round % 2 == 0 {
            let v = value();
            (v, baseline())
        } else {
            let b = baseline();
            (value(), b)
        };
        if round > 0 {
            all.add(v, b);
        }
    }
    all.pair()
}

/// The middle one.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    assert!(!values.is_empty(), "a median of nothing");
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// How long something takes, in seconds.
pub(crate) fn seconds(run: impl FnOnce()) -> f64 {
    let start = env::now();
    run();
    start.elapsed().max(Duration::from_nanos(1)).as_secs_f64()
}
