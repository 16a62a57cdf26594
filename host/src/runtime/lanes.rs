//! The lanes that this host leads, opened when first asked for.
//!
//! A lane is opened once at a time, by a task of its own: a caller that goes away does not leave a half-made
//! claim behind, and all callers share one outcome. A failed opening is not tried again before its back-off
//! is over, so that clients which retry cannot turn a sick store into a storm. A lane that was fenced stays as
//! it is, answering "not leader", until [`Lanes::take_lead`]: by itself a host never claims a lane back, or two
//! hosts would fence each other for ever.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use futures::future::{BoxFuture, Shared as SharedFuture};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use parking_lot::RwLock;
use tokio::sync::Semaphore;

use super::backoff::{self, Failure};
use super::gate::Gate;
use super::tasks::Tasks;
use super::upkeep;
use crate::env;
use crate::error::{Error, ErrorKind, Result};
use crate::log::lane::Lane;
use crate::log::{Shared, Topic};
use crate::types::{Epoch, LaneId, TopicId, TopicLane};

/// Lanes that are being opened at the same time, at most.
const OPENINGS: usize = 32;

type Opening = SharedFuture<BoxFuture<'static, Result<Arc<Lane>>>>;

enum State {
    /// Being opened: everybody awaits the same outcome. The number tells this opening from later ones.
    Opening(u64, Opening),
    /// Was opened: it says itself whether it still leads.
    Open(Arc<Lane>),
    /// Could not be opened.
    Failed(Failure),
}

/// All lanes of a host.
pub(super) struct Lanes {
    shared: Shared,
    tasks: Tasks,
    gate: Arc<Gate>,
    states: RwLock<BTreeMap<TopicLane, State>>,
    permits: Arc<Semaphore>,
    started: AtomicU64,
}

impl Lanes {
    pub(super) fn new(shared: Shared, tasks: Tasks, gate: Arc<Gate>) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(OPENINGS));
        Arc::new(Self { shared, tasks, gate, states: RwLock::default(), permits, started: AtomicU64::new(0) })
    }

    /// The lane, opened if it never was. A lane that was fenced is returned as well: it answers for itself.
    pub(super) async fn get(self: &Arc<Self>, topic: &Arc<Topic>, lane: LaneId) -> Result<Arc<Lane>> {
        let id = TopicLane { topic: topic.id, lane };
        if let Some(State::Open(lane)) = self.states.read().get(&id) {
            return Ok(lane.clone());
        }
        self.gate.writable()?;
        let opening = {
            let mut states = self.states.write();
            match states.get(&id) {
                Some(State::Open(lane)) => return Ok(lane.clone()),
                Some(State::Opening(_, opening)) => opening.clone(),
                Some(State::Failed(failure)) if !failure.may_retry(env::now()) => return Err(failure.error(&topic.lane_name(lane))),
                Some(State::Failed(failure)) => {
                    let failures = failure.count;
                    self.start(&mut states, topic, id, failures)
                }
                None => self.start(&mut states, topic, id, 0),
            }
        };
        opening.await
    }

    /// Opens a lane that is not led (any more), whatever happened to it before.
    pub(super) async fn take_lead(self: &Arc<Self>, topic: &Arc<Topic>, lane: LaneId) -> Result<Epoch> {
        self.gate.writable()?;
        let id = TopicLane { topic: topic.id, lane };
        let opening = {
            let mut states = self.states.write();
            match states.get(&id) {
                Some(State::Open(lane)) if lane.leads() => return Ok(lane.epoch()),
                Some(State::Open(lane)) => {
                    lane.abort();
                    self.start(&mut states, topic, id, 0)
                }
                Some(State::Opening(_, opening)) => opening.clone(),
                Some(State::Failed(_)) | None => self.start(&mut states, topic, id, 0),
            }
        };
        opening.await.map(|lane| lane.epoch())
    }

    /// Drops the lanes of a topic that is gone.
    pub(super) fn forget(&self, topic: TopicId) {
        let gone: Vec<State> = {
            let mut states = self.states.write();
            let ids: Vec<_> = states.range(lanes_of(topic)).map(|(id, _)| *id).collect();
            ids.iter().filter_map(|id| states.remove(id)).collect()
        };
        abort_all(gone);
    }

    /// Drops everything at once, as a crash would.
    pub(super) fn abort(&self) {
        let states = std::mem::take(&mut *self.states.write());
        abort_all(states.into_values());
    }

    /// Every lane that was opened, also those that lead no more.
    pub(super) fn opened(&self) -> Vec<Arc<Lane>> {
        let open = |state: &State| match state {
            State::Open(lane) => Some(lane.clone()),
            State::Opening(..) | State::Failed(_) => None,
        };
        self.states.read().values().filter_map(open).collect()
    }

    /// Closes all lanes at the same time, those being opened too. The first error, after all have been tried.
    pub(super) async fn close(&self) -> Result<()> {
        let openings: Vec<Opening> = self.states.read().values().filter_map(State::outcome).collect();
        let mut closed: FuturesUnordered<_> = openings.into_iter().map(close_one).collect();
        let mut outcome = Ok(());
        while let Some(one) = closed.next().await {
            outcome = outcome.and(one);
        }
        outcome
    }

    fn start(self: &Arc<Self>, states: &mut BTreeMap<TopicLane, State>, topic: &Arc<Topic>, id: TopicLane, failures: u32) -> Opening {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let attempt = attempt(Arc::downgrade(self), self.permits.clone(), self.shared.clone(), topic.clone(), id, number, failures);
        let task = self.tasks.spawn(attempt);
        let outcome = async move {
            match task.await {
                Ok(Some(outcome)) => outcome,
                Ok(None) | Err(_) => Err(Error::new(ErrorKind::Closed, "the host is closed")),
            }
        };
        let opening = outcome.boxed().shared();
        states.insert(id, State::Opening(number, opening.clone()));
        opening
    }

    /// Records how an opening ended, unless the lane was forgotten meanwhile.
    fn settle(&self, (id, name): (TopicLane, &str), number: u64, failures: u32, outcome: &Result<Arc<Lane>>) {
        let mut states = self.states.write();
        let current = matches!(states.get(&id), Some(State::Opening(n, _)) if *n == number);
        match outcome {
            Ok(lane) if !current => lane.abort(),
            Ok(lane) => {
                self.shared.metrics.runtime.opened(true);
                self.tasks.spawn(upkeep::of_lane(Arc::downgrade(lane), self.shared.clone()));
                states.insert(id, State::Open(lane.clone()));
            }
            Err(error) => {
                self.shared.metrics.runtime.opened(false);
                tracing::warn!(lane = %id, %error, "{name} could not be opened");
                if current {
                    states.insert(id, State::Failed(backoff::after(&self.shared.env, error, failures + 1)));
                }
            }
        }
    }
}

