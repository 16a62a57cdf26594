//! From partitions as clients name them to partitions that can be read.

use std::collections::HashMap;

use futures::StreamExt;
use kafka_protocol::ResponseError;
use tidegate::metadata::TopicRecord;
use tidegate::runtime::FetchPartition;
use tidegate::types::TopicPartition;

use crate::api::produce::partition_of;
use crate::api::{LOOKUPS_AT_ONCE, Service, Session};
use crate::errors;
use crate::fetch_session::{Asked, TopicKey};
use crate::security::acl::Operation;

/// What to read, or why not.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    Read(FetchPartition),
    /// It is not there: others may be waited for all the same, as Kafka does. A client that follows a deleted
    /// topic beside others would otherwise ask without pause.
    Missing(ResponseError),
    /// The client must act at once.
    Refused(ResponseError),
}

impl Service {
    /// One target for each partition, in order. Topics are looked up at each fetch: they come and go.
    pub(super) async fn resolve(&self, session: &Session, asked: &[Asked]) -> Vec<Target> {
        let mut topics: HashMap<&TopicKey, Result<TopicRecord, ResponseError>> = HashMap::new();
        let mut targets = Vec::with_capacity(asked.len());
        for asked in asked {
            let topic = match topics.entry(&asked.key.topic) {
                std::collections::hash_map::Entry::Occupied(found) => found.into_mut(),
                std::collections::hash_map::Entry::Vacant(free) => free.insert(self.readable(session, &asked.key.topic).await),
            };
            targets.push(target(topic, asked));
        }
        self.check_epochs(asked, &mut targets).await;
        targets
    }

    /// The topic, if it exists and the client may read it.
    async fn readable(&self, session: &Session, key: &TopicKey) -> Result<TopicRecord, ResponseError> {
        let found = match key {
            TopicKey::Name(name) => self.topic_for(session, Operation::Read, name).await,
            TopicKey::Id(id) => self.topic_of_id_for(session, Operation::Read, *id).await,
        };
        found.map_err(|refusal| refusal.code)
    }

    /// Refuses partitions for which the client knows another leader epoch than this host.
    async fn check_epochs(&self, asked: &[Asked], targets: &mut [Target]) {
        let checks = asked.iter().zip(targets).filter(|(asked, _)| asked.wanted.leader_epoch >= 0);
        let checks = checks.map(|(asked, target)| async move {
            if let Target::Read(FetchPartition { partition, .. }) = *target
                && let Err(error) = self.agree_on_epoch(partition, asked.wanted.leader_epoch).await
            {
                *target = Target::Refused(error);
            }
        });
        futures::stream::iter(checks).for_each_concurrent(LOOKUPS_AT_ONCE, |check| check).await;
    }

    /// Whether a client's leader epoch is this host's; -1 agrees with all.
    pub(in crate::api) async fn agree_on_epoch(&self, partition: TopicPartition, claimed: i32) -> Result<(), ResponseError> {
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
}

fn target(topic: &Result<TopicRecord, ResponseError>, asked: &Asked) -> Target {
    let found = topic.as_ref().map_err(|error| *error);
    match found.and_then(|record| partition_of(record, asked.key.partition).map_err(|refusal| refusal.code)) {
        Ok(partition) => {
            Target::Read(FetchPartition { partition, offset: asked.wanted.offset, max_bytes: asked.wanted.max_bytes.max(0) as usize })
        }
        Err(error) => Target::Missing(error),
    }
}
