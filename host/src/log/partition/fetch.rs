//! Reading whole batches across chunks and extents.
//!
//! A fetch plans the chunks that it needs, asks for all of them at once (so that neighbours share requests),
//! then takes their batches in order. It is downloaded no further than what was asked for reaches: when half
//! of it is found, only what lies in memory is added.

use bytes::Bytes;

use super::{Fetched, Offsets, Partition};
use crate::cache::{Access, ChunkRef, Layout, Requested};
use crate::error::Result;
use crate::log::Extent;
use crate::types::Offset;

/// One fetch gives at most so many bytes (or one batch, where that is larger), whatever was asked for.
const MAX_FETCH_BYTES: usize = 64 << 20;

/// A chunk that a fetch needs.
struct Planned {
    extent: Extent,
    layout: Layout,
    span: usize,
    requested: Requested,
}

/// A fetch while it runs.
pub(super) struct Gathered {
    pub(super) chunks: Vec<Bytes>,
    pub(super) len: usize,
    /// Where to go on.
    pub(super) next_offset: Offset,
    /// Bytes of the partition up to there, trimmed ones included.
    pub(super) position: u64,
    /// Whether it waited for the store.
    pub(super) missed: bool,
}

/// What more there is to take.
enum Progress {
    Full,
    More,
}

impl Partition {
    pub(super) async fn fetch_once(&self, offset: Offset, max_bytes: usize, at_least_one: bool) -> Result<Fetched> {
        let offsets = self.readable(offset)?;
        let max_bytes = max_bytes.min(MAX_FETCH_BYTES);
        let nothing = offset == offsets.high_watermark || (max_bytes == 0 && !at_least_one);
        let mut got = Gathered { chunks: Vec::new(), len: 0, next_offset: offset, position: 0, missed: false };
        if !nothing {
            let access = self.access(offset);
            self.gather(offsets, max_bytes, at_least_one, access, &mut got).await?;
            self.after_fetch(offset, &got).await;
        }
        // Records that were trimmed while they were read are not given out.
        self.readable(offset)?;
        Ok(Fetched { offsets, chunks: got.chunks, len: got.len, next_offset: got.next_offset })
    }

    async fn gather(&self, offsets: Offsets, max_bytes: usize, at_least_one: bool, access: Access, got: &mut Gathered) -> Result<()> {
        while got.next_offset < offsets.high_watermark {
            let wanted = max_bytes.saturating_sub(got.len);
            let enough = got.len > 0 && got.len >= max_bytes / 2;
            let plan = if enough {
                Ok(self.plan_here(got.next_offset, wanted as u64, access))
            } else {
                self.plan(got.next_offset, wanted as u64, offsets.high_watermark, access).await
            };
            let plan = match plan {
                // What was found in front of the damage is good: the next fetch meets the error.
                Err(_) if got.len > 0 => return Ok(()),
                plan => plan?,
            };
            if plan.is_empty() {
                return Ok(());
            }
            for planned in plan {
                match self.take(planned, offsets, max_bytes, at_least_one, got).await {
                    Ok(Progress::More) => {}
                    Err(e) if got.len == 0 => return Err(e),
                    Ok(Progress::Full) | Err(_) => return Ok(()),
                }
            }
        }
        Ok(())
    }

    /// The chunks from `offset` on that hold about `bytes`, all asked for.
    async fn plan(&self, mut offset: Offset, bytes: u64, below: Offset, access: Access) -> Result<Vec<Planned>> {
        let (mut plan, mut covered) = (Vec::new(), 0);
        while plan.is_empty() || (covered < bytes && offset < below) {
            let Some(extent) = self.extent_at(offset).await? else { break };
            self.0.state.lock().observe_slice(extent.slice.len);
            let layout = self.0.shared.cache.layout(&extent.object, &extent.slice, access.gather).await?;
            for span in layout.span_of(offset)..layout.spans().len() {
                if !plan.is_empty() && covered >= bytes {
                    break;
                }
                let chunk = ChunkRef { object: &extent.object, slice: &extent.slice, layout: &layout, span };
                let requested = self.0.shared.cache.request(chunk, access);
                covered += layout.remaining_in(span, offset);
                plan.push(Planned { extent: extent.clone(), layout: layout.clone(), span, requested });
            }
            offset = extent.slice.next_offset;
        }
        Ok(plan)
    }

    /// The chunk of `offset`, if it takes no request and no lookup.
    fn plan_here(&self, offset: Offset, bytes: u64, access: Access) -> Vec<Planned> {
        let here = || {
            let extent = match self.0.state.lock().find(offset) {
                super::state::Whereabouts::Here(extent) => extent,
                super::state::Whereabouts::Older => self.0.older.known(offset)?,
                super::state::Whereabouts::Nowhere => return None,
            };
            let layout = self.0.shared.cache.layout_here(&extent.object, &extent.slice)?;
            let span = layout.span_of(offset);
            let chunk = ChunkRef { object: &extent.object, slice: &extent.slice, layout: &layout, span };
            let chunk = self.0.shared.cache.request_here(chunk, access)?;
            Some(Planned { extent, layout, span, requested: Requested::Here(chunk) })
        };
        if bytes < crate::record::BATCH_HEADER_LEN as u64 { Vec::new() } else { here().into_iter().collect() }
    }

    async fn take(&self, planned: Planned, offsets: Offsets, max_bytes: usize, at_least_one: bool, got: &mut Gathered) -> Result<Progress> {
        let Planned { extent, layout, span, requested } = planned;
        got.missed |= matches!(requested, Requested::Wait(_));
        let chunk = requested.chunk().await?;
        let room = max_bytes.saturating_sub(got.len);
        let read = chunk.read(got.next_offset, offsets.high_watermark, room, at_least_one && got.len == 0, &mut got.chunks);
        got.len += read.len;
        let place = layout.spans()[span];
        got.position = extent.prior_bytes + (place.position - extent.slice.position) + read.end_in_chunk;
        if let Some(next_offset) = read.next_offset {
            got.next_offset = next_offset;
        }
        if !read.exhausted {
            return Ok(Progress::Full);
        }
        let end = layout.spans().get(span + 1).map_or(extent.slice.next_offset, |next| next.base_offset);
        got.next_offset = got.next_offset.max(end);
        Ok(Progress::More)
    }

    pub(super) async fn warm_once(&self, offset: Offset, bytes: u64) -> Result<()> {
        let offsets = self.readable(offset)?;
        let (mut from, mut left) = (offset, bytes.min(self.0.shared.settings.cache_bytes));
        let access = Access { admit: true, gather: false };
        while left > 0 && from < offsets.high_watermark {
            let plan = self.plan(from, left.min(MAX_FETCH_BYTES as u64 / 4), offsets.high_watermark, access).await?;
            let Some(last) = plan.last() else { break };
            from = last.layout.spans().get(last.span + 1).map_or(last.extent.slice.next_offset, |next| next.base_offset);
            for planned in plan {
                left = left.saturating_sub(planned.layout.spans()[planned.span].len);
                planned.requested.chunk().await?;
            }
        }
        Ok(())
    }
}
