//! Record batches to append.

use bytes::BytesMut;
use tidegate::record::testing::batch;

/// Sizes that cases come in.
pub(crate) const SIZES: [(&str, usize); 2] = [("1KiB", 1 << 10), ("64KiB", 64 << 10)];
/// Value of a record, in bytes: a batch of 1 KiB holds one, a batch of 64 KiB as many as fit.
const VALUE: usize = 900;
/// What a batch adds to its records, and a record to its value, at most.
const HEADER: usize = 61;
const RECORD: usize = 12;

/// A valid batch, a little below `size` bytes.
pub(crate) fn of_size(size: usize) -> BytesMut {
    let records = ((size - HEADER) / (VALUE + RECORD)).max(1);
    let batch = batch(records, VALUE).build();
    assert!(batch.len() <= size && batch.len() * 10 > size * 8, "a batch of {} bytes for {size}", batch.len());
    batch
}

/// Copies of one batch, each in memory of its own.
pub(crate) fn copies(template: &BytesMut, count: usize) -> Vec<BytesMut> {
    (0..count).map(|_| BytesMut::from(&template[..])).collect()
}
