//! Opening a lane: read the manifest, walk the log, fence, claim.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, watch};

use super::catalog::Catalog;
use super::checkpoint::ObjectWriter;
use super::keys::Keys;
use super::manifest::{self, StoredManifest};
use super::producers::Producers;
use super::recent::{Rate, Recent};
use super::state::{Phase, State};
use super::upload::create_own;
use super::walk::Walk;
use super::{Inner, Lane, partitions, snapshot, sweep, task, view};
use crate::buffer::Plan;
use crate::catalog::Manifest;
use crate::env;
use crate::error::{Error, ErrorKind, Result};
use crate::log::{Event, Shared, Topic};
use crate::segment::{self, Header, Identity};
use crate::types::{LaneId, Nonce, TopicLane, WINDOW};

/// Tries of an opening, each from the manifest on, before another opener is let win.
const ATTEMPTS: u32 = 8;
/// Slots that an opening tries to fence before it gives up.
const FENCE_ATTEMPTS: u32 = 256;
/// Pause before another try, jittered and growing with the tries.
const PAUSE: Duration = Duration::from_millis(20);

/// A lane claimed: its manifest names this opening.
pub(super) struct Claim {
    pub(super) stored: StoredManifest,
    pub(super) nonce: Nonce,
    producers: Producers,
    snapshots: snapshot::Leftovers,
}

impl Lane {
    /// Takes the lead of a lane: walks its log, fences what an older leader has in flight, claims the next epoch, and starts its task.
    /// [`Corrupt`](ErrorKind::Corrupt) names the object that is gone or damaged; nothing is written then.
    pub async fn open(shared: Shared, topic: Arc<Topic>, lane: LaneId) -> Result<Arc<Self>> {
        let id = TopicLane { topic: topic.id, lane };
        let claim = claim(&shared, &Keys::new(id), &topic, lane).await?;
        let epoch = claim.stored.manifest.epoch;
        let inner = Arc::new(Inner::new(shared, topic, id, claim));
        let task = tokio::spawn(task::run(inner.clone())).abort_handle();
        tracing::info!(topic = %inner.topic.name, lane = %id, epoch, "leading");
        let _ = inner.shared.events.send(Event::LeaderGained(id, epoch));
        Ok(Arc::new(Lane { inner, task }))
    }
}

/// Claims a lane for a new nonce.
pub(super) async fn claim(shared: &Shared, keys: &Keys, topic: &Topic, lane: LaneId) -> Result<Claim> {
    for attempt in 1..=ATTEMPTS {
        match try_claim(shared, keys, topic, lane).await {
            Err(error) if error.kind() == ErrorKind::NotLeader && attempt < ATTEMPTS => {
                tracing::info!(topic = %topic.name, lane, %error, attempt, "claim refused; starting over");
                tokio::time::sleep(shared.env.jittered(PAUSE * attempt)).await;
            }
            other => return other,
        }
    }
    unreachable!("the last attempt returns")
}

async fn try_claim(shared: &Shared, keys: &Keys, topic: &Topic, lane: LaneId) -> Result<Claim> {
    let id = TopicLane { topic: topic.id, lane };
    let old = manifest::read(shared, keys).await?;
    if (old.manifest.topic, old.manifest.lane) != (id.topic, id.lane) {
        return Err(Error::new(
            ErrorKind::Corrupt,
            format!("manifest {:?} is that of another lane: restore it from a backup", keys.manifest()),
        ));
    }
    if old.manifest.tombstone {
        return Err(Error::new(ErrorKind::NotFound, format!("{} is deleted", topic.lane_name(lane))));
    }
    let nonce = shared.env.nonce();
    let mut walk = Walk::from_manifest(shared, keys, &old).await?;
    walk.advance(shared, keys, id).await?;
    fence(shared, keys, (topic, lane), nonce, &mut walk).await?;
    let mut next = Manifest {
        nonce,
        counter: old.manifest.counter + 1,
        epoch: walk.epoch,
        checkpoint: walk.slot,
        partitions: walk.partitions.into_values().collect(),
        ..old.manifest.clone()
    };
    next.fences.extend(walk.fences);
    let writer = ObjectWriter { shared, keys, epoch: next.epoch, nonce };
    let mut snapshots = snapshot::Leftovers::default();
    snapshots.named(&old.manifest.producers);
    if !walk.entries.is_empty() {
        next.producers = snapshot::save(&writer, walk.slot, walk.producers.committed_appends()).await?;
        snapshots.named(&next.producers);
    }
    writer.extend(&mut next, walk.entries).await?;
    Ok(Claim { stored: manifest::replace(shared, keys, &old, next).await?, nonce, producers: walk.producers, snapshots })
}

