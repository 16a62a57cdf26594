//! All sessions, bounded.
//!
//! Two locks: one over the index, held for a look-up or an eviction, and one for each session, held while a request
//! is taken up or answered. None is held across a wait, and the index is never asked for while a session is locked.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::ResponseError;
use parking_lot::Mutex;
use tidegate::env::{Env, Instant, now};
use tidegate::metrics::Metrics;

use super::session::{Session, Size, next_epoch};
use super::{Asked, Claim, PartitionKey};
use crate::config::Limits;
use crate::wire::fetch::PartitionAnswer;

/// What a request is to the sessions.
#[derive(Debug)]
pub(crate) enum Context {
    /// No session is wanted.
    Sessionless,
    /// All partitions are named, and a session is opened once they are answered.
    Full { by_id: bool },
    /// What changed is named.
    Incremental { id: i32, session: Arc<Mutex<Session>>, epoch: i32 },
}

/// The sessions of a broker.
pub(crate) struct FetchSessions {
    most: usize,
    most_bytes: usize,
    /// A session that was silent for longer goes first; one that is younger gives way to none.
    quiet: Duration,
    env: Env,
    metrics: Arc<Metrics>,
    index: Mutex<Index>,
}

#[derive(Default)]
struct Index {
    entries: HashMap<i32, Entry>,
    partitions: usize,
    bytes: usize,
}

struct Entry {
    session: Arc<Mutex<Session>>,
    opened: Instant,
    used: Instant,
    size: Size,
}

impl FetchSessions {
    pub(crate) fn new(limits: &Limits, env: Env, metrics: Arc<Metrics>) -> Self {
        Self {
            most: limits.fetch_sessions as usize,
            most_bytes: limits.fetch_session_bytes as usize,
            quiet: Duration::from_millis(limits.fetch_session_quiet_ms),
            env,
            metrics,
            index: Mutex::default(),
        }
    }

    /// Takes up a request: what it is, and all partitions that it is about, in the order in which they should be served.
    pub(crate) fn open(
        &self,
        claim: Claim,
        wanted: Vec<Asked>,
        forgotten: &[PartitionKey],
    ) -> Result<(Context, Vec<Asked>), ResponseError> {
        let context = match claim.epoch {
            0 => Context::Full { by_id: claim.by_id },
            -1 => Context::Sessionless,
            _ => return self.go_on(claim, wanted, forgotten),
        };
        self.close(claim.id);
        Ok((context, wanted))
    }

    /// What is to be told of what was found, and as which session; 0: none.
    pub(crate) fn finish(&self, context: Context, answered: &mut Vec<(Asked, PartitionAnswer)>) -> Result<i32, ResponseError> {
        match context {
            Context::Sessionless => Ok(0),
            Context::Full { by_id } => Ok(self.add(Session::new(by_id, answered))),
            Context::Incremental { id, session, epoch } => {
                let mut session = session.lock();
                if session.epoch != next_epoch(epoch) {
                    return Err(ResponseError::InvalidFetchSessionEpoch);
                }
                answered.retain(|(asked, answer)| session.tell(&asked.key, answer));
                Ok(id)
            }
        }
    }

    fn go_on(&self, claim: Claim, wanted: Vec<Asked>, forgotten: &[PartitionKey]) -> Result<(Context, Vec<Asked>), ResponseError> {
        let found = self.index.lock().entries.get(&claim.id).map(|entry| entry.session.clone());
        let session = found.ok_or(ResponseError::FetchSessionIdNotFound)?;
        let (size, grown) = {
            let session = session.lock();
            check(&session, claim)?;
            (session.size(), session.size_with(&wanted))
        };
        if grown != size && !self.grow(claim.id, grown) {
            return Err(ResponseError::FetchSessionIdNotFound);
        }
        let (size, asked) = {
            let mut session = session.lock();
            check(&session, claim)?;
            session.update(wanted, forgotten);
            session.epoch = next_epoch(claim.epoch);
            (session.size(), session.asked())
        };
        if asked.is_empty() {
            self.close(claim.id);
            return Ok((Context::Sessionless, asked));
        }
        self.used(claim.id, size);
        Ok((Context::Incremental { id: claim.id, session, epoch: claim.epoch }, asked))
    }

