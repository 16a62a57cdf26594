//! Idempotent producers: each sends its batches in order to whichever writer takes them, and whatever it does not know to
//! be committed it sends again.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use rand::Rng;
use rand::rngs::StdRng;
use tidegate::log::lane::{Appended, Lane};
use tidegate::record::testing::{TestRecord, batch_of, set};
use tidegate::types::PartitionId;

use crate::PARTITIONS;
use crate::history::History;

const CLIENTS: usize = 4;
/// Batches of a client between the oldest that is not acknowledged and the newest, as Kafka's clients have it.
const WINDOW: u64 = 5;

/// All of them.
pub(crate) struct Clients {
    all: Vec<Arc<Client>>,
    history: Arc<History>,
}

/// A connection to a lane that a writer leads; another life of the writer is another one.
pub(crate) type Session = u64;

struct Client {
    id: i64,
    partition: PartitionId,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next_number: u64,
    next_sequence: i32,
    /// Not acknowledged, in order.
    open: VecDeque<Batch>,
    session: Session,
    /// So many of the open ones were sent in this session.
    sent: usize,
}

#[derive(Clone)]
struct Batch {
    number: u64,
    sequence: i32,
    ids: Vec<u64>,
}

impl Clients {
    pub(crate) fn new(history: Arc<History>) -> Self {
        let client =
            |number: usize| Client { id: 10 + number as i64, partition: number as PartitionId % PARTITIONS, state: Mutex::default() };
        Self { all: (0..CLIENTS).map(|number| Arc::new(client(number))).collect(), history }
    }

    /// One of them sends its next batch to this lane.
    pub(crate) async fn send(&self, rng: &mut StdRng, lane: &Arc<Lane>, session: Session) {
        let client = self.all[rng.random_range(0..self.all.len())].clone();
        let count = rng.random_range(1..4);
        let Some(batch) = client.next(session, || (0..count).map(|_| self.history.new_id()).collect()) else { return };
        match client.append(lane, &batch).await {
            Err(_) => client.refused(session, batch.number),
            Ok(appended) => {
                let history = self.history.clone();
                tokio::spawn(async move { client.settle(session, batch, appended, &history).await });
            }
        }
    }

    /// Sends all that is open until it is acknowledged: there is nothing now that could stop it.
    pub(crate) async fn finish(&self, seed: u64, lane: &Arc<Lane>) {
        let session = self.history.new_id();
        for client in &self.all {
            while let Some(batch) = client.next(session, Vec::new) {
                let appended = client.append(lane, &batch).await;
                let appended = appended.unwrap_or_else(|e| panic!("seed {seed}: batch {} of producer {}: {e}", batch.number, client.id));
                client.settle(session, batch, appended, &self.history).await;
            }
            assert!(client.state.lock().open.is_empty(), "seed {seed}: producer {} waits for acknowledgements", client.id);
        }
    }
}

impl Client {
    /// What it sends next in this session: what is open first; something new only within the window, and if there is anything.
    fn next(&self, session: Session, new: impl FnOnce() -> Vec<u64>) -> Option<Batch> {
        let mut state = self.state.lock();
        if state.session != session {
            (state.session, state.sent) = (session, 0);
        }
        let oldest = state.open.front().map_or(state.next_number, |batch| batch.number);
        if state.sent == state.open.len() && state.next_number < oldest + WINDOW {
            let batch = Batch { number: state.next_number, sequence: state.next_sequence, ids: new() };
            if !batch.ids.is_empty() {
                state.next_number += 1;
                state.next_sequence += batch.ids.len() as i32;
                state.open.push_back(batch);
            }
        }
        let batch = state.open.get(state.sent).cloned()?;
        state.sent += 1;
        Some(batch)
    }

    async fn append(&self, lane: &Lane, batch: &Batch) -> tidegate::Result<Appended> {
        let records = batch.ids.iter().map(|id| TestRecord { timestamp: 0, key: None, value: Some(id.to_be_bytes().to_vec()) }).collect();
        lane.append(self.partition, set(&[batch_of(records).producer(self.id, 0, batch.sequence)])).await
    }

    async fn settle(&self, session: Session, batch: Batch, appended: Appended, history: &History) {
        match appended.committed.wait().await {
            Ok(()) => {
                history.acked(self.partition, appended.base_offset, &batch.ids);
                self.acked(batch.number);
            }
            Err(_) => self.refused(session, batch.number),
        }
    }

    fn acked(&self, number: u64) {
        let mut state = self.state.lock();
        if let Some(at) = state.open.iter().position(|batch| batch.number == number) {
            state.open.remove(at);
            state.sent -= usize::from(at < state.sent);
        }
    }

    /// From this batch on everything is sent again.
    fn refused(&self, session: Session, number: u64) {
        let mut state = self.state.lock();
        let at = state.open.iter().position(|batch| batch.number == number);
        if let Some(at) = at.filter(|_| state.session == session) {
            state.sent = state.sent.min(at);
        }
    }
}