/// Puts a fence into the first free slot, walking on from whatever is found there instead.
async fn fence(shared: &Shared, keys: &Keys, (topic, lane): (&Topic, LaneId), nonce: Nonce, walk: &mut Walk) -> Result<()> {
    let id = TopicLane { topic: topic.id, lane };
    let patience = Duration::from_millis(shared.settings.upload_deadline_ms);
    for _ in 0..FENCE_ATTEMPTS {
        let identity = Identity { topic: id.topic, lane: id.lane, slot: walk.slot, epoch: walk.epoch + 1, nonce };
        let body = segment::fence(identity, shared.env.unix_ms());
        let header = Header::decode(&body.chunks()[0]).expect("encoded just now");
        let key = keys.slot(walk.slot);
        match settle(shared, &key, &body, &header, patience).await {
            Ok(None) => {
                walk.fences.push(walk.slot);
                walk.epoch += 1;
                walk.slot += WINDOW;
                return Ok(());
            }
            Ok(Some(_)) => walk.advance(shared, keys, id).await?,
            Err(error) => return Err(error),
        }
    }
    let name = topic.lane_name(lane);
    Err(Error::new(ErrorKind::Unavailable, format!("{name}: no slot could be fenced in {FENCE_ATTEMPTS} tries: another writer is faster")))
}

/// Creates the fence or learns who has the slot; the same bytes are retried until either is known.
async fn settle(shared: &Shared, key: &str, body: &crate::codec::Body, header: &Header, patience: Duration) -> Result<Option<Identity>> {
    let deadline = env::now() + patience;
    let mut pause = PAUSE;
    loop {
        let error = match tokio::time::timeout_at(deadline, create_own(&*shared.store, key, body, header)).await {
            Ok(Ok(owner)) => return Ok(owner),
            Ok(Err(error)) if !error.kind.is_transient() => return Err(error.into()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("put {key:?}: no answer within {} ms", patience.as_millis()),
        };
        if env::now() >= deadline {
            return Err(Error::new(ErrorKind::Unavailable, format!("the lane could not be fenced: {error}")));
        }
        tokio::time::sleep(shared.env.jittered(pause)).await;
        pause = (pause * 2).min(patience);
    }
}

impl Inner {
    fn new(shared: Shared, topic: Arc<Topic>, id: TopicLane, claim: Claim) -> Self {
        let Claim { stored, nonce, mut producers, snapshots } = claim;
        producers.bound(shared.settings.producers_per_lane as usize);
        let m = &stored.manifest;
        let keys = Keys::new(id);
        let catalog = Arc::new(Catalog::new(shared.store.clone(), keys.clone(), m.pages.clone()));
        let committed: std::collections::BTreeMap<_, _> = m.partitions.iter().map(|p| (p.partition, *p)).collect();
        let partitions = partitions::at(&shared, &topic, id.lane, &committed, &catalog);
        let context = view::context(&shared, &topic, id.lane);
        let now = env::now();
        let state = State {
            phase: Phase::Leading,
            buffer: None,
            plan: Plan::Ask,
            flush_requested: false,
            log_ends: committed.iter().map(|(p, at)| (*p, at.next_offset)).collect(),
            producers,
            next_slot: m.checkpoint,
            pending: VecDeque::new(),
            committed_slot: m.checkpoint,
            committed,
            since_checkpoint: 0,
            wanted_starts: Default::default(),
            checkpoint_requested: false,
            arrivals: Rate::new(now),
            acks_us: Recent::new(),
            uploads_us: Recent::new(),
            shadow: shared.policies.shadow(topic.name.as_str(), &context),
        };
        Self {
            look: tokio::sync::Mutex::default(),
            uploads: Semaphore::new(shared.settings.uploads_per_lane as usize),
            store_is_full: AtomicBool::new(false),
            flush_policy: Mutex::new(shared.policies.flush(topic.name.as_str(), &context)),
            index_policy: Mutex::new(shared.policies.index(topic.name.as_str(), &context)),
            epoch: m.epoch,
            state: Mutex::new(state),
            manifest: tokio::sync::Mutex::new(stored),
            sweep: Mutex::new(sweep::Dead::default()),
            snapshots: Mutex::new(snapshots),
            wake: Notify::new(),
            progress: watch::Sender::new(0),
            opened: now,
            shared,
            topic,
            id,
            keys,
            nonce,
            partitions: ArcSwap::from_pointee(partitions),
            catalog,
        }
    }
}
