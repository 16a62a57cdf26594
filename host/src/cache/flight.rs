//! Loads on the way: one for each chunk or index, however many wait for it.
//!
//! A load belongs to nobody: it runs in a task of its own, so a reader that gives up takes nothing from those
//! who wait beside it. When the last of them is gone the load is called off. Errors are told to all waiters
//! and never kept.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Notify, watch};

use super::chunk::Chunk;
use super::layout::IndexedSlice;
use super::piece::Piece;
use super::prefetch::Reservation;
use super::regions::Key;
use crate::error::{Error, ErrorKind, Result};

/// What a load brings.
#[derive(Clone, Debug)]
pub(super) enum Loaded {
    Chunk(Chunk),
    Layout(Arc<IndexedSlice>),
}

type Outcome = Option<Result<Loaded>>;

pub(super) struct Flight {
    outcome: watch::Sender<Outcome>,
    demanded: AtomicBool,
}

/// A place in the queue for a load. Dropping it gives the place up.
#[derive(Debug)]
pub struct Ticket(watch::Receiver<Outcome>);

impl Ticket {
    /// Whether the load is over, one way or the other.
    pub fn is_done(&self) -> bool {
        self.0.borrow().is_some() || self.0.has_changed().is_err()
    }

    async fn landed(mut self) -> Result<Loaded> {
        let outcome = self.0.wait_for(Option::is_some).await.ok().and_then(|o| o.clone());
        outcome.unwrap_or_else(|| Err(Error::new(ErrorKind::Closed, "the load of a chunk was dropped: this host is stopping")))
    }

    pub(super) async fn chunk(self) -> Result<Chunk> {
        match self.landed().await? {
            Loaded::Chunk(chunk) => Ok(chunk),
            Loaded::Layout(_) => unreachable!("a position holds either a chunk or an index"),
        }
    }

    pub(super) async fn layout(self) -> Result<Arc<IndexedSlice>> {
        match self.landed().await? {
            Loaded::Layout(slice) => Ok(slice),
            Loaded::Chunk(_) => unreachable!("a position holds either a chunk or an index"),
        }
    }
}

impl Flight {
    /// Whether a reader waits for it, rather than a prefetch.
    pub(super) fn is_demanded(&self) -> bool {
        self.demanded.load(Ordering::Acquire)
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.outcome.receiver_count() == 0
    }

    /// Resolves when the last ticket was dropped.
    pub(super) async fn abandoned(&self) {
        self.outcome.closed().await;
    }

    pub(super) fn land(&self, outcome: Result<Loaded>) {
        self.outcome.send_replace(Some(outcome));
    }
}

/// A load that waits to become part of a request.
pub(super) struct Item {
    pub(super) piece: Piece,
    pub(super) flight: Arc<Flight>,
    /// Whether a reader's load may enter the cache for good.
    pub(super) admit: bool,
    /// Of a prefetch.
    pub(super) reservation: Option<Reservation>,
}

/// Loads of one object that gather before they are sent.
pub(super) struct Queue {
    pub(super) items: Vec<Item>,
    pub(super) hurry: Arc<Notify>,
    pub(super) demanded: bool,
    pub(super) gather: bool,
}

#[derive(Default)]
pub(super) struct Flights {
    by_key: HashMap<Key, Arc<Flight>>,
    queues: HashMap<Arc<str>, Queue>,
}

/// Why something is loaded.
pub(super) enum Purpose {
    /// A reader waits. `gather`: neighbours are likely to be asked for in a moment.
    Read { admit: bool, gather: bool },
    /// A reader will come.
    Ahead(Reservation),
}

impl Flights {
    /// Joins the load if it is on the way. A prefetch has no need to: `None`, too.
    pub(super) fn join(&mut self, key: &Key, purpose: &Purpose) -> Option<Ticket> {
        let flight = self.by_key.get(key)?;
        let ticket = Ticket(flight.outcome.subscribe());
        if matches!(purpose, Purpose::Read { .. })
            && !flight.demanded.swap(true, Ordering::AcqRel)
            && let Some(queue) = self.queues.get_mut(&key.object)
        {
            queue.demanded = true;
        }
        Some(ticket)
    }

    pub(super) fn contains(&self, key: &Key) -> bool {
        self.by_key.contains_key(key)
    }

    /// Adds a load that is not on the way yet; says whether it opened its object's queue, which needs a dispatcher then.
    pub(super) fn add(&mut self, piece: Piece, purpose: Purpose) -> (Ticket, bool) {
        let (demanded, admit, gather, reservation) = match purpose {
            Purpose::Read { admit, gather } => (true, admit, gather, None),
            Purpose::Ahead(reservation) => (false, reservation.admit(), true, Some(reservation)),
        };
        let (outcome, ticket) = watch::channel(None);
        let flight = Arc::new(Flight { outcome, demanded: AtomicBool::new(demanded) });
        self.by_key.insert(piece.key.clone(), flight.clone());
        let opened = !self.queues.contains_key(&piece.key.object);
        let queue = self.queues.entry(piece.key.object.clone()).or_insert_with(|| Queue {
            items: Vec::new(),
            hurry: Arc::default(),
            demanded: false,
            gather: false,
        });
        queue.demanded |= demanded;
        queue.gather |= gather;
        queue.items.push(Item { piece, flight, admit, reservation });
        (Ticket(ticket), opened)
    }

    pub(super) fn queue(&self, object: &Arc<str>) -> Option<&Queue> {
        self.queues.get(object)
    }

    /// The gathered loads of an object, without those that nobody waits for any more.
    pub(super) fn take(&mut self, object: &Arc<str>) -> Vec<Item> {
        let Some(queue) = self.queues.remove(object) else { return Vec::new() };
        let (gone, wanted): (Vec<Item>, Vec<Item>) = queue.items.into_iter().partition(|i| i.flight.is_abandoned());
        for item in &gone {
            self.by_key.remove(&item.piece.key);
        }
        wanted
    }

    /// Forgets loads if nobody waits for any of them.
    pub(super) fn call_off(&mut self, items: &[Item]) -> bool {
        let all_gone = items.iter().all(|i| i.flight.is_abandoned());
        if all_gone {
            self.remove(items);
        }
        all_gone
    }

    pub(super) fn remove(&mut self, items: &[Item]) {
        for item in items {
            self.remove_one(&item.piece.key, &item.flight);
        }
    }

    pub(super) fn remove_one(&mut self, key: &Key, flight: &Arc<Flight>) {
        if self.by_key.get(key).is_some_and(|f| Arc::ptr_eq(f, flight)) {
            self.by_key.remove(key);
        }
    }
}
