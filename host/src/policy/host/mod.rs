//! [`PolicyHost`]: what is bound to which topic, and where the instances come from.
//!
//! A set of bindings is published at once, with a generation; every instance compares it before a call and follows. A binding that did not
//! change between two sets keeps its counters, its breaker and its instances. Components are checked and compiled, and instances made, on
//! two threads of their own with bounded queues; neither exists before the first component.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use bytes::Bytes;
use tokio::sync::oneshot;

mod binding;
mod shadowed;
mod status;
#[cfg(test)]
mod tests;
mod trial;

pub use binding::ActiveBinding;
use binding::Table;
pub use status::{BindingStatus, TopicStatus};

use super::guard::{Built, Counted, FaultClass, FaultSink, Guarded, Live, Site, Surroundings};
use super::kinds::{Flush, Index, InitRequest, PolicyKind, ReadAhead};
use super::shadow::{ShadowTap, Shadows};
use super::types::Context;
use super::wasm::{LoadError, LoadedPlugin, Loader};
use super::worker::Worker;
use super::{FlushPolicy, IndexPolicy, Kind, Policies, ReadAheadPolicy};
use crate::config::PolicySettings;
use crate::error::{Error, ErrorKind, Result};
use crate::metrics::Metrics;

/// Instances waiting to be made; a full queue is asked again at the owner's next call.
const BUILD_QUEUE: usize = 1_024;
/// Components waiting to be compiled.
const COMPILE_QUEUE: usize = 16;

/// Binds policies to topics and makes their instances. Cheap to clone.
#[derive(Clone)]
pub struct PolicyHost {
    registry: Arc<Registry>,
    loader: Arc<Loader>,
    compiler: Arc<Worker>,
}

/// What the guards see of the host.
pub(crate) struct Registry {
    table: ArcSwap<Table>,
    generation: AtomicU64,
    builder: Worker,
    inline: bool,
    around: Arc<Surroundings>,
    pub(crate) shadows: Arc<Shadows>,
}

impl PolicyHost {
    /// A host without bindings. `sink` hears of each fault; it is called where a lane decides, and must not block.
    pub fn new(settings: PolicySettings, metrics: Arc<Metrics>, sink: FaultSink) -> Self {
        Self::assemble(settings, metrics, sink, false)
    }

    /// A host that makes its instances in the owner's call rather than in the background: for simulations, which
    /// must not depend on the pace of a thread.
    pub fn inline(settings: PolicySettings, metrics: Arc<Metrics>, sink: FaultSink) -> Self {
        Self::assemble(settings, metrics, sink, true)
    }

    fn assemble(settings: PolicySettings, metrics: Arc<Metrics>, sink: FaultSink, inline: bool) -> Self {
        let registry = Registry {
            table: ArcSwap::default(),
            generation: AtomicU64::new(0),
            builder: Worker::new("policy-instances", BUILD_QUEUE),
            inline,
            around: Arc::new(Surroundings { settings: settings.clone(), metrics, sink, held: AtomicU64::new(0) }),
            shadows: Arc::new(Shadows::new()),
        };
        let compiler = Worker::new("policy-compiler", COMPILE_QUEUE);
        Self { registry: Arc::new(registry), loader: Arc::new(Loader::new(settings)), compiler: Arc::new(compiler) }
    }

    /// Checks a component, compiles it off the data path, instantiates it once and asks it for one dry decision of each kind.
    /// The same bytes give the same plugin while it is in use. The error's class and message say what is wrong and what to do.
    pub async fn check_and_load(&self, component: Bytes) -> Result<Arc<LoadedPlugin>, LoadError> {
        self.check_and_load_pinned(component, None).await
    }

