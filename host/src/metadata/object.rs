//! Metadata in the object store itself: no other service is needed.
//!
//! One object for each topic name, `meta/topics/{name}`, one for all bindings, `meta/bindings`, one for each shard of group
//! offsets, `meta/groups/{number, 2 digits}`, one that counts producer ids, and one for each document of the embedder's,
//! `meta/documents/{name}`. Every write is create-only or on the version that was read.
//!
//! A deleted topic leaves a tombstone under its name, for ever. An unconditional delete could hit a topic that was
//! created again in between, and a create whose reply was lost could arrive after it and bring the topic back.
//! A new topic of that name replaces the tombstone.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt, stream};
use parking_lot::Mutex;

use super::document::{Document, read, write};
use super::{BindingSet, MetadataStore, OFFSET_SHARDS, OffsetShard, TopicRecord, Versioned, documents, producer_ids};
use crate::env::Env;
use crate::error::{Error, ErrorKind, Result};
use crate::store::{ObjectMeta, ObjectStore, PutMode, Version};
use crate::types::{TopicId, TopicName};

const TOPICS: &str = "meta/topics/";
const BINDINGS: &str = "meta/bindings";
const GROUPS: &str = "meta/groups/";
/// Topic records read at a time.
const READS: usize = 16;
/// Rounds against others that change the same name.
const ROUNDS: u32 = 8;

/// Topics, bindings and group offsets in an object store.
pub struct ObjectMetadata {
    store: Arc<dyn ObjectStore>,
    env: Env,
    /// Records by key as last listed: an unchanged one is not read again. As many as there are names.
    seen: Mutex<BTreeMap<String, Seen>>,
}

#[derive(Clone)]
struct Seen {
    version: Version,
    topic: Option<TopicRecord>,
}

impl std::fmt::Debug for ObjectMetadata {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectMetadata").field("store", &self.store).finish_non_exhaustive()
    }
}

fn key(name: &TopicName) -> String {
    format!("{TOPICS}{name}")
}

fn shard_key(shard: u32) -> Result<String> {
    if shard >= OFFSET_SHARDS {
        return Err(Error::new(ErrorKind::InvalidInput, format!("shard {shard} of group offsets, expected less than {OFFSET_SHARDS}")));
    }
    Ok(format!("{GROUPS}{shard:02}"))
}

impl ObjectMetadata {
    /// Metadata in this store.
    pub fn new(store: Arc<dyn ObjectStore>, env: Env) -> Self {
        Self { store, env, seen: Mutex::default() }
    }

    async fn read_topic(&self, key: &str) -> Result<Option<(Option<TopicRecord>, Version)>> {
        let Some((document, version)) = read::<TopicRecord>(&*self.store, key).await? else { return Ok(None) };
        if let Some(topic) = &document.value
            && key.strip_prefix(TOPICS) != Some(topic.name.as_str())
        {
            let message = format!("the metadata object {key:?} holds topic {}; restore it from a backup", topic.name);
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        Ok(Some((document.value, version)))
    }

    async fn write_topic(&self, key: &str, topic: Option<TopicRecord>, mode: PutMode) -> Result<bool> {
        Ok(write(&*self.store, key, &Document::new(self.env.nonce(), topic), mode).await?.is_some())
    }

    /// A listed record: from memory if it has not changed. `None`: gone meanwhile.
    async fn listed(&self, meta: ObjectMeta) -> Result<Option<(String, Seen)>> {
        let known = self.seen.lock().get(&meta.key).filter(|seen| Some(&seen.version) == meta.version.as_ref()).cloned();
        if let Some(seen) = known {
            return Ok(Some((meta.key, seen)));
        }
        let read = self.read_topic(&meta.key).await?;
        Ok(read.map(|(topic, version)| (meta.key, Seen { version, topic })))
    }
}

fn changed(what: &str) -> Error {
    Error::new(ErrorKind::AlreadyExists, format!("{what} was changed by another writer; read it again"))
}

fn contended(name: &TopicName) -> Error {
    Error::new(ErrorKind::Unavailable, format!("topic {name} was changed by others {ROUNDS} times in a row; try again"))
}

fn not_found(name: &TopicName, id: TopicId) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no topic {name} with id {id}"))
}

#[async_trait]
impl MetadataStore for ObjectMetadata {
    async fn create_topic(&self, topic: &TopicRecord) -> Result<()> {
        let key = key(&topic.name);
        for _ in 0..ROUNDS {
            let mode = match self.read_topic(&key).await? {
                None => PutMode::Create,
                Some((None, tombstone)) => PutMode::Replace(tombstone),
                Some((Some(found), _)) if found.id == topic.id => return Ok(()),
                Some((Some(found), _)) => {
                    return Err(Error::new(ErrorKind::AlreadyExists, format!("topic {} exists, with id {}", topic.name, found.id)));
                }
            };
            if self.write_topic(&key, Some(topic.clone()), mode).await? {
                return Ok(());
            }
        }
        Err(contended(&topic.name))
    }

