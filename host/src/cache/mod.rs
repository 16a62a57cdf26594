//! The chunk cache: verified bytes of slices, weighed by what they really hold.

/// Chunks and slice indexes, with single-flight loading and a byte budget for prefetch.
#[derive(Debug)]
pub struct ChunkCache {}
