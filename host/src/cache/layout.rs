//! How a slice is cut into chunks.
//!
//! A slice of at most one chunk is a single one, found without its index: the catalog has its checksum. A
//! larger slice is cut at index blocks, so that each chunk is whole batches and is verified on its own. The
//! cut follows from the index and the chunk size alone, so that a flush and a download agree on it.

use std::sync::Arc;

use crate::index::{Chunk, SliceIndex};
use crate::segment::SliceMeta;
use crate::types::{Offset, TimestampMs};

/// A chunk's place in its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Position of its first byte in the object.
    pub position: u64,
    /// Its size in bytes.
    pub len: u64,
    /// Offset of its first record.
    pub base_offset: Offset,
    /// Largest record timestamp in it.
    pub max_timestamp: TimestampMs,
}

impl Span {
    /// Position behind its last byte.
    pub fn end(&self) -> u64 {
        self.position + self.len
    }
}

/// The chunks of a slice.
#[derive(Clone, Debug)]
pub enum Layout {
    /// One chunk.
    Whole(Span),
    /// Several, cut at index blocks.
    Indexed(Arc<IndexedSlice>),
}

/// The index of a slice and the chunks that follow from it.
#[derive(Debug)]
pub struct IndexedSlice {
    index: Arc<SliceIndex>,
    spans: Box<[Span]>,
}

impl Layout {
    /// The layout of a slice that fits one chunk; `None` if its index is needed.
    pub fn whole(slice: &SliceMeta, chunk_bytes: u64) -> Option<Self> {
        let span = Span { position: slice.position, len: slice.len, base_offset: slice.base_offset, max_timestamp: slice.max_timestamp };
        (slice.len <= chunk_bytes).then_some(Self::Whole(span))
    }

    /// The chunks in order.
    pub fn spans(&self) -> &[Span] {
        match self {
            Self::Whole(span) => std::slice::from_ref(span),
            Self::Indexed(slice) => &slice.spans,
        }
    }

    /// The chunk that contains `offset`; the first one for offsets before the slice.
    pub fn span_of(&self, offset: Offset) -> usize {
        self.spans().partition_point(|s| s.base_offset <= offset).saturating_sub(1)
    }

    /// The part of a chunk that a reader of `offset` needs, in bytes, as closely as is known without its bytes.
    pub fn remaining_in(&self, span: usize, offset: Offset) -> u64 {
        let span = self.spans()[span];
        match self {
            Self::Whole(_) => span.len,
            Self::Indexed(slice) => {
                let block = slice.index.entries()[slice.index.floor(offset)];
                span.end() - block.position.clamp(span.position, span.end())
            }
        }
    }

    /// The index, where the slice was large enough to need it.
    pub fn index(&self) -> Option<&Arc<IndexedSlice>> {
        match self {
            Self::Whole(_) => None,
            Self::Indexed(slice) => Some(slice),
        }
    }
}

impl IndexedSlice {
    /// Cuts a slice into chunks of about `chunk_bytes`: whole blocks.
    pub fn new(index: Arc<SliceIndex>, chunk_bytes: u64) -> Self {
        let entries = index.entries();
        let span = |chunk: Chunk| {
            let blocks = &entries[chunk.blocks.clone()];
            Span {
                position: chunk.range.start,
                len: chunk.len(),
                base_offset: blocks[0].offset,
                max_timestamp: blocks.iter().map(|b| b.max_timestamp).max().expect("a chunk has at least one block"),
            }
        };
        let spans = index.chunks(chunk_bytes).map(span).collect();
        Self { index, spans }
    }

    /// The index.
    pub fn index(&self) -> &SliceIndex {
        &self.index
    }

    /// Memory that it takes, in bytes.
    pub fn weight(&self) -> u64 {
        (self.index.resident_bytes() + self.spans.len() * size_of::<Span>()) as u64 + 256
    }
}
