//! The appends of a replay: taken where they come, their commits waited for lane by lane.
//!
//! An append nearly always finds room at once: then it needs no task, and one task for each lane waits for the commits, which come in the order
//! in which the batches were taken. An append that has to wait, for room or until its lane leads, does so in a task of its own and holds
//! none back.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;
use tidegate::Storage;
use tidegate::env::{self, Instant};
use tidegate::error::Result;
use tidegate::metadata::TopicRecord;
use tidegate::runtime::{Appended, Committed};
use tidegate::types::TopicPartition;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::ReusableBoxFuture;
use tokio_util::task::TaskTracker;

use crate::replay::Run;

/// See the module.
pub(crate) struct Appends {
    run: Arc<Run>,
    tasks: TaskTracker,
    /// Of each topic, its lanes.
    lanes: Vec<Vec<UnboundedSender<Taken>>>,
    /// Memory of an append that has ended, for the next one.
    room: Option<Taking>,
}

/// An append that is under way.
type Taking = ReusableBoxFuture<'static, Result<Appended>>;

/// What is asked for.
struct Append {
    began: Instant,
    bytes: u64,
    /// Whether its producer waits for the commit.
    waits: bool,
}

/// An append that is in its lane's buffer, and whose producer waits.
struct Taken {
    append: Append,
    committed: Committed,
}

impl Appends {
    /// None yet, to these topics; tasks are those of `tasks`.
    pub(crate) fn new(run: Arc<Run>, topics: &[TopicRecord], tasks: TaskTracker) -> Self {
        let lane = || {
            let (sender, taken) = unbounded_channel();
            tasks.spawn(wait_for_commits(run.clone(), taken));
            sender
        };
        let lanes = topics.iter().map(|topic| (0..topic.lanes).map(|_| lane()).collect()).collect();
        Self { run, tasks, lanes, room: None }
    }

    /// Appends a batch to a partition of the topic of this number. Does not wait: there may be more to do at this moment.
    pub(crate) fn append(&mut self, topic: usize, partition: TopicPartition, batch: BytesMut, waits: bool) {
        let append = Append { began: env::now(), bytes: batch.len() as u64, waits };
        // What it may do at once has nothing to do with how much its caller has done before it.
        let taking = tokio::task::unconstrained(take(self.run.storage.clone(), partition, batch));
        let mut taking = match self.room.take() {
            Some(mut room) => {
                room.set(taking);
                room
            }
            None => Taking::new(taking),
        };
        match taking.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => {
                self.room = Some(taking);
                if let Some(taken) = self.run.taken(append, outcome) {
                    let lanes = &self.lanes[topic];
                    let lane = &lanes[partition.partition as usize % lanes.len()];
                    lane.send(taken).expect("the lane's commits are waited for until the replay ends");
                }
            }
            Poll::Pending => drop(self.tasks.spawn(append_later(self.run.clone(), append, taking))),
        }
    }
}

async fn take(storage: Storage, partition: TopicPartition, batch: BytesMut) -> Result<Appended> {
    storage.append(partition, batch).await
}

async fn append_later(run: Arc<Run>, append: Append, taking: Taking) {
    if let Some(taken) = run.taken(append, taking.await) {
        run.committed(taken).await;
    }
}

async fn wait_for_commits(run: Arc<Run>, mut lane: UnboundedReceiver<Taken>) {
    while let Some(taken) = lane.recv().await {
        run.committed(taken).await;
    }
}

impl Run {
    /// What there is to wait for.
    fn taken(&self, append: Append, outcome: Result<Appended>) -> Option<Taken> {
        let memory = self.memory();
        let mut measured = self.measured.lock();
        let Ok(appended) = outcome else {
            measured.failed_appends += 1;
            return None;
        };
        measured.holds(memory);
        if append.waits {
            return Some(Taken { append, committed: appended.committed });
        }
        measured.sent += 1;
        measured.appended_bytes += append.bytes;
        None
    }

    async fn committed(&self, Taken { append, committed }: Taken) {
        let outcome = committed.wait().await;
        let mut measured = self.measured.lock();
        match outcome {
            Ok(()) => measured.acked(append.bytes, append.began.duration_since(self.began), append.began.elapsed()),
            Err(_) => measured.failed_appends += 1,
        }
    }
}
