//! Settings: serde data with defaults that work, one knob each with its trade-off.
//!
//! A file gives host-wide values, defaults for topics, and rules for topics by pattern; a topic's own config
//! (kept in metadata) wins over the rules, the last matching rule over earlier ones, rules over defaults.

use serde::{Deserialize, Serialize};

/// Everything that a host takes from its settings file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where segments and metadata live.
    pub store: StoreSettings,
    /// Memory, concurrency and intervals of the host.
    pub host: HostSettings,
    /// Limits on policies.
    pub policy: PolicySettings,
    /// What a topic gets unless a rule or its own config says otherwise.
    pub topic_defaults: TopicSettings,
    /// Per-topic settings by glob; of several that match, the last one wins, field by field.
    #[serde(rename = "topic")]
    pub topic_rules: Vec<TopicRule>,
    /// Policies bound at start by glob, below whatever was bound at run time.
    #[serde(rename = "binding")]
    pub bindings: Vec<BindingRule>,
    /// The admin API.
    pub admin: AdminSettings,
}

/// Which object store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum StoreSettings {
    /// A directory on a local file system.
    Local {
        /// The directory; created if missing.
        path: std::path::PathBuf,
    },
    /// S3 or a server that speaks it.
    S3(S3Settings),
    /// Memory: everything is lost at exit. For tests and trials.
    Memory,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self::Local { path: "tidegate-data".into() }
    }
}

/// An S3 bucket and how to talk to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct S3Settings {
    /// Bucket name; it must exist.
    pub bucket: String,
    /// Prepended to every key, without a trailing slash; several clusters can share a bucket.
    pub prefix: String,
    /// Region; AWS needs the right one.
    pub region: String,
    /// Base URL of a server that is not AWS, such as `http://127.0.0.1:8333`.
    pub endpoint: Option<String>,
    /// Path-style addresses (`endpoint/bucket/key`): most servers that are not AWS want them.
    pub path_style: bool,
    /// Access key; without it the environment (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`) is read.
    pub access_key: Option<String>,
    /// Secret key; goes with `access_key`.
    pub secret_key: Option<String>,
    /// Time-out of one try of a request, in milliseconds; a body gets so long without a byte.
    pub timeout_ms: u64,
    /// Tries of a request, the first included, before its error is reported.
    pub tries: u32,
    /// Requests in flight at most; shrinks by itself while the store throttles.
    pub concurrency: u32,
    /// States that no other process writes to this prefix, and so lifts the need for conditional puts. Two writers then lose data.
    pub single_writer: bool,
}

impl Default for S3Settings {
    fn default() -> Self {
        Self {
            bucket: String::new(),
            prefix: String::new(),
            region: "us-east-1".into(),
            endpoint: None,
            path_style: true,
            access_key: None,
            secret_key: None,
            timeout_ms: 10_000,
            tries: 5,
            concurrency: 128,
            single_writer: false,
        }
    }
}

/// Memory, concurrency and intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostSettings {
    /// Batches appended and not committed yet, of all topics, in bytes. Appends wait, then fail, when it is full.
    pub buffer_bytes: u64,
    /// How long an append waits for room in the buffer before it is refused as busy, in milliseconds.
    pub append_timeout_ms: u64,
    /// Cached chunks, in bytes of memory really held.
    pub cache_bytes: u64,
    /// Prefetched bytes not read yet, of all readers; demand reads come first.
    pub prefetch_bytes: u64,
    /// Unit of caching and of range requests, in bytes. Larger: fewer GETs; smaller: less read that nobody asked for.
    pub chunk_bytes: u64,
    /// Uploads in flight of one lane at most (never above 64).
    pub uploads_per_lane: u32,
    /// When an upload's waiters are told "outcome unknown", in milliseconds; the upload itself goes on.
    pub upload_deadline_ms: u64,
    /// How often retention looks at a lane, in milliseconds.
    pub retention_interval_ms: u64,
    /// How long a dead segment stays for readers that are still at it, in milliseconds.
    pub delete_grace_ms: u64,
    /// How long draining and closing may take, in milliseconds.
    pub drain_deadline_ms: u64,
    /// How often other hosts' changes to topics and bindings are looked for, in milliseconds.
    pub metadata_interval_ms: u64,
}

impl Default for HostSettings {
    fn default() -> Self {
        Self {
            buffer_bytes: 256 << 20,
            append_timeout_ms: 5_000,
            cache_bytes: 512 << 20,
            prefetch_bytes: 128 << 20,
            chunk_bytes: 1 << 20,
            uploads_per_lane: 8,
            upload_deadline_ms: 30_000,
            retention_interval_ms: 30_000,
            delete_grace_ms: 60_000,
            drain_deadline_ms: 30_000,
            metadata_interval_ms: 10_000,
        }
    }
}