impl State {
    /// A future of the lane, of one that is open already too; `None` if there is none to come.
    fn outcome(&self) -> Option<Opening> {
        match self {
            State::Opening(_, opening) => Some(opening.clone()),
            State::Open(lane) => Some(futures::future::ready(Ok(lane.clone())).boxed().shared()),
            State::Failed(_) => None,
        }
    }
}

fn lanes_of(topic: TopicId) -> std::ops::RangeInclusive<TopicLane> {
    TopicLane { topic, lane: 0 }..=TopicLane { topic, lane: LaneId::MAX }
}

fn abort_all(states: impl IntoIterator<Item = State>) {
    for state in states {
        if let State::Open(lane) = state {
            lane.abort();
        }
    }
}

/// A lane that could not be opened has nothing to close; one that was fenced before has lost what it had, and said so then.
async fn close_one(opening: Opening) -> Result<()> {
    let Ok(lane) = opening.await else { return Ok(()) };
    let led = lane.leads();
    match lane.close().await {
        Err(e) if e.kind() == ErrorKind::NotLeader && !led => Ok(()),
        outcome => outcome,
    }
}

async fn attempt(
    lanes: Weak<Lanes>,
    permits: Arc<Semaphore>,
    shared: Shared,
    topic: Arc<Topic>,
    id: TopicLane,
    number: u64,
    failures: u32,
) -> Result<Arc<Lane>> {
    let _permit = permits.acquire_owned().await.expect("this semaphore is never closed");
    let name = topic.lane_name(id.lane);
    let opening = AssertUnwindSafe(Lane::open(shared, topic, id.lane)).catch_unwind();
    let outcome = opening.await.unwrap_or_else(|_| Err(panicked(&name)));
    match lanes.upgrade() {
        Some(lanes) => lanes.settle((id, &name), number, failures, &outcome),
        None => outcome.iter().for_each(|lane| lane.abort()),
    }
    outcome.map_err(|error| Error::new(error.kind(), format!("{name} could not be opened")).with_source(error))
}

fn panicked(name: &str) -> Error {
    Error::new(ErrorKind::Unavailable, format!("opening {name} panicked; it is tried again after a while"))
}
