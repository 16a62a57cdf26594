//! What requests and answers hold: shared with clients of the API.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::config::TopicSettings;
use crate::error::ErrorKind;
use crate::metadata::{Binding, Change, TopicRecord};
use crate::types::{Kind, Offset, PartitionId, TopicName};

/// Answer to `GET /healthz`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Health {
    /// `ok`.
    pub status: String,
}

/// Answer to `GET /v1/topics`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TopicList {
    /// In name order.
    pub topics: Vec<TopicRecord>,
}

/// Body of `POST /v1/topics`; the answer is a [`TopicRecord`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateTopic {
    /// Its name.
    pub name: TopicName,
    /// Partitions; left out: as the settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitions: Option<u32>,
    /// Lanes; left out: as the settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<u32>,
    /// Settings of this topic alone, by name.
    #[serde(default)]
    pub config: BTreeMap<String, String>,
}

/// Answer to `GET /v1/topics/{name}`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TopicDetail {
    /// As stored.
    #[serde(flatten)]
    pub record: TopicRecord,
    /// As resolved from defaults, rules and its own config.
    pub settings: TopicSettings,
    /// The partitions that this host has open; asking does not open others.
    pub open_partitions: Vec<OpenPartition>,
}

/// A partition that this host has open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenPartition {
    /// The partition.
    pub partition: PartitionId,
    /// First readable offset.
    pub log_start: Offset,
    /// Offset after the last committed record.
    pub high_watermark: Offset,
}

/// Body of `PUT /v1/policies`; the answer is a [`PolicyChange`]. Also of `PUT /v1/policies/shadows`, which answers with a [`ShadowList`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetPolicy {
    /// Glob over topic names, as [`Pattern`](crate::config::Pattern) says.
    pub pattern: String,
    /// Which decision.
    pub kind: Kind,
    /// The component's bytes, in base64; left out where `plugin` is given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub component: String,
    /// Where the host fetches it from: `s3://bucket/key`, `oci://registry/name:tag`, a name in its `policy.directory`, or a stored digest.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plugin: String,
    /// The component's signature, where `component` is given: see [`signature`](crate::policy::signature).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Where it came from, for people.
    #[serde(default)]
    pub source: String,
    /// Passed to its `init`.
    #[serde(default = "no_config")]
    pub config: serde_json::Value,
    /// Who binds it.
    #[serde(default)]
    pub by: String,
    /// Digest that the component must have: `sha256:` and 64 hex digits; left out: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

fn no_config() -> serde_json::Value {
    serde_json::Value::Object(serde_json::Map::new())
}

/// Query of `DELETE /v1/policies`; the answer is a [`PolicyChange`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnsetPolicy {
    /// The binding's pattern, to the letter.
    pub pattern: String,
    /// Which decision.
    pub kind: Kind,
    /// Who unbinds it.
    #[serde(default)]
    pub by: String,
}

/// Body of `POST /v1/policies/rollback`; the answer is a [`PolicyChange`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollBackPolicy {
    /// The binding's pattern, to the letter.
    pub pattern: String,
    /// Which decision.
    pub kind: Kind,
    /// To what was bound at this generation; left out: before the last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
    /// Who takes it back.
    #[serde(default)]
    pub by: String,
}

/// Query of `GET /v1/policies/history`; what is left out is not filtered by.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryQuery {
    /// A binding's pattern, to the letter.
    #[serde(default)]
    pub pattern: Option<String>,
    /// Which decision.
    #[serde(default)]
    pub kind: Option<Kind>,
}

/// Answer to `GET /v1/policies/history`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PolicyHistory {
    /// Counts the changes of the stored bindings.
    pub generation: u64,
    /// Oldest first.
    pub history: Vec<Change>,
}

/// Answer to a change of the bindings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PolicyChange {
    /// False: it was so already, and nothing happened.
    pub changed: bool,
    /// How instances take over what those before them had learned: `warm`, or `cold: ` and why; empty: there is nothing to take over.
    #[serde(default)]
    pub state: String,
    /// What is bound now.
    #[serde(flatten)]
    pub now: PolicyList,
}

/// Answer to `GET /v1/policies`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PolicyList {
    /// Counts the changes of the stored bindings.
    pub generation: u64,
    /// The stored bindings, in order of precedence: the last that matches wins.
    pub bindings: Vec<Binding>,
    /// Every binding in force on this host, those of the settings file too, with its counters.
    pub status: Vec<serde_json::Value>,
}

/// Answer to `GET /v1/recording` and, where one begins, to `POST`, whose body is a [`RecordingSpec`](crate::runtime::RecordingSpec). `DELETE`
/// answers with [`Recorded`](crate::runtime::Recorded).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RecordingState {
    /// Whether it has ended by itself.
    pub ended: bool,
    /// Requests that it holds.
    pub requests: u64,
}

/// Body of `POST /v1/policies/shadows/promote`; the answer is a [`PolicyChange`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromoteShadow {
    /// The shadow's pattern, to the letter.
    pub pattern: String,
    /// Which decision.
    pub kind: Kind,
    /// Who binds it.
    #[serde(default)]
    pub by: String,
}

/// Query of `DELETE /v1/policies/shadows`; the answer is a [`ShadowList`] of the one that is gone.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropShadow {
    /// The shadow's pattern, to the letter.
    pub pattern: String,
    /// Which decision.
    pub kind: Kind,
}

/// Answer to `GET` and `PUT /v1/policies/shadows`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShadowList {
    /// Candidates of this host, in the order of their start; see [`ShadowStatus`](crate::policy::ShadowStatus).
    pub shadows: Vec<serde_json::Value>,
}

/// Body of every answer that is no success.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErrorBody {
    /// What went wrong.
    pub error: ErrorDetail,
}

/// What went wrong.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErrorDetail {
    /// What the client can do about it: see [`kind_name`].
    pub kind: String,
    /// Of a refused policy the class of what is wrong, such as `load.digest_mismatch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// For a person.
    pub message: String,
}

/// The name of an error's kind in answers.
pub fn kind_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidInput => "invalid_input",
        ErrorKind::NotFound => "not_found",
        ErrorKind::AlreadyExists => "already_exists",
        ErrorKind::Conflict => "conflict",
        ErrorKind::OffsetOutOfRange => "offset_out_of_range",
        ErrorKind::NotLeader => "not_leader",
        ErrorKind::Unavailable => "unavailable",
        ErrorKind::Busy => "busy",
        ErrorKind::OutcomeUnknown => "outcome_unknown",
        ErrorKind::Corrupt => "corrupt",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::Closed => "closed",
    }
}
