//! One shard of group offsets: changes that wait for it are written together.
//!
//! A change is queued at once, so that changes are made in the order in which they were asked for. One task writes
//! while there is anything to write: it takes all that waits, applies it to the state it knows, and puts that on the
//! version it knows. If another host's change came first it reads and applies again; a change is answered once its
//! write is durable. Whatever fails forgets the state, and the next one reads.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::sync::oneshot;

use super::super::tasks::Tasks;
use super::change::Change;
use crate::env::Env;
use crate::error::{Error, ErrorKind, Result};
use crate::metadata::{OffsetShard, SharedMetadata, Versioned};
use crate::metrics::Metrics;

/// Rounds against other hosts that change the same shard.
const ROUNDS: u32 = 8;
/// Pause before another round, at first; it doubles.
const PAUSE: Duration = Duration::from_millis(10);

/// What all shards share.
pub(super) struct Parts {
    pub(super) metadata: SharedMetadata,
    pub(super) env: Env,
    pub(super) metrics: Arc<Metrics>,
    pub(super) tasks: Tasks,
}

/// A shard.
pub(super) struct Shard {
    number: u32,
    parts: Arc<Parts>,
    queue: Mutex<Queue>,
    /// The state as last read or written here.
    known: RwLock<Option<Arc<Versioned<OffsetShard>>>>,
    /// Reads and writes go one after the other.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Waiting>,
    /// Whether a task is at it.
    written: bool,
}

struct Waiting {
    change: Change,
    done: oneshot::Sender<Result<bool>>,
}

impl Shard {
    pub(super) fn new(number: u32, parts: Arc<Parts>) -> Self {
        Self { number, parts, queue: Mutex::default(), known: RwLock::default(), turn: tokio::sync::Mutex::default() }
    }

    /// Queues a change; the receiver gets its outcome, or nothing if the host stops first.
    pub(super) fn submit(self: &Arc<Self>, change: Change) -> oneshot::Receiver<Result<bool>> {
        let (done, outcome) = oneshot::channel();
        if self.enqueue(Waiting { change, done }) {
            let writer = Writer { shard: self.clone(), finished: false };
            drop(self.parts.tasks.spawn(writer.run()));
        }
        outcome
    }

    /// Says whether somebody has to start writing.
    fn enqueue(&self, waiting: Waiting) -> bool {
        let mut queue = self.queue.lock();
        queue.waiting.push(waiting);
        !std::mem::replace(&mut queue.written, true)
    }

    /// The state; read if it is not known.
    pub(super) async fn state(&self) -> Result<Arc<Versioned<OffsetShard>>> {
        if let Some(known) = self.peek() {
            return Ok(known);
        }
        let _turn = self.turn.lock().await;
        self.state_in_turn().await
    }

    /// The state, if it is known.
    pub(super) fn peek(&self) -> Option<Arc<Versioned<OffsetShard>>> {
        self.known.read().clone()
    }

    /// Reads the state again.
    pub(super) async fn reload(&self) -> Result<()> {
        let _turn = self.turn.lock().await;
        self.forget();
        self.state_in_turn().await.map(drop)
    }

    fn forget(&self) {
        *self.known.write() = None;
    }

    async fn state_in_turn(&self) -> Result<Arc<Versioned<OffsetShard>>> {
        if let Some(known) = self.peek() {
            return Ok(known);
        }
        let read = Arc::new(self.parts.metadata.offset_shard(self.number).await?);
        *self.known.write() = Some(read.clone());
        Ok(read)
    }

    /// All that waits; `None` if nothing does, and then nobody writes any more.
    fn take(&self) -> Option<Vec<Waiting>> {
        let mut queue = self.queue.lock();
        if queue.waiting.is_empty() {
            queue.written = false;
            return None;
        }
        Some(std::mem::take(&mut queue.waiting))
    }

    async fn write(&self, batch: Vec<Waiting>) {
        let changes: Vec<&Change> = batch.iter().map(|waiting| &waiting.change).collect();
        let _turn = self.turn.lock().await;
        let written = self.write_in_turn(&changes).await;
        if written.is_err() {
            self.forget();
            self.parts.metrics.group.offset_write_failures.inc();
        }
        for (at, waiting) in batch.into_iter().enumerate() {
            let outcome = written.as_ref().map_or_else(|error| Err(error.clone()), |outcomes| outcomes[at].clone());
            // Nobody may be waiting any more.
            let _ = waiting.done.send(outcome);
        }
    }

    /// Writes changes as one, and gives the outcome of each.
    async fn write_in_turn(&self, changes: &[&Change]) -> Result<Vec<Result<bool>>> {
        let mut pause = PAUSE;
        for _ in 0..ROUNDS {
            let known = self.state_in_turn().await?;
            let mut value = known.value.clone();
            let outcomes: Vec<_> = changes.iter().map(|change| change.apply(&mut value)).collect();
            if !outcomes.iter().any(|outcome| matches!(outcome, Ok(true))) {
                return Ok(outcomes);
            }
            match self.put(Versioned { value, version: known.version.clone() }).await {
                Ok(()) => return Ok(outcomes),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    self.forget();
                    self.parts.metrics.group.offset_write_conflicts.inc();
                    tokio::time::sleep(self.parts.env.jittered(pause)).await;
                    pause *= 2;
                }
                Err(error) => return Err(error),
            }
        }
        let number = self.number;
        let message = format!("shard {number} of group offsets was changed by other hosts {ROUNDS} times in a row; try again");
        Err(Error::new(ErrorKind::Unavailable, message))
    }

    async fn put(&self, next: Versioned<OffsetShard>) -> Result<()> {
        let value = next.value.clone();
        let version = self.parts.metadata.put_offset_shard(self.number, next).await?;
        *self.known.write() = Some(Arc::new(Versioned { value, version: Some(version) }));
        self.parts.metrics.group.offset_writes.inc();
        Ok(())
    }
}

/// The task that writes. If it is stopped, what waits hears so.
struct Writer {
    shard: Arc<Shard>,
    finished: bool,
}

impl Writer {
    async fn run(mut self) {
        while let Some(batch) = self.shard.take() {
            self.shard.write(batch).await;
        }
        self.finished = true;
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.finished {
            *self.shard.queue.lock() = Queue::default();
        }
    }
}