    /// Keeps a new session if there is room, or can be made. Returns its id, or 0.
    fn add(&self, session: Session) -> i32 {
        let (mut index, now, size) = (self.index.lock(), now(), session.size());
        if !self.make_room(&mut index, 0, size, now) {
            return 0;
        }
        let id = self.new_id(&index);
        index.put(id, Entry { session: Arc::new(Mutex::new(session)), opened: now, used: now, size });
        self.count(&index);
        id
    }

    /// Whether there is room for a session to become so large; where there is none, it goes.
    fn grow(&self, id: i32, to: Size) -> bool {
        let mut index = self.index.lock();
        let fits = self.make_room(&mut index, id, to, now());
        if !fits && index.remove(id) {
            self.metrics.fetch.session_evictions.inc();
        }
        self.count(&index);
        fits
    }

    fn used(&self, id: i32, size: Size) {
        let mut index = self.index.lock();
        index.resize(id, size);
        if let Some(entry) = index.entries.get_mut(&id) {
            entry.used = now();
        }
        self.count(&index);
    }

    fn close(&self, id: i32) {
        let mut index = self.index.lock();
        index.remove(id);
        self.count(&index);
    }

    /// Makes room for session `id`, 0 for a new one, to have this size.
    fn make_room(&self, index: &mut Index, id: i32, size: Size, now: Instant) -> bool {
        if size.bytes > self.most_bytes {
            return false;
        }
        loop {
            let has = index.entries.get(&id).map_or(0, |entry| entry.size.bytes);
            let sessions = index.entries.len() + usize::from(id == 0);
            if sessions <= self.most && index.bytes - has + size.bytes <= self.most_bytes {
                return true;
            }
            let Some(victim) = index.victim(id, size, now, self.quiet) else { return false };
            index.remove(victim);
            self.metrics.fetch.session_evictions.inc();
        }
    }

    /// An id that nobody has or can guess.
    fn new_id(&self, index: &Index) -> i32 {
        loop {
            let id = (self.env.nonce().0 as i32) & i32::MAX;
            if id != 0 && !index.entries.contains_key(&id) {
                return id;
            }
        }
    }

    fn count(&self, index: &Index) {
        let metrics = &self.metrics.fetch;
        metrics.sessions.set(index.entries.len() as i64);
        metrics.session_partitions.set(index.partitions as i64);
        metrics.session_bytes.set(index.bytes as i64);
    }
}

/// Whether the request is the next one of the session.
fn check(session: &Session, claim: Claim) -> Result<(), ResponseError> {
    if session.epoch != claim.epoch {
        return Err(ResponseError::InvalidFetchSessionEpoch);
    }
    if session.by_id != claim.by_id {
        return Err(ResponseError::FetchSessionTopicIdError);
    }
    Ok(())
}

impl Index {
    fn put(&mut self, id: i32, entry: Entry) {
        self.partitions += entry.size.partitions;
        self.bytes += entry.size.bytes;
        self.entries.insert(id, entry);
    }

    fn remove(&mut self, id: i32) -> bool {
        let Some(entry) = self.entries.remove(&id) else { return false };
        self.partitions -= entry.size.partitions;
        self.bytes -= entry.size.bytes;
        true
    }

    fn resize(&mut self, id: i32, size: Size) {
        if let Some(entry) = self.entries.get_mut(&id) {
            self.partitions = self.partitions - entry.size.partitions + size.partitions;
            self.bytes = self.bytes - entry.size.bytes + size.bytes;
            entry.size = size;
        }
    }

    /// The session that gives way to one of `size`: the longest silent, if for long enough, else the smallest that is no longer young.
    fn victim(&self, but: i32, size: Size, now: Instant, quiet: Duration) -> Option<i32> {
        let others = || self.entries.iter().filter(move |(id, _)| **id != but);
        let silent = others().filter(|(_, entry)| now - entry.used > quiet).min_by_key(|(_, entry)| entry.used);
        let smallest = || {
            let grown_up = others().filter(|(_, entry)| now - entry.opened > quiet);
            grown_up.min_by_key(|(id, entry)| (entry.size.partitions, **id)).filter(|(_, entry)| entry.size.partitions < size.partitions)
        };
        silent.or_else(smallest).map(|(id, _)| *id)
    }
}
