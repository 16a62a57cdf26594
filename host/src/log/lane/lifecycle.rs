//! The beginning and the end of a lane: its first manifest, its tombstone.

use std::sync::Arc;
use std::time::Duration;

use super::keys::Keys;
use super::walk::is_fence;
use super::{Lane, manifest, open};
use crate::catalog::{Manifest, ProducerStates};
use crate::error::{ErrorKind, Result};
use crate::log::{Shared, Topic};
use crate::store::{PutMode, StoreErrorKind};
use crate::types::{LaneId, TopicLane};

/// Keys listed and deleted at once.
const DELETE_BATCH: usize = 1_000;

impl Lane {
    /// Writes the first manifests of all lanes of a new topic. May be repeated.
    pub async fn create_all(shared: &Shared, topic: &Topic) -> Result<()> {
        let create = |lane| async move {
            let id = TopicLane { topic: topic.id, lane };
            let first = Manifest::first(id, shared.env.nonce());
            match shared.store.put(&Keys::new(id).manifest(), first.encode().into(), PutMode::Create).await {
                // The key has the topic's id: an earlier try of the same creation.
                Err(e) if e.kind == StoreErrorKind::AlreadyExists => Ok(()),
                other => other.map(|_| ()),
            }
        };
        futures::future::try_join_all((0..topic.lanes).map(create)).await?;
        Ok(())
    }

    /// Ends a lane of a deleted topic: claims it, replaces its manifest by a tombstone, and after the grace
    /// period deletes its objects; tombstone and fences stay. May be repeated.
    pub async fn tombstone(shared: &Shared, topic: Arc<Topic>, lane: LaneId) -> Result<()> {
        let id = TopicLane { topic: topic.id, lane };
        let keys = Keys::new(id);
        match open::claim(shared, &keys, &topic, lane).await {
            Ok(claim) => {
                let old = &claim.stored;
                let fences = old.manifest.fences.clone();
                let counter = old.manifest.counter + 1;
                let tomb = Manifest {
                    fences,
                    counter,
                    tombstone: true,
                    partitions: Vec::new(),
                    pages: Vec::new(),
                    producers: ProducerStates::default(),
                    ..old.manifest.clone()
                };
                manifest::replace(shared, &keys, old, tomb).await?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        tokio::time::sleep(Duration::from_millis(shared.settings.delete_grace_ms)).await;
        delete_all(shared, &keys.pages(), |_| true).await?;
        delete_all(shared, &keys.snapshots(), |_| true).await?;
        delete_all(shared, &keys.log(), |size| !is_fence(size)).await
    }
}

async fn delete_all(shared: &Shared, prefix: &str, goes: impl Fn(u64) -> bool) -> Result<()> {
    let mut after = None::<String>;
    loop {
        let listed = shared.store.list(prefix, after.as_deref(), DELETE_BATCH).await?;
        let Some(last) = listed.last() else { return Ok(()) };
        after = Some(last.key.clone());
        let keys: Vec<_> = listed.into_iter().filter(|o| goes(o.size)).map(|o| o.key).collect();
        shared.store.delete(&keys).await?;
    }
}
