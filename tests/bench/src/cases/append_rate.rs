//! Appends with the default flush policy as a component against the same logic as native code, both through the whole path of a lane.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use tidegate::buffer::BufferBudget;
use tidegate::cache::ChunkCache;
use tidegate::config::{HostSettings, PolicySettings, TopicSettings};
use tidegate::cost::Prices;
use tidegate::env::Env;
use tidegate::log::lane::Lane;
use tidegate::log::{Shared, Topic};
use tidegate::metrics::Metrics;
use tidegate::policy::{ActiveBinding, Kind, PolicyHost, PolicySource};
use tidegate::record::RecordSet;
use tidegate::types::{TopicId, TopicName};
use tokio::runtime::Runtime;

use crate::batches::{copies, of_size};
use crate::host::{Plugins, memory, runtime};
use crate::measure::{paired, seconds};
use crate::native::Native;
use crate::report::Report;

const ROUNDS: usize = 61;
const APPENDS: usize = 10_000;

pub(crate) fn run(report: &Report, plugins: &Plugins) -> Result<()> {
    let runtime = runtime()?;
    let component = plugins.read("flush-adaptive")?;
    let (wasm, native) = runtime.block_on(async {
        let host = PolicyHost::inline(PolicySettings::default(), Arc::default(), Arc::new(|_| {}));
        let plugin = host.check_and_load(component).await?;
        let wasm = Side::open(host, plugin).await?;
        let host = PolicyHost::inline(PolicySettings::default(), Arc::default(), Arc::new(|_| {}));
        anyhow::Ok((wasm, Side::open(host, Arc::new(Native)).await?))
    })?;
    let pair = paired(ROUNDS, || wasm.appends_per_s(&runtime), || native.appends_per_s(&runtime));
    report.compared("wasm", pair, "appends/s", "the same policy as native code");
    for side in [&wasm, &native] {
        let total = &side.policies.status().pop().context("a binding is in force")?.total;
        anyhow::ensure!(total.calls > 0 && total.faults == 0 && total.fallbacks == 0, "{total:?}");
    }
    report.value("wasm-decisions", decisions_per_append(&wasm), "calls/append");
    Ok(())
}

struct Side {
    lane: Arc<Lane>,
    policies: PolicyHost,
}

impl Side {
    async fn open(policies: PolicyHost, plugin: Arc<dyn PolicySource>) -> Result<Self> {
        let binding = ActiveBinding {
            pattern: "*".to_owned(),
            kind: Kind::Flush,
            plugin: Ok(plugin),
            config: serde_json::json!({}),
            source: "bench".to_owned(),
        };
        policies.set_bindings(vec![binding])?;
        let (env, store, settings, metrics) = (Env::system(), Arc::new(memory()), HostSettings::default(), Arc::<Metrics>::default());
        let shared = Shared {
            prices: Prices::default(),
            cache: Arc::new(ChunkCache::new(store.clone(), &settings, metrics.clone())),
            store,
            policies: Arc::new(policies.clone()),
            buffers: BufferBudget::new(settings.buffer_bytes),
            settings: Arc::new(settings),
            metrics,
            events: tokio::sync::broadcast::Sender::new(16),
            env,
        };
        let id = TopicId(shared.env.uuid());
        let topic = Arc::new(Topic::new(id, TopicName::new("bench")?, 1, 1, TopicSettings::default()));
        Lane::create_all(&shared, &topic).await?;
        Ok(Self { lane: Lane::open(shared, topic, 0).await?, policies })
    }

    fn appends_per_s(&self, runtime: &Runtime) -> f64 {
        let batches = copies(&of_size(1 << 10), APPENDS);
        let append = async {
            for batch in batches {
                let set = RecordSet::validate(batch, 1 << 20).expect("a valid batch");
                drop(self.lane.append(0, set).await.expect("there is room"));
            }
        };
        let taken = seconds(|| runtime.block_on(append));
        runtime.block_on(self.lane.flush()).expect("a store in memory takes it");
        APPENDS as f64 / taken
    }
}

fn decisions_per_append(side: &Side) -> f64 {
    let calls: u64 = side.policies.status().iter().map(|status| status.total.calls).sum();
    calls as f64 / ((ROUNDS + 1) * APPENDS) as f64
}
