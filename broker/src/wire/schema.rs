//! The shapes of the requests that are served. Source: the message definitions of the Kafka protocol guide.

use kafka_protocol::messages::{ApiKey, InitProducerIdRequest};
use kafka_protocol::protocol::{Message, VersionRange};

use super::shape::{Field, Kind, Shape, Struct, Tag};

/// The versions of an API that the codec reads and writes. Its table of APIs has one more of some.
pub(crate) fn versions(api: ApiKey) -> VersionRange {
    match api {
        ApiKey::InitProducerId => InitProducerIdRequest::VERSIONS,
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

static OLD_TOPIC: Struct = plain(&[always(Kind::Text), always(UUID)]);

pub(crate) static DELETE_TOPICS: Shape = Shape {
    flexible: 4,
    body: plain(&[since(6, Kind::Array(&Kind::Struct(&OLD_TOPIC))), between(0, 5, Kind::Array(&Kind::Text)), always(I32)]),
};
