//! What every format shares: bytes in chunks, bounded big-endian reading, writing, checksum arithmetic.
//!
//! Whatever is read here came from a network, a disk or a store, so nothing in it is trusted: a [`Reader`]
//! never reads past its end, and a count is checked against the bytes that remain before anything is
//! allocated for it. Multi-byte integers are big-endian, checksums are CRC-32 (IEEE) unless a format says otherwise.

use std::sync::Arc;

use bytes::Bytes;

mod checksum;
mod error;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use checksum::{crc32_combine, crc32_of_rest};
pub use error::{FormatError, FormatErrorKind, FormatProblem};
pub use reader::Reader;
pub use writer::Writer;

/// The bytes of an object to be written: shared chunks, never joined, and their checksum, never recomputed.
#[derive(Clone, Debug)]
pub struct Body {
    chunks: Arc<Vec<Bytes>>,
    len: u64,
    crc32: u32,
}

impl Body {
    /// Chunks whose CRC-32 (IEEE, as by crc32fast) over all bytes is already known.
    pub fn with_crc32(chunks: Vec<Bytes>, crc32: u32) -> Self {
        let len = chunks.iter().map(|c| c.len() as u64).sum();
        Self { chunks: Arc::new(chunks), len, crc32 }
    }

    /// The chunks in order.
    pub fn chunks(&self) -> &[Bytes] {
        &self.chunks
    }

    /// The chunks in order, shared.
    pub fn shared_chunks(&self) -> Arc<Vec<Bytes>> {
        self.chunks.clone()
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// CRC-32 (IEEE) of all bytes.
    pub fn crc32(&self) -> u32 {
        self.crc32
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        let crc32 = crc32fast::hash(&bytes);
        Self::with_crc32(vec![bytes], crc32)
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}