    /// The same, and refuses bytes of another digest (`sha256:` and 64 hex digits) than the pinned one before anything is made of them.
    pub async fn check_and_load_pinned(&self, component: Bytes, pinned: Option<&str>) -> Result<Arc<LoadedPlugin>, LoadError> {
        let (done, loaded) = oneshot::channel();
        let (loader, pinned) = (self.loader.clone(), pinned.map(str::to_owned));
        let queued = self.compiler.run(move || drop(done.send(loader.load(&component, pinned.as_deref()))));
        if !queued {
            return Err(LoadError::new(FaultClass::CompileBusy, "too many components wait to be compiled", "try again in a moment"));
        }
        let lost = || LoadError::new(FaultClass::CompileFailed, "compiling the component failed inside the host", "see the host's log");
        loaded.await.unwrap_or_else(|_| Err(lost()))
    }

    /// Publishes a whole set, in order of precedence (of several that match a topic, the last wins), and returns its generation.
    /// [`ErrorKind::InvalidInput`]: a pattern is no glob, or a plugin does not decide that kind; then nothing changes.
    pub fn set_bindings(&self, bindings: Vec<ActiveBinding>) -> Result<u64> {
        self.registry.publish(bindings)
    }

    /// Each binding with its figures, in order of precedence.
    pub fn status(&self) -> Vec<BindingStatus> {
        self.registry.table.load().entries.iter().map(|entry| entry.status()).collect()
    }

    /// The position in [`status`](Self::status) of the binding that decides for a topic; `None`: the built-in does.
    pub fn in_force(&self, kind: Kind, topic: &str) -> Option<usize> {
        self.registry.table.load().position(kind, topic)
    }
}

impl Policies for PolicyHost {
    fn flush(&self, topic: &str, context: &Context) -> Box<dyn FlushPolicy> {
        Box::new(Guarded::<Flush>::new(self.registry.clone(), topic, context))
    }
    fn index(&self, topic: &str, context: &Context) -> Box<dyn IndexPolicy> {
        Box::new(Guarded::<Index>::new(self.registry.clone(), topic, context))
    }
    fn read_ahead(&self, topic: &str, context: &Context) -> Box<dyn ReadAheadPolicy> {
        Box::new(Guarded::<ReadAhead>::new(self.registry.clone(), topic, context))
    }
    fn shadow(&self, topic: &str, context: &Context) -> ShadowTap {
        ShadowTap::new(self.registry.shadows.clone(), Kind::Flush, topic.into(), *context)
    }
}

impl Registry {
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The bindings' generation, and what is bound to a topic.
    pub(crate) fn resolve(&self, kind: Kind, topic: &Arc<str>) -> (u64, Option<Arc<Site>>) {
        let table = self.table.load();
        let entry = table.position(kind, topic).map(|position| &table.entries[position]);
        (table.generation, entry.and_then(|entry| entry.site(topic, &self.around)))
    }

    /// Starts to make an instance; `None` if the queue is full or the host holds as many as it may: the owner asks again at its next call.
    pub(crate) fn build<K: PolicyKind>(&self, site: Arc<Site>, context: Context) -> Option<oneshot::Receiver<Built<K>>> {
        let (done, built) = oneshot::channel();
        let counted = Counted::admit(site)?;
        let make = move || {
            let site = counted.site();
            let request = InitRequest { topic: &site.topic, config: &site.bound.config, context: &context };
            let built = K::build(site.bound.source.as_ref(), &request);
            drop(done.send(built.map(|policy| Live::new(policy, counted))));
        };
        if self.inline {
            make();
            return Some(built);
        }
        self.builder.run(make).then_some(built)
    }

    fn publish(&self, bindings: Vec<ActiveBinding>) -> Result<u64> {
        let old = self.table.load_full();
        let generation = old.generation + 1;
        let table = Arc::new(Table::new(bindings, generation, &old)?);
        let seen = self.table.compare_and_swap(&old, table);
        if !Arc::ptr_eq(&seen, &old) {
            return Err(Error::new(ErrorKind::Busy, "the bindings changed at the same time; try again"));
        }
        self.generation.fetch_max(generation, Ordering::Release);
        Ok(generation)
    }
}
