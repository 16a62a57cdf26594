//! What a test comes to, for people and tools.

use std::fmt::Write;

use serde::Serialize;
use serde_json::Value;
use tidegate::policy::Kind;
use tidegate::policy::wasm::Inspection;

use super::Case;
use crate::plugin::play::Play;

/// The same scenario three times.
pub(super) struct Plays {
    pub(super) first: Play,
    pub(super) second: Play,
    /// On an engine that counts work.
    pub(super) metered: Play,
}

/// All scenarios of a plugin.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    plugin: String,
    version: String,
    digest: String,
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    scenarios: Vec<Outcome>,
    kinds: Vec<Figures>,
}

/// One scenario.
#[derive(Debug, Serialize)]
pub(super) struct Outcome {
    name: String,
    kind: Kind,
    passed: bool,
    /// What was not as it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Class of the fault, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<&'static str>,
    steps: Vec<Answered>,
}

/// One call.
#[derive(Debug, Serialize)]
struct Answered {
    answer: Value,
    /// What the host makes of it, where its limits change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    clamped: Option<Value>,
    time_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fuel: Option<u64>,
    memory_bytes: u64,
}

/// What the calls of a kind took.
#[derive(Debug, Serialize)]
struct Figures {
    kind: Kind,
    calls: usize,
    time_ns_median: u64,
    time_ns_most: u64,
    /// About one unit for each instruction.
    fuel_median: u64,
    fuel_most: u64,
    memory_bytes: u64,
}

impl Outcome {
    pub(super) fn new(case: &Case, problem: Option<String>, plays: Plays) -> Self {
        let fuel = |at: usize| plays.metered.calls.get(at).and_then(|call| call.cost.fuel);
        let answered = |(at, call): (usize, &crate::plugin::play::Call)| Answered {
            answer: call.answer.clone(),
            clamped: call.clamped.clone(),
            time_ns: u64::try_from(call.took.as_nanos()).unwrap_or(u64::MAX),
            fuel: fuel(at),
            memory_bytes: call.cost.memory_bytes,
        };
        Self {
            name: case.scenario.name.clone(),
            kind: case.kind,
            passed: problem.is_none(),
            problem,
            class: plays.first.fault.as_ref().map(|fault| fault.class.as_str()),
            steps: plays.first.calls.iter().enumerate().map(answered).collect(),
        }
    }
}

impl Report {
    pub(super) fn new(found: &Inspection, scenarios: Vec<Outcome>) -> Self {
        let passed = scenarios.iter().filter(|outcome| outcome.passed).count();
        Self {
            plugin: found.name.clone(),
            version: found.version.clone(),
            digest: found.digest.clone(),
            passed,
            failed: scenarios.len() - passed,
            kinds: found.kinds.iter().filter_map(|kind| Figures::of(*kind, &scenarios)).collect(),
            scenarios,
        }
    }

    pub(crate) fn describe(&self) -> String {
        let mut text = String::new();
        for outcome in &self.scenarios {
            outcome.describe(&mut text);
        }
        for figures in &self.kinds {
            let Figures { kind, calls, time_ns_median, time_ns_most, fuel_median, fuel_most, memory_bytes } = figures;
            let us = |ns: &u64| *ns as f64 / 1_000.0;
            let (median, most) = (us(time_ns_median), us(time_ns_most));
            let kind = kind.as_str();
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "{kind}: {calls} calls, {median:.1} us at the median, {most:.1} us at most; fuel {fuel_median}, {fuel_most} at most; \
                 memory {memory_bytes} bytes"
            );
        }
        let _ = writeln!(text, "{} {}: {} passed, {} failed", self.plugin, self.version, self.passed, self.failed);
        text
    }
}

impl Outcome {
    fn describe(&self, text: &mut String) {
        let Self { name, kind, problem, steps, .. } = self;
        let kind = kind.as_str();
        let _ = match problem {
            None => writeln!(text, "ok      {kind}: {name}"),
            Some(problem) => writeln!(text, "FAILED  {kind}: {name}\n        {problem}"),
        };
        for (at, step) in steps.iter().enumerate() {
            if let Some(clamped) = &step.clamped {
                let _ = writeln!(text, "        step {}: the host's limits make {clamped} of {}", at + 1, step.answer);
            }
        }
    }
}

impl Figures {
    fn of(kind: Kind, scenarios: &[Outcome]) -> Option<Self> {
        let steps = || scenarios.iter().filter(|outcome| outcome.kind == kind).flat_map(|outcome| &outcome.steps);
        let sorted = |mut values: Vec<u64>| {
            values.sort_unstable();
            values
        };
        let times = sorted(steps().map(|step| step.time_ns).collect());
        let fuel = sorted(steps().filter_map(|step| step.fuel).collect());
        let median = |values: &[u64]| values.get(values.len() / 2).copied().unwrap_or(0);
        Some(Self {
            kind,
            calls: times.len(),
            time_ns_median: median(&times),
            time_ns_most: *times.last()?,
            fuel_median: median(&fuel),
            fuel_most: fuel.last().copied().unwrap_or(0),
            memory_bytes: steps().map(|step| step.memory_bytes).max().unwrap_or(0),
        })
    }
}
