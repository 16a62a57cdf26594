//! What each API asks before it does anything. Without access rules the answer is yes, and nothing is looked up.

use kafka_protocol::ResponseError;
use tidegate::metadata::TopicRecord;
use uuid::Uuid;

use super::{Service, Session};
use crate::security::acl::{Operation, Resource, ResourceKind};
use crate::security::decide::Asker;
use crate::topics::Refusal;

impl Session {
    /// Who asks. A request is only taken from a client that is known.
    fn asker(&self) -> Asker<'_> {
        Asker { principal: self.login.principal().unwrap_or_default(), host: &self.host }
    }
}

impl Service {
    /// Whether the client may do this; else counts the refusal and gives the code for it.
    pub(super) fn authorize(&self, session: &Session, operation: Operation, resource: Resource<'_>) -> Result<(), ResponseError> {
        if self.security.allows(session.asker(), operation, resource) {
            return Ok(());
        }
        Err(self.security.refuse(session.asker(), operation, resource))
    }

    /// The same with a message, in Kafka's words. Nothing in it tells whether the resource exists.
    pub(super) fn authorized(&self, session: &Session, operation: Operation, resource: Resource<'_>) -> Result<(), Refusal> {
        self.authorize(session, operation, resource).map_err(|code| {
            let message = match resource.kind {
                ResourceKind::Cluster => format!("Request needs {} permission.", operation.word().to_uppercase().replace('-', "_")),
                _ => "Authorization failed.".to_owned(),
            };
            Refusal::new(code, message)
        })
    }

    /// Whether the client may do this, for lists that leave out what it may not see. Nothing is counted.
    pub(super) fn may(&self, session: &Session, operation: Operation, resource: Resource<'_>) -> bool {
        self.security.allows(session.asker(), operation, resource)
    }

    /// A topic to which the client may do this. Nobody learns whether there is a topic that he has no right to.
    pub(super) async fn topic_for(&self, session: &Session, operation: Operation, name: &str) -> Result<TopicRecord, Refusal> {
        self.authorized(session, operation, Resource::topic(name))?;
        self.topics.by_name(name, false).await
    }

    /// The same by id.
    pub(super) async fn topic_of_id_for(&self, session: &Session, operation: Operation, id: Uuid) -> Result<TopicRecord, Refusal> {
        let topic = self.topics.by_id(id).await?;
        self.authorized(session, operation, Resource::topic(topic.name.as_str()))?;
        Ok(topic)
    }

    /// Whether the client may create this topic.
    pub(super) fn may_create(&self, session: &Session, topic: &str) -> bool {
        self.may(session, Operation::Create, Resource::CLUSTER) || self.may(session, Operation::Create, Resource::topic(topic))
    }

    /// Whether the client may write to some topic, or to any as an idempotent producer.
    pub(super) fn authorize_producer(&self, session: &Session) -> Result<(), ResponseError> {
        if self.security.allows_any(session.asker(), Operation::Write, ResourceKind::Topic) {
            return Ok(());
        }
        self.authorize(session, Operation::IdempotentWrite, Resource::CLUSTER)
    }

    /// What the client may do to a resource, as bits by the operations' numbers.
    pub(super) fn operations(&self, session: &Session, resource: Resource<'_>) -> i32 {
        let meant = resource.kind.operations().iter().filter(|operation| self.may(session, **operation, resource));
        meant.fold(0, |bits, operation| bits | 1 << operation.code())
    }
}
