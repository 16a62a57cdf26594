//! Deletion of topics: the record first, then the lanes, the objects after a grace period.
//!
//! Once the record is gone nothing else names the lanes. So before it goes, a note of what is to be done is
//! written, and removed when all is done: a crash in between leaves a note that any host finds later. Every step
//! may be repeated.

use std::sync::Arc;
use std::time::Duration;

use super::host::Host;
use super::lanes::Lanes;
use super::tasks::Tasks;
use crate::config::TopicSettings;
use crate::error::{Error, ErrorKind, Result};
use crate::log::lane::Lane;
use crate::log::{Shared, Topic};
use crate::metadata::{SharedMetadata, TopicRecord};
use crate::store::{Body, GetRange, PutMode, StoreErrorKind};
use crate::types::{TopicId, TopicName};

/// Notes lie at `deletions/{topic id}`.
const PREFIX: &str = "deletions/";
/// Notes taken up in one round, at most.
const ROUND: usize = 100;
/// A note is left to the host that wrote it for the grace period and so much longer.
const TAKE_OVER: Duration = Duration::from_secs(300);

/// The deletions under way.
pub(super) struct Deletions {
    shared: Shared,
    metadata: SharedMetadata,
    tasks: Tasks,
    running: parking_lot::Mutex<std::collections::BTreeSet<TopicId>>,
}

impl Deletions {
    pub(super) fn new(shared: Shared, metadata: SharedMetadata, tasks: Tasks) -> Arc<Self> {
        Arc::new(Self { shared, metadata, tasks, running: parking_lot::Mutex::default() })
    }

    /// Takes up what another host, or this one before a restart, left undone.
    pub(super) async fn resume(self: &Arc<Self>, lanes: &Lanes) -> Result<()> {
        let oldest_own = self.shared.env.unix_ms() - TAKE_OVER.as_millis() as i64 - self.shared.settings.delete_grace_ms as i64;
        for note in self.shared.store.list(PREFIX, None, ROUND).await? {
            if note.modified_ms > oldest_own {
                continue;
            }
            let record = self.read(&note.key).await?;
            lanes.forget(record.id);
            self.remove_record(&record).await?;
            self.finish(record);
        }
        Ok(())
    }

    /// Deletes the lanes in the background, and then the note.
    fn finish(self: &Arc<Self>, record: TopicRecord) {
        if self.running.lock().insert(record.id) {
            let this = self.clone();
            self.tasks.spawn(async move {
                if let Err(error) = this.delete_lanes(&record).await {
                    tracing::warn!(topic = %record.name, id = %record.id, %error, "a deletion is not complete; it is taken up later");
                }
                this.running.lock().remove(&record.id);
            });
        }
    }

    async fn delete_lanes(&self, record: &TopicRecord) -> Result<()> {
        let topic = Arc::new(deleted_topic(record));
        let lanes = (0..record.lanes).map(|lane| Lane::tombstone(&self.shared, topic.clone(), lane));
        futures::future::try_join_all(lanes).await?;
        Ok(self.shared.store.delete(&[key(record.id)]).await?)
    }

    async fn note(&self, record: &TopicRecord) -> Result<()> {
        let note = serde_json::to_vec(record).expect("a topic record is plain data");
        match self.shared.store.put(&key(record.id), Body::from(note), PutMode::Create).await {
            Err(e) if e.kind != StoreErrorKind::AlreadyExists => Err(e.into()),
            _ => Ok(()),
        }
    }

    async fn read(&self, key: &str) -> Result<TopicRecord> {
        let note = self.shared.store.get(key, GetRange::Full).await?;
        serde_json::from_slice(&note.bytes).map_err(|e| {
            Error::new(ErrorKind::Corrupt, format!("{key} is no topic record; look at what it names, then delete it")).with_source(e)
        })
    }

    async fn remove_record(&self, record: &TopicRecord) -> Result<()> {
        match self.metadata.delete_topic(&record.name, record.id).await {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}

/// Deletes a topic.
pub(super) async fn delete(host: &Host, name: &TopicName) -> Result<()> {
    host.gate.writable()?;
    let Some(stored) = host.metadata.topic(name).await? else {
        return Err(Error::new(ErrorKind::NotFound, format!("there is no topic {name}")));
    };
    let record = stored.value;
    host.deletions.note(&record).await?;
    host.deletions.remove_record(&record).await?;
    host.topics.remove(record.id);
    host.deletions.finish(record);
    Ok(())
}

fn key(id: TopicId) -> String {
    format!("{PREFIX}{id}")
}

/// Nothing of it is written any more: its settings no longer matter.
fn deleted_topic(record: &TopicRecord) -> Topic {
    Topic::new(record.id, record.name.clone(), record.partitions, record.lanes, TopicSettings::default())
}
