//! The directory of topics, by name and by id, in memory.
//!
//! Appends and fetches look here and nowhere else. Other hosts' changes arrive by listing on an interval and on
//! a miss, so a topic deleted elsewhere may be known here for one interval longer; its lanes refuse by then,
//! and its id never means another topic.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;

use super::lanes::Lanes;
use crate::config::{self, CleanupPolicy, Settings, TopicSettings};
use crate::env::{Instant, now};
use crate::error::{Error, ErrorKind, Result};
use crate::log::Topic;
use crate::metadata::{SharedMetadata, TopicRecord};
use crate::types::{TopicId, TopicName};

/// Unknown ids ask the metadata store at most so often, whoever asks: clients go on asking for a deleted topic.
const MISS_INTERVAL: Duration = Duration::from_secs(1);

/// A topic as known here.
pub(super) struct Known {
    pub(super) record: TopicRecord,
    /// Shared with the lanes and partitions; its settings follow the record.
    pub(super) topic: Arc<Topic>,
    /// The directory's change count when it was added.
    since: u64,
}

#[derive(Default)]
struct Directory {
    by_name: BTreeMap<TopicName, TopicId>,
    by_id: BTreeMap<TopicId, Arc<Known>>,
    /// Topics deleted here, and when: a listing that began earlier must not bring them back.
    deleted: BTreeMap<TopicId, u64>,
    changes: u64,
}

/// The topics of a host.
pub(super) struct Topics {
    metadata: SharedMetadata,
    settings: Arc<Settings>,
    lanes: Arc<Lanes>,
    directory: RwLock<Directory>,
    /// One listing at a time, and when the last one ended.
    listed: tokio::sync::Mutex<Option<Instant>>,
}

impl Topics {
    pub(super) fn new(metadata: SharedMetadata, settings: Arc<Settings>, lanes: Arc<Lanes>) -> Self {
        Self { metadata, settings, lanes, directory: RwLock::default(), listed: tokio::sync::Mutex::default() }
    }

    /// The topic of an id; a miss lists all topics, unless that was just done. [`ErrorKind::NotFound`] if there is none.
    pub(super) async fn by_id(&self, id: TopicId) -> Result<Arc<Known>> {
        if let Some(known) = self.directory.read().by_id.get(&id) {
            return Ok(known.clone());
        }
        self.by_id_refreshed(id).await
    }

    /// The topic of an id after a listing of all topics, unless that was just done. [`ErrorKind::NotFound`] if there is none.
    pub(super) async fn by_id_refreshed(&self, id: TopicId) -> Result<Arc<Known>> {
        self.list_for_a_miss().await?;
        let known = self.directory.read().by_id.get(&id).cloned();
        known.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("no topic has the id {id}")))
    }

    /// The topic of an id, if it is known.
    pub(super) fn peek(&self, id: TopicId) -> Option<Arc<Topic>> {
        self.directory.read().by_id.get(&id).map(|known| known.topic.clone())
    }

    /// The topic of a name; a miss asks the metadata store.
    pub(super) async fn by_name(&self, name: &TopicName) -> Result<Option<Arc<Known>>> {
        if let Some(known) = self.directory.read().get(name) {
            return Ok(Some(known.clone()));
        }
        match self.metadata.topic(name).await? {
            Some(found) => Ok(self.add(found.value)),
            None => Ok(None),
        }
    }

    /// The topic of a name, which must exist.
    pub(super) async fn existing(&self, name: &TopicName) -> Result<Arc<Known>> {
        let known = self.by_name(name).await?;
        known.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("there is no topic {name}")))
    }

    /// All topics, in name order.
    pub(super) fn all(&self) -> Vec<Arc<Known>> {
        let directory = self.directory.read();
        directory.by_name.values().filter_map(|id| directory.by_id.get(id)).cloned().collect()
    }

    /// Takes over a topic that is stored; `None` if it was deleted here meanwhile.
    pub(super) fn add(&self, record: TopicRecord) -> Option<Arc<Known>> {
        let mut directory = self.directory.write();
        if directory.deleted.contains_key(&record.id) {
            return None;
        }
        Some(directory.put(record, &self.settings))
    }

    /// Forgets a topic that was deleted, and drops its lanes.
    pub(super) fn remove(&self, id: TopicId) {
        {
            let mut directory = self.directory.write();
            directory.changes += 1;
            let at = directory.changes;
            directory.deleted.insert(id, at);
            directory.drop_topic(id);
        }
        self.lanes.forget(id);
    }

    /// Lists the topics and takes over what other hosts changed.
    pub(super) async fn refresh(&self) -> Result<()> {
        let mut listed = self.listed.lock().await;
        self.list(&mut listed).await
    }

    /// A topic's settings: as resolved when it became known, which every request can afford to ask for.
    pub(super) fn settings_of(&self, record: &TopicRecord) -> Result<Arc<TopicSettings>> {
        match self.peek(record.id) {
            Some(topic) => Ok(topic.settings.load_full()),
            None => config::resolve(&self.settings, &record.name, &record.config).map(Arc::new),
        }
    }

    async fn list_for_a_miss(&self) -> Result<()> {
        let mut listed = self.listed.lock().await;
        match *listed {
            Some(at) if now() < at + MISS_INTERVAL => Ok(()),
            _ => self.list(&mut listed).await,
        }
    }

    async fn list(&self, listed: &mut Option<Instant>) -> Result<()> {
        let since = self.directory.read().changes;
        let records = self.metadata.topics().await?;
        *listed = Some(now());
        let gone = self.directory.write().merge(records, since, &self.settings);
        gone.into_iter().for_each(|id| self.lanes.forget(id));
        Ok(())
    }
}

