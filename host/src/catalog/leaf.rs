//! The slices of a leaf.

use super::SliceEntry;
use crate::codec::{FormatError, Reader, Writer};
use crate::segment::SliceMeta;

/// Ten variable-length integers of at least a byte, two timestamps, a checksum.
const MIN_ENTRY_LEN: usize = 16;

pub(super) fn encode(w: &mut Writer, slices: &[SliceEntry]) {
    w.uvarint(slices.len() as u64);
    let (mut slot, mut timestamp) = (0, 0);
    for entry in slices {
        let slice = &entry.slice;
        w.uvarint(entry.slot.wrapping_sub(slot)).uvarint(u64::from(entry.epoch)).uvarint(entry.prior_bytes);
        w.uvarint(u64::from(slice.partition)).uvarint(slice.base_offset as u64);
        w.uvarint(slice.next_offset.wrapping_sub(slice.base_offset) as u64);
        w.uvarint(slice.position).uvarint(slice.len).uvarint(u64::from(slice.batch_count));
        w.varint(slice.first_timestamp.wrapping_sub(timestamp));
        w.varint(slice.max_timestamp.wrapping_sub(slice.first_timestamp));
        w.u32(slice.crc32).uvarint(slice.index_position).uvarint(u64::from(slice.index_len));
        (slot, timestamp) = (entry.slot, slice.max_timestamp);
    }
}

pub(super) fn decode(r: &mut Reader<'_>) -> Result<Vec<SliceEntry>, FormatError> {
    let count = r.varint_count(MIN_ENTRY_LEN)?;
    let mut slices: Vec<SliceEntry> = Vec::with_capacity(count);
    let (mut slot, mut timestamp) = (0u64, 0);
    for _ in 0..count {
        let entry = entry(r, slot, timestamp)?;
        entry.slice.check().map_err(|problem| r.error(problem))?;
        let order = |e: &SliceEntry| (e.slot, e.slice.partition);
        r.check(slices.last().is_none_or(|last| order(last) < order(&entry)), "slices are not in slot and partition order")?;
        (slot, timestamp) = (entry.slot, entry.slice.max_timestamp);
        slices.push(entry);
    }
    Ok(slices)
}

fn entry(r: &mut Reader<'_>, last_slot: u64, last_timestamp: i64) -> Result<SliceEntry, FormatError> {
    let slot = last_slot.checked_add(r.uvarint()?).filter(|slot| *slot < u64::MAX).ok_or_else(|| r.error("slot past the last one"))?;
    let (epoch, prior_bytes) = (r.uvarint_as()?, r.uvarint()?);
    let (partition, base_offset) = (r.uvarint_as()?, r.uvarint_as::<i64>()?);
    let next_offset = base_offset.wrapping_add(r.uvarint()? as i64);
    let (position, len, batch_count) = (r.uvarint()?, r.uvarint()?, r.uvarint_as()?);
    let first_timestamp = last_timestamp.wrapping_add(r.varint()?);
    let max_timestamp = first_timestamp.wrapping_add(r.varint()?);
    let (crc32, index_position, index_len) = (r.u32()?, r.uvarint()?, r.uvarint_as()?);
    let slice = SliceMeta {
        partition,
        base_offset,
        next_offset,
        position,
        len,
        batch_count,
        first_timestamp,
        max_timestamp,
        crc32,
        index_position,
        index_len,
    };
    Ok(SliceEntry { slot, epoch, slice, prior_bytes })
}
