//! Produce: append everything, then wait for all commits together.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use futures::future::join_all;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::ProduceResponse;
use kafka_protocol::messages::produce_response::{PartitionProduceResponse, TopicProduceResponse};
use kafka_protocol::protocol::StrBytes;
use tidegate::config::Acks;
use tidegate::metadata::TopicRecord;
use tidegate::record::{BatchMeta, batches};
use tidegate::runtime::{Appended, Committed};
use tidegate::types::TopicPartition;
use tokio::time::timeout;
use uuid::Uuid;

use super::{Call, Service, Session};
use crate::connection::{Accepted, Outcome};
use crate::errors;
use crate::security::acl::Operation;
use crate::topics::Refusal;
use crate::wire::produce::{PartitionRecords, Produce, TopicRecords};
use crate::wire::reader::Malformed;

/// First version that says why records were refused.
const ERROR_MESSAGES: i16 = 8;
const TOPIC_IDS: i16 = 13;

/// A topic's appends, taken or refused.
struct TopicTaken {
    name: String,
    id: Uuid,
    partitions: Vec<(i32, Result<Taken, Refusal>)>,
}

/// An append that is in the buffer.
struct Taken {
    base_offset: i64,
    append_time: i64,
    log_start: i64,
    /// `None`: the topic's settings ask for no more than the buffer.
    committed: Option<Committed>,
}

impl Service {
    /// Appends what a request holds, partition by partition in its order; the commits are waited for later.
    pub(super) async fn produce(
        self: &Arc<Self>,
        session: &Session,
        call: Call,
        frame: BytesMut,
        body: usize,
    ) -> Result<Accepted, Malformed> {
        let request = Produce::read(frame, body, call.version)?;
        let (acks, patience) = (request.acks, Duration::from_millis(request.timeout_ms.max(0) as u64));
        let refused = check(&request);
        let mut topics = Vec::with_capacity(request.topics.len());
        for topic in request.topics {
            topics.push(self.append_topic(session, topic, call.version, refused.as_ref()).await);
        }
        if acks == 0 {
            return Ok(Accepted::Now(unanswered(&topics)));
        }
        Ok(Accepted::Handed(Box::pin(async move { call.answer(&settle(topics, patience, call.version).await) })))
    }

    async fn append_topic(&self, session: &Session, topic: TopicRecords, version: i16, refused: Option<&Refusal>) -> TopicTaken {
        let found = match refused {
            Some(refused) => Err(refused.clone()),
            None if version >= TOPIC_IDS => self.topic_of_id_for(session, Operation::Write, topic.id).await,
            None => self.topic_for(session, Operation::Write, &topic.name).await,
        };
        let found = found.and_then(|record| {
            let settings = self.storage.topic_settings(&record).map_err(|error| Refusal::of(&error))?;
            Ok((record, settings.acks))
        });
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for PartitionRecords { partition, records } in topic.partitions {
            let taken = match &found {
                Ok((record, acks)) => self.append(record, *acks, partition, records).await,
                Err(refusal) => Err(refusal.clone()),
            };
            partitions.push((partition, taken));
        }
        TopicTaken { name: topic.name, id: topic.id, partitions }
    }

    async fn append(&self, topic: &TopicRecord, acks: Acks, partition: i32, records: BytesMut) -> Result<Taken, Refusal> {
        let partition = partition_of(topic, partition)?;
        if records.is_empty() {
            return Err(Refusal::new(
                ResponseError::InvalidRecord,
                format!("record set for {}-{} is empty", topic.name, partition.partition),
            ));
        }
        refuse_transactions(&records)?;
        let appended = self.storage.append(partition, records).await;
        let appended = appended.map_err(|error| Refusal::new(errors::of_append(&error), error.to_string()))?;
        let Appended { base_offset, append_time, log_start, committed } = appended;
        let committed = (acks == Acks::Committed).then_some(committed);
        Ok(Taken { base_offset, append_time: append_time.unwrap_or(-1), log_start, committed })
    }
}

