//! One instance in the engine of a broker, asked one view after the other, and what each call took.

use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tidegate::env::now;
use tidegate::policy::wasm::LoadedPlugin;
use tidegate::policy::{
    Context, Cost, Fault, FaultClass, Flush, FlushDecision, FlushView, Index, InitRequest, PolicyKind, PolicySource, ReadAhead,
};

use super::scenario::shown;

/// A missed deadline may be the machine's: it counts when it is missed so often in a row.
const TRIES: usize = 3;

/// A kind whose views and answers can be written down.
pub(super) trait Told: PolicyKind<View: Serialize + DeserializeOwned, Answer: Serialize> {
    /// The answer as the host takes it.
    fn meant(_: &Self::View, answer: Self::Answer) -> Self::Answer {
        answer
    }
}

impl Told for Flush {
    /// A bound that is crossed already means now.
    fn meant(view: &FlushView, answer: FlushDecision) -> FlushDecision {
        let FlushView { buffered_bytes, buffered_records, oldest_age_us, quiet_us, uploads_in_flight, .. } = *view;
        match answer {
            FlushDecision::Wait(bounds) if bounds.crossed(buffered_bytes, buffered_records, oldest_age_us, quiet_us, uploads_in_flight) => {
                FlushDecision::Now
            }
            other => other,
        }
    }
}
impl Told for Index {}
impl Told for ReadAhead {}

/// What came of a call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// The answer, in words where it leaves a bound out.
    pub(super) answer: Value,
    /// What the host makes of it, where its limits change it.
    pub(super) clamped: Option<Value>,
    pub(super) took: Duration,
    pub(super) cost: Cost,
}

/// What came of an instance: so many calls, and then perhaps a fault.
#[derive(Clone, Debug, Default)]
pub(super) struct Play {
    pub(super) calls: Vec<Call>,
    pub(super) fault: Option<Fault>,
    /// It refused its config.
    pub(super) refused: Option<String>,
}

impl Play {
    /// What must be the same whenever the same is asked.
    pub(super) fn outcome(&self) -> (Vec<&Value>, Option<FaultClass>, &Option<String>) {
        (self.calls.iter().map(|call| &call.answer).collect(), self.fault.as_ref().map(|fault| fault.class), &self.refused)
    }
}

/// The views of some steps: fields that a step leaves out are those of the step before, the first begins with an everyday view.
pub(super) fn views<'a, K: Told>(steps: impl Iterator<Item = &'a Map<String, Value>>) -> Result<Vec<K::View>> {
    let everyday = K::everyday().into_iter().next().context("the kind has no everyday view")?;
    let mut fields = serde_json::to_value(everyday)?.as_object().cloned().unwrap_or_default();
    let view = |(at, step): (usize, &Map<String, Value>)| {
        fields.extend(step.clone());
        serde_json::from_value(Value::Object(fields.clone())).with_context(|| format!("the view of step {}", at + 1))
    };
    steps.enumerate().map(view).collect()
}

/// Makes an instance, and asks it.
pub(super) fn play<K: Told>(plugin: &LoadedPlugin, config: &Value, context: &Context, views: &[K::View]) -> Play {
    let mut play = Play::default();
    for _ in 0..TRIES {
        play = once::<K>(plugin, config, context, views);
        if !play.fault.as_ref().is_some_and(|fault| fault.class.is_deadline()) {
            break;
        }
    }
    play
}

fn once<K: Told>(plugin: &LoadedPlugin, config: &Value, context: &Context, views: &[K::View]) -> Play {
    let mut play = Play::default();
    if let Err(problem) = plugin.check_config(config) {
        return Play { refused: Some(problem), ..play };
    }
    let config = config.to_string();
    let mut policy = match K::build(plugin, &InitRequest { topic: "(test)", config: &config, context }) {
        Ok(policy) => policy,
        Err(fault) if fault.class == FaultClass::ConfigRejected => return Play { refused: Some(fault.message), ..play },
        Err(fault) => return Play { fault: Some(fault), ..play },
    };
    for view in views {
        let began = now();
        let decided = policy.decide(view);
        let took = now().duration_since(began);
        match decided {
            Ok(answer) => play.calls.push(Call {
                answer: told(K::meant(view, answer)),
                clamped: clamped::<K>(context, view, answer),
                took,
                cost: policy.cost(),
            }),
            Err(fault) => return Play { fault: Some(fault), ..play },
        }
    }
    play
}

fn clamped<K: Told>(context: &Context, view: &K::View, answer: K::Answer) -> Option<Value> {
    let clamped = K::clamp(context, view, answer);
    (!clamped.clamps.is_empty()).then(|| told(K::meant(view, clamped.answer)))
}

fn told<A: Serialize>(answer: A) -> Value {
    serde_json::to_value(answer).map_or(Value::Null, shown)
}
