//! From missing chunks to few requests.
//!
//! Loads of one object gather for a moment; neighbours become one ranged GET of bounded size. Readers' loads
//! and prefetches never share a request, so that a reader does not wait for bytes that nobody has asked for
//! yet. Prefetches take turns, and take none while readers keep the store busy.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

use super::flight::{Flights, Item, Loaded, Purpose, Ticket};
use super::pace::Pace;
use super::piece::Piece;
use super::prefetch::Budget;
use super::regions::{Key, Regions};
use crate::env;
use crate::error::{Error, ErrorKind, Result};
use crate::metrics::Metrics;
use crate::store::{GetRange, ObjectStore, StoreError};

/// How long a reader's load waits for its neighbours': a fraction of what a request to S3 takes.
const GATHER: Duration = Duration::from_millis(1);
/// How long a prefetch does.
const PREFETCH_GATHER: Duration = Duration::from_millis(5);
/// Prefetch requests in flight at most.
const PREFETCH_GETS: usize = 16;
/// Readers' requests in flight from which on prefetches wait.
const BUSY_GETS: usize = 16;
/// Unit of the bound on bytes in flight for readers.
const KIB: u64 = 1 << 10;

pub(super) struct Loader {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) regions: Regions,
    pub(super) budget: Arc<Budget>,
    pub(super) pace: Pace,
    flights: Mutex<Flights>,
    max_get_bytes: u64,
    /// Bounds the bytes in flight for readers, in KiB.
    demand: Semaphore,
    demand_limit_kib: u32,
    demand_gets: AtomicUsize,
    demand_done: Notify,
    prefetch_turns: Semaphore,
}

/// How a load was answered.
pub(super) enum Answer {
    Here(Loaded),
    Wait(Ticket),
}

/// Counts a reader's request while it runs.
struct DemandGuard<'a>(&'a Loader);

impl Drop for DemandGuard<'_> {
    fn drop(&mut self) {
        self.0.demand_gets.fetch_sub(1, Ordering::AcqRel);
        self.0.demand_done.notify_waiters();
    }
}

impl Loader {
    pub(super) fn new(
        store: Arc<dyn ObjectStore>,
        metrics: Arc<Metrics>,
        regions: Regions,
        budget: Arc<Budget>,
        max_get_bytes: u64,
    ) -> Arc<Self> {
        let demand_limit_kib = u32::try_from((regions.capacity() / 2).max(4 * max_get_bytes) / KIB).unwrap_or(u32::MAX >> 4);
        Arc::new(Self {
            store,
            metrics,
            regions,
            budget,
            pace: Pace::default(),
            flights: Mutex::default(),
            max_get_bytes,
            demand: Semaphore::new(demand_limit_kib as usize),
            demand_limit_kib,
            demand_gets: AtomicUsize::new(0),
            demand_done: Notify::new(),
            prefetch_turns: Semaphore::new(PREFETCH_GETS),
        })
    }

    /// A chunk or index that was not in the cache a moment ago. `here` looks again, now that no load can land meanwhile.
    pub(super) fn load(self: &Arc<Self>, piece: Piece, purpose: Purpose, here: impl FnOnce(&Self) -> Option<Loaded>) -> Answer {
        let object = piece.key.object.clone();
        let mut flights = self.flights.lock();
        if let Some(loaded) = here(self) {
            return Answer::Here(loaded);
        }
        if let Some(ticket) = flights.join(&piece.key, &purpose) {
            self.metrics.cache.joined.inc();
            if let Some(queue) = flights.queue(&object) {
                queue.hurry.notify_waiters();
            }
            self.demand_done.notify_waiters();
            return Answer::Wait(ticket);
        }
        let demanded = matches!(purpose, Purpose::Read { .. });
        let (ticket, opened) = flights.add(piece, purpose);
        if opened {
            tokio::spawn(self.clone().dispatch(object));
        } else if demanded && let Some(queue) = flights.queue(&object) {
            queue.hurry.notify_waiters();
        }
        Answer::Wait(ticket)
    }

    pub(super) fn is_loading(&self, key: &Key) -> bool {
        self.flights.lock().contains(key)
    }

    /// Runs `f` while no load can land.
    pub(super) fn quiesced<T>(&self, f: impl FnOnce() -> T) -> T {
        let _flights = self.flights.lock();
        f()
    }