/// The partition of a topic, if it has it.
pub(super) fn partition_of(topic: &TopicRecord, partition: i32) -> Result<TopicPartition, Refusal> {
    match u32::try_from(partition) {
        Ok(number) if number < topic.partitions => Ok(TopicPartition { topic: topic.id, partition: number }),
        _ => {
            let message = format!("topic {} has {} partitions, partition {partition} was asked for", topic.name, topic.partitions);
            Err(Refusal::new(ResponseError::UnknownTopicOrPartition, message))
        }
    }
}

/// Batches that only a transaction coordinator may write, or only with one. What is no batch at all the host refuses.
fn refuse_transactions(records: &[u8]) -> Result<(), Refusal> {
    for BatchMeta { header, position } in batches(records).map_while(Result::ok) {
        if header.is_control() {
            return Err(Refusal::new(
                ResponseError::InvalidRecord,
                format!("batch at position {position}: control batches are not for clients"),
            ));
        }
        if header.is_transactional() {
            let message = format!("batch at position {position}: transactions are not supported");
            return Err(Refusal::new(ResponseError::TransactionalIdAuthorizationFailed, message));
        }
    }
    Ok(())
}

/// What holds for a request as a whole.
fn check(request: &Produce) -> Option<Refusal> {
    if request.transactional {
        return Some(Refusal::new(ResponseError::InvalidRequest, "transactions are not supported"));
    }
    if !(-1..=1).contains(&request.acks) {
        let message = format!("acks is {}, expected -1, 0 or 1", request.acks);
        return Some(Refusal::new(ResponseError::InvalidRequiredAcks, message));
    }
    None
}

/// Without acks a closed connection is the only way to tell of a failure.
fn unanswered(topics: &[TopicTaken]) -> Outcome {
    let failed = topics.iter().flat_map(|topic| &topic.partitions).find_map(|(_, taken)| taken.as_ref().err());
    failed.map_or(Outcome::Silent, |refusal| Outcome::Close(format!("records sent without acks were refused: {}", refusal.message)))
}

/// Waits for all commits at once, at most for `patience`, and answers.
async fn settle(topics: Vec<TopicTaken>, patience: Duration, version: i16) -> ProduceResponse {
    let responses = join_all(topics.into_iter().map(async |topic| {
        let partitions = topic.partitions.into_iter().map(async |(index, taken)| partition_answer(index, taken, patience, version).await);
        let answer = TopicProduceResponse::default().with_partition_responses(join_all(partitions).await);
        if version >= TOPIC_IDS { answer.with_topic_id(topic.id) } else { answer.with_name(StrBytes::from_string(topic.name).into()) }
    }));
    ProduceResponse::default().with_responses(responses.await)
}

async fn partition_answer(index: i32, taken: Result<Taken, Refusal>, patience: Duration, version: i16) -> PartitionProduceResponse {
    let answer = PartitionProduceResponse::default().with_index(index).with_base_offset(-1).with_log_append_time_ms(-1);
    match commit(taken, patience).await {
        Ok(taken) => {
            let answer = answer.with_base_offset(taken.base_offset).with_log_append_time_ms(taken.append_time);
            if version >= 5 { answer.with_log_start_offset(taken.log_start) } else { answer }
        }
        Err(refusal) => {
            let answer = answer.with_error_code(refusal.code.code());
            if version >= ERROR_MESSAGES { answer.with_error_message(Some(StrBytes::from_string(refusal.message))) } else { answer }
        }
    }
}

async fn commit(taken: Result<Taken, Refusal>, patience: Duration) -> Result<Taken, Refusal> {
    let mut taken = taken?;
    if let Some(committed) = taken.committed.take() {
        let committed = timeout(patience, committed.wait()).await;
        let late = || Refusal::new(ResponseError::RequestTimedOut, format!("not committed within {patience:?}, and may still be"));
        let committed = committed.map_err(|_| late())?;
        committed.map_err(|error| Refusal::new(errors::of_append(&error), error.to_string()))?;
    }
    Ok(taken)
}
