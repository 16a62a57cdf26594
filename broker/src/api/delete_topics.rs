//! DeleteTopics, by name or, from version 6 on, by id.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::delete_topics_response::DeletableTopicResult;
use kafka_protocol::messages::{DeleteTopicsRequest, DeleteTopicsResponse, TopicName};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use super::{Service, Session};
use crate::security::acl::{Operation, Resource};
use crate::topics::{Refusal, checked_name};

/// First version that says why a topic was not deleted.
const ERROR_MESSAGES: i16 = 5;
const TOPIC_IDS: i16 = 6;

impl Service {
    pub(super) async fn delete_topics(&self, session: &Session, version: i16, request: DeleteTopicsRequest) -> DeleteTopicsResponse {
        let mut responses = Vec::new();
        for name in request.topic_names {
            let deleted = self.delete_named(session, &name).await;
            responses.push(result(version, Some(name), Uuid::nil(), deleted));
        }
        for topic in request.topics {
            responses.push(match topic.name {
                Some(name) if !topic.topic_id.is_nil() => {
                    let message = "a topic is named or told by its id, not both: they may mean two topics";
                    result(version, Some(name), topic.topic_id, Err(Refusal::new(ResponseError::InvalidRequest, message)))
                }
                Some(name) => {
                    let deleted = self.delete_named(session, &name).await;
                    result(version, Some(name), topic.topic_id, deleted)
                }
                None => self.delete_by_id(session, version, topic.topic_id).await,
            });
        }
        DeleteTopicsResponse::default().with_responses(responses)
    }

    async fn delete_by_id(&self, session: &Session, version: i16, id: Uuid) -> DeletableTopicResult {
        match self.topics.by_id(id).await {
            Ok(topic) if !self.may(session, Operation::Describe, Resource::topic(topic.name.as_str())) => {
                let refused = self.authorized(session, Operation::Describe, Resource::topic(topic.name.as_str()));
                result(version, None, id, refused)
            }
            Ok(topic) => {
                let name = TopicName::from(StrBytes::from_string(topic.name.to_string()));
                let deleted = self.delete_named(session, &name).await;
                result(version, Some(name), id, deleted)
            }
            Err(refusal) => result(version, None, id, Err(refusal)),
        }
    }

    async fn delete_named(&self, session: &Session, name: &str) -> Result<(), Refusal> {
        self.authorized(session, Operation::Delete, Resource::topic(name))?;
        let name = checked_name(name)?;
        self.storage.delete_topic(&name).await.map_err(|error| Refusal::of(&error))?;
        self.unbind_all(session, &name).await;
        Ok(())
    }
}

fn result(version: i16, name: Option<TopicName>, id: Uuid, deleted: Result<(), Refusal>) -> DeletableTopicResult {
    let answer = DeletableTopicResult::default().with_name(name);
    let answer = if version >= TOPIC_IDS { answer.with_topic_id(id) } else { answer };
    match deleted {
        Ok(()) => answer.with_error_code(0),
        Err(Refusal { code, message }) => {
            let answer = answer.with_error_code(code.code());
            if version >= ERROR_MESSAGES { answer.with_error_message(Some(StrBytes::from_string(message))) } else { answer }
        }
    }
}
