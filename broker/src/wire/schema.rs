//! The shapes of the requests that are served. Source: the message definitions of the Kafka protocol guide.

use kafka_protocol::messages::{ApiKey, InitProducerIdRequest, OffsetCommitRequest, OffsetFetchRequest};
use kafka_protocol::protocol::{Message, VersionRange};

use super::shape::{Field, Kind, Shape, Struct, Tag};

/// The versions of an API that the codec reads and writes. Its table of APIs has one more of some.
pub(crate) fn versions(api: ApiKey) -> VersionRange {
    match api {
        ApiKey::InitProducerId => InitProducerIdRequest::VERSIONS,
        ApiKey::OffsetCommit => OffsetCommitRequest::VERSIONS,
        ApiKey::OffsetFetch => OffsetFetchRequest::VERSIONS,
        _ => api.valid_versions(),
    }
}

const BYTE: Kind = Kind::Fixed(1);
const I16: Kind = Kind::Fixed(2);
const I32: Kind = Kind::Fixed(4);
const I64: Kind = Kind::Fixed(8);
const UUID: Kind = Kind::Fixed(16);

/// In every version.
const fn always(kind: Kind) -> Field {
    between(0, i16::MAX, kind)
}

const fn since(since: i16, kind: Kind) -> Field {
    between(since, i16::MAX, kind)
}

const fn between(since: i16, until: i16, kind: Kind) -> Field {
    Field { since, until, kind }
}

const fn plain(fields: &'static [Field]) -> Struct {
    Struct { fields, tags: &[] }
}

pub(crate) static API_VERSIONS: Shape = Shape { flexible: 3, body: plain(&[since(3, Kind::Text), since(3, Kind::Text)]) };

pub(crate) static METADATA: Shape = Shape {
    flexible: 9,
    body: plain(&[
        always(Kind::Array(&Kind::Struct(&plain(&[since(10, UUID), always(Kind::Text)])))),
        since(4, BYTE),
        between(8, 10, BYTE),
        since(8, BYTE),
    ]),
};

static PRODUCE_PARTITION: Struct = plain(&[always(I32), always(Kind::Records)]);
static PRODUCE_TOPIC: Struct =
    plain(&[between(0, 12, Kind::Text), since(13, UUID), always(Kind::Array(&Kind::Struct(&PRODUCE_PARTITION)))]);

pub(crate) static PRODUCE: Shape =
    Shape { flexible: 9, body: plain(&[always(Kind::Text), always(I16), always(I32), always(Kind::Array(&Kind::Struct(&PRODUCE_TOPIC)))]) };

static FETCH_PARTITION: Struct = Struct {
    fields: &[always(I32), since(9, I32), always(I64), since(12, I32), since(5, I64), always(I32)],
    tags: &[Tag { tag: 0, since: 17, kind: UUID }, Tag { tag: 1, since: 18, kind: I64 }],
};
static FETCH_TOPIC: Struct = plain(&[between(0, 12, Kind::Text), since(13, UUID), always(Kind::Array(&Kind::Struct(&FETCH_PARTITION)))]);
static FORGOTTEN_TOPIC: Struct = plain(&[between(0, 12, Kind::Text), since(13, UUID), always(Kind::Array(&I32))]);
static REPLICA_STATE: Struct = plain(&[always(I32), always(I64)]);

pub(crate) static FETCH: Shape = Shape {
    flexible: 12,
    body: Struct {
        fields: &[
            between(0, 14, I32),
            always(I32),
            always(I32),
            always(I32),
            always(BYTE),
            since(7, I32),
            since(7, I32),
            always(Kind::Array(&Kind::Struct(&FETCH_TOPIC))),
            since(7, Kind::Array(&Kind::Struct(&FORGOTTEN_TOPIC))),
            since(11, Kind::Text),
        ],
        tags: &[Tag { tag: 0, since: 12, kind: Kind::Text }, Tag { tag: 1, since: 15, kind: Kind::Struct(&REPLICA_STATE) }],
    },
};

static LIST_OFFSETS_PARTITION: Struct = plain(&[always(I32), since(4, I32), always(I64)]);
static LIST_OFFSETS_TOPIC: Struct = plain(&[always(Kind::Text), always(Kind::Array(&Kind::Struct(&LIST_OFFSETS_PARTITION)))]);

