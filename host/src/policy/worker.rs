//! A thread with a bounded queue, for work that must not run on a tokio worker: compiling components and making instances.
//!
//! A plain thread rather than tokio's, so that instances are made for owners without a runtime too. It starts with the first job and
//! ends with its owner.

use std::panic::AssertUnwindSafe;
use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};

type Job = Box<dyn FnOnce() + Send>;

/// Runs jobs one after the other.
pub(crate) struct Worker {
    name: &'static str,
    queue: usize,
    sender: OnceLock<Option<SyncSender<Job>>>,
}

impl Worker {
    /// A worker that keeps at most `queue` jobs waiting.
    pub(crate) fn new(name: &'static str, queue: usize) -> Self {
        Self { name, queue, sender: OnceLock::new() }
    }

    /// Queues a job; false if the queue is full or the thread could not be started.
    pub(crate) fn run(&self, job: impl FnOnce() + Send + 'static) -> bool {
        let sender = self.sender.get_or_init(|| start(self.name, self.queue));
        sender.as_ref().is_some_and(|sender| sender.try_send(Box::new(job)).is_ok())
    }
}

fn start(name: &'static str, queue: usize) -> Option<SyncSender<Job>> {
    let (sender, receiver) = sync_channel::<Job>(queue);
    let work = move || {
        for job in receiver {
            if std::panic::catch_unwind(AssertUnwindSafe(job)).is_err() {
                tracing::error!(thread = name, "a background job of the policy host panicked; its caller is told");
            }
        }
    };
    let started = std::thread::Builder::new().name(name.into()).spawn(work);
    started.inspect_err(|error| tracing::error!(%error, thread = name, "cannot start a thread for policies; built-ins decide")).ok()?;
    Some(sender)
}
