//! Deleting segments that no reader can reach any more.
//!
//! A segment is dead when each of its slices lies below its partition's log start in the manifest *in the
//! store*. It goes after a grace period, for readers that are still at it. Only catalogued segments are
//! looked at, so nothing above the checkpoint is ever deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Inner;
use crate::catalog::{Coverage, Page, PageRef, SliceEntry};
use crate::env::{self, Instant};
use crate::error::Result;
use crate::types::{Offset, PartitionId, Slot};

/// Pages that one round reads at most.
const PAGES_A_ROUND: usize = 256;

/// Segments found dead.
#[derive(Default)]
pub(super) struct Dead {
    /// Since when; not deleted yet.
    since: BTreeMap<Slot, Instant>,
    deleted: BTreeSet<Slot>,
    /// End of the pages of the manifest all of whose segments are deleted.
    gone_pages: BTreeSet<(u8, Slot)>,
}

impl Dead {
    /// Whether all segments of this page are deleted, so that the manifest need not list it.
    pub(super) fn is_gone(&self, page: &PageRef) -> bool {
        self.gone_pages.contains(&(page.level, page.first_slot))
    }
}

type Starts = BTreeMap<PartitionId, Offset>;

impl Inner {
    /// Deletes the dead segments whose grace is over.
    pub(super) async fn delete_dead(&self) -> Result<()> {
        let starts: Starts = self.state.lock().committed.iter().map(|(p, at)| (*p, at.log_start)).collect();
        let pages: Vec<_> = self.catalog.pages().into_iter().filter(|p| !self.sweep.lock().is_gone(p)).collect();
        let dead = self.dead_slots(pages.clone(), &starts).await?;
        let due = self.due(&dead);
        if !due.is_empty() {
            let keys: Vec<_> = due.iter().map(|slot| self.keys.slot(*slot).to_string()).collect();
            self.shared.store.delete(&keys).await?;
            self.shared.metrics.lane.segments_deleted.inc_by(keys.len() as u64);
        }
        let mut sweep = self.sweep.lock();
        for slot in due {
            sweep.since.remove(&slot);
            sweep.deleted.insert(slot);
        }
        for page in pages.iter().filter(|p| all_below(&p.coverage, &starts)) {
            let slots = page.first_slot..page.end_slot;
            if dead.range(slots.clone()).all(|slot| sweep.deleted.contains(slot)) && dead.range(slots.clone()).next().is_some() {
                sweep.gone_pages.insert((page.level, page.first_slot));
                sweep.deleted.retain(|slot| !slots.contains(slot));
            }
        }
        Ok(())
    }

    fn due(&self, dead: &BTreeSet<Slot>) -> Vec<Slot> {
        let mut sweep = self.sweep.lock();
        let (now, grace) = (env::now(), Duration::from_millis(self.shared.settings.delete_grace_ms));
        let waiting: Vec<_> = dead.iter().filter(|slot| !sweep.deleted.contains(slot)).copied().collect();
        waiting.into_iter().filter(|slot| *sweep.since.entry(*slot).or_insert(now) + grace <= now).collect()
    }

    /// Segments of these pages all of whose slices lie below the log starts.
    async fn dead_slots(&self, mut pages: Vec<PageRef>, starts: &Starts) -> Result<BTreeSet<Slot>> {
        let mut dead = BTreeSet::new();
        pages.reverse();
        for _ in 0..PAGES_A_ROUND {
            let Some(page) = pages.pop() else { break };
            if !any_below(&page.coverage, starts) {
                continue;
            }
            match &*self.catalog.page(&page).await? {
                Page::Node(children) => pages.extend(children.iter().rev().cloned()),
                Page::Leaf(entries) => dead.extend(
                    entries
                        .chunk_by(|a, b| a.slot == b.slot)
                        .filter(|segment| segment.iter().all(|e| is_below(e, starts)))
                        .map(|s| s[0].slot),
                ),
            }
        }
        Ok(dead)
    }
}

fn is_below(entry: &SliceEntry, starts: &Starts) -> bool {
    starts.get(&entry.slice.partition).is_some_and(|start| entry.slice.next_offset <= *start)
}

fn any_below(coverage: &[Coverage], starts: &Starts) -> bool {
    coverage.iter().any(|c| starts.get(&c.partition).is_some_and(|start| c.base_offset < *start))
}

fn all_below(coverage: &[Coverage], starts: &Starts) -> bool {
    coverage.iter().all(|c| starts.get(&c.partition).is_some_and(|start| c.next_offset <= *start))
}
