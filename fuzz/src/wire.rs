//! The broker's way from a frame to a request: header, shape, codec. Compiled on its own, as the rest.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{ApiKey, RequestKind};

use self::header::RequestHeader;
use self::shape::Shape;

#[path = "../../broker/src/wire/header.rs"]
mod header;
#[path = "../../broker/src/wire/produce.rs"]
mod produce;
#[path = "../../broker/src/wire/reader.rs"]
mod reader;
#[path = "../../broker/src/wire/schema.rs"]
mod schema;
#[path = "../../broker/src/wire/shape.rs"]
mod shape;

/// The APIs whose requests are decoded from bytes of strangers.
const APIS: &[(ApiKey, &Shape)] = &[
    (ApiKey::ApiVersions, &schema::API_VERSIONS),
    (ApiKey::Metadata, &schema::METADATA),
    (ApiKey::Produce, &schema::PRODUCE),
    (ApiKey::Fetch, &schema::FETCH),
    (ApiKey::ListOffsets, &schema::LIST_OFFSETS),
    (ApiKey::CreateTopics, &schema::CREATE_TOPICS),
    (ApiKey::DeleteTopics, &schema::DELETE_TOPICS),
    (ApiKey::InitProducerId, &schema::INIT_PRODUCER_ID),
    (ApiKey::DescribeProducers, &schema::DESCRIBE_PRODUCERS),
    (ApiKey::FindCoordinator, &schema::FIND_COORDINATOR),
    (ApiKey::JoinGroup, &schema::JOIN_GROUP),
    (ApiKey::SyncGroup, &schema::SYNC_GROUP),
    (ApiKey::Heartbeat, &schema::HEARTBEAT),
    (ApiKey::LeaveGroup, &schema::LEAVE_GROUP),
    (ApiKey::OffsetCommit, &schema::OFFSET_COMMIT),
    (ApiKey::OffsetFetch, &schema::OFFSET_FETCH),
    (ApiKey::ListGroups, &schema::LIST_GROUPS),
    (ApiKey::DescribeGroups, &schema::DESCRIBE_GROUPS),
    (ApiKey::DeleteGroups, &schema::DELETE_GROUPS),
    (ApiKey::OffsetDelete, &schema::OFFSET_DELETE),
    (ApiKey::SaslHandshake, &schema::SASL_HANDSHAKE),
    (ApiKey::SaslAuthenticate, &schema::SASL_AUTHENTICATE),
    (ApiKey::DescribeAcls, &schema::DESCRIBE_ACLS),
    (ApiKey::CreateAcls, &schema::CREATE_ACLS),
    (ApiKey::DeleteAcls, &schema::DELETE_ACLS),
    (ApiKey::DescribeUserScramCredentials, &schema::DESCRIBE_SCRAM),
    (ApiKey::AlterUserScramCredentials, &schema::ALTER_SCRAM),
    (ApiKey::DescribeClientQuotas, &schema::DESCRIBE_QUOTAS),
];

/// Takes a frame as the broker does. What the check of the shape lets pass the codec reads, and no further than the check did.
pub fn take(frame: &[u8]) {
    let Ok(header) = RequestHeader::read(frame) else { return };
    let _ = RequestHeader::client_id(frame);
    let Some((api, shape)) = APIS.iter().find(|(api, _)| *api as i16 == header.api_key) else { return };
    let versions = schema::versions(*api);
    // Any version leads to one that is served: a fuzzer does not guess ranges.
    let served = versions.max - versions.min + 1;
    let version = versions.min + header.version.rem_euclid(served);
    let Ok(body) = RequestHeader::body_position(frame, api.request_header_version(version)) else { return };
    if *api == ApiKey::Produce {
        let _ = produce::Produce::read(BytesMut::from(frame), body, version);
    }
    let Ok(records) = shape.check(&frame[body..], version) else { return };
    assert!(records.into_iter().flatten().all(|range| range.end <= frame.len() - body), "a record set lies outside of its frame");
    let mut rest = Bytes::copy_from_slice(&frame[body..]);
    let _ = RequestKind::decode(*api, &mut rest, version);
}
