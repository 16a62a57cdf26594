//! The write buffer of a lane, and the memory that all of them share.

/// Bounds the memory of uncommitted batches.
#[derive(Debug)]
pub struct BufferBudget {}
