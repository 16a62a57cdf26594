//! Where the objects of a lane lie. See docs/commit.md.

use std::sync::Arc;

use crate::catalog::{PageRef, SnapshotRef};
use crate::types::{Nonce, Slot, TopicLane};

/// Slots of one folder.
const FOLDER_SLOTS: Slot = 1_000;

/// Names the objects of one lane.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    root: String,
}

impl Keys {
    pub(super) fn new(lane: TopicLane) -> Self {
        Self { root: format!("topics/{}/{:05}", lane.topic, lane.lane) }
    }

    pub(super) fn manifest(&self) -> String {
        format!("{}/manifest", self.root)
    }

    /// Prefix of all catalog pages.
    pub(super) fn pages(&self) -> String {
        format!("{}/catalog/", self.root)
    }

    pub(super) fn page(&self, page: &PageRef) -> String {
        format!("{}{}/{:020}-{:010}-{}", self.pages(), page.level, page.first_slot, page.epoch, page.nonce)
    }

    /// Prefix of all snapshots of producer state.
    pub(super) fn snapshots(&self) -> String {
        format!("{}/producers/", self.root)
    }

    pub(super) fn snapshot(&self, of: &SnapshotRef) -> String {
        format!("{}{:020}-{:010}-{}", self.snapshots(), of.checkpoint, of.epoch, of.nonce)
    }

    /// The snapshot that a key names, if it is one of [`snapshot`](Self::snapshot)'s.
    pub(super) fn parse_snapshot(&self, key: &str) -> Option<SnapshotRef> {
        let mut parts = key.strip_prefix(&self.snapshots())?.splitn(3, '-');
        let (checkpoint, epoch) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let nonce = Nonce(u128::from_str_radix(parts.next()?, 16).ok()?);
        let of = SnapshotRef { checkpoint, epoch, nonce };
        (self.snapshot(&of) == key).then_some(of)
    }

    /// Prefix of all log objects.
    pub(super) fn log(&self) -> String {
        format!("{}/log/", self.root)
    }

    /// Prefix of the log objects in the folder of `slot`.
    pub(super) fn folder(&self, slot: Slot) -> String {
        format!("{}{:017}/", self.log(), slot / FOLDER_SLOTS)
    }

    pub(super) fn slot(&self, slot: Slot) -> Arc<str> {
        format!("{}{slot:020}", self.folder(slot)).into()
    }

    /// The slot that a key names, if it is one of [`slot`](Self::slot)'s.
    pub(super) fn parse_slot(&self, key: &str) -> Option<Slot> {
        let slot = key.strip_prefix(&self.log())?.split_once('/')?.1.parse().ok()?;
        (*self.slot(slot) == *key).then_some(slot)
    }

    /// The first slot of the folder after that of `slot`.
    pub(super) fn next_folder(slot: Slot) -> Slot {
        (slot / FOLDER_SLOTS + 1) * FOLDER_SLOTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TopicId;

    #[test]
    fn slot_keys_sort_as_their_slots_and_are_read_back() {
        let keys = Keys::new(TopicLane { topic: TopicId(uuid::Uuid::nil()), lane: 3 });
        let slots = [0, 1, 999, 1_000, 1_064, 99_999, 100_000, u64::MAX];
        let names: Vec<_> = slots.iter().map(|s| keys.slot(*s)).collect();
        assert!(names.is_sorted());
        assert_eq!(names.iter().map(|n| keys.parse_slot(n)).collect::<Vec<_>>(), slots.map(Some).to_vec());
        assert_eq!(keys.parse_slot(&keys.manifest()), None);
        assert_eq!(Keys::next_folder(1_999), 2_000);
    }

    #[test]
    fn snapshot_keys_are_read_back_and_others_are_not() {
        let keys = Keys::new(TopicLane { topic: TopicId(uuid::Uuid::nil()), lane: 3 });
        let of = SnapshotRef { checkpoint: 77, epoch: 5, nonce: Nonce(u128::MAX - 1) };
        assert_eq!(keys.parse_snapshot(&keys.snapshot(&of)), Some(of));
        for other in [keys.manifest(), keys.snapshots(), format!("{}1-2-3", keys.snapshots()), format!("{}-x", keys.snapshot(&of))] {
            assert_eq!(keys.parse_snapshot(&other), None, "{other}");
        }
    }
}
