//! Topics as clients name them: by a name that is not trusted, or by id.

use kafka_protocol::ResponseError;
use tidegate::metadata::TopicRecord;
use tidegate::runtime::TopicSpec;
use tidegate::types::{TopicId, TopicName};
use tidegate::{Error, ErrorKind, Storage};
use uuid::Uuid;

use crate::errors;

/// Why a client does not get what it asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: ResponseError,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(code: ResponseError, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// A failure of the host that is not about records.
    pub(crate) fn of(error: &Error) -> Self {
        Self::new(errors::of(error.kind()), error.to_string())
    }
}

/// What the host refuses of a topic after our own checks is a setting.
impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::InvalidInput => Self::new(ResponseError::InvalidConfig, error.to_string()),
            _ => Self::of(&error),
        }
    }
}

/// Checks a topic's name before it reaches anything else.
pub(crate) fn checked_name(name: &str) -> Result<TopicName, Refusal> {
    TopicName::new(name).map_err(|error| Refusal::new(ResponseError::InvalidTopicException, error.to_string()))
}

/// Finds topics, and creates those that clients only name.
pub(crate) struct Topics {
    storage: Storage,
    auto_create: bool,
}

impl Topics {
    pub(crate) fn new(storage: Storage, auto_create: bool) -> Self {
        Self { storage, auto_create }
    }

    /// The topic of a name; created if it is missing, `may_create` and the settings allow it.
    pub(crate) async fn by_name(&self, name: &str, may_create: bool) -> Result<TopicRecord, Refusal> {
        let name = checked_name(name)?;
        if let Some(topic) = self.find(&name).await? {
            return Ok(topic);
        }
        if !(may_create && self.auto_create) {
            return Err(unknown(&name));
        }
        match self.storage.create_topic(TopicSpec::named(name.clone())).await {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => self.find(&name).await?.ok_or_else(|| unknown(&name)),
            created => created.map_err(|error| Refusal::of(&error)),
        }
    }

    /// Whether topics that clients only name are created.
    pub(crate) fn creates(&self) -> bool {
        self.auto_create
    }

    /// The topic of an id.
    pub(crate) async fn by_id(&self, id: Uuid) -> Result<TopicRecord, Refusal> {
        let found = self.storage.topic_by_id(TopicId(id)).await.map_err(|error| Refusal::of(&error))?;
        found.ok_or_else(|| Refusal::new(ResponseError::UnknownTopicId, format!("no topic has the id {id}")))
    }

    async fn find(&self, name: &TopicName) -> Result<Option<TopicRecord>, Refusal> {
        self.storage.topic(name).await.map_err(|error| Refusal::of(&error))
    }
}

fn unknown(name: &TopicName) -> Refusal {
    Refusal::new(ResponseError::UnknownTopicOrPartition, format!("topic {name} does not exist"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_names_are_refused_as_such() {
        let long = "x".repeat(250);
        for name in ["../other/x", "a/../b", "", "a b", "a/b", "a\0b", ".", "..", long.as_str()] {
            assert_eq!(checked_name(name).unwrap_err().code, ResponseError::InvalidTopicException, "{name:?}");
        }
        assert!(checked_name("Az09._-").is_ok());
    }
}
