//! Chunks: the runs of blocks that are read and cached as one.
//!
//! A slice is divided into cells of `chunk_bytes`, counted from its first byte; the blocks that begin in one
//! cell are one chunk. So chunks are whole blocks, end with their slice, follow from the index alone, and
//! are at most `chunk_bytes` and one block long.

use std::ops::Range;

use super::SliceIndex;

/// A run of whole blocks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chunk {
    /// Which blocks of the index.
    pub blocks: Range<usize>,
    /// Their positions in the object. The start names the chunk.
    pub range: Range<u64>,
}

impl Chunk {
    /// Size in bytes.
    pub fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Never.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}

impl SliceIndex {
    /// The chunk in which a byte lies; a position outside the slice gives the first or the last one. `chunk_bytes` is at least 1.
    pub fn chunk_of(&self, position: u64, chunk_bytes: u64) -> Chunk {
        let start = self.entries[0].position;
        let block = self.block_at(position);
        let cell = (self.entries[block].position - start) / chunk_bytes;
        let cell_of = |position: u64| (position - start) / chunk_bytes;
        let first = self.entries.partition_point(|entry| cell_of(entry.position) < cell);
        let end = self.entries.partition_point(|entry| cell_of(entry.position) <= cell);
        Chunk { blocks: first..end, range: self.range_of(first..end) }
    }

    /// The chunks from the one in which `position` lies to the end of the slice.
    pub fn chunks_from(&self, position: u64, chunk_bytes: u64) -> impl Iterator<Item = Chunk> + '_ {
        let first = self.chunk_of(position, chunk_bytes);
        std::iter::successors(Some(first), move |chunk| {
            let more = chunk.blocks.end < self.entries.len();
            more.then(|| self.chunk_of(chunk.range.end, chunk_bytes))
        })
    }

    /// All chunks of the slice.
    pub fn chunks(&self, chunk_bytes: u64) -> impl Iterator<Item = Chunk> + '_ {
        self.chunks_from(self.entries[0].position, chunk_bytes)
    }
}
