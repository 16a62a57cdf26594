//! Lists of pages, in nodes and in manifests.
//!
//! What a page covers of a partition is written as differences to what the page before it in the list covers
//! of the same partition: where nothing is missing between the two, the first offset takes one byte.

use std::collections::BTreeMap;

use super::{Coverage, PageRef};
use crate::codec::{FormatError, Reader, Writer};
use crate::types::{Nonce, Offset, PartitionId, TimestampMs};

/// A level, three integers of at least a byte, a nonce, a count.
const MIN_REF_LEN: usize = 21;
/// Four integers of at least a byte.
const MIN_COVERAGE_LEN: usize = 4;

/// Of each partition the end of what the pages so far cover.
type Ends = BTreeMap<PartitionId, (Offset, TimestampMs)>;

pub(super) fn encode(w: &mut Writer, pages: &[PageRef]) {
    w.uvarint(pages.len() as u64);
    let (mut ends, mut slot) = (Ends::new(), 0);
    for page in pages {
        w.u8(page.level).uvarint(page.first_slot.wrapping_sub(slot)).uvarint(page.end_slot.wrapping_sub(page.first_slot));
        w.uvarint(u64::from(page.epoch)).u128(page.nonce.0).uvarint(page.coverage.len() as u64);
        slot = page.end_slot;
        let mut next_partition = 0;
        for of in &page.coverage {
            let (offset, timestamp) = ends.insert(of.partition, (of.next_offset, of.max_timestamp)).unwrap_or_default();
            w.uvarint(u64::from(of.partition.wrapping_sub(next_partition)));
            w.varint(of.base_offset.wrapping_sub(offset)).uvarint(of.next_offset.wrapping_sub(of.base_offset) as u64);
            w.varint(of.max_timestamp.wrapping_sub(timestamp));
            next_partition = of.partition.wrapping_add(1);
        }
    }
}

pub(super) fn decode(r: &mut Reader<'_>) -> Result<Vec<PageRef>, FormatError> {
    let count = r.varint_count(MIN_REF_LEN)?;
    let mut pages = Vec::with_capacity(count);
    let (mut ends, mut slot) = (Ends::new(), 0);
    for _ in 0..count {
        let page = page_ref(r, &mut ends, slot)?;
        slot = page.end_slot;
        pages.push(page);
    }
    Ok(pages)
}

fn page_ref(r: &mut Reader<'_>, ends: &mut Ends, slot: u64) -> Result<PageRef, FormatError> {
    let level = r.u8()?;
    let first_slot = slot.checked_add(r.uvarint()?).ok_or_else(|| r.error("slot past the last one"))?;
    let slots = r.uvarint()?;
    let end_slot = first_slot.checked_add(slots).filter(|_| slots > 0).ok_or_else(|| r.error(format!("page of {slots} slots")))?;
    let (epoch, nonce) = (r.uvarint_as()?, Nonce(r.u128()?));
    let count = r.varint_count(MIN_COVERAGE_LEN)?;
    let mut coverage = Vec::with_capacity(count);
    let mut next_partition = 0;
    for _ in 0..count {
        let of = one_coverage(r, ends, next_partition)?;
        next_partition = u64::from(of.partition) + 1;
        coverage.push(of);
    }
    Ok(PageRef { level, first_slot, end_slot, epoch, nonce, coverage })
}

fn one_coverage(r: &mut Reader<'_>, ends: &mut Ends, next_partition: u64) -> Result<Coverage, FormatError> {
    let partition = next_partition.saturating_add(r.uvarint()?);
    let partition = PartitionId::try_from(partition).map_err(|_| r.error(format!("partition {partition} is out of range")))?;
    let (offset, timestamp) = ends.get(&partition).copied().unwrap_or_default();
    let base_offset = offset.wrapping_add(r.varint()?);
    let next_offset = base_offset.wrapping_add(r.uvarint()? as i64);
    let max_timestamp = timestamp.wrapping_add(r.varint()?);
    r.check(0 <= base_offset && base_offset < next_offset, "offsets covered are negative or not in order")?;
    ends.insert(partition, (next_offset, max_timestamp));
    Ok(Coverage { partition, base_offset, next_offset, max_timestamp })
}
