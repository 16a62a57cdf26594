//! `tidegate plugin bench`: a policy beside the built-in of its kind, on everyday views.
//!
//! Times are medians over rounds, each divided by the calls in it; what a machine does else makes single ones meaningless, and the ratio is what
//! compares. Work is counted by the engine, and is the same on every machine.

use std::hint::black_box;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use tidegate::env::now;
use tidegate::policy::wasm::{Inspection, LoadedPlugin, load, load_metered};
use tidegate::policy::{Context, Fault, Flush, Index, InitRequest, Kind, Policy, PolicySource, ReadAhead};

use super::component::{self, ComponentArgs};
use super::play::Told;
use crate::config::ConfigArgs;

/// Calls that are timed together.
const CALLS: usize = 2_000;
const ROUNDS: usize = 31;
/// Instances that are made.
const INSTANCES: usize = 31;

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    component: ComponentArgs,
    #[command(flatten)]
    config: ConfigArgs,
}

/// What a plugin costs.
#[derive(Debug, Serialize)]
pub(super) struct Measured {
    plugin: String,
    version: String,
    size: u64,
    compile_us: u64,
    kinds: Vec<Beside>,
}

/// One kind of a plugin beside the built-in.
#[derive(Debug, Serialize)]
struct Beside {
    kind: Kind,
    /// Making an instance, its `init` included.
    instance_us: f64,
    call_ns: f64,
    built_in_ns: f64,
    /// The first divided by the second.
    ratio: f64,
    /// Of the most expensive everyday view.
    fuel: u64,
    memory_bytes: u64,
    /// Everyday views that the built-in decides otherwise, of so many.
    decided_otherwise: usize,
    views: usize,
}

pub(super) fn run(args: &BenchArgs) -> Result<Measured> {
    let file = &args.component.file;
    let (bytes, mut limits) = (component::read(file)?, args.component.limits.settings()?);
    // Of so many calls the machine stalls some: that is no fault of a policy that is measured.
    limits.decision_deadline_ms = limits.decision_deadline_ms.max(limits.init_deadline_ms);
    let refused = || format!("{} is refused", file.display());
    let plugin = load(&bytes, &limits).with_context(refused)?;
    let metered = load_metered(&bytes, &limits).with_context(refused)?;
    let config = args.config.typed(plugin.config_schema())?;
    let config = Value::Object(config);
    if let Err(problem) = plugin.check_config(&config) {
        bail!("policy {} cannot be measured: {problem}", plugin.name());
    }
    let config = config.to_string();
    let beside = |kind: &Kind| match kind {
        Kind::Flush => measure::<Flush>(&plugin, &metered, &config),
        Kind::Index => measure::<Index>(&plugin, &metered, &config),
        Kind::ReadAhead => measure::<ReadAhead>(&plugin, &metered, &config),
    };
    let kinds = plugin.kinds().iter().map(beside).collect::<Result<_>>()?;
    let Inspection { name, version, size, compile_us, .. } = plugin.inspection().clone();
    Ok(Measured { plugin: name, version, size, compile_us, kinds })
}

fn measure<K: Told>(plugin: &LoadedPlugin, metered: &LoadedPlugin, config: &str) -> Result<Beside> {
    let (context, views) = (Context::default(), K::everyday());
    let make = |plugin: &LoadedPlugin| -> Result<Box<dyn Policy<K>>> {
        let request = InitRequest { topic: "(bench)", config, context: &context };
        K::build(plugin, &request).map_err(|fault| anyhow::anyhow!("policy {} cannot be measured: {fault}", plugin.name()))
    };
    let mut policy = make(plugin)?;
    let failed = |fault: Fault| anyhow::anyhow!("policy {} failed on an everyday view: {fault}", plugin.name());
    let instances = (0..INSTANCES).map(|_| timed(|| make(plugin).map(drop))).collect::<Result<Vec<_>>>()?;
    let calls = rounds(&views, |view| black_box(policy.decide(view)).map(|_| ()).map_err(failed))?;
    let built_in = rounds(&views, |view| {
        black_box(K::built_in(black_box(&context), black_box(view)));
        Ok(())
    })?;
    let (mut fresh, mut counting) = (make(plugin)?, make(metered)?);
    let (mut fuel, mut otherwise) = (0, 0);
    for view in &views {
        let answer = K::clamp(&context, view, fresh.decide(view).map_err(failed)?).answer;
        let own = K::clamp(&context, view, K::built_in(&context, view)).answer;
        otherwise += usize::from(K::meant(view, answer) != K::meant(view, own));
        counting.decide(view).map_err(failed)?;
        fuel = fuel.max(counting.cost().fuel.unwrap_or(0));
    }
    Ok(Beside {
        kind: K::KIND,
        instance_us: median(instances) / 1_000.0,
        call_ns: calls,
        built_in_ns: built_in,
        ratio: calls / built_in.max(f64::EPSILON),
        fuel,
        memory_bytes: policy.cost().memory_bytes,
        decided_otherwise: otherwise,
        views: views.len(),
    })
}

/// The median over rounds of what one call takes, in nanoseconds.
fn rounds<V>(views: &[V], mut call: impl FnMut(&V) -> Result<()>) -> Result<f64> {
    let mut round = || timed(|| views.iter().cycle().take(CALLS).try_for_each(&mut call));
    let times = (0..ROUNDS).map(|_| round()).collect::<Result<Vec<_>>>()?;
    Ok(median(times) / CALLS as f64)
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let began = now();
    work()?;
    Ok(now().duration_since(began))
}

/// In nanoseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_nanos() as f64)
}

impl Measured {
    pub(super) fn describe(&self) -> String {
        let head = format!("{} {}: {} bytes, compiled in {} ms\n", self.plugin, self.version, self.size, self.compile_us.div_ceil(1_000));
        self.kinds.iter().fold(head, |text, beside| text + &beside.describe())
    }
}

impl Beside {
    fn describe(&self) -> String {
        let Self { kind, instance_us, call_ns, built_in_ns, ratio, fuel, memory_bytes, decided_otherwise, views } = self;
        format!(
            "{}: a decision {call_ns:.0} ns, the built-in {built_in_ns:.0} ns ({ratio:.1} times that); fuel {fuel} at most; an instance \
             {instance_us:.0} us and {memory_bytes} bytes of memory; {decided_otherwise} of {views} everyday views decided otherwise than by the built-in\n",
            kind.as_str()
        )
    }
}