    /// Lets an object's loads gather, then sends them.
    async fn dispatch(self: Arc<Self>, object: Arc<str>) {
        let Some((hurry, _, _)) = self.queue_state(&object) else { return };
        let hurried = hurry.notified();
        tokio::pin!(hurried);
        hurried.as_mut().enable();
        if self.queue_state(&object).is_some_and(|(_, demanded, _)| !demanded) {
            let _ = tokio::time::timeout(PREFETCH_GATHER, hurried).await;
        }
        if self.queue_state(&object).is_some_and(|(_, demanded, gather)| demanded && gather) {
            tokio::time::sleep(GATHER).await;
        }
        let items = self.flights.lock().take(&object);
        for run in runs(items, self.max_get_bytes) {
            tokio::spawn(self.clone().download(object.clone(), run));
        }
    }

    fn queue_state(&self, object: &Arc<str>) -> Option<(Arc<Notify>, bool, bool)> {
        self.flights.lock().queue(object).map(|q| (q.hurry.clone(), q.demanded, q.gather))
    }

    /// One GET for neighbours, called off when nobody waits for any of them.
    async fn download(self: Arc<Self>, object: Arc<str>, items: Vec<Item>) {
        let run = Run { loader: &self, items };
        let range = run.items[0].piece.key.position..run.items[run.items.len() - 1].piece.end();
        let Some(answer) = self.answer(&object, &run.items, &range).await else { return };
        let answer = answer.map_err(|e| store_error(&object, &range, e)).and_then(|bytes| complete(&object, &range, bytes));
        run.land(answer);
        self.settled();
    }

    /// What the store answers; `None` once nobody waits any more.
    async fn answer(&self, object: &str, items: &[Item], range: &Range<u64>) -> Option<Result<Bytes, StoreError>> {
        let request = self.request(object, items, range.start, range.end - range.start);
        tokio::pin!(request);
        loop {
            tokio::select! {
                biased;
                answer = &mut request => return Some(answer),
                () = all_abandoned(items) => {
                    if self.flights.lock().call_off(items) {
                        return None;
                    }
                }
            }
        }
    }

    async fn request(&self, object: &str, items: &[Item], start: u64, len: u64) -> Result<Bytes, StoreError> {
        let _turn = self.prefetch_turn(items).await;
        let demanded = is_demanded(items);
        let permits = u32::try_from(len.div_ceil(KIB)).unwrap_or(u32::MAX).min(self.demand_limit_kib);
        let _room = if demanded { self.demand.acquire_many(permits).await.ok() } else { None };
        let _counted = demanded.then(|| {
            self.demand_gets.fetch_add(1, Ordering::AcqRel);
            DemandGuard(self)
        });
        let started = env::now();
        let answer = self.store.get(object, GetRange::Bounded(start..start + len)).await?;
        self.pace.observe(len, env::now().duration_since(started));
        self.metrics.cache.gets.inc();
        self.metrics.cache.get_bytes.inc_by(answer.bytes.len() as u64);
        self.metrics.cache.coalesced.inc_by(items.len() as u64 - 1);
        Ok(if answer.position == start { answer.bytes } else { Bytes::new() })
    }

    /// A prefetch waits for its turn, unless a reader joins it meanwhile.
    async fn prefetch_turn(&self, items: &[Item]) -> Option<SemaphorePermit<'_>> {
        let turn = async {
            let permit = self.prefetch_turns.acquire().await.ok();
            self.until(|| self.demand_gets.load(Ordering::Acquire) < BUSY_GETS).await;
            permit
        };
        tokio::select! {
            biased;
            () = self.until(|| is_demanded(items)) => None,
            permit = turn => permit,
        }
    }

    /// Waits for a condition that changes when a reader's load starts or ends.
    async fn until(&self, condition: impl Fn() -> bool) {
        loop {
            let changed = self.demand_done.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if condition() {
                return;
            }
            changed.await;
        }
    }

    /// Puts what came where it belongs, then tells those who wait.
    fn land(&self, item: Item, outcome: Result<Loaded>) {
        let mut flights = self.flights.lock();
        let Item { piece, flight, admit, reservation } = item;
        if let Ok(loaded) = &outcome {
            match (loaded, reservation) {
                (Loaded::Layout(slice), _) => self.regions.put_layout(piece.key.clone(), slice.clone()),
                (Loaded::Chunk(chunk), None) => self.regions.load(piece.key.clone(), chunk.clone(), admit),
                (Loaded::Chunk(chunk), Some(reservation)) if flight.is_demanded() => {
                    self.budget.used_in_flight(reservation);
                    self.regions.load(piece.key.clone(), chunk.clone(), admit);
                }
                (Loaded::Chunk(_), Some(reservation)) if flight.is_abandoned() => self.budget.abandoned_in_flight(reservation),
                (Loaded::Chunk(chunk), Some(reservation)) => self.budget.land(piece.key.clone(), chunk.clone(), reservation),
            }
        }
        flights.remove_one(&piece.key, &flight);
        drop(flights);
        flight.land(outcome);
    }
}

