//! Fetch: one wait for all partitions, records shared with the cache.
//!
//! What a request is about comes from it or from its session ([`crate::fetch_session`]); then all partitions are
//! resolved to topics that exist, read with one wait, and what is news is answered.

use std::sync::Arc;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::FetchRequest;
use kafka_protocol::messages::fetch_request::{FetchTopic, ForgottenTopic};
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use self::read::Waiting;
use super::{Call, Service, Session, later};
use crate::connection::{Accepted, Outcome};
use crate::fetch_session::{Asked, Claim, Context, PartitionKey, TopicKey, Wanted};
use crate::wire::answer::Answer;
use crate::wire::fetch::{FetchAnswer, PartitionAnswer, TOPIC_IDS, TopicAnswer};

mod read;
mod resolve;

/// First version whose answers have the flexible header.
const FLEXIBLE: i16 = 12;

impl Service {
    /// Takes up a fetch in the order of the requests, which is that of its session's epochs; reading goes on beside them.
    pub(super) fn fetch(self: &Arc<Self>, session: Session, call: Call, request: FetchRequest) -> Accepted {
        let by_id = call.version >= TOPIC_IDS;
        let claim = Claim { id: request.session_id, epoch: request.session_epoch, by_id };
        let forgotten: Vec<_> = request.forgotten_topics_data.iter().flat_map(|topic| forgotten(topic, by_id)).collect();
        let wanted = request.topics.iter().flat_map(|topic| wanted(topic, by_id)).collect();
        match self.fetch_sessions.open(claim, wanted, &forgotten) {
            Ok((context, asked)) => {
                let (service, waiting) = (self.clone(), Waiting::of(&request, &self.settings.limits));
                later(async move { service.answer_fetch(session, call, context, asked, waiting).await })
            }
            Err(error) => Accepted::Now(refuse(call, error)),
        }
    }

    async fn answer_fetch(&self, session: Session, call: Call, context: Context, asked: Vec<Asked>, waiting: Waiting) -> Outcome {
        let targets = self.resolve(&session, &asked).await;
        // A session has an order of its own.
        let turns = match context {
            Context::Incremental { .. } => None,
            Context::Full { .. } | Context::Sessionless => Some(&*session.turns),
        };
        let (found, permit) = self.read(&asked, &targets, turns, waiting, &session.stop).await;
        let mut answered: Vec<(Asked, PartitionAnswer)> = asked.into_iter().zip(found).collect();
        match self.fetch_sessions.finish(context, &mut answered) {
            Ok(session_id) => finish(call, FetchAnswer { error: 0, session_id, topics: by_topic(answered) }, permit),
            Err(error) => refuse(call, error),
        }
    }
}

fn key(name: &str, id: Uuid, by_id: bool) -> TopicKey {
    if by_id { TopicKey::Id(id) } else { TopicKey::Name(name.into()) }
}

fn wanted(topic: &FetchTopic, by_id: bool) -> impl Iterator<Item = Asked> {
    let key = key(&topic.topic, topic.topic_id, by_id);
    topic.partitions.iter().map(move |partition| Asked {
        key: PartitionKey { topic: key.clone(), partition: partition.partition },
        wanted: Wanted {
            offset: partition.fetch_offset,
            max_bytes: partition.partition_max_bytes,
            leader_epoch: partition.current_leader_epoch,
        },
    })
}

fn forgotten(topic: &ForgottenTopic, by_id: bool) -> impl Iterator<Item = PartitionKey> {
    let key = key(&topic.topic, topic.topic_id, by_id);
    topic.partitions.iter().map(move |partition| PartitionKey { topic: key.clone(), partition: *partition })
}

/// Neighbours of one topic are answered together; the order of the partitions stays.
fn by_topic(answered: Vec<(Asked, PartitionAnswer)>) -> Vec<TopicAnswer> {
    let mut topics: Vec<(TopicKey, TopicAnswer)> = Vec::new();
    for (asked, answer) in answered {
        match topics.last_mut() {
            Some((key, topic)) if *key == asked.key.topic => topic.partitions.push(answer),
            _ => topics.push((asked.key.topic.clone(), topic(asked.key.topic, answer))),
        }
    }
    topics.into_iter().map(|(_, topic)| topic).collect()
}

fn topic(key: TopicKey, first: PartitionAnswer) -> TopicAnswer {
    let (name, id) = match key {
        TopicKey::Name(name) => (name, Uuid::nil()),
        TopicKey::Id(id) => ("".into(), id),
    };
    TopicAnswer { name, id, partitions: vec![first] }
}

fn refuse(call: Call, error: ResponseError) -> Outcome {
    finish(call, FetchAnswer { error: error.code(), ..FetchAnswer::default() }, None)
}

fn finish(call: Call, answer: FetchAnswer, permit: Option<OwnedSemaphorePermit>) -> Outcome {
    let header = if call.version >= FLEXIBLE { 1 } else { 0 };
    Call::outcome(Answer::around(call.correlation_id, header, answer.encode(call.version)).map(|answer| answer.holding(permit)))
}
