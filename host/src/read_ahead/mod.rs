//! Reading ahead of sequential readers.
//!
//! A partition's fetches fall into *streams*: a fetch that goes on where an earlier one ended belongs to its
//! stream. From the second fetch on a stream has a policy, which is shown numbers and says how far to stay ahead;
//! the partition carries that out as prefetches, which the cache bounds by a budget of their own.
//!
//! Nobody tells a host that a reader went elsewhere. A stream is left when others are read and it has been
//! silent for several times its usual pause; what was prefetched for it is called off or dropped then, and
//! counted as abandoned.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::task::AbortHandle;

use crate::cache::{ChunkCache, Reader, Ticket, Waste};
use crate::policy::ReadAheadPolicy;
use crate::types::Offset;

mod rate;
mod stream;

pub use rate::Rate;
use stream::Stream;

/// Streams of one partition at most; the least recently read one goes.
pub const MAX_STREAMS: usize = 16;

/// A place in a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    /// Offset of the next record.
    pub offset: Offset,
    /// Bytes of the partition before it, trimmed ones included.
    pub position: u64,
}

/// A fetch that was answered with records.
#[derive(Clone, Copy, Debug)]
pub struct Fetch {
    /// Where it began.
    pub offset: Offset,
    /// Where the next one will begin.
    pub next: Frontier,
    /// Bytes answered.
    pub bytes: u64,
    /// Whether it waited for the store.
    pub missed: bool,
}

/// What the partition knows around a fetch.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// From the end of the fetch to the high watermark, in bytes.
    pub lag_bytes: u64,
    /// Typical size of a slice, in bytes; 0 if unknown.
    pub slice_bytes: u64,
    /// What producers add, in bytes per second.
    pub arrival_bytes_per_s: u64,
    /// How far ahead of one reader the host goes, whatever a policy answers.
    pub limit_bytes: u64,
}

/// Read so far ahead.
#[derive(Debug)]
pub struct Order {
    /// For which stream.
    pub stream: u64,
    /// From here ...
    pub from: Frontier,
    /// ... so many bytes on.
    pub bytes: u64,
    /// Whether it may stay in the cache when it was read.
    pub admit: bool,
    /// Whom it is for.
    pub reader: Arc<Reader>,
}

/// The streams of one partition.
pub struct ReadAhead {
    cache: Arc<ChunkCache>,
    waste: Arc<Waste>,
    streams: Mutex<Streams>,
}

#[derive(Default)]
struct Streams {
    /// The most recently read one first.
    list: Vec<Stream>,
    next_id: u64,
}

impl ReadAhead {
    /// No streams yet.
    pub fn new(cache: Arc<ChunkCache>) -> Self {
        Self { cache, waste: Arc::default(), streams: Mutex::default() }
    }

    /// Whether what a fetch at `offset` loads may stay in the cache: as its stream's policy last said.
    pub fn admits(&self, offset: Offset) -> bool {
        self.streams.lock().list.iter().find(|s| s.continues(offset)).is_none_or(Stream::admits)
    }

    /// Whether a fetch at `offset` continues no stream.
    pub fn is_seek(&self, offset: Offset) -> bool {
        !self.streams.lock().list.iter().any(|s| s.continues(offset))
    }

    /// Takes up a fetch, asks its stream's policy, and says what to prefetch. `policy` makes an instance for a stream
    /// that has shown to be sequential. A reader that has caught up needs nothing, and nobody is asked.
    pub fn observe(&self, fetch: Fetch, around: Surroundings, policy: impl FnOnce() -> Box<dyn ReadAheadPolicy>) -> Option<Order> {
        let mut gone = Vec::new();
        let mut streams = self.streams.lock();
        match streams.list.iter().position(|s| s.continues(fetch.offset)) {
            Some(at) => streams.list[..=at].rotate_right(1),
            None => {
                streams.next_id += 1;
                let id = streams.next_id;
                streams.list.insert(0, Stream::new(id, self.cache.clone(), Reader::new(self.waste.clone())));
            }
        }
        streams.list[0].fetched(&fetch);
        if streams.list.len() > MAX_STREAMS {
            gone.extend(streams.list.pop());
        }
        let mut at = 1;
        while at < streams.list.len() {
            if streams.list[at].is_left() {
                gone.push(streams.list.remove(at));
            } else {
                at += 1;
            }
        }
        let order = if around.lag_bytes > 0 { streams.list[0].order(&around, &self.waste, policy) } else { None };
        drop(streams);
        // Dropped without the lock: a stream calls off its prefetches then.
        drop(gone);
        order
    }

    /// The task that carries out a stream's order: it ends with the stream.
    pub fn walking(&self, stream: u64, task: AbortHandle) {
        match self.streams.lock().list.iter_mut().find(|s| s.id() == stream) {
            Some(stream) => stream.walking(task),
            None => task.abort(),
        }
    }

    /// Where a stream's reader is, in bytes of the partition; `None` once it has left.
    pub fn position_of(&self, stream: u64) -> Option<u64> {
        self.streams.lock().list.iter().find(|s| s.id() == stream).map(Stream::position)
    }

    /// An order was carried out up to `at`, with these loads on the way.
    pub fn walked(&self, stream: u64, at: Frontier, tickets: Vec<Ticket>) {
        if let Some(stream) = self.streams.lock().list.iter_mut().find(|s| s.id() == stream) {
            stream.walked(at, tickets);
        }
    }

    /// Upkeep looks by: a stream whose reader is silent needs no instance of its policy.
    pub fn rest(&self) {
        self.streams.lock().list.iter_mut().for_each(Stream::rest);
    }

    /// Forgets all streams and calls off what they prefetch.
    pub fn clear(&self) {
        let gone = std::mem::take(&mut self.streams.lock().list);
        drop(gone);
    }

    /// Prefetched bytes of this partition that nobody read.
    pub fn waste(&self) -> &Waste {
        &self.waste
    }
}