pub(crate) static LIST_OFFSETS: Shape = Shape {
    flexible: 6,
    body: plain(&[always(I32), since(2, BYTE), always(Kind::Array(&Kind::Struct(&LIST_OFFSETS_TOPIC))), since(10, I32)]),
};

pub(crate) static INIT_PRODUCER_ID: Shape =
    Shape { flexible: 2, body: plain(&[always(Kind::Text), always(I32), since(3, I64), since(3, I16)]) };

static PRODUCERS_OF_TOPIC: Struct = plain(&[always(Kind::Text), always(Kind::Array(&I32))]);

pub(crate) static DESCRIBE_PRODUCERS: Shape =
    Shape { flexible: 0, body: plain(&[always(Kind::Array(&Kind::Struct(&PRODUCERS_OF_TOPIC)))]) };

static ASSIGNMENT: Struct = plain(&[always(I32), always(Kind::Array(&I32))]);
static TOPIC_CONFIG: Struct = plain(&[always(Kind::Text), always(Kind::Text)]);
static NEW_TOPIC: Struct = plain(&[
    always(Kind::Text),
    always(I32),
    always(I16),
    always(Kind::Array(&Kind::Struct(&ASSIGNMENT))),
    always(Kind::Array(&Kind::Struct(&TOPIC_CONFIG))),
]);

pub(crate) static CREATE_TOPICS: Shape =
    Shape { flexible: 5, body: plain(&[always(Kind::Array(&Kind::Struct(&NEW_TOPIC))), always(I32), always(BYTE)]) };

static ALTERED_CONFIGS: Struct = plain(&[always(BYTE), always(Kind::Text), always(Kind::Array(&Kind::Struct(&TOPIC_CONFIG)))]);

pub(crate) static ALTER_CONFIGS: Shape =
    Shape { flexible: 2, body: plain(&[always(Kind::Array(&Kind::Struct(&ALTERED_CONFIGS))), always(BYTE)]) };

static CHANGED_CONFIG: Struct = plain(&[always(Kind::Text), always(BYTE), always(Kind::Text)]);
static CHANGED_CONFIGS: Struct = plain(&[always(BYTE), always(Kind::Text), always(Kind::Array(&Kind::Struct(&CHANGED_CONFIG)))]);

pub(crate) static INCREMENTAL_ALTER_CONFIGS: Shape =
    Shape { flexible: 1, body: plain(&[always(Kind::Array(&Kind::Struct(&CHANGED_CONFIGS))), always(BYTE)]) };

static DESCRIBED_CONFIGS: Struct = plain(&[always(BYTE), always(Kind::Text), always(Kind::Array(&Kind::Text))]);

pub(crate) static DESCRIBE_CONFIGS: Shape =
    Shape { flexible: 4, body: plain(&[always(Kind::Array(&Kind::Struct(&DESCRIBED_CONFIGS))), always(BYTE), since(3, BYTE)]) };

static ADDED_PARTITION: Struct = plain(&[always(Kind::Array(&I32))]);
static GROWING_TOPIC: Struct = plain(&[always(Kind::Text), always(I32), always(Kind::Array(&Kind::Struct(&ADDED_PARTITION)))]);

pub(crate) static CREATE_PARTITIONS: Shape =
    Shape { flexible: 2, body: plain(&[always(Kind::Array(&Kind::Struct(&GROWING_TOPIC))), always(I32), always(BYTE)]) };

pub(crate) static DESCRIBE_CLUSTER: Shape = Shape { flexible: 0, body: plain(&[always(BYTE), since(1, BYTE), since(2, BYTE)]) };

static DESCRIBED_TOPIC: Struct = plain(&[always(Kind::Text)]);
static CURSOR: Struct = plain(&[always(Kind::Text), always(I32)]);

pub(crate) static DESCRIBE_TOPIC_PARTITIONS: Shape = Shape {
    flexible: 0,
    body: plain(&[always(Kind::Array(&Kind::Struct(&DESCRIBED_TOPIC))), always(I32), always(Kind::Nullable(&CURSOR))]),
};

static TRIMMED_PARTITION: Struct = plain(&[always(I32), always(I64)]);
static TRIMMED_TOPIC: Struct = plain(&[always(Kind::Text), always(Kind::Array(&Kind::Struct(&TRIMMED_PARTITION)))]);

