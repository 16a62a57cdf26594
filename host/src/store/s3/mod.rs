//! S3, and servers that speak it, through the AWS SDK. Nothing else in the host names it.
//!
//! The SDK signs and parses; everything with a policy is ours. Its retries are off (a wrapper counts and paces
//! them), its checksums too: a put carries the CRC-32 that the writer computed while it laid the object out, and
//! the payload itself goes unsigned, so the bytes are passed over once. A get watches that bytes keep coming and
//! resumes one that stalls, from where it stood and on the same version.
//!
//! Versions are ETags without their quotes. An ETag depends on the bytes alone: whoever replaces an object puts
//! something into it (a nonce, a counter) that never repeats.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::SharedHttpClient;
use aws_sdk_s3::types::Object as Listed;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::key::{check_key, check_prefix, check_range};
use super::{Body, GetRange, Object, ObjectMeta, ObjectStore, Operation, PutMode, StoreError, StoreErrorKind, Version};
use crate::config::S3Settings;
use crate::env::Env;
use crate::error::Result;
use crate::metrics::Metrics;

mod body;
mod config;
mod delete;
mod errors;
mod read;

use errors::classify;

/// Keys in a page of a listing.
const PAGE: i32 = 1_000;

/// Objects of a bucket, below a prefix. Clones share the client.
#[derive(Clone)]
pub struct S3Store {
    client: Client,
    bucket: String,
    /// Empty, or with a slash at the end.
    prefix: String,
    timeout: Duration,
    tries: u32,
    conditions: bool,
    env: Env,
    metrics: Arc<Metrics>,
}

impl std::fmt::Debug for S3Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3Store").field("bucket", &self.bucket).field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl S3Store {
    /// A client by these settings; [`InvalidInput`](crate::ErrorKind::InvalidInput) names the setting that is wrong. Sends nothing yet.
    pub fn connect(settings: &S3Settings, env: Env, metrics: Arc<Metrics>) -> Result<Self> {
        config::check(settings)?;
        let http = config::http_client(settings);
        Self::with_http(settings, http, env, metrics)
    }

    fn with_http(settings: &S3Settings, http: SharedHttpClient, env: Env, metrics: Arc<Metrics>) -> Result<Self> {
        let prefix = if settings.prefix.is_empty() { String::new() } else { format!("{}/", settings.prefix) };
        Ok(Self {
            client: Client::from_conf(config::client(settings, http)?),
            bucket: settings.bucket.clone(),
            prefix,
            timeout: Duration::from_millis(settings.timeout_ms),
            tries: settings.tries,
            conditions: true,
            env,
            metrics,
        })
    }

    /// Sends puts without preconditions: for servers that refuse or ignore them, below a [`SingleWriter`](super::SingleWriter).
    pub fn without_conditions(mut self) -> Self {
        self.conditions = false;
        self
    }

    fn full(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    /// A time-out for what has no body to speak of.
    async fn timed<T>(
        &self,
        operation: Operation,
        key: &str,
        request: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        tokio::time::timeout(self.timeout, request).await.unwrap_or_else(|_| {
            let message = format!("no answer within {} ms", self.timeout.as_millis());
            Err(StoreError::new(StoreErrorKind::OutcomeUnknown, operation, key, message))
        })
    }

    fn meta(&self, object: Listed) -> Option<ObjectMeta> {
        let key = object.key?.strip_prefix(&self.prefix)?.to_owned();
        // What others put below the prefix under names of theirs is none of our business.
        check_key(Operation::List, &key).ok()?;
        let version = object.e_tag.map(|tag| version(&tag));
        let modified_ms = object.last_modified.and_then(|at| at.to_millis().ok()).unwrap_or(0);
        Some(ObjectMeta { key, size: u64::try_from(object.size?).ok()?, version, modified_ms })
    }
}

fn version(e_tag: &str) -> Version {
    Version(e_tag.trim_matches('"').into())
}

fn e_tag(version: &Version) -> String {
    format!("\"{}\"", version.0)
}

fn no_e_tag(operation: Operation, key: &str) -> StoreError {
    StoreError::new(StoreErrorKind::Unsupported, operation, key, "the store answered without an ETag")
}

#[async_trait]
impl ObjectStore for S3Store {
    async fn put(&self, key: &str, body: Body, mode: PutMode) -> Result<Version, StoreError> {
        check_key(Operation::Put, key)?;
        let mut request = self.client.put_object().bucket(&self.bucket).key(self.full(key));
        request = match &mode {
            _ if !self.conditions => request,
            PutMode::Create => request.if_none_match("*"),
            PutMode::Replace(version) => request.if_match(e_tag(version)),
        };
        let sent = request
            .checksum_crc32(BASE64_STANDARD.encode(body.crc32().to_be_bytes()))
            .content_length(body.len() as i64)
            .body(body::stream(&body))
            .send()
            .await;
        let answer = sent.map_err(|e| classify(Operation::Put, key, Some(&mode), e))?;
        answer.e_tag().map(version).ok_or_else(|| no_e_tag(Operation::Put, key))
    }

    async fn get(&self, key: &str, range: GetRange) -> Result<Object, StoreError> {
        check_key(Operation::Get, key)?;
        check_range(key, &range)?;
        read::get(self, key, &range).await
    }

    async fn head(&self, key: &str) -> Result<ObjectMeta, StoreError> {
        check_key(Operation::Head, key)?;
        let answer = self
            .timed(Operation::Head, key, async {
                let sent = self.client.head_object().bucket(&self.bucket).key(self.full(key)).send().await;
                sent.map_err(|e| classify(Operation::Head, key, None, e))
            })
            .await?;
        let size = u64::try_from(answer.content_length().unwrap_or(0)).unwrap_or(0);
        let tag = answer.e_tag().map(version).ok_or_else(|| no_e_tag(Operation::Head, key))?;
        let modified_ms = answer.last_modified().and_then(|at| at.to_millis().ok()).unwrap_or(0);
        Ok(ObjectMeta { key: key.to_owned(), size, version: Some(tag), modified_ms })
    }

    async fn list(&self, prefix: &str, start_after: Option<&str>, limit: usize) -> Result<Vec<ObjectMeta>, StoreError> {
        check_prefix(Operation::List, prefix)?;
        let mut all = Vec::new();
        let mut token: Option<String> = None;
        while all.len() < limit {
            let wanted = i32::try_from(limit - all.len()).unwrap_or(PAGE).min(PAGE);
            let mut request = self.client.list_objects_v2().bucket(&self.bucket).prefix(self.full(prefix)).max_keys(wanted);
            request = match token.take() {
                Some(token) => request.continuation_token(token),
                None => request.set_start_after(start_after.map(|after| self.full(after))),
            };
            let page = self
                .timed(Operation::List, prefix, async { request.send().await.map_err(|e| classify(Operation::List, prefix, None, e)) })
                .await?;
            token = page.next_continuation_token.filter(|_| page.is_truncated == Some(true));
            all.extend(page.contents.into_iter().flatten().filter_map(|object| self.meta(object)));
            if token.is_none() {
                break;
            }
        }
        all.truncate(limit);
        Ok(all)
    }

    async fn delete(&self, keys: &[String]) -> Result<(), StoreError> {
        for key in keys {
            check_key(Operation::Delete, key)?;
        }
        delete::delete(self, keys).await
    }
}

#[cfg(test)]
mod tests;