/// Limits on policies, and where bundled ones are found. See [`crate::policy`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicySettings {
    /// Directory of components that a binding may name without a path.
    pub directory: Option<std::path::PathBuf>,
    /// Compiled components are kept here; without it they are compiled at each start.
    pub compile_cache: Option<std::path::PathBuf>,
    /// Longest decision, in milliseconds; longer ones are interrupted and answered by the built-in.
    pub decision_deadline_ms: u64,
    /// Longest `init`, `describe` or instantiation, in milliseconds.
    pub init_deadline_ms: u64,
    /// Linear memory of one instance at most, in bytes.
    pub memory_bytes: u64,
    /// WebAssembly stack of one call at most, in bytes; must be well below a worker thread's stack.
    pub stack_bytes: u64,
    /// Largest component, in bytes.
    pub component_bytes: u64,
}

impl Default for PolicySettings {
    fn default() -> Self {
        Self {
            directory: None,
            compile_cache: None,
            decision_deadline_ms: 5,
            init_deadline_ms: 250,
            memory_bytes: 4 << 20,
            stack_bytes: 256 << 10,
            component_bytes: 4 << 20,
        }
    }
}

/// When a produce request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Acks {
    /// When its batches are committed to the store.
    Committed,
    /// When its batches are in this host's memory: lost if the process dies before the flush.
    Buffered,
}

/// Which timestamp a record keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimestampType {
    /// The producer's.
    CreateTime,
    /// The broker's, at append.
    LogAppendTime,
}

/// All settings of one topic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TopicSettings {
    /// Partitions of a topic created without a number.
    pub partitions: u32,
    /// Lanes of a new topic: 1 to its partitions; 0 means the smaller of its partitions and 4. PUTs follow lanes.
    pub lanes: u32,
    /// When producers that want an ack get it.
    pub acks: Acks,
    /// Largest segment, in bytes; the host flushes there whatever a policy answers. At most 256 MiB.
    pub max_segment_bytes: u64,
    /// Oldest a buffered batch gets before the host flushes whatever a policy answers, in milliseconds.
    pub max_age_ms: u64,
    /// Largest record batch, in bytes.
    pub max_batch_bytes: u32,
    /// How long records are kept, in milliseconds; -1 for ever.
    pub retention_ms: i64,
    /// How many bytes of each partition are kept; -1 all.
    pub retention_bytes: i64,
    /// Whose timestamps count.
    pub timestamp_type: TimestampType,
    /// Whether what is read and flushed enters the cache.
    pub cache_enabled: bool,
    /// Whether sequential readers are read ahead for.
    pub read_ahead_enabled: bool,
    /// What the built-in read-ahead policy stays ahead by, in slices.
    pub read_ahead_segments: u32,
}

impl Default for TopicSettings {
    fn default() -> Self {
        Self {
            partitions: 1,
            lanes: 0,
            acks: Acks::Committed,
            max_segment_bytes: 64 << 20,
            max_age_ms: 1_000,
            max_batch_bytes: 1 << 20,
            retention_ms: 7 * 24 * 3_600_000,
            retention_bytes: -1,
            timestamp_type: TimestampType::CreateTime,
            cache_enabled: true,
            read_ahead_enabled: true,
            read_ahead_segments: 2,
        }
    }
}

/// Settings for the topics that match a glob.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopicRule {
    /// Glob over topic names: `*` matches any run of characters, `?` one.
    pub pattern: String,
    /// Fields of [`TopicSettings`] by name.
    #[serde(flatten)]
    pub settings: toml::Table,
}

/// A policy bound by the settings file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindingRule {
    /// Glob over topic names.
    pub pattern: String,
    /// Which decision.
    pub kind: crate::policy::Kind,
    /// A component's path, or the name of one in `policy.directory`.
    pub plugin: String,
    /// Passed to its `init` as JSON.
    #[serde(default)]
    pub config: toml::Table,
}

/// The admin API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdminSettings {
    /// Address to listen at; without a token it must be a loopback address, since the API loads code.
    pub listen: std::net::SocketAddr,
    /// Token that requests must carry as `Authorization: Bearer ...`.
    pub token: Option<String>,
}

impl Default for AdminSettings {
    fn default() -> Self {
        Self { listen: ([127, 0, 0, 1], 9644).into(), token: None }
    }
}