pub(crate) static DELETE_RECORDS: Shape =
    Shape { flexible: 2, body: plain(&[always(Kind::Array(&Kind::Struct(&TRIMMED_TOPIC))), always(I32)]) };

static SIZED_TOPIC: Struct = plain(&[always(Kind::Text), always(Kind::Array(&I32))]);

pub(crate) static DESCRIBE_LOG_DIRS: Shape = Shape { flexible: 2, body: plain(&[always(Kind::Array(&Kind::Struct(&SIZED_TOPIC)))]) };

static EPOCH_PARTITION: Struct = plain(&[always(I32), always(I32), always(I32)]);
static EPOCH_TOPIC: Struct = plain(&[always(Kind::Text), always(Kind::Array(&Kind::Struct(&EPOCH_PARTITION)))]);

pub(crate) static OFFSET_FOR_LEADER_EPOCH: Shape =
    Shape { flexible: 4, body: plain(&[since(3, I32), always(Kind::Array(&Kind::Struct(&EPOCH_TOPIC)))]) };

static ELECTED_TOPIC: Struct = plain(&[always(Kind::Text), always(Kind::Array(&I32))]);

pub(crate) static ELECT_LEADERS: Shape =
    Shape { flexible: 2, body: plain(&[since(1, BYTE), always(Kind::Array(&Kind::Struct(&ELECTED_TOPIC))), always(I32)]) };

pub(crate) static LIST_CONFIG_RESOURCES: Shape = Shape { flexible: 0, body: plain(&[since(1, Kind::Array(&BYTE))]) };

static OLD_TOPIC: Struct = plain(&[always(Kind::Text), always(UUID)]);

pub(crate) static DELETE_TOPICS: Shape = Shape {
    flexible: 4,
    body: plain(&[since(6, Kind::Array(&Kind::Struct(&OLD_TOPIC))), between(0, 5, Kind::Array(&Kind::Text)), always(I32)]),
};

pub(crate) static FIND_COORDINATOR: Shape =
    Shape { flexible: 3, body: plain(&[between(0, 3, Kind::Text), since(1, BYTE), since(4, Kind::Array(&Kind::Text))]) };

static GROUP_PROTOCOL: Struct = plain(&[always(Kind::Text), always(Kind::Bytes)]);

pub(crate) static JOIN_GROUP: Shape = Shape {
    flexible: 6,
    body: plain(&[
        always(Kind::Text),
        always(I32),
        since(1, I32),
        always(Kind::Text),
        since(5, Kind::Text),
        always(Kind::Text),
        always(Kind::Array(&Kind::Struct(&GROUP_PROTOCOL))),
        since(8, Kind::Text),
    ]),
};

static GROUP_ASSIGNMENT: Struct = plain(&[always(Kind::Text), always(Kind::Bytes)]);

pub(crate) static SYNC_GROUP: Shape = Shape {
    flexible: 4,
    body: plain(&[
        always(Kind::Text),
        always(I32),
        always(Kind::Text),
        since(3, Kind::Text),
        since(5, Kind::Text),
        since(5, Kind::Text),
        always(Kind::Array(&Kind::Struct(&GROUP_ASSIGNMENT))),
    ]),
};

pub(crate) static HEARTBEAT: Shape =
    Shape { flexible: 4, body: plain(&[always(Kind::Text), always(I32), always(Kind::Text), since(3, Kind::Text)]) };

static LEAVING_MEMBER: Struct = plain(&[always(Kind::Text), always(Kind::Text), since(5, Kind::Text)]);

pub(crate) static LEAVE_GROUP: Shape = Shape {
    flexible: 4,
    body: plain(&[always(Kind::Text), between(0, 2, Kind::Text), since(3, Kind::Array(&Kind::Struct(&LEAVING_MEMBER)))]),
};

static COMMITTED_PARTITION: Struct = plain(&[always(I32), always(I64), since(6, I32), always(Kind::Text)]);
static COMMITTED_TOPIC: Struct = plain(&[always(Kind::Text), always(Kind::Array(&Kind::Struct(&COMMITTED_PARTITION)))]);