/// The loads of one request. If its task ends before they landed, those who wait are told.
struct Run<'a> {
    loader: &'a Loader,
    items: Vec<Item>,
}

impl Run<'_> {
    fn land(mut self, answer: Result<Bytes>) {
        let bytes = match answer {
            Ok(bytes) => bytes,
            Err(e) => return self.fail(&e),
        };
        let start = self.items[0].piece.key.position;
        for item in std::mem::take(&mut self.items) {
            let first = (item.piece.key.position - start) as usize;
            let part = self.own(&bytes, first..first + item.piece.len as usize);
            let outcome = item.piece.check(part.0, part.1);
            if outcome.is_err() {
                self.loader.metrics.cache.corrupt.inc();
            }
            self.loader.land(item, outcome);
        }
    }

    /// A part of an answer, and the memory that it keeps alive. Copied, unless it is nearly all of the answer: a cached
    /// chunk must not hold its neighbours' memory.
    fn own(&self, bytes: &Bytes, range: Range<usize>) -> (Bytes, u64) {
        if range.len() >= bytes.len() - bytes.len() / 16 {
            return (bytes.slice(range), bytes.len() as u64);
        }
        self.loader.metrics.cache.copied_bytes.inc_by(range.len() as u64);
        let len = range.len() as u64;
        (Bytes::copy_from_slice(&bytes[range]), len)
    }

    fn fail(&mut self, error: &Error) {
        for item in std::mem::take(&mut self.items) {
            self.loader.land(item, Err(error.clone()));
        }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.fail(&Error::new(ErrorKind::Closed, "a request to the store was dropped: this host is stopping"));
    }
}

fn is_demanded(items: &[Item]) -> bool {
    items.iter().any(|i| i.flight.is_demanded())
}

async fn all_abandoned(items: &[Item]) {
    for item in items {
        item.flight.abandoned().await;
    }
}

fn store_error(object: &str, range: &Range<u64>, e: StoreError) -> Error {
    let kind = Error::from(e.clone()).kind();
    Error::new(kind, format!("cannot read bytes {}..{} of object {object}", range.start, range.end)).with_source(e)
}

fn complete(object: &str, range: &Range<u64>, bytes: Bytes) -> Result<Bytes> {
    let expected = range.end - range.start;
    if bytes.len() as u64 == expected {
        return Ok(bytes);
    }
    Err(Error::new(
        ErrorKind::Corrupt,
        format!(
            "bytes {}..{} of object {object}: the store answered {} bytes, {expected} were expected; the object is cut short, \
             restore it from a copy of the bucket",
            range.start,
            range.end,
            bytes.len()
        ),
    ))
}

/// Loads in runs of neighbours, each of at most `max_bytes` (or one load, where that is larger).
fn runs(mut items: Vec<Item>, max_bytes: u64) -> Vec<Vec<Item>> {
    items.sort_by_key(|i| i.piece.key.position);
    let mut runs: Vec<Vec<Item>> = Vec::new();
    for item in items {
        match runs.last_mut() {
            Some(run) if joins(run, &item, max_bytes) => run.push(item),
            _ => runs.push(vec![item]),
        }
    }
    runs
}

fn joins(run: &[Item], item: &Item, max_bytes: u64) -> bool {
    let (first, last) = (&run[0], &run[run.len() - 1]);
    last.piece.end() == item.piece.key.position
        && item.piece.end() - first.piece.key.position <= max_bytes
        && last.flight.is_demanded() == item.flight.is_demanded()
}