    async fn topic(&self, name: &TopicName) -> Result<Option<Versioned<TopicRecord>>> {
        let found = self.read_topic(&key(name)).await?;
        Ok(found.and_then(|(topic, version)| Some(Versioned { value: topic?, version: Some(version) })))
    }

    async fn topics(&self) -> Result<Vec<TopicRecord>> {
        let listed = self.store.list(TOPICS, None, usize::MAX).await?;
        let reads = stream::iter(listed).map(|meta| self.listed(meta)).buffered(READS);
        let seen: BTreeMap<_, _> = reads.try_filter_map(async |seen| Ok(seen)).try_collect().await?;
        let topics = seen.values().filter_map(|seen| seen.topic.clone()).collect();
        *self.seen.lock() = seen;
        Ok(topics)
    }

    async fn update_topic(&self, topic: Versioned<TopicRecord>) -> Result<()> {
        let name = topic.value.name.clone();
        let Some(version) = topic.version else {
            return Err(Error::new(ErrorKind::InvalidInput, format!("topic {name} can only be updated on a version that was read")));
        };
        match self.write_topic(&key(&name), Some(topic.value), PutMode::Replace(version)).await? {
            true => Ok(()),
            false => Err(changed(&format!("topic {name}"))),
        }
    }

    async fn delete_topic(&self, name: &TopicName, id: TopicId) -> Result<()> {
        let key = key(name);
        for _ in 0..ROUNDS {
            let version = match self.read_topic(&key).await? {
                Some((Some(found), version)) if found.id == id => version,
                _ => return Err(not_found(name, id)),
            };
            if self.write_topic(&key, None, PutMode::Replace(version)).await? {
                return Ok(());
            }
        }
        Err(contended(name))
    }

    async fn bindings(&self) -> Result<Versioned<BindingSet>> {
        Ok(match read::<BindingSet>(&*self.store, BINDINGS).await? {
            None => Versioned { value: BindingSet::default(), version: None },
            Some((document, version)) => Versioned { value: document.value.unwrap_or_default(), version: Some(version) },
        })
    }

    async fn put_bindings(&self, bindings: Versioned<BindingSet>) -> Result<()> {
        let mode = bindings.version.map_or(PutMode::Create, PutMode::Replace);
        let document = Document::new(self.env.nonce(), Some(bindings.value));
        match write(&*self.store, BINDINGS, &document, mode).await? {
            Some(_) => Ok(()),
            None => Err(changed("the set of bindings")),
        }
    }

    async fn offset_shards(&self) -> Result<Vec<(u32, Option<Version>)>> {
        let listed = self.store.list(GROUPS, None, usize::MAX).await?;
        let number = |key: &str| key.strip_prefix(GROUPS)?.parse().ok().filter(|shard| *shard < OFFSET_SHARDS);
        Ok(listed.into_iter().filter_map(|meta| Some((number(&meta.key)?, meta.version))).collect())
    }

    async fn offset_shard(&self, shard: u32) -> Result<Versioned<OffsetShard>> {
        Ok(match read::<OffsetShard>(&*self.store, &shard_key(shard)?).await? {
            None => Versioned { value: OffsetShard::default(), version: None },
            Some((document, version)) => Versioned { value: document.value.unwrap_or_default(), version: Some(version) },
        })
    }

    async fn put_offset_shard(&self, shard: u32, offsets: Versioned<OffsetShard>) -> Result<Version> {
        let mode = offsets.version.map_or(PutMode::Create, PutMode::Replace);
        let document = Document::new(self.env.nonce(), Some(offsets.value));
        let written = write(&*self.store, &shard_key(shard)?, &document, mode).await?;
        written.ok_or_else(|| changed(&format!("shard {shard} of group offsets")))
    }

    async fn producer_ids(&self, count: u32) -> Result<Range<i64>> {
        producer_ids::take(&*self.store, &self.env, count).await
    }

    async fn document(&self, name: &str) -> Result<Versioned<Option<serde_json::Value>>> {
        Ok(match read(&*self.store, &documents::key(name)?).await? {
            None => Versioned { value: None, version: None },
            Some((document, version)) => Versioned { value: document.value, version: Some(version) },
        })
    }

    async fn put_document(&self, name: &str, document: Versioned<serde_json::Value>) -> Result<Version> {
        let (key, mode) = (documents::key(name)?, document.version.map_or(PutMode::Create, PutMode::Replace));
        documents::check_size(name, &document.value)?;
        let written = write(&*self.store, &key, &Document::new(self.env.nonce(), Some(document.value)), mode).await?;
        written.ok_or_else(|| changed(&format!("document {name:?}")))
    }
}

#[cfg(test)]
mod tests;