pub(crate) static OFFSET_COMMIT: Shape = Shape {
    flexible: 8,
    body: plain(&[
        always(Kind::Text),
        always(I32),
        always(Kind::Text),
        since(7, Kind::Text),
        between(2, 4, I64),
        always(Kind::Array(&Kind::Struct(&COMMITTED_TOPIC))),
    ]),
};

static FETCHED_TOPIC: Struct = plain(&[always(Kind::Text), always(Kind::Array(&I32))]);
static FETCHED_GROUP: Struct =
    plain(&[always(Kind::Text), since(9, Kind::Text), since(9, I32), always(Kind::Array(&Kind::Struct(&FETCHED_TOPIC)))]);

pub(crate) static OFFSET_FETCH: Shape = Shape {
    flexible: 6,
    body: plain(&[
        between(1, 7, Kind::Text),
        between(1, 7, Kind::Array(&Kind::Struct(&FETCHED_TOPIC))),
        since(8, Kind::Array(&Kind::Struct(&FETCHED_GROUP))),
        since(7, BYTE),
    ]),
};

pub(crate) static LIST_GROUPS: Shape =
    Shape { flexible: 3, body: plain(&[since(4, Kind::Array(&Kind::Text)), since(5, Kind::Array(&Kind::Text))]) };

pub(crate) static DESCRIBE_GROUPS: Shape = Shape { flexible: 5, body: plain(&[always(Kind::Array(&Kind::Text)), since(3, BYTE)]) };

pub(crate) static DELETE_GROUPS: Shape = Shape { flexible: 2, body: plain(&[always(Kind::Array(&Kind::Text))]) };

static FORGOTTEN_OFFSETS: Struct = plain(&[always(Kind::Text), always(Kind::Array(&I32))]);

pub(crate) static OFFSET_DELETE: Shape =
    Shape { flexible: i16::MAX, body: plain(&[always(Kind::Text), always(Kind::Array(&Kind::Struct(&FORGOTTEN_OFFSETS)))]) };

pub(crate) static SASL_HANDSHAKE: Shape = Shape { flexible: i16::MAX, body: plain(&[always(Kind::Text)]) };

pub(crate) static SASL_AUTHENTICATE: Shape = Shape { flexible: 2, body: plain(&[always(Kind::Bytes)]) };

/// Of rules: what they are about, how it is named, by whom, from where, what, and what is said of it.
static ACL: Struct =
    plain(&[always(BYTE), always(Kind::Text), since(1, BYTE), always(Kind::Text), always(Kind::Text), always(BYTE), always(BYTE)]);

pub(crate) static DESCRIBE_ACLS: Shape = Shape {
    flexible: 2,
    body: plain(&[always(BYTE), always(Kind::Text), since(1, BYTE), always(Kind::Text), always(Kind::Text), always(BYTE), always(BYTE)]),
};

pub(crate) static CREATE_ACLS: Shape = Shape { flexible: 2, body: plain(&[always(Kind::Array(&Kind::Struct(&ACL)))]) };

pub(crate) static DELETE_ACLS: Shape = Shape { flexible: 2, body: plain(&[always(Kind::Array(&Kind::Struct(&ACL)))]) };

static DESCRIBED_USER: Struct = plain(&[always(Kind::Text)]);

pub(crate) static DESCRIBE_SCRAM: Shape = Shape { flexible: 0, body: plain(&[always(Kind::Array(&Kind::Struct(&DESCRIBED_USER)))]) };

static DELETED_CREDENTIAL: Struct = plain(&[always(Kind::Text), always(BYTE)]);
static SET_CREDENTIAL: Struct = plain(&[always(Kind::Text), always(BYTE), always(I32), always(Kind::Bytes), always(Kind::Bytes)]);

pub(crate) static ALTER_SCRAM: Shape = Shape {
    flexible: 0,
    body: plain(&[always(Kind::Array(&Kind::Struct(&DELETED_CREDENTIAL))), always(Kind::Array(&Kind::Struct(&SET_CREDENTIAL)))]),
};

static QUOTA_COMPONENT: Struct = plain(&[always(Kind::Text), always(BYTE), always(Kind::Text)]);

pub(crate) static DESCRIBE_QUOTAS: Shape =
    Shape { flexible: 1, body: plain(&[always(Kind::Array(&Kind::Struct(&QUOTA_COMPONENT))), always(BYTE)]) };
