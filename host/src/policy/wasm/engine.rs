//! The engine, and the clock that interrupts guests.
//!
//! Deadlines are counted in ticks. The thread that ticks holds the engine weakly, and sleeps while nothing runs: an idle host costs nothing.
//! It never catches up after a stall, so that a process that was stopped does not interrupt innocent calls.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::thread::Thread;
use std::time::Duration;

use parking_lot::Mutex;
use wasmtime::{Config, Engine};

use super::LoadError;
use super::compile::Compiler;
use crate::config::PolicySettings;
use crate::policy::guard::FaultClass;

/// Ticks without a call after which the clock sleeps.
const IDLE_TICKS: u32 = 20;
/// The clock looks by itself so often while it sleeps.
const IDLE_SLEEP: Duration = Duration::from_millis(100);
/// Frames kept of a guest's stack: a fault with so many is taken for a recursion without end.
pub(super) const MAX_FRAMES: usize = 64;

/// Engine, clock and settings: what all plugins of a host share.
pub(super) struct Machine {
    pub(super) engine: Engine,
    pub(super) settings: PolicySettings,
    pub(super) clock: Arc<Clock>,
    pub(super) compiler: Compiler,
    /// Work is counted: slower, and for authors only.
    pub(super) metered: bool,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Machine")
    }
}

impl Machine {
    pub(super) fn start(settings: &PolicySettings) -> Result<Arc<Self>, LoadError> {
        Self::assemble(settings, false)
    }

    /// One that counts the work of each call.
    pub(super) fn metered(settings: &PolicySettings) -> Result<Arc<Self>, LoadError> {
        Self::assemble(settings, true)
    }

    fn assemble(settings: &PolicySettings, metered: bool) -> Result<Arc<Self>, LoadError> {
        let broken = |error: &dyn std::fmt::Display| {
            LoadError::new(
                FaultClass::CompileFailed,
                format!("the WebAssembly engine does not start: {error:#}"),
                "check the settings under policy",
            )
        };
        let engine = Engine::new(config(settings).consume_fuel(metered)).map_err(|error| broken(&error))?;
        let clock = Clock::start(engine.clone(), Duration::from_millis(settings.tick_ms.max(1))).map_err(|error| broken(&error))?;
        let compiler = Compiler::new(&engine, settings);
        Ok(Arc::new(Self { engine, settings: settings.clone(), clock, compiler, metered }))
    }

    /// Ticks of the longest decision.
    pub(super) fn decision_ticks(&self) -> u64 {
        self.ticks(self.settings.decision_deadline_ms)
    }

    /// Ticks of the longest `init`, `describe` or instantiation.
    pub(super) fn init_ticks(&self) -> u64 {
        self.ticks(self.settings.init_deadline_ms)
    }

    fn ticks(&self, ms: u64) -> u64 {
        ms.div_ceil(self.settings.tick_ms.max(1)).max(1)
    }
}

fn config(settings: &PolicySettings) -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        // A synchronous call costs three times as much with it.
        .concurrency_support(false)
        .max_wasm_stack(usize::try_from(settings.stack_bytes).unwrap_or(usize::MAX))
        // Thousands of instances: each reserves its limit rather than 4 GiB of addresses.
        .memory_reservation(settings.memory_bytes)
        .memory_guard_size(64 << 10)
        .memory_reservation_for_growth(0)
        // Compiling takes one core at most, whatever it is handed: the others are the data path's. And one component that takes for ever does
        // not keep another waiting, as it would in a pool that both share.
        .parallel_compilation(false)
        // One view gives one answer on every machine.
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        .wasm_memory64(false)
        .wasm_tail_call(true)
        .wasm_backtrace_max_frames(NonZeroUsize::new(MAX_FRAMES));
    config
}

/// Counts ticks while calls run.
pub(super) struct Clock {
    engine: Engine,
    ticks: AtomicU64,
    running: AtomicU32,
    asleep: AtomicBool,
    thread: Mutex<Option<Thread>>,
}

/// A call in progress.
pub(super) struct Running<'a>(&'a Clock);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

impl Clock {
    fn start(engine: Engine, length: Duration) -> std::io::Result<Arc<Self>> {
        let clock =
            Self { engine, ticks: AtomicU64::new(0), running: AtomicU32::new(0), asleep: AtomicBool::new(false), thread: Mutex::default() };
        let clock = Arc::new(clock);
        let weak = Arc::downgrade(&clock);
        let run = move || {
            let mut idle = 0;
            while let Some(clock) = weak.upgrade() {
                idle = clock.tick(idle);
                drop(clock);
                if idle < IDLE_TICKS { pause(length) } else { std::thread::park_timeout(IDLE_SLEEP) }
            }
        };
        let thread = std::thread::Builder::new().name("policy-clock".into()).stack_size(64 << 10).spawn(run)?;
        *clock.thread.lock() = Some(thread.thread().clone());
        Ok(clock)
    }

    /// Ticks since the start, while calls ran.
    pub(super) fn ticks(&self) -> u64 {
        self.ticks.load(SeqCst)
    }

    /// Keeps the clock going until the guard is dropped.
    pub(super) fn run(&self) -> Running<'_> {
        self.running.fetch_add(1, SeqCst);
        if self.asleep.load(SeqCst) {
            self.asleep.store(false, SeqCst);
            if let Some(thread) = &*self.thread.lock() {
                thread.unpark();
            }
        }
        Running(self)
    }

    fn tick(&self, idle: u32) -> u32 {
        if self.running.load(SeqCst) > 0 {
            self.asleep.store(false, SeqCst);
            self.ticks.fetch_add(1, SeqCst);
            self.engine.increment_epoch();
            return 0;
        }
        if idle + 1 < IDLE_TICKS {
            return idle + 1;
        }
        self.asleep.store(true, SeqCst);
        // A call that began before it could see the flag is seen here.
        if self.running.load(SeqCst) > 0 { 0 } else { IDLE_TICKS }
    }
}

#[allow(clippy::disallowed_methods, reason = "a thread of our own, which has nothing to do but wait")]
fn pause(duration: Duration) {
    std::thread::sleep(duration);
}
