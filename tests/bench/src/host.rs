//! A host to measure, and the components that it may run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::{Bytes, BytesMut};
use tidegate::env::Env;
use tidegate::metadata::TopicRecord;
use tidegate::policy::Kind;
use tidegate::runtime::{Bind, TopicSpec};
use tidegate::store::{Fault, MemoryStore, Operation, Request};
use tidegate::types::{PartitionId, TopicName, TopicPartition};
use tidegate::{Settings, Storage};

/// The bundled policies that a host runs by default: kind and name.
pub(crate) const DEFAULTS: [(Kind, &str); 3] =
    [(Kind::Flush, "flush-adaptive"), (Kind::Index, "index-spacing"), (Kind::ReadAhead, "read-ahead-fixed")];

/// Where the components lie.
pub(crate) struct Plugins {
    directory: PathBuf,
}

impl Plugins {
    pub(crate) fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// Where they lie.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// A component by its name.
    pub(crate) fn read(&self, name: &str) -> Result<Bytes> {
        let path = self.directory.join(format!("{name}.wasm"));
        let read =
            std::fs::read(&path).with_context(|| format!("component {} cannot be read; `make plugins` builds it", path.display()))?;
        Ok(read.into())
    }

    /// Binds a component to every topic.
    pub(crate) async fn bind(&self, host: &Storage, kind: Kind, name: &str) -> Result<()> {
        let bind = Bind {
            pattern: "*".to_owned(),
            kind,
            component: self.read(name)?,
            source: name.to_owned(),
            config: serde_json::json!({}),
            by: "bench".to_owned(),
            digest: None,
            signature: None,
        };
        host.bind(bind).await?;
        Ok(())
    }

    /// Binds what a broker runs by default.
    pub(crate) async fn bind_defaults(&self, host: &Storage) -> Result<()> {
        for (kind, name) in DEFAULTS {
            self.bind(host, kind, name).await?;
        }
        Ok(())
    }
}

/// A runtime like a broker's.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

/// A store in memory, in real time.
pub(crate) fn memory() -> MemoryStore {
    MemoryStore::new(Env::system())
}

/// The same; each PUT takes so long.
pub(crate) fn slow_memory(put: Duration) -> MemoryStore {
    let store = memory();
    store.set_script(move |request: &Request<'_>| match request.operation {
        Operation::Put => Fault::none().before(put),
        _ => Fault::none(),
    });
    store
}

/// Opens a host with the defaults, as `change` changes them.
pub(crate) async fn open(store: &MemoryStore, change: impl FnOnce(&mut Settings)) -> Result<Storage> {
    let mut settings = Settings::default();
    // The records here are of 1970.
    settings.topic_defaults.retention_ms = -1;
    change(&mut settings);
    Ok(Storage::builder(settings).store(Arc::new(store.clone())).open().await?)
}

/// Creates a topic and opens its lanes.
pub(crate) async fn create(host: &Storage, name: &str, partitions: u32, lanes: u32) -> Result<TopicRecord> {
    let spec = TopicSpec { partitions: Some(partitions), lanes: Some(lanes), ..TopicSpec::named(TopicName::new(name)?) };
    let topic = host.create_topic(spec).await?;
    for lane in 0..lanes {
        host.offsets(at(&topic, lane)).await?;
    }
    Ok(topic)
}

/// A partition of a topic.
pub(crate) fn at(topic: &TopicRecord, partition: PartitionId) -> TopicPartition {
    TopicPartition { topic: topic.id, partition }
}

/// Appends all, and waits until all are committed.
pub(crate) async fn commit_all(host: &Storage, batches: impl IntoIterator<Item = (TopicPartition, BytesMut)>) -> Result<()> {
    let mut waiting = Vec::new();
    let mut last = Vec::new();
    for (partition, batch) in batches {
        waiting.push(host.append(partition, batch).await?.committed);
        if !last.contains(&partition) {
            last.push(partition);
        }
    }
    for partition in last {
        host.flush(partition).await?;
    }
    for committed in waiting {
        committed.wait().await?;
    }
    Ok(())
}
