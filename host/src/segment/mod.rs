//! Segment objects, version 2: one slice per partition, indexes and footer inside, everything covered by a
//! checksum. docs/format.md holds the byte tables.
//!
//! ```text
//! header | slices (the body) | slice indexes | footer | trailer
//! ```
//!
//! A fence is the same without slices. Writing passes once over the batches and copies none of them; one read
//! of the tail opens an object; a block of a slice is verified on its own by its index.

use crate::types::{Epoch, LaneId, Nonce, Slot, TopicId};

mod footer;
mod header;
mod seal;
mod slice;
#[cfg(test)]
mod tests;
mod trailer;
pub mod v1;
mod verify;

pub use crate::codec::{FormatError, FormatErrorKind};
pub use footer::{FENCE_LEN, Footer, FooterError, ProducerAppend, TAIL_READ_BYTES, read_footer};
pub use header::{HEADER_LEN, Header, LogObjectKind};
pub use seal::{Sealed, SliceInput, fence, seal};
pub use slice::SliceMeta;
pub use verify::{Verified, verify};

/// Who wrote an object, and where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Topic of the lane.
    pub topic: TopicId,
    /// The lane.
    pub lane: LaneId,
    /// The object's slot in the lane.
    pub slot: Slot,
    /// Epoch of its writer.
    pub epoch: Epoch,
    /// Nonce of its writer (of a fence: of the opening that made it).
    pub nonce: Nonce,
}
