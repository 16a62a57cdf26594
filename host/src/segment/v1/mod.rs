//! KafScale's published segment format, version 1: read, and written as an export.
//!
//! One partition an object (`.kfs`), and its index beside it (`.index`). Nothing of the index is covered by a
//! checksum and its positions have 32 bits, so it is only ever a hint: where it fails a check it is built again
//! from the data. Everything is big-endian; the checksum is CRC-32C. Its keys cannot be fenced, so it never is
//! the log itself.

use crate::types::{Offset, PartitionId};

mod data;
mod index;
#[cfg(test)]
mod tests;

pub use data::{ExportError, Segment, read, write};
pub use index::{Index, IndexEntry};

/// Version of both formats.
const VERSION: u16 = 1;
/// Position of the first batch in a segment.
pub const HEADER_LEN: usize = 32;
/// Size of what follows the batches.
pub const FOOTER_LEN: usize = 16;

/// Key of a segment. The topic's name was checked where it was made.
pub fn data_key(namespace: &str, topic: &str, partition: PartitionId, base_offset: Offset) -> String {
    format!("{namespace}/{topic}/{partition}/segment-{base_offset:020}.kfs")
}

/// Key of the index beside it.
pub fn index_key(namespace: &str, topic: &str, partition: PartitionId, base_offset: Offset) -> String {
    format!("{namespace}/{topic}/{partition}/segment-{base_offset:020}.index")
}
