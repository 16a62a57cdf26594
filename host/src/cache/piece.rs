//! What is downloaded, and how it is checked before anybody sees it.

use std::sync::Arc;

use bytes::Bytes;

use super::chunk::Chunk;
use super::flight::Loaded;
use super::layout::{IndexedSlice, Span};
use super::regions::Key;
use crate::error::{Error, ErrorKind, Result};
use crate::segment::SliceMeta;

/// A range of an object with a meaning.
pub(super) struct Piece {
    pub(super) key: Key,
    pub(super) len: u64,
    want: Want,
}

enum Want {
    /// A whole slice, by the checksum that the catalog holds.
    Slice { crc32: u32 },
    /// A chunk of a larger slice, block by block.
    Blocks(Arc<IndexedSlice>),
    /// The index of a slice.
    Index { slice: SliceMeta, chunk_bytes: u64 },
}

impl Piece {
    pub(super) fn slice(key: Key, slice: &SliceMeta) -> Self {
        Self { key, len: slice.len, want: Want::Slice { crc32: slice.crc32 } }
    }

    pub(super) fn blocks(key: Key, span: Span, slice: Arc<IndexedSlice>) -> Self {
        Self { key, len: span.len, want: Want::Blocks(slice) }
    }

    pub(super) fn index(key: Key, slice: &SliceMeta, chunk_bytes: u64) -> Self {
        Self { key, len: u64::from(slice.index_len), want: Want::Index { slice: *slice, chunk_bytes } }
    }

    pub(super) fn end(&self) -> u64 {
        self.key.position + self.len
    }

    /// Checks the piece's bytes. `held`: memory that they keep alive.
    pub(super) fn check(&self, bytes: Bytes, held: u64) -> Result<Loaded> {
        match &self.want {
            Want::Slice { crc32 } => {
                let computed = crc32fast::hash(&bytes);
                if computed != *crc32 {
                    return Err(self.corrupt(format!("crc-32 is {computed:#010x}, the catalog says {crc32:#010x}")));
                }
                self.chunk(bytes, held)
            }
            Want::Blocks(slice) => {
                let index = slice.index();
                let blocks = index.block_at(self.key.position)..index.block_at(self.end() - 1) + 1;
                index.verify(blocks, &bytes).map_err(|e| self.corrupt(e.to_string()))?;
                self.chunk(bytes, held)
            }
            Want::Index { slice, chunk_bytes } => {
                let index = slice.read_index(&bytes).map_err(|e| self.corrupt(e.to_string()))?;
                Ok(Loaded::Layout(Arc::new(IndexedSlice::new(Arc::new(index), *chunk_bytes))))
            }
        }
    }

    fn chunk(&self, bytes: Bytes, held: u64) -> Result<Loaded> {
        Chunk::new(vec![bytes], held).map(Loaded::Chunk).map_err(|problem| self.corrupt(problem))
    }

    fn corrupt(&self, problem: String) -> Error {
        let Key { object, position } = &self.key;
        let what = match self.want {
            Want::Index { .. } => "the index",
            _ => "the records",
        };
        Error::new(
            ErrorKind::Corrupt,
            format!(
                "{what} at bytes {position}..{} of object {object} are damaged: {problem}; other ranges stay readable, \
                 restore this object from a copy of the bucket",
                self.end()
            ),
        )
    }
}
