//! What a partition knows without asking: its offsets, its newest extents, who waits.

use std::collections::VecDeque;

use super::Offsets;
use super::waiters::Waiters;
use crate::error::{Error, ErrorKind, Result};
use crate::log::Extent;
use crate::read_ahead::Rate;
use crate::types::Offset;

/// Extents kept in memory; older ones are looked up.
pub(super) const RECENT_EXTENTS: usize = 64;

pub(super) struct State {
    offsets: Offsets,
    /// The newest extents, without holes from `recent_from` on.
    recent: VecDeque<Extent>,
    recent_from: Offset,
    failed: Option<Error>,
    pub(super) waiters: Waiters,
    pub(super) arrival: Rate,
    /// Typical size of a slice, in bytes; 0 while unknown.
    pub(super) slice_bytes: u64,
    /// Bytes of all slices, trimmed ones included; `None` while unknown.
    pub(super) total_bytes: Option<u64>,
}

/// Where an offset is to be looked for.
pub(super) enum Whereabouts {
    /// In this extent; or it is the next one behind a gap.
    Here(Extent),
    /// In the catalog.
    Older,
    /// At or above the high watermark.
    Nowhere,
}

impl State {
    pub(super) fn new(offsets: Offsets) -> Self {
        Self {
            offsets,
            recent: VecDeque::new(),
            recent_from: offsets.high_watermark,
            failed: None,
            waiters: Waiters::default(),
            arrival: Rate::default(),
            slice_bytes: 0,
            total_bytes: (offsets.high_watermark == 0).then_some(0),
        }
    }

    /// The offsets, or why there are none any more.
    pub(super) fn offsets(&self) -> Result<Offsets> {
        self.failed.clone().map_or(Ok(self.offsets), Err)
    }

    /// The extent is committed: its records become readable.
    pub(super) fn commit(&mut self, extent: Extent) {
        let slice = extent.slice;
        debug_assert!(slice.base_offset >= self.offsets.high_watermark, "extents come in offset order");
        self.offsets.high_watermark = self.offsets.high_watermark.max(slice.next_offset);
        self.total_bytes = Some(extent.prior_bytes + slice.len);
        self.observe_slice(slice.len);
        self.arrival.add(slice.len);
        self.recent.push_back(extent);
        if self.recent.len() > RECENT_EXTENTS
            && let Some(old) = self.recent.pop_front()
        {
            self.recent_from = old.slice.next_offset;
        }
        self.waiters.wake_below(self.offsets.high_watermark);
    }

    pub(super) fn observe_slice(&mut self, len: u64) {
        self.slice_bytes = if self.slice_bytes == 0 { len } else { self.slice_bytes - self.slice_bytes / 8 + len / 8 };
    }

    pub(super) fn set_log_start(&mut self, offset: Offset) {
        self.offsets.log_start = self.offsets.log_start.max(offset.min(self.offsets.high_watermark));
        while self.recent.front().is_some_and(|e| e.slice.next_offset <= self.offsets.log_start)
            && let Some(dead) = self.recent.pop_front()
        {
            self.recent_from = dead.slice.next_offset;
        }
        self.waiters.wake_below(self.offsets.log_start);
    }

    pub(super) fn fail(&mut self, error: Error) {
        self.failed.get_or_insert(error);
        self.recent.clear();
        self.recent_from = self.offsets.high_watermark;
        self.waiters.wake_all();
    }

    /// Whether a waiter for `offset` has nothing to wait for.
    pub(super) fn is_due(&self, offset: Offset) -> bool {
        self.failed.is_some() || offset < self.offsets.high_watermark || offset < self.offsets.log_start
    }

    pub(super) fn find(&self, offset: Offset) -> Whereabouts {
        if offset >= self.offsets.high_watermark {
            return Whereabouts::Nowhere;
        }
        if offset < self.recent_from {
            return Whereabouts::Older;
        }
        let at = self.recent.partition_point(|e| e.slice.next_offset <= offset);
        self.recent.get(at).map_or(Whereabouts::Nowhere, |e| Whereabouts::Here(e.clone()))
    }

    /// The first extent in memory.
    pub(super) fn first_recent(&self) -> Option<Extent> {
        self.recent.front().cloned()
    }

    /// The first extent in memory that ends above `offset` and has a timestamp of at least `timestamp`.
    pub(super) fn recent_at_time(&self, offset: Offset, timestamp: crate::types::TimestampMs) -> Option<Extent> {
        self.recent.iter().find(|e| e.slice.next_offset > offset && e.slice.max_timestamp >= timestamp).cloned()
    }
}

/// The offsets if `offset` lies within them.
pub(super) fn check_range(offsets: Offsets, offset: Offset, partition: &dyn std::fmt::Display) -> Result<Offsets> {
    if (offsets.log_start..=offsets.high_watermark).contains(&offset) {
        return Ok(offsets);
    }
    Err(Error::new(
        ErrorKind::OffsetOutOfRange,
        format!("offset {offset} of {partition} is out of range: it has {}..{}", offsets.log_start, offsets.high_watermark),
    ))
}
