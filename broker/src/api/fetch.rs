//! Fetch: one wait for all partitions, records shared with the cache.
//!
//! Sessions are not kept: each answer says session id 0, and clients then name all partitions each time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::FetchRequest;
use kafka_protocol::messages::fetch_request::FetchPartition as Wanted;
use tidegate::Result;
use tidegate::runtime::{self, FetchPartition, Fetched};
use tidegate::types::{TopicId, TopicPartition};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::produce::partition_of;
use super::{Call, LOOKUPS_AT_ONCE, Service, Session};
use crate::connection::Outcome;
use crate::errors;
use crate::wire::answer::Answer;
use crate::wire::fetch::{FetchAnswer, PartitionAnswer, TOPIC_IDS, TopicAnswer};

/// How long a fetch waits for room in the budget of answers before it is answered without records.
const ROOM_WAIT: Duration = Duration::from_secs(1);
/// First version whose answers have the flexible header.
const FLEXIBLE: i16 = 12;

/// A partition asked for: where its answer goes, and what to read or why not.
struct Asked {
    topic: usize,
    partition: i32,
    target: Result<FetchPartition, ResponseError>,
}

/// A partition's answer before it is put in its place.
type Found = Result<Fetched, ResponseError>;

impl Service {
    pub(super) async fn fetch(self: Arc<Self>, session: Session, call: Call, request: FetchRequest) -> Outcome {
        if let Some(error) = session_error(&request) {
            return finish(call, FetchAnswer { error: error.code(), topics: Vec::new() }, None);
        }
        let mut asked = Vec::new();
        for (index, topic) in request.topics.iter().enumerate() {
            self.resolve(index, topic, call.version, &mut asked).await;
        }
        self.check_epochs(&request, &mut asked).await;
        let (found, permit) = self.read(&session, &request, &asked).await;
        let mut answers = outline(&request);
        for (asked, found) in asked.iter().zip(found) {
            answers[asked.topic].partitions.push(partition_answer(asked.partition, found, call.version));
        }
        finish(call, FetchAnswer { error: 0, topics: answers }, permit)
    }

    async fn resolve(
        &self,
        index: usize,
        topic: &kafka_protocol::messages::fetch_request::FetchTopic,
        version: i16,
        asked: &mut Vec<Asked>,
    ) {
        let found = if version >= TOPIC_IDS { None } else { Some(self.topics.by_name(&topic.topic, false).await) };
        for wanted in &topic.partitions {
            let partition = match &found {
                None => by_id(topic.topic_id, wanted.partition),
                Some(Ok(record)) => partition_of(record, wanted.partition).map_err(|refusal| refusal.code),
                Some(Err(refusal)) => Err(refusal.code),
            };
            let target = partition.map(|partition| FetchPartition {
                partition,
                offset: wanted.fetch_offset,
                max_bytes: wanted.partition_max_bytes.max(0) as usize,
            });
            asked.push(Asked { topic: index, partition: wanted.partition, target });
        }
    }

    /// Refuses partitions for which the client knows another leader epoch than this host.
    async fn check_epochs(&self, request: &FetchRequest, asked: &mut [Asked]) {
        let wanted = request.topics.iter().flat_map(|topic| &topic.partitions);
        let checks = asked.iter_mut().zip(wanted).filter(|(_, wanted)| wanted.current_leader_epoch >= 0);
        let checks = checks.map(|(asked, wanted)| self.check_epoch(asked, wanted));
        futures::stream::iter(checks).for_each_concurrent(LOOKUPS_AT_ONCE, |check| check).await;
    }

    async fn check_epoch(&self, asked: &mut Asked, wanted: &Wanted) {
        if let Ok(target) = asked.target
            && let Err(error) = self.agree_on_epoch(target.partition, wanted.current_leader_epoch).await
        {
            asked.target = Err(error);
        }
    }

    /// Whether a client's leader epoch is this host's; -1 agrees with all.
    pub(super) async fn agree_on_epoch(&self, partition: TopicPartition, claimed: i32) -> Result<(), ResponseError> {
        if claimed < 0 {
            return Ok(());
        }
        let epoch = self.storage.leader_epoch(partition).await.map_err(|error| errors::of_read(&error))?;
        match i64::from(claimed).cmp(&i64::from(epoch)) {
            std::cmp::Ordering::Less => Err(ResponseError::FencedLeaderEpoch),
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Greater => Err(ResponseError::UnknownLeaderEpoch),
        }
    }

