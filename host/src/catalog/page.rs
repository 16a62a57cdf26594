//! A page as a whole: its frame, and what it covers.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use super::{Coverage, Page, leaf, refs};
use crate::codec::{FormatError, Reader, Writer};
use crate::types::{PartitionId, Slot};

const MAGIC: &[u8; 4] = b"KAFP";
const VERSION: u16 = 1;
const LEAF: u16 = 0;
const NODE: u16 = 1;

impl Page {
    /// The encoded page: the same bytes for the same page. Panics if it could not be read again (slices or pages
    /// not in order, offsets below 0).
    pub fn encode(&self) -> Bytes {
        let mut w = Writer::open(MAGIC, VERSION);
        match self {
            Page::Leaf(slices) => leaf::encode(w.u16(LEAF), slices),
            Page::Node(pages) => refs::encode(w.u16(NODE), pages),
        }
        let bytes = w.close();
        assert_eq!(Self::decode(&bytes).as_ref(), Ok(self), "a page is written only if it reads back");
        bytes
    }

    /// Reads an encoded page.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut r = Reader::open("catalog page", bytes, 0, MAGIC, VERSION)?;
        let page = match r.u16()? {
            LEAF => Page::Leaf(leaf::decode(&mut r)?),
            NODE => Page::Node(refs::decode(&mut r)?),
            kind => return Err(r.error(format!("kind {kind}, expected {LEAF} or {NODE}"))),
        };
        r.finish()?;
        Ok(page)
    }

    /// What it covers of each partition, in partition order: the coverage of its [`PageRef`](super::PageRef).
    pub fn coverage(&self) -> Vec<Coverage> {
        let mut covered = BTreeMap::new();
        match self {
            Page::Leaf(slices) => slices.iter().for_each(|entry| {
                let slice = &entry.slice;
                let of_slice = Coverage {
                    partition: slice.partition,
                    base_offset: slice.base_offset,
                    next_offset: slice.next_offset,
                    max_timestamp: slice.max_timestamp,
                };
                cover(&mut covered, of_slice);
            }),
            Page::Node(pages) => pages.iter().flat_map(|page| &page.coverage).for_each(|of_page| cover(&mut covered, *of_page)),
        }
        covered.into_values().collect()
    }

    /// The slots from its first segment to behind its last one; none if it is empty.
    pub fn slots(&self) -> Option<Range<Slot>> {
        match self {
            Page::Leaf(slices) => Some(slices.first()?.slot..slices.last()?.slot + 1),
            Page::Node(pages) => Some(pages.first()?.first_slot..pages.last()?.end_slot),
        }
    }
}

fn cover(covered: &mut BTreeMap<PartitionId, Coverage>, more: Coverage) {
    covered
        .entry(more.partition)
        .and_modify(|all| {
            all.base_offset = all.base_offset.min(more.base_offset);
            all.next_offset = all.next_offset.max(more.next_offset);
            all.max_timestamp = all.max_timestamp.max(more.max_timestamp);
        })
        .or_insert(more);
}
