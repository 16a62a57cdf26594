//! Opens a host: store, metadata, policies, topics, in that order; then the background tasks.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;

use super::Storage;
use super::bindings::Bindings;
use super::deletion::Deletions;
use super::gate::Gate;
use super::group_offsets::AllGroupOffsets;
use super::host::Host;
use super::lanes::Lanes;
use super::producer_ids::ProducerIds;
use super::recording::Recorder;
use super::tasks::{StopOnDrop, Tasks};
use super::topics::Topics;
use super::upkeep;
use crate::buffer::BufferBudget;
use crate::cache::ChunkCache;
use crate::config::Settings;
use crate::cost::Prices;
use crate::env::Env;
use crate::error::Result;
use crate::log::{Event, Shared};
use crate::metadata::{MetadataStore, ObjectMetadata, SharedMetadata};
use crate::metrics::Metrics;
use crate::policy::{ActiveBinding, FaultSink, PolicyFault, PolicyHost};
use crate::store::{self, ObjectStore, RetryOptions, Retrying};

/// Events that a slow receiver may lag behind.
const EVENTS: usize = 1_024;

/// Opens a [`Storage`] with parts of one's own.
pub struct Builder {
    settings: Settings,
    store: Option<Arc<dyn ObjectStore>>,
    metadata: Option<SharedMetadata>,
    env: Option<Env>,
    policies: Vec<ActiveBinding>,
    prices: Prices,
    reproducible: bool,
}

impl Builder {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings, store: None, metadata: None, env: None, policies: Vec::new(), prices: Prices::default(), reproducible: false }
    }

    /// Another object store than the settings name.
    pub fn store(mut self, store: Arc<dyn ObjectStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Another metadata store than the one in the object store.
    pub fn metadata(mut self, metadata: Arc<dyn MetadataStore>) -> Self {
        self.metadata = Some(metadata);
        self
    }

    /// Another clock and entropy than the machine's.
    pub fn env(mut self, env: Env) -> Self {
        self.env = Some(env);
        self
    }

    /// Policies that are loaded already, or native code of one's own; below those of the settings file and of requests.
    pub fn policies(mut self, policies: Vec<ActiveBinding>) -> Self {
        self.policies = policies;
        self
    }

    /// What the store charges, as policies are told: otherwise what S3 Standard does.
    pub fn prices(mut self, prices: Prices) -> Self {
        self.prices = prices;
        self
    }

    /// One seed gives one run, with a simulated [`env`](Self::env) on a runtime of one thread whose time is paused: instances of policies are
    /// made in their owner's call rather than in the background, and evictions are not put off. Slower, for simulations only.
    pub fn reproducible(mut self) -> Self {
        self.reproducible = true;
        self
    }

    /// Probes the store, loads topics and bindings, starts the background tasks.
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for settings out of bounds, [`Unsupported`](crate::ErrorKind::Unsupported) for a store without
    /// conditional puts; else the error of the store.
    pub async fn open(self) -> Result<Storage> {
        self.settings.validate()?;
        let settings = Arc::new(self.settings);
        let env = self.env.unwrap_or_else(Env::system);
        let metrics = Arc::new(Metrics::default());
        let store = match self.store {
            Some(store) => probed(store, &env, &metrics).await?,
            None => store::open(&settings.store, &env, &metrics).await?,
        };
        let metadata = self.metadata.unwrap_or_else(|| Arc::new(ObjectMetadata::new(store.clone(), env.clone())));
        let events = broadcast::Sender::new(EVENTS);
        let host_of_policies = if self.reproducible { PolicyHost::inline } else { PolicyHost::new };
        let policies = host_of_policies(settings.policy.clone(), metrics.clone(), announce(events.clone()));
        let cache = ChunkCache::new(store.clone(), &settings.host, metrics.clone());
        let cache = if self.reproducible { cache.evicting_at_once() } else { cache };
        let shared = Shared {
            env,
            store,
            prices: self.prices,
            cache: Arc::new(cache),
            policies: Arc::new(policies.clone()),
            buffers: BufferBudget::new(settings.host.buffer_bytes),
            settings: Arc::new(settings.host.clone()),
            metrics,
            events,
        };
        let host = assemble(settings, shared, metadata, policies, self.policies).await?;
        let interval = Duration::from_millis(host.settings.host.metadata_interval_ms);
        host.tasks.spawn(upkeep::of_metadata(Arc::downgrade(&host), host.shared.env.clone(), interval));
        if host.bindings.awaits() {
            let longest = Duration::from_millis(host.settings.plugins.retry_max_ms);
            host.tasks.spawn(upkeep::of_awaited(Arc::downgrade(&host), host.shared.env.clone(), longest));
        }
        let idle = Duration::from_millis(host.settings.policy.idle_ms);
        host.tasks.spawn(upkeep::of_idle_owners(Arc::downgrade(&host), idle));
        Ok(Storage { host })
    }
}

/// An embedder's store gets the retries and limits of our own, and has to keep the same promises.
async fn probed(store: Arc<dyn ObjectStore>, env: &Env, metrics: &Arc<Metrics>) -> Result<Arc<dyn ObjectStore>> {
    let store = Arc::new(Retrying::new(store, RetryOptions::default(), env.clone(), metrics.clone()));
    store::probe(&*store, env).await?.require_safe()?;
    Ok(store)
}

async fn assemble(
    settings: Arc<Settings>,
    shared: Shared,
    metadata: SharedMetadata,
    policies: PolicyHost,
    own: Vec<ActiveBinding>,
) -> Result<Arc<Host>> {
    let (tasks, gate) = (Tasks::default(), Arc::new(Gate::default()));
    let lanes = Lanes::new(shared.clone(), tasks.clone(), gate.clone());
    let topics = Topics::new(metadata.clone(), settings.clone(), lanes.clone());
    topics.refresh().await?;
    let bindings = Bindings::open(&settings, &shared, metadata.clone(), policies, own).await?;
    bindings.refresh().await?;
    let deletions = Deletions::new(shared.clone(), metadata.clone(), tasks.clone());
    let producer_ids = ProducerIds::new(metadata.clone());
    let group_offsets = AllGroupOffsets::new(metadata.clone(), &shared, tasks.clone());
    let _stop = StopOnDrop(tasks.clone());
    Ok(Arc::new(Host {
        settings,
        shared,
        metadata,
        gate,
        lanes,
        topics,
        bindings,
        deletions,
        producer_ids,
        group_offsets,
        recorder: Recorder::default(),
        tasks,
        _stop,
    }))
}

/// Faults of policies become events. Called where a lane decides: sending does not block.
fn announce(events: broadcast::Sender<Event>) -> FaultSink {
    Arc::new(move |fault: &PolicyFault| {
        let event = Event::PolicyFault {
            kind: fault.kind,
            topic: fault.topic.clone(),
            class: fault.class.as_str(),
            message: fault.message.clone(),
        };
        // Nobody listening is fine.
        let _ = events.send(event);
    })
}
