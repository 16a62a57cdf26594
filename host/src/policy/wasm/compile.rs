//! Compiling, bounded in time.
//!
//! How long a component takes to compile is its author's to choose, and the compiler cannot be interrupted. So each component is compiled
//! on a thread of its own, and whoever waits for one that exceeds `policy.compile_timeout_ms` is let go: it is *overdue*. It goes on, and
//! what it comes to is kept for the next try with the same bytes. While `policy.overdue_compiles` of them run, new components are refused as
//! busy: no number of them takes more cores than that.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use parking_lot::Mutex;
use wasmtime::Engine;
use wasmtime::component::Component;

use super::LoadError;
use super::compile_cache::CompileCache;
use super::guest_log::escape;
use crate::config::PolicySettings;
use crate::policy::guard::FaultClass;

/// Of the compiler's message, so much is kept, in bytes.
const MAX_MESSAGE: usize = 4 << 10;

type Outcome = wasmtime::Result<Component>;

/// See the module.
pub(super) struct Compiler {
    shared: Arc<Shared>,
    limit: Duration,
    most_overdue: usize,
}

struct Shared {
    engine: Engine,
    cache: Option<CompileCache>,
    overdue: Mutex<Overdue>,
}

/// Compilations whose callers were let go.
#[derive(Default)]
struct Overdue {
    /// By digest.
    running: BTreeSet<String>,
    /// Came to something in the end; the oldest first.
    finished: Vec<(String, Component)>,
}

impl Compiler {
    pub(super) fn new(engine: &Engine, settings: &PolicySettings) -> Self {
        let cache = settings.compile_cache.as_ref().map(|path| CompileCache::new(path, engine));
        let shared = Arc::new(Shared { engine: engine.clone(), cache, overdue: Mutex::default() });
        let most_overdue = settings.overdue_compiles.max(1) as usize;
        Self { shared, limit: Duration::from_millis(settings.compile_timeout_ms), most_overdue }
    }

    /// The compiled component: kept on disk, or left by an earlier try, or compiled now. Waits for as long as the limit allows.
    pub(super) fn compile(&self, bytes: &[u8], digest: &str) -> Result<Component, LoadError> {
        if let Some(component) = self.shared.cache.as_ref().and_then(|cache| cache.get(&self.shared.engine, digest)) {
            return Ok(component);
        }
        if let Some(component) = self.admit(digest)? {
            return Ok(component);
        }
        let outcome = self.start(bytes.to_vec(), digest).and_then(|running| self.wait(running, digest))?;
        outcome.map_err(|error| {
            let problem = format!("the component does not compile: {}", escape(&format!("{error:#}"), MAX_MESSAGE));
            LoadError::new(FaultClass::CompileFailed, problem, "build it with a released toolchain for plain wasm32")
        })
    }

    /// Refuses while too much is overdue. A component: an earlier try has left it.
    fn admit(&self, digest: &str) -> Result<Option<Component>, LoadError> {
        let mut overdue = self.shared.overdue.lock();
        if let Some(at) = overdue.finished.iter().position(|(finished, _)| finished == digest) {
            return Ok(Some(overdue.finished.remove(at).1));
        }
        let busy = |problem: &str, remedy| Err(LoadError::new(FaultClass::CompileBusy, problem, remedy));
        if overdue.running.contains(digest) {
            return busy("the component is still being compiled since an earlier try", "try again later");
        }
        if overdue.running.len() >= self.most_overdue {
            return busy("components that take too long to compile keep the compiler busy", "try again once they are done, or restart");
        }
        Ok(None)
    }

    fn start(&self, bytes: Vec<u8>, digest: &str) -> Result<Receiver<Outcome>, LoadError> {
        let (done, running) = sync_channel(1);
        let (shared, digest) = (self.shared.clone(), digest.to_owned());
        let started = std::thread::Builder::new().name("policy-compile".into()).spawn(move || shared.run(&bytes, digest, &done));
        let failed = |error| {
            let problem = format!("the host cannot start a thread to compile the component on: {error}");
            LoadError::new(FaultClass::CompileBusy, problem, "raise the limit on threads of this process")
        };
        started.map(|_| running).map_err(failed)
    }

    fn wait(&self, running: Receiver<Outcome>, digest: &str) -> Result<Outcome, LoadError> {
        match running.recv_timeout(self.limit) {
            Ok(outcome) => return Ok(outcome),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(LoadError::new(
                    FaultClass::CompileFailed,
                    "compiling the component failed inside the host",
                    "see the host's log",
                ));
            }
        }
        let mut overdue = self.shared.overdue.lock();
        // It sends under this lock: either it has done so by now, or it finds nobody waiting.
        if let Ok(outcome) = running.try_recv() {
            return Ok(outcome);
        }
        overdue.running.insert(digest.to_owned());
        drop(running);
        let problem = format!("compiling the component takes longer than {} ms", self.limit.as_millis());
        let remedy = "make it smaller, or raise policy.compile_timeout_ms; compiling goes on, so a later try may find it done";
        Err(LoadError::new(FaultClass::CompileTimeout, problem, remedy))
    }
}

impl Shared {
    fn run(&self, bytes: &[u8], digest: String, done: &SyncSender<Outcome>) {
        let compile = AssertUnwindSafe(|| Component::new(&self.engine, bytes));
        let outcome = std::panic::catch_unwind(compile).unwrap_or_else(|_| Err(wasmtime::Error::msg("the compiler panicked")));
        if let (Some(cache), Ok(component)) = (&self.cache, &outcome) {
            cache.put(component, &digest);
        }
        let mut overdue = self.overdue.lock();
        let Err(unwanted) = done.send(outcome) else { return };
        overdue.running.remove(&digest);
        match unwanted.0 {
            Ok(component) => overdue.keep(digest, component),
            Err(error) => tracing::warn!(digest, %error, "a component does not compile, and took long to fail"),
        }
    }
}

impl Overdue {
    /// Only the latest few: whoever wanted the others has given up.
    fn keep(&mut self, digest: String, component: Component) {
        const KEPT: usize = 4;
        if self.finished.len() == KEPT {
            self.finished.remove(0);
        }
        self.finished.push((digest, component));
    }
}
