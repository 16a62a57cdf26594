//! Lines on standard output.

use serde::Serialize;

use crate::measure::Pair;

/// One line.
#[derive(Serialize)]
struct Line<'a> {
    case: &'a str,
    name: &'a str,
    value: f64,
    unit: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
}

/// Prints the lines of one case.
pub(crate) struct Report {
    case: &'static str,
}

impl Report {
    pub(crate) fn new(case: &'static str) -> Self {
        Self { case }
    }

    /// A plain value.
    pub(crate) fn value(&self, name: &str, value: f64, unit: &str) {
        self.line(&Line { case: self.case, name, value, unit, baseline: None, against: None, ratio: None });
    }

    /// A comparison with `against`.
    pub(crate) fn compared(&self, name: &str, pair: Pair, unit: &str, against: &str) {
        let Pair { value, baseline, ratio } = pair;
        self.line(&Line {
            case: self.case,
            name,
            value,
            unit,
            baseline: Some(significant(baseline)),
            against: Some(against),
            ratio: Some(significant(ratio)),
        });
    }

    fn line(&self, line: &Line<'_>) {
        let line = Line { value: significant(line.value), ..*line };
        text(&serde_json::to_string(&line).expect("finite numbers and strings"));
    }
}

/// Four digits: more would be noise.
fn significant(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let digits = 10_f64.powf(3.0 - value.abs().log10().floor());
    if digits < 1.0 { value.round() } else { (value * digits).round() / digits }
}

#[allow(clippy::disallowed_macros, reason = "this is where the benchmarks speak")]
pub(crate) fn text(line: &str) {
    println!("{line}");
}

#[allow(clippy::disallowed_macros, reason = "this is where the benchmarks speak")]
pub(crate) fn failed(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}