impl Directory {
    fn get(&self, name: &TopicName) -> Option<&Arc<Known>> {
        self.by_name.get(name).and_then(|id| self.by_id.get(id))
    }

    /// Takes over a record, unless a later state of it is known: one that was read before a change may arrive after it.
    fn put(&mut self, record: TopicRecord, settings: &Settings) -> Arc<Known> {
        if let Some(known) = self.by_id.get(&record.id).filter(|known| known.record.revision > record.revision) {
            return known.clone();
        }
        self.changes += 1;
        let resolved = resolve_loudly(settings, &record);
        say_what_is_kept(&record, &resolved);
        let known = Arc::new(match self.by_id.get(&record.id) {
            Some(known) => {
                known.topic.settings.store(Arc::new(resolved));
                known.topic.grow(record.partitions);
                Known { record, topic: known.topic.clone(), since: known.since }
            }
            None => Known { topic: Arc::new(new_topic(&record, resolved)), record, since: self.changes },
        });
        self.by_name.insert(known.record.name.clone(), known.record.id);
        self.by_id.insert(known.record.id, known.clone());
        known
    }

    fn drop_topic(&mut self, id: TopicId) {
        let Some(known) = self.by_id.remove(&id) else { return };
        if self.by_name.get(&known.record.name) == Some(&id) {
            self.by_name.remove(&known.record.name);
        }
    }

    /// Takes over a listing that began at change count `since`. Returns the topics that are gone.
    fn merge(&mut self, records: Vec<TopicRecord>, since: u64, settings: &Settings) -> Vec<TopicId> {
        let listed: BTreeSet<TopicId> = records.iter().map(|r| r.id).collect();
        let gone: Vec<TopicId> =
            self.by_id.values().filter(|k| k.since <= since && !listed.contains(&k.record.id)).map(|k| k.record.id).collect();
        gone.iter().for_each(|id| self.drop_topic(*id));
        for record in records {
            let changed = self.by_id.get(&record.id).is_none_or(|known| known.record != record);
            if changed && !self.deleted.contains_key(&record.id) {
                self.put(record, settings);
            }
        }
        self.deleted.retain(|_, at| *at > since);
        gone
    }
}

/// Says once for each change what the name of the policy does not.
fn say_what_is_kept(record: &TopicRecord, settings: &TopicSettings) {
    if settings.cleanup_policy == CleanupPolicy::Compact {
        tracing::warn!(topic = %record.name, "cleanup_policy is compact: records are not compacted here, all of them are kept");
    }
}

fn new_topic(record: &TopicRecord, settings: TopicSettings) -> Topic {
    Topic::new(record.id, record.name.clone(), record.partitions, record.lanes, settings)
}

/// A record that another version wrote, or a host with other limits, must make its topic neither unreadable nor shorter than it should be:
/// what is not understood is left out, and then nothing is deleted by retention.
fn resolve_loudly(settings: &Settings, record: &TopicRecord) -> TopicSettings {
    let resolve = |config: &BTreeMap<String, String>| config::resolve(settings, &record.name, config);
    resolve(&record.config).unwrap_or_else(|error| {
        tracing::error!(topic = %record.name, %error, "part of the topic's own config is not understood and left out; retention is not applied");
        let mut understood = record.config.clone();
        understood.retain(|key, value| resolve(&BTreeMap::from([(key.clone(), value.clone())])).is_ok());
        let resolved = resolve(&understood).or_else(|_| resolve(&BTreeMap::new()));
        TopicSettings { cleanup_policy: CleanupPolicy::Keep, ..resolved.unwrap_or_else(|_| settings.topic_defaults.clone()) }
    })
}

#[cfg(test)]
mod tests;
