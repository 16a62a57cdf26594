//! Checks on a record set before anything of it is stored.

use bytes::BytesMut;

use super::header::crc_of;
use super::records::check_plain;
use super::{BATCH_HEADER_LEN, BatchHeader, BatchMeta, Compression, RecordError, RecordSet, time};
use crate::types::TimestampMs;

impl RecordSet {
    /// Checks every batch: length, magic, CRC-32C, last offset delta against the record count, and for
    /// uncompressed batches the records' own lengths and offset deltas. `max_batch_bytes` bounds each batch.
    /// Refuses the whole set if anything is wrong. What a client may set in the attributes (transactions, control
    /// batches) is for the broker to judge.
    ///
    /// What headers claim about time is put right in place, and their CRC with it: records carry timestamps of their own until
    /// [`Self::assign`] gives them that of the append, and the largest of uncompressed records is computed.
    pub fn validate(mut bytes: BytesMut, max_batch_bytes: usize) -> Result<Self, RecordError> {
        if bytes.is_empty() {
            return Err(RecordError::Empty);
        }
        // Clients send one at a time.
        let mut batches = Vec::with_capacity(1);
        let mut position = 0;
        while position < bytes.len() {
            let (mut header, largest) = check_batch(&bytes[position..], position, max_batch_bytes)?;
            let end = position + header.size as usize;
            time::correct(&mut bytes[position..end], &mut header, largest);
            batches.push(BatchMeta { position, header });
            position = end;
        }
        Ok(Self { bytes, batches })
    }
}

/// Checks the batch that `bytes` begin with. Returns its header, and its largest timestamp as far as anybody knows.
fn check_batch(bytes: &[u8], position: usize, max_batch_bytes: usize) -> Result<(BatchHeader, TimestampMs), RecordError> {
    let header = BatchHeader::parse_at(bytes, position)?;
    let batch = whole_batch(bytes, &header, position)?;
    if batch.len() > max_batch_bytes {
        return Err(RecordError::TooLarge { position, size: batch.len(), limit: max_batch_bytes });
    }
    check_crc_at(batch, &header, position)?;
    check_producer(&header).map_err(|problem| RecordError::malformed(position, problem))?;
    let largest = match header.compression() {
        Compression::None => {
            check_plain(&header, &batch[BATCH_HEADER_LEN..]).map_err(|problem| RecordError::malformed(position, problem))?
        }
        _ => header.max_timestamp,
    };
    Ok((header, largest))
}

/// Checks the CRC-32C of one whole batch against its parsed header.
pub fn check_crc(batch: &[u8], header: &BatchHeader) -> Result<(), RecordError> {
    check_crc_at(batch, header, 0)
}

fn check_crc_at(batch: &[u8], header: &BatchHeader, position: usize) -> Result<(), RecordError> {
    match crc_of(batch) {
        computed if computed == header.crc => Ok(()),
        computed => Err(RecordError::WrongCrc { position, stored: header.crc, computed }),
    }
}

/// The bytes of the batch that `bytes` begin with.
pub(super) fn whole_batch<'a>(bytes: &'a [u8], header: &BatchHeader, position: usize) -> Result<&'a [u8], RecordError> {
    bytes
        .get(..header.size as usize)
        .ok_or_else(|| RecordError::malformed(position, format!("its length says {} bytes, {} are left", header.size, bytes.len())))
}

/// A batch with a producer id has an epoch and a sequence.
fn check_producer(header: &BatchHeader) -> Result<(), String> {
    let BatchHeader { producer_id, producer_epoch, base_sequence, .. } = *header;
    if producer_id >= 0 && (producer_epoch < 0 || base_sequence < 0) {
        return Err(format!("producer id {producer_id} with epoch {producer_epoch} and sequence {base_sequence}: all count from 0"));
    }
    Ok(())
}
