//! Extents that are no longer in memory, as looked up lately.
//!
//! A reader walks forward, so a lookup brings the next extents as well. A few such windows are kept, one or
//! two for each reader that is behind; the least recently used one goes.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::Result;
use crate::log::{Extent, ExtentLookup};
use crate::types::{Offset, PartitionId};

/// Extents that one lookup brings.
const WINDOW_EXTENTS: usize = 64;
/// Windows kept.
const WINDOWS: usize = 8;

struct Window {
    from: Offset,
    extents: Vec<Extent>,
}

impl Window {
    fn find(&self, offset: Offset) -> Option<&Extent> {
        let at = self.extents.partition_point(|e| e.slice.next_offset <= offset);
        self.extents.get(at).filter(|_| offset >= self.from)
    }
}

pub(super) struct Older {
    lookup: Arc<dyn ExtentLookup>,
    partition: PartitionId,
    windows: Mutex<VecDeque<Window>>,
    /// Held during a lookup: many readers at one place ask once.
    asking: tokio::sync::Mutex<()>,
}

impl Older {
    pub(super) fn new(lookup: Arc<dyn ExtentLookup>, partition: PartitionId) -> Self {
        Self { lookup, partition, windows: Mutex::default(), asking: tokio::sync::Mutex::default() }
    }

    /// The extent that contains `offset`, or the next one; `None` if the catalog knows none.
    pub(super) async fn find(&self, offset: Offset) -> Result<Option<Extent>> {
        if let Some(extent) = self.known(offset) {
            return Ok(Some(extent));
        }
        let _asking = self.asking.lock().await;
        if let Some(extent) = self.known(offset) {
            return Ok(Some(extent));
        }
        let extents = self.lookup.extents_from(self.partition, offset, WINDOW_EXTENTS).await?;
        let window = Window { from: offset, extents };
        let found = window.find(offset).cloned();
        if found.is_some() {
            let mut windows = self.windows.lock();
            windows.push_front(window);
            windows.truncate(WINDOWS);
        }
        Ok(found)
    }

    pub(super) async fn at_time(&self, offset: Offset, timestamp: i64) -> Result<Option<Extent>> {
        self.lookup.extent_at_time(self.partition, offset, timestamp).await
    }

    /// What was looked up may be out of date.
    pub(super) fn forget(&self) {
        self.windows.lock().clear();
    }

    pub(super) fn known(&self, offset: Offset) -> Option<Extent> {
        let mut windows = self.windows.lock();
        let (at, extent) = windows.iter().enumerate().find_map(|(i, w)| Some((i, w.find(offset)?.clone())))?;
        if let Some(window) = windows.remove(at) {
            windows.push_front(window);
        }
        Some(extent)
    }
}
