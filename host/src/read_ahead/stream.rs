//! One sequential reader, as far as a host can tell.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;

use super::{Fetch, Frontier, Order, Rate, Surroundings};
use crate::cache::{ChunkCache, Reader, Ticket, Waste};
use crate::env::{self, Instant};
use crate::policy::{ReadAheadDecision, ReadAheadPolicy, ReadAheadView};
use crate::types::Offset;

/// Fetches after which a stream counts as sequential.
const SEQUENTIAL: u32 = 2;
/// Silent for so many of its usual pauses, a stream is left.
const SILENT_PAUSES: u32 = 8;
/// But not before so long.
const SILENT_AT_LEAST: Duration = Duration::from_millis(500);

pub(super) struct Stream {
    id: u64,
    cache: Arc<ChunkCache>,
    reader: Arc<Reader>,
    policy: Option<Box<dyn ReadAheadPolicy>>,
    last_offset: Offset,
    next: Frontier,
    run_fetches: u32,
    run_bytes: u64,
    last_fetch_bytes: u64,
    misses: u32,
    pace: Rate,
    last_fetch: Option<Instant>,
    usual_pause: Duration,
    admit: bool,
    /// How far prefetches were issued.
    frontier: Frontier,
    walk: Option<AbortHandle>,
    tickets: Vec<Ticket>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(walk) = &self.walk {
            walk.abort();
        }
        self.tickets.clear();
        self.cache.abandon(&self.reader);
    }
}

impl Stream {
    pub(super) fn new(id: u64, cache: Arc<ChunkCache>, reader: Arc<Reader>) -> Self {
        Self {
            id,
            cache,
            reader,
            policy: None,
            last_offset: -1,
            next: Frontier::default(),
            run_fetches: 0,
            run_bytes: 0,
            last_fetch_bytes: 0,
            misses: 0,
            pace: Rate::default(),
            last_fetch: None,
            usual_pause: Duration::ZERO,
            admit: true,
            frontier: Frontier::default(),
            walk: None,
            tickets: Vec::new(),
        }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn position(&self) -> u64 {
        self.next.position
    }

    /// Whether a fetch at `offset` is this reader's next, or its last once more.
    pub(super) fn continues(&self, offset: Offset) -> bool {
        offset == self.next.offset || offset == self.last_offset
    }

    pub(super) fn admits(&self) -> bool {
        self.admit
    }

    pub(super) fn fetched(&mut self, fetch: &Fetch) {
        let now = env::now();
        if let Some(last) = self.last_fetch.replace(now) {
            let pause = now.duration_since(last);
            self.usual_pause = if self.run_fetches < SEQUENTIAL { pause } else { (self.usual_pause * 3 + pause) / 4 };
        }
        self.run_fetches = self.run_fetches.saturating_add(1);
        self.run_bytes += fetch.bytes;
        self.last_fetch_bytes = fetch.bytes;
        self.misses = self.misses.saturating_add(fetch.missed.into());
        self.pace.add(fetch.bytes);
        self.last_offset = fetch.offset;
        self.next = fetch.next;
        self.tickets.retain(|t| !t.is_done());
        if fetch.missed || self.frontier.position < self.next.position {
            // What had been read ahead here is gone or never came: begin at the reader again.
            self.frontier = self.next;
        }
    }

    /// Whether its reader has been silent for longer than it ever is.
    pub(super) fn is_left(&self) -> bool {
        let silent = self.last_fetch.map_or(Duration::MAX, |at| env::now().duration_since(at));
        silent > SILENT_AT_LEAST.max(self.usual_pause * SILENT_PAUSES)
    }

    pub(super) fn rest(&mut self) {
        if let Some(policy) = &mut self.policy {
            policy.rest();
        }
    }

    pub(super) fn order(
        &mut self,
        around: &Surroundings,
        waste: &Waste,
        policy: impl FnOnce() -> Box<dyn ReadAheadPolicy>,
    ) -> Option<Order> {
        if self.run_fetches < SEQUENTIAL {
            return None;
        }
        let view = self.view(around, waste);
        let decision = self.policy.get_or_insert_with(policy).decide(&view);
        self.admit = decision.admit;
        let ahead = ahead_bytes(&decision, around);
        let target = self.next.position.saturating_add(ahead);
        let bytes = target.saturating_sub(self.frontier.position);
        if bytes == 0 || self.walk.as_ref().is_some_and(|w| !w.is_finished()) {
            return None;
        }
        Some(Order { stream: self.id, from: self.frontier, bytes, admit: decision.admit, reader: self.reader.clone() })
    }

    fn view(&mut self, around: &Surroundings, waste: &Waste) -> ReadAheadView {
        let store = self.cache.store_pace();
        ReadAheadView {
            run_fetches: self.run_fetches,
            run_bytes: self.run_bytes,
            last_fetch_bytes: self.last_fetch_bytes,
            pace_bytes_per_s: self.pace.per_s(),
            lag_bytes: around.lag_bytes,
            ready_bytes: self.reader.ready(),
            in_flight_bytes: self.reader.in_flight(),
            misses: self.misses,
            evicted_bytes: waste.evicted(),
            abandoned_bytes: waste.abandoned(),
            store_first_byte_us: store.first_byte_us,
            store_bytes_per_s: store.bytes_per_s,
            slice_bytes: around.slice_bytes,
            budget_free_bytes: self.cache.prefetch_free_bytes(),
            cache_free_permille: self.cache.free_permille(),
            arrival_bytes_per_s: around.arrival_bytes_per_s,
        }
    }

    pub(super) fn walking(&mut self, task: AbortHandle) {
        self.walk = Some(task);
    }

    pub(super) fn walked(&mut self, at: Frontier, tickets: Vec<Ticket>) {
        if at.position > self.frontier.position {
            self.frontier = at;
        }
        self.tickets.extend(tickets);
    }
}

/// The larger of the two, within the host's bound and what there is.
fn ahead_bytes(decision: &ReadAheadDecision, around: &Surroundings) -> u64 {
    let slices = around.slice_bytes.saturating_mul(decision.slices.into());
    decision.bytes.max(slices).min(around.limit_bytes).min(around.lag_bytes)
}