    /// Reads what can be read; answers in the order of `asked`.
    async fn read(&self, session: &Session, request: &FetchRequest, asked: &[Asked]) -> (Vec<Found>, Option<OwnedSemaphorePermit>) {
        let mut found: Vec<Found> =
            asked.iter().map(|asked| Err(asked.target.err().unwrap_or(ResponseError::UnknownServerError))).collect();
        let readable: Vec<(usize, FetchPartition)> = asked.iter().enumerate().filter_map(|(at, a)| Some((at, a.target.ok()?))).collect();
        let partitions: Vec<TopicPartition> = readable.iter().map(|(_, target)| target.partition).collect();
        let order = session.turns.lock().order(&partitions);
        let all_readable = readable.len() == asked.len();
        let read = self.bounds(request, order.iter().map(|at| readable[*at].1).collect(), all_readable);
        let (results, permit) = self.read_within_budget(session, read).await;
        for (at, result) in order.iter().zip(results) {
            found[readable[*at].0] = result.map_err(|error| errors::of_read(&error));
        }
        let served = |at: usize| found[readable[at].0].as_ref().is_ok_and(|fetched| fetched.len > 0);
        session.turns.lock().note(&partitions, served);
        (found, permit)
    }

    /// The host's request; it does not wait where an error is to be reported.
    fn bounds(&self, request: &FetchRequest, partitions: Vec<FetchPartition>, may_wait: bool) -> runtime::FetchRequest {
        let limits = &self.settings.limits;
        let max_wait = if may_wait { request.max_wait_ms.max(0) as u32 } else { 0 };
        runtime::FetchRequest {
            partitions,
            max_bytes: request.max_bytes.clamp(0, limits.fetch_bytes.min(i32::MAX as u32) as i32) as usize,
            min_bytes: request.min_bytes.max(0) as usize,
            max_wait: Duration::from_millis(max_wait.min(limits.fetch_wait_ms).into()),
        }
    }

    /// Reads, and takes room for what was found in the budget of unwritten answers. Where there is none, the
    /// records are let go, and read again once there is room, or not at all.
    async fn read_within_budget(
        &self,
        session: &Session,
        mut read: runtime::FetchRequest,
    ) -> (Vec<tidegate::Result<Fetched>>, Option<OwnedSemaphorePermit>) {
        let mut found = self.read_until_stopped(session, &read).await;
        let room = self.fetch_room.clone();
        let wanted = record_bytes(&found).min(self.settings.limits.total_fetch_bytes as usize);
        if let Ok(permit) = room.clone().try_acquire_many_owned(wanted as u32) {
            return (found, Some(permit));
        }
        for fetched in found.iter_mut().flatten() {
            fetched.chunks = Vec::new();
            fetched.len = 0;
        }
        let Ok(Ok(permit)) = timeout(ROOM_WAIT, room.acquire_many_owned(wanted as u32)).await else { return (found, None) };
        read.max_bytes = wanted;
        read.max_wait = Duration::ZERO;
        (self.storage.fetch(read).await, Some(permit))
    }

    /// A long wait ends when the broker stops, with what is there by then.
    async fn read_until_stopped(&self, session: &Session, read: &runtime::FetchRequest) -> Vec<tidegate::Result<Fetched>> {
        tokio::select! {
            found = self.storage.fetch(read.clone()) => return found,
            () = session.stop.cancelled(), if !read.max_wait.is_zero() => {}
        }
        self.storage.fetch(runtime::FetchRequest { max_wait: Duration::ZERO, ..read.clone() }).await
    }
}

fn session_error(request: &FetchRequest) -> Option<ResponseError> {
    match (request.session_id, request.session_epoch) {
        (0, ..=0) => None,
        (0, _) => Some(ResponseError::InvalidFetchSessionEpoch),
        _ => Some(ResponseError::FetchSessionIdNotFound),
    }
}

fn by_id(id: uuid::Uuid, partition: i32) -> Result<TopicPartition, ResponseError> {
    if id.is_nil() {
        return Err(ResponseError::UnknownTopicId);
    }
    let partition = u32::try_from(partition).map_err(|_| ResponseError::UnknownTopicOrPartition)?;
    Ok(TopicPartition { topic: TopicId(id), partition })
}

/// The topics of the answer, without their partitions.
fn outline(request: &FetchRequest) -> Vec<TopicAnswer> {
    let topics = request.topics.iter();
    topics.map(|topic| TopicAnswer { name: topic.topic.to_string(), id: topic.topic_id, partitions: Vec::new() }).collect()
}

fn partition_answer(partition: i32, found: Found, version: i16) -> PartitionAnswer {
    match found {
        Ok(found) => PartitionAnswer {
            partition,
            error: 0,
            high_watermark: found.offsets.high_watermark,
            log_start: found.offsets.log_start,
            records: found.chunks,
        },
        Err(error) => {
            let unknown_id = version >= TOPIC_IDS && error == ResponseError::UnknownTopicOrPartition;
            let error = if unknown_id { ResponseError::UnknownTopicId } else { error };
            PartitionAnswer { partition, error: error.code(), high_watermark: -1, log_start: -1, records: Vec::<Bytes>::new() }
        }
    }
}

fn record_bytes(found: &[tidegate::Result<Fetched>]) -> usize {
    found.iter().flatten().map(|fetched| fetched.len).sum()
}

fn finish(call: Call, answer: FetchAnswer, permit: Option<OwnedSemaphorePermit>) -> Outcome {
    let header = if call.version >= FLEXIBLE { 1 } else { 0 };
    Call::outcome(Answer::around(call.correlation_id, header, answer.encode(call.version)).map(|answer| answer.holding(permit)))
}
