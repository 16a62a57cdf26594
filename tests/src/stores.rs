//! Stores around a store: one process of several can be stopped, and what it uploads can be looked at.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tidegate::store::{Body, GetRange, Object, ObjectMeta, ObjectStore, PutMode, StoreError, Version};
use tokio::sync::watch;

/// One host's way to a store that others use too: while paused, none of its requests gets there.
#[derive(Debug)]
pub struct Pausable<S> {
    inner: S,
    paused: watch::Sender<bool>,
}

impl<S: ObjectStore> Pausable<S> {
    /// Not paused.
    pub fn new(inner: S) -> Arc<Self> {
        Arc::new(Self { inner, paused: watch::Sender::new(false) })
    }

    /// From now on requests wait.
    pub fn pause(&self) {
        self.paused.send_replace(true);
    }

    /// All that waited go on.
    pub fn resume(&self) {
        self.paused.send_replace(false);
    }

    async fn pass(&self) {
        let mut paused = self.paused.subscribe();
        paused.wait_for(|paused| !paused).await.expect("the sender lives as long as the store");
    }
}

#[async_trait]
impl<S: ObjectStore> ObjectStore for Pausable<S> {
    async fn put(&self, key: &str, body: Body, mode: PutMode) -> Result<Version, StoreError> {
        self.pass().await;
        self.inner.put(key, body, mode).await
    }
    async fn get(&self, key: &str, range: GetRange) -> Result<Object, StoreError> {
        self.pass().await;
        self.inner.get(key, range).await
    }
    async fn head(&self, key: &str) -> Result<ObjectMeta, StoreError> {
        self.pass().await;
        self.inner.head(key).await
    }
    async fn list(&self, prefix: &str, start_after: Option<&str>, limit: usize) -> Result<Vec<ObjectMeta>, StoreError> {
        self.pass().await;
        self.inner.list(prefix, start_after, limit).await
    }
    async fn delete(&self, keys: &[String]) -> Result<(), StoreError> {
        self.pass().await;
        self.inner.delete(keys).await
    }
}

/// Where a chunk of an uploaded body lies in memory, and its length.
pub type Place = (usize, usize);

/// Notes where in memory the chunks of uploaded bodies lie.
#[derive(Debug)]
pub struct Watched<S> {
    inner: S,
    uploads: Mutex<Vec<(String, Vec<Place>)>>,
}

impl<S: ObjectStore> Watched<S> {
    /// Nothing seen yet.
    pub fn new(inner: S) -> Arc<Self> {
        Arc::new(Self { inner, uploads: Mutex::default() })
    }

    /// Key and chunks of every put so far.
    pub fn uploads(&self) -> Vec<(String, Vec<Place>)> {
        self.uploads.lock().clone()
    }
}

#[async_trait]
impl<S: ObjectStore> ObjectStore for Watched<S> {
    async fn put(&self, key: &str, body: Body, mode: PutMode) -> Result<Version, StoreError> {
        let places = body.chunks().iter().map(|c| (c.as_ptr() as usize, c.len())).collect();
        self.uploads.lock().push((key.to_owned(), places));
        self.inner.put(key, body, mode).await
    }
    async fn get(&self, key: &str, range: GetRange) -> Result<Object, StoreError> {
        self.inner.get(key, range).await
    }
    async fn head(&self, key: &str) -> Result<ObjectMeta, StoreError> {
        self.inner.head(key).await
    }
    async fn list(&self, prefix: &str, start_after: Option<&str>, limit: usize) -> Result<Vec<ObjectMeta>, StoreError> {
        self.inner.list(prefix, start_after, limit).await
    }
    async fn delete(&self, keys: &[String]) -> Result<(), StoreError> {
        self.inner.delete(keys).await
    }
}
