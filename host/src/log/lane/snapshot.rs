//! Producer state at a checkpoint: in the manifest while it is small, else in a snapshot that the manifest names.
//!
//! A snapshot is written create-only before its manifest. One that no manifest names any more is garbage, and the leader deletes
//! it: LIST first, look at the manifest after, then whatever is not named, of its own or of an epoch below. None of these can be named
//! again, since a manifest is only replaced on the one that this leader wrote last, and a later leader names that one's snapshot or one of
//! its own, of an epoch above. Whoever read an older manifest and finds its snapshot gone would be refused anyway, and starts over.

use std::collections::BTreeMap;
use std::time::Duration;

use super::checkpoint::ObjectWriter;
use super::keys::Keys;
use super::manifest::{self, StoredManifest};
use super::{Inner, Shared};
use crate::catalog::{ProducerStates, SnapshotRef, decode_snapshot, encode_snapshot};
use crate::env::{self, Instant};
use crate::error::{Error, ErrorKind, Result};
use crate::segment::ProducerAppend;
use crate::store::{GetRange, StoreErrorKind};
use crate::types::Slot;

/// Appends that a manifest holds itself: at 38 bytes each at most, they leave most of it to pages.
pub(super) const INLINE_APPENDS: usize = 1_000;
/// Snapshots looked at in one round.
const LISTED: usize = 1_000;

/// Puts the appends where a manifest of this checkpoint can point to them.
pub(super) async fn save(writer: &ObjectWriter<'_>, checkpoint: Slot, mut appends: Vec<ProducerAppend>) -> Result<ProducerStates> {
    appends.sort_unstable_by_key(|append| (append.partition, append.base_offset));
    if appends.len() <= INLINE_APPENDS {
        return Ok(ProducerStates::Inline(appends));
    }
    let named = SnapshotRef { checkpoint, epoch: writer.epoch, nonce: writer.nonce };
    writer.create(&writer.keys.snapshot(&named), encode_snapshot(&appends).into()).await?;
    Ok(ProducerStates::Snapshot(named))
}

/// The appends of a manifest. [`NotLeader`](ErrorKind::NotLeader) if its snapshot is gone because the manifest was replaced meanwhile.
pub(super) async fn load(shared: &Shared, keys: &Keys, stored: &StoredManifest) -> Result<Vec<ProducerAppend>> {
    let named = match &stored.manifest.producers {
        ProducerStates::Inline(appends) => return Ok(appends.clone()),
        ProducerStates::Snapshot(named) => named,
    };
    let key = keys.snapshot(named);
    match shared.store.get(&key, GetRange::Full).await {
        Ok(object) => decode_snapshot(&object.bytes).map_err(|e| e.in_object(&key)),
        Err(e) if e.kind == StoreErrorKind::NotFound => Err(gone(shared, keys, stored, &key).await?),
        Err(e) => Err(e.into()),
    }
}

async fn gone(shared: &Shared, keys: &Keys, stored: &StoredManifest, key: &str) -> Result<Error> {
    if manifest::read(shared, keys).await?.version != stored.version {
        return Ok(Error::new(ErrorKind::NotLeader, format!("{:?} was replaced while it was read", keys.manifest())));
    }
    let message = format!(
        "producer snapshot {key:?} is gone: the lane is not opened, so that no batch is appended twice; restore the object from a backup"
    );
    Ok(Error::new(ErrorKind::Corrupt, message))
}

/// Snapshots that may lie around.
#[derive(Default)]
pub(super) struct Leftovers {
    /// Whether there may be any: lanes without never ask.
    may_exist: bool,
    /// Not named any more, since when at least.
    since: BTreeMap<String, Instant>,
}

impl Leftovers {
    /// Notes what a manifest names.
    pub(super) fn named(&mut self, producers: &ProducerStates) {
        self.may_exist |= matches!(producers, ProducerStates::Snapshot(_));
    }

    /// Of these keys the ones whose grace is over.
    fn due(&mut self, dead: Vec<String>, grace: Duration) -> Vec<String> {
        let now = env::now();
        self.since = dead.into_iter().map(|key| (self.since.remove(&key).unwrap_or(now), key)).map(|(at, key)| (key, at)).collect();
        self.since.iter().filter(|(_, at)| **at + grace <= now).map(|(key, _)| key.clone()).collect()
    }
}

impl Inner {
    /// Deletes snapshots that no manifest names, after the grace period.
    pub(super) async fn delete_old_snapshots(&self) -> Result<()> {
        if !self.snapshots.lock().may_exist {
            return Ok(());
        }
        let listed = self.shared.store.list(&self.keys.snapshots(), None, LISTED).await?;
        let named = match &self.manifest.lock().await.manifest.producers {
            ProducerStates::Snapshot(named) => Some(*named),
            ProducerStates::Inline(_) => None,
        };
        let is_dead = |of: &SnapshotRef| Some(*of) != named && (of.epoch < self.epoch || of.nonce == self.nonce);
        let dead: Vec<_> =
            listed.into_iter().map(|o| o.key).filter(|key| self.keys.parse_snapshot(key).as_ref().is_some_and(is_dead)).collect();
        let due = {
            let mut snapshots = self.snapshots.lock();
            snapshots.may_exist = named.is_some() || !dead.is_empty();
            snapshots.due(dead, Duration::from_millis(self.shared.settings.delete_grace_ms))
        };
        if !due.is_empty() {
            self.shared.store.delete(&due).await?;
        }
        Ok(())
    }
}
