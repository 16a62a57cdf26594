//! The catalog of a lane in memory: the pages that the manifest lists, and the slices behind its checkpoint.
//!
//! A lookup goes down the tree, one page a level; the last few pages are kept, since readers move forward.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::{Mutex, RwLock};

use super::keys::Keys;
use crate::catalog::{Coverage, Page, PageRef, SliceEntry};
use crate::error::{Error, ErrorKind, Result};
use crate::log::{Extent, ExtentLookup};
use crate::store::{GetRange, ObjectStore};
use crate::types::{Offset, PartitionId, Slot, TimestampMs};

/// Pages kept in memory, of each lane.
const KEPT_PAGES: usize = 8;

pub(super) struct Catalog {
    store: Arc<dyn ObjectStore>,
    keys: Keys,
    index: RwLock<Index>,
    kept: Mutex<VecDeque<(String, Arc<Page>)>>,
}

#[derive(Default)]
struct Index {
    pages: Vec<PageRef>,
    /// Committed slices that no page lists, in slot order.
    tail: Vec<SliceEntry>,
}

/// What a lookup looks for in one partition.
#[derive(Clone, Copy)]
struct Wanted {
    partition: PartitionId,
    offset: Offset,
    timestamp: TimestampMs,
}

impl Wanted {
    fn in_page(&self, page: &PageRef) -> bool {
        let covers = |c: &Coverage| c.next_offset > self.offset && c.max_timestamp >= self.timestamp;
        page.coverage.binary_search_by_key(&self.partition, |c| c.partition).is_ok_and(|i| covers(&page.coverage[i]))
    }

    fn is(&self, entry: &SliceEntry) -> bool {
        let slice = &entry.slice;
        slice.partition == self.partition && slice.next_offset > self.offset && slice.max_timestamp >= self.timestamp
    }
}

impl Catalog {
    pub(super) fn new(store: Arc<dyn ObjectStore>, keys: Keys, pages: Vec<PageRef>) -> Self {
        Self { store, keys, index: RwLock::new(Index { pages, tail: Vec::new() }), kept: Mutex::default() }
    }

    /// Adds a slice just committed.
    pub(super) fn push(&self, entry: SliceEntry) {
        self.index.write().tail.push(entry);
    }

    /// The slices that no page lists, of segments before `slot`.
    pub(super) fn tail_before(&self, slot: Slot) -> Vec<SliceEntry> {
        self.index.read().tail.iter().take_while(|e| e.slot < slot).copied().collect()
    }

    /// The pages of a new manifest; they list all slices before `checkpoint`.
    pub(super) fn install(&self, pages: Vec<PageRef>, checkpoint: Slot) {
        let mut index = self.index.write();
        index.pages = pages;
        index.tail.retain(|e| e.slot >= checkpoint);
    }

    pub(super) fn pages(&self) -> Vec<PageRef> {
        self.index.read().pages.clone()
    }

    /// A page, from memory or the store.
    pub(super) async fn page(&self, page: &PageRef) -> Result<Arc<Page>> {
        let key = self.keys.page(page);
        if let Some((_, page)) = self.kept.lock().iter().find(|(k, _)| *k == key) {
            return Ok(page.clone());
        }
        let object = self.store.get(&key, GetRange::Full).await?;
        let page = Arc::new(Page::decode(&object.bytes).map_err(|e| e.in_object(&key))?);
        let mut kept = self.kept.lock();
        kept.push_back((key, page.clone()));
        if kept.len() > KEPT_PAGES {
            kept.pop_front();
        }
        Ok(page)
    }

    async fn find(&self, wanted: Wanted, limit: usize) -> Result<Vec<Extent>> {
        let root = self.index.read().pages.iter().find(|p| wanted.in_page(p)).cloned();
        let entries = match root {
            Some(root) => self.descend(root, &wanted).await?,
            None => self.index.read().tail.iter().filter(|e| wanted.is(e)).take(limit).copied().collect(),
        };
        Ok(entries.iter().take(limit).map(|e| self.extent(e)).collect())
    }

    async fn descend(&self, mut at: PageRef, wanted: &Wanted) -> Result<Vec<SliceEntry>> {
        loop {
            let page = self.page(&at).await?;
            match &*page {
                Page::Leaf(entries) => {
                    let from = entries.iter().position(|e| wanted.is(e)).unwrap_or(entries.len());
                    return Ok(entries[from..].iter().filter(|e| e.slice.partition == wanted.partition).copied().collect());
                }
                Page::Node(children) => {
                    let child = children.iter().find(|c| c.level < at.level && wanted.in_page(c));
                    at = child.cloned().ok_or_else(|| self.broken(&at))?;
                }
            }
        }
    }

    fn broken(&self, page: &PageRef) -> Error {
        let message = format!(
            "catalog page {:?} does not hold what its parent says: restore the object from a backup, or trim beyond its last slot {}",
            self.keys.page(page),
            page.end_slot
        );
        Error::new(ErrorKind::Corrupt, message)
    }

    fn extent(&self, entry: &SliceEntry) -> Extent {
        Extent { object: self.keys.slot(entry.slot), slice: entry.slice, epoch: entry.epoch, prior_bytes: entry.prior_bytes }
    }
}

#[async_trait]
impl ExtentLookup for Catalog {
    async fn extents_from(&self, partition: PartitionId, offset: Offset, limit: usize) -> Result<Vec<Extent>> {
        self.find(Wanted { partition, offset, timestamp: TimestampMs::MIN }, limit).await
    }

    async fn extent_at_time(&self, partition: PartitionId, offset: Offset, timestamp: TimestampMs) -> Result<Option<Extent>> {
        Ok(self.find(Wanted { partition, offset, timestamp }, 1).await?.into_iter().next())
    }
}
