//! Sealing a buffer and putting it into its slot, until it is committed there or somebody else is.
//!
//! The bytes of a slot never change over retries, so whatever the network does, the slot ends up with these
//! bytes or with another writer's. A slot that is taken is read to tell the two apart.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Inner;
use super::backoff::Backoff;
use super::state::{Sealing, Stored};
use super::ticket::Ticket;
use crate::env;
use crate::error::{Error, ErrorKind};
use crate::log::partition::Reading;
use crate::policy::IndexView;
use crate::record::AppendedSet;
use crate::segment::{self, HEADER_LEN, Header, Identity, Sealed, SliceInput};
use crate::store::{Body, GetRange, ObjectStore, Operation, PutMode, StoreError, StoreErrorKind};
use crate::types::{PartitionId, Slot};

/// How an upload ended.
pub(super) enum Outcome {
    /// The slot holds the segment.
    Stored(Slot, Box<Stored>, Duration),
    /// The slot holds something of another writer.
    Fenced(Slot, Identity),
}

/// Seals a buffer and uploads it for as long as it takes.
pub(super) async fn seal_and_upload(inner: Arc<Inner>, sealing: Sealing) -> Outcome {
    let Sealing { slot, ticket, sets, permit } = sealing;
    let identity = Identity { topic: inner.id.topic, lane: inner.id.lane, slot, epoch: inner.epoch, nonce: inner.nonce };
    let slices = with_spacing(&inner, sets);
    let sealed = segment::seal(identity, inner.shared.env.unix_ms(), slices);
    let started = env::now();
    match upload(&inner, slot, &sealed, &ticket).await {
        None => Outcome::Stored(slot, Box::new(Stored { sealed, permit }), started.elapsed()),
        Some(other) => Outcome::Fenced(slot, other),
    }
}

fn with_spacing(inner: &Inner, sets: std::collections::BTreeMap<PartitionId, Vec<AppendedSet>>) -> Vec<SliceInput> {
    let partitions = inner.partitions.load();
    let mut policy = inner.index_policy.lock();
    policy.begin_seal();
    let slice = |(partition, sets): (PartitionId, Vec<AppendedSet>)| {
        let reading = partitions.get(&partition).map(|partition| partition.reading()).unwrap_or_default();
        let spacing = policy.decide(&index_view(&sets, reading));
        SliceInput { partition, sets, spacing }
    };
    sets.into_iter().map(slice).collect()
}

fn index_view(sets: &[AppendedSet], reading: Reading) -> IndexView {
    let headers = || sets.iter().flat_map(|s| &s.batches).map(|b| &b.header);
    let first = headers().map(|h| h.base_timestamp).min().unwrap_or(0);
    let last = headers().map(|h| h.max_timestamp).max().unwrap_or(0);
    IndexView {
        slice_bytes: sets.iter().map(|s| s.bytes.len() as u64).sum(),
        slice_records: headers().map(|h| h.record_count as u64).sum(),
        slice_batches: headers().count() as u32,
        time_span_ms: last.saturating_sub(first).max(0) as u64,
        seeks_per_min: reading.seeks_per_min,
        time_lookups_per_min: reading.time_lookups_per_min,
        fetch_p50_bytes: reading.fetch_p50_bytes,
    }
}

/// Puts the segment into its slot. `None`: it is there. Else: whose object is there.
async fn upload(inner: &Inner, slot: Slot, sealed: &Sealed, ticket: &Ticket) -> Option<Identity> {
    let key = inner.keys.slot(slot);
    let patience = Duration::from_millis(inner.shared.settings.upload_deadline_ms);
    let deadline = env::now() + patience;
    let mut permit = Some(inner.uploads.acquire().await.expect("the semaphore is never closed"));
    let mut backoff = Backoff::new();
    loop {
        let attempt = create_segment(&*inner.shared.store, &key, sealed);
        let outcome = tokio::time::timeout(patience, attempt).await.unwrap_or_else(|_| {
            let message = format!("no answer within {} ms", patience.as_millis());
            Err(StoreError::new(StoreErrorKind::OutcomeUnknown, Operation::Put, &key, message))
        });
        let is_full = outcome.as_ref().is_err_and(|error| error.kind == StoreErrorKind::Full);
        inner.store_is_full.store(is_full, Ordering::Relaxed);
        let error = match outcome {
            Ok(owner) => return owner,
            Err(error) => error,
        };
        inner.shared.metrics.lane.upload_retries.inc();
        tracing::warn!(topic = %inner.topic.name, lane = %inner.id, slot, %error, "segment upload failed; the same bytes are tried again");
        let late = env::now() + backoff.at_most() >= deadline && permit.take().is_some();
        // A store stays full until somebody acts: producers hear of it at once, and no more is taken.
        if late || is_full {
            let message = format!("upload of slot {slot} of {} has no outcome yet, and is tried again", inner.name());
            ticket.decide(Err(Error::new(ErrorKind::OutcomeUnknown, message).with_source(error)));
        }
        backoff.pause(&inner.shared.env).await;
    }
}

/// Creates a segment, unless it would take the room of what makes room.
async fn create_segment(store: &dyn ObjectStore, key: &str, sealed: &Sealed) -> Result<Option<Identity>, StoreError> {
    if !store.has_room(sealed.body.len()) {
        let message = "the room that is left is kept for what makes room: delete topics, shorten retention, or add some";
        return Err(StoreError::new(StoreErrorKind::Full, Operation::Put, key, message));
    }
    create_own(store, key, &sealed.body, &sealed.header).await
}

/// Creates a log object, or learns whose object is there. `Ok(None)`: it is these bytes.
pub(super) async fn create_own(store: &dyn ObjectStore, key: &str, body: &Body, header: &Header) -> Result<Option<Identity>, StoreError> {
    match store.put(key, body.clone(), PutMode::Create).await {
        Ok(_) => Ok(None),
        Err(e) if e.kind == StoreErrorKind::AlreadyExists => {
            let found = read_header(store, key).await?;
            Ok((found != *header).then_some(found.identity))
        }
        Err(e) => Err(e),
    }
}

/// The header of a log object.
pub(super) async fn read_header(store: &dyn ObjectStore, key: &str) -> Result<Header, StoreError> {
    let object = store.get(key, GetRange::Bounded(0..HEADER_LEN as u64)).await?;
    Header::decode(&object.bytes).map_err(|e| StoreError {
        kind: StoreErrorKind::Corrupt,
        operation: "get",
        key: key.to_owned(),
        message: e.to_string(),
    })
}
