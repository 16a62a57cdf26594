use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::alter_user_scram_credentials_request::*;
use kafka_protocol::messages::create_acls_request::*;
use kafka_protocol::messages::create_topics_request::*;
use kafka_protocol::messages::delete_acls_request::*;
use kafka_protocol::messages::delete_topics_request::*;
use kafka_protocol::messages::describe_client_quotas_request::*;
use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::describe_user_scram_credentials_request::*;
use kafka_protocol::messages::fetch_request::*;
use kafka_protocol::messages::join_group_request::*;
use kafka_protocol::messages::leave_group_request::*;
use kafka_protocol::messages::list_offsets_request::*;
use kafka_protocol::messages::metadata_request::*;
use kafka_protocol::messages::offset_commit_request::*;
use kafka_protocol::messages::offset_delete_request::*;
use kafka_protocol::messages::offset_fetch_request::*;
use kafka_protocol::messages::produce_request::*;
use kafka_protocol::messages::sync_group_request::*;
use kafka_protocol::messages::*;
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use proptest::prelude::*;
use uuid::Uuid;

use super::super::reader::Malformed;
use super::super::schema;
use super::{MAX_ELEMENTS, Shape};

mod admin;

/// Decodes and forgets: all that matters is that it neither panics nor fails where it must not.
type Decode = fn(Bytes, i16) -> anyhow::Result<()>;

fn decode<M: Decodable>(mut body: Bytes, version: i16) -> anyhow::Result<()> {
    M::decode(&mut body, version)?;
    Ok(())
}

const APIS: [(ApiKey, &Shape, Decode); 39] = [
    (ApiKey::ApiVersions, &schema::API_VERSIONS, decode::<ApiVersionsRequest>),
    (ApiKey::Metadata, &schema::METADATA, decode::<MetadataRequest>),
    (ApiKey::Produce, &schema::PRODUCE, decode::<ProduceRequest>),
    (ApiKey::Fetch, &schema::FETCH, decode::<FetchRequest>),
    (ApiKey::ListOffsets, &schema::LIST_OFFSETS, decode::<ListOffsetsRequest>),
    (ApiKey::CreateTopics, &schema::CREATE_TOPICS, decode::<CreateTopicsRequest>),
    (ApiKey::DeleteTopics, &schema::DELETE_TOPICS, decode::<DeleteTopicsRequest>),
    (ApiKey::InitProducerId, &schema::INIT_PRODUCER_ID, decode::<InitProducerIdRequest>),
    (ApiKey::DescribeProducers, &schema::DESCRIBE_PRODUCERS, decode::<DescribeProducersRequest>),
    (ApiKey::FindCoordinator, &schema::FIND_COORDINATOR, decode::<FindCoordinatorRequest>),
    (ApiKey::JoinGroup, &schema::JOIN_GROUP, decode::<JoinGroupRequest>),
    (ApiKey::SyncGroup, &schema::SYNC_GROUP, decode::<SyncGroupRequest>),
    (ApiKey::Heartbeat, &schema::HEARTBEAT, decode::<HeartbeatRequest>),
    (ApiKey::LeaveGroup, &schema::LEAVE_GROUP, decode::<LeaveGroupRequest>),
    (ApiKey::OffsetCommit, &schema::OFFSET_COMMIT, decode::<OffsetCommitRequest>),
    (ApiKey::OffsetFetch, &schema::OFFSET_FETCH, decode::<OffsetFetchRequest>),
    (ApiKey::ListGroups, &schema::LIST_GROUPS, decode::<ListGroupsRequest>),
    (ApiKey::DescribeGroups, &schema::DESCRIBE_GROUPS, decode::<DescribeGroupsRequest>),
    (ApiKey::DeleteGroups, &schema::DELETE_GROUPS, decode::<DeleteGroupsRequest>),
    (ApiKey::OffsetDelete, &schema::OFFSET_DELETE, decode::<OffsetDeleteRequest>),
    (ApiKey::SaslHandshake, &schema::SASL_HANDSHAKE, decode::<SaslHandshakeRequest>),
    (ApiKey::SaslAuthenticate, &schema::SASL_AUTHENTICATE, decode::<SaslAuthenticateRequest>),
    (ApiKey::DescribeAcls, &schema::DESCRIBE_ACLS, decode::<DescribeAclsRequest>),
    (ApiKey::CreateAcls, &schema::CREATE_ACLS, decode::<CreateAclsRequest>),
    (ApiKey::DeleteAcls, &schema::DELETE_ACLS, decode::<DeleteAclsRequest>),
    (ApiKey::DescribeUserScramCredentials, &schema::DESCRIBE_SCRAM, decode::<DescribeUserScramCredentialsRequest>),
    (ApiKey::AlterUserScramCredentials, &schema::ALTER_SCRAM, decode::<AlterUserScramCredentialsRequest>),
    (ApiKey::DescribeClientQuotas, &schema::DESCRIBE_QUOTAS, decode::<DescribeClientQuotasRequest>),
    (ApiKey::AlterConfigs, &schema::ALTER_CONFIGS, decode::<AlterConfigsRequest>),
    (ApiKey::IncrementalAlterConfigs, &schema::INCREMENTAL_ALTER_CONFIGS, decode::<IncrementalAlterConfigsRequest>),
    (ApiKey::DescribeConfigs, &schema::DESCRIBE_CONFIGS, decode::<DescribeConfigsRequest>),
    (ApiKey::CreatePartitions, &schema::CREATE_PARTITIONS, decode::<CreatePartitionsRequest>),
    (ApiKey::DescribeCluster, &schema::DESCRIBE_CLUSTER, decode::<DescribeClusterRequest>),
    (ApiKey::DescribeTopicPartitions, &schema::DESCRIBE_TOPIC_PARTITIONS, decode::<DescribeTopicPartitionsRequest>),
    (ApiKey::DeleteRecords, &schema::DELETE_RECORDS, decode::<DeleteRecordsRequest>),
    (ApiKey::DescribeLogDirs, &schema::DESCRIBE_LOG_DIRS, decode::<DescribeLogDirsRequest>),
    (ApiKey::ElectLeaders, &schema::ELECT_LEADERS, decode::<ElectLeadersRequest>),
    (ApiKey::ListConfigResources, &schema::LIST_CONFIG_RESOURCES, decode::<ListConfigResourcesRequest>),
    (ApiKey::OffsetForLeaderEpoch, &schema::OFFSET_FOR_LEADER_EPOCH, decode::<OffsetForLeaderEpochRequest>),
];

fn text(text: &'static str) -> StrBytes {
    StrBytes::from_static_str(text)
}

fn encoded(message: &impl Encodable, version: i16) -> Bytes {
    let mut bytes = BytesMut::new();
    message.encode(&mut bytes, version).unwrap();
    bytes.freeze()
}

fn fetch(version: i16) -> FetchRequest {
    let mut partition = FetchPartition::default().with_partition(3).with_fetch_offset(9).with_partition_max_bytes(1 << 20);
    if version >= 17 {
        partition = partition.with_replica_directory_id(Uuid::from_u128(5));
    }
    if version >= 18 {
        partition = partition.with_high_watermark(12);
    }
    let mut topic = FetchTopic::default().with_partitions(vec![partition.clone(), partition]);
    let mut forgotten = ForgottenTopic::default().with_partitions(vec![1, 2]);
    if version >= 13 {
        (topic, forgotten) = (topic.with_topic_id(Uuid::from_u128(1)), forgotten.with_topic_id(Uuid::from_u128(2)));
    } else {
        topic = topic.with_topic(text("topic").into());
        forgotten = if version >= 7 { forgotten.with_topic(text("old").into()) } else { forgotten };
    }
    let mut request = FetchRequest::default().with_max_wait_ms(500).with_min_bytes(1).with_max_bytes(50).with_topics(vec![topic]);
    if version >= 7 {
        request = request.with_forgotten_topics_data(vec![forgotten]);
    }
    if version >= 12 {
        request = request.with_cluster_id(Some(text("cluster")));
    }
    if version >= 15 {
        request.with_replica_state(ReplicaState::default().with_replica_id(4.into()).with_replica_epoch(8))
    } else {
        request
    }
}

fn produce(version: i16) -> ProduceRequest {
    let partition = |records: &'static [u8]| PartitionProduceData::default().with_index(1).with_records(Some(Bytes::from_static(records)));
    let topic = TopicProduceData::default().with_partition_data(vec![partition(b"first records"), partition(b""), partition(b"more")]);
    let topic = if version >= 13 { topic.with_topic_id(Uuid::from_u128(1)) } else { topic.with_name(text("topic").into()) };
    ProduceRequest::default().with_acks(1).with_topic_data(vec![topic])
}

fn delete_topics(version: i16) -> DeleteTopicsRequest {
    if version >= 6 {
        let named = DeleteTopicState::default().with_name(Some(text("a").into()));
        let by_id = DeleteTopicState::default().with_name(None).with_topic_id(Uuid::from_u128(9));
        return DeleteTopicsRequest::default().with_topics(vec![named, by_id]);
    }
    DeleteTopicsRequest::default().with_topic_names(vec![text("a").into(), text("b").into()])
}

fn create_topics() -> CreateTopicsRequest {
    let config = CreatableTopicConfig::default().with_name(text("retention.ms")).with_value(Some(text("1")));
    let empty = CreatableTopicConfig::default().with_name(text("x")).with_value(None);
    let assignment = CreatableReplicaAssignment::default().with_broker_ids(vec![1.into(), 2.into()]);
    let topic =
        CreatableTopic::default().with_name(text("topic").into()).with_configs(vec![config, empty]).with_assignments(vec![assignment]);
    CreateTopicsRequest::default().with_topics(vec![topic.clone(), topic])
}

/// A request of each kind with something in every array.
fn body(api: ApiKey, version: i16) -> Bytes {
    match api {
        ApiKey::ApiVersions if version < 3 => encoded(&ApiVersionsRequest::default(), version),
        ApiKey::ApiVersions => {
            encoded(&ApiVersionsRequest::default().with_client_software_name(text("kcat")).with_client_software_version(text("1")), version)
        }
        ApiKey::Metadata => {
            let topic = MetadataRequestTopic::default().with_name(Some(text("topic").into()));
            encoded(&MetadataRequest::default().with_topics(Some(vec![topic.clone(), topic])), version)
        }
        ApiKey::Produce => encoded(&produce(version), version),
        ApiKey::Fetch => encoded(&fetch(version), version),
        ApiKey::ListOffsets => {
            let partition = ListOffsetsPartition::default().with_partition_index(2).with_timestamp(-1);
            let topic = ListOffsetsTopic::default().with_name(text("topic").into()).with_partitions(vec![partition.clone(), partition]);
            encoded(&ListOffsetsRequest::default().with_topics(vec![topic]), version)
        }
        ApiKey::CreateTopics => encoded(&create_topics(), version),
        ApiKey::DescribeProducers => {
            let topic = TopicRequest::default().with_name(text("topic").into()).with_partition_indexes(vec![0, 3]);
            encoded(&DescribeProducersRequest::default().with_topics(vec![topic.clone(), topic]), version)
        }
        ApiKey::InitProducerId => {
            let request = InitProducerIdRequest::default().with_transactional_id(Some(text("id").into())).with_transaction_timeout_ms(5);
            encoded(&if version >= 3 { request.with_producer_id(7.into()).with_producer_epoch(2) } else { request }, version)
        }
        ApiKey::DeleteTopics => encoded(&delete_topics(version), version),
        _ => admin::body(api, version).unwrap_or_else(|| group_body(api, version)),
    }
}

fn join_group(version: i16) -> JoinGroupRequest {
    let protocol = JoinGroupRequestProtocol::default().with_name(text("range")).with_metadata(Bytes::from_static(b"metadata"));
    let request = JoinGroupRequest::default().with_group_id(text("group").into()).with_session_timeout_ms(9).with_member_id(text("m"));
    let request = request.with_protocol_type(text("consumer")).with_protocols(vec![protocol.clone(), protocol]);
    let request = if version >= 5 { request.with_group_instance_id(Some(text("instance"))) } else { request };
    if version >= 8 { request.with_reason(Some(text("because"))) } else { request }
}

fn sync_group(version: i16) -> SyncGroupRequest {
    let part = SyncGroupRequestAssignment::default().with_member_id(text("m")).with_assignment(Bytes::from_static(b"partitions"));
    let request = SyncGroupRequest::default().with_group_id(text("group").into()).with_member_id(text("m"));
    let request = request.with_assignments(vec![part.clone(), part]);
    let request = if version >= 3 { request.with_group_instance_id(Some(text("instance"))) } else { request };
    if version >= 5 { request.with_protocol_type(Some(text("consumer"))).with_protocol_name(Some(text("range"))) } else { request }
}

fn leave_group(version: i16) -> LeaveGroupRequest {
    let request = LeaveGroupRequest::default().with_group_id(text("group").into());
    if version < 3 {
        return request.with_member_id(text("m"));
    }
    let member = MemberIdentity::default().with_member_id(text("m")).with_group_instance_id(Some(text("instance")));
    let member = if version >= 5 { member.with_reason(Some(text("because"))) } else { member };
    request.with_members(vec![member.clone(), member])
}

fn offset_commit(version: i16) -> OffsetCommitRequest {
    let partition = OffsetCommitRequestPartition::default().with_committed_offset(7).with_committed_metadata(Some(text("note")));
    let partition = if version >= 6 { partition.with_committed_leader_epoch(3) } else { partition };
    let topic = OffsetCommitRequestTopic::default().with_name(text("topic").into()).with_partitions(vec![partition.clone(), partition]);
    let request = OffsetCommitRequest::default().with_group_id(text("group").into()).with_topics(vec![topic.clone(), topic]);
    if version >= 7 { request.with_group_instance_id(Some(text("instance"))) } else { request }
}

fn offset_fetch(version: i16) -> OffsetFetchRequest {
    if version < 8 {
        let topic = OffsetFetchRequestTopic::default().with_name(text("topic").into()).with_partition_indexes(vec![1, 2]);
        return OffsetFetchRequest::default().with_group_id(text("group").into()).with_topics(Some(vec![topic.clone(), topic]));
    }
    let topic = OffsetFetchRequestTopics::default().with_name(text("topic").into()).with_partition_indexes(vec![1, 2]);
    let group = OffsetFetchRequestGroup::default().with_group_id(text("group").into()).with_topics(Some(vec![topic.clone(), topic]));
    let group = if version >= 9 { group.with_member_id(Some(text("m"))).with_member_epoch(4) } else { group };
    OffsetFetchRequest::default().with_groups(vec![group.clone(), group])
}

fn group_body(api: ApiKey, version: i16) -> Bytes {
    let group = || text("group");
    match api {
        ApiKey::FindCoordinator if version < 4 => encoded(&FindCoordinatorRequest::default().with_key(group()), version),
        ApiKey::FindCoordinator => encoded(&FindCoordinatorRequest::default().with_coordinator_keys(vec![group(), text("other")]), version),
        ApiKey::JoinGroup => encoded(&join_group(version), version),
        ApiKey::SyncGroup => encoded(&sync_group(version), version),
        ApiKey::Heartbeat => {
            let request = HeartbeatRequest::default().with_group_id(group().into()).with_member_id(text("m"));
            encoded(&if version >= 3 { request.with_group_instance_id(Some(text("instance"))) } else { request }, version)
        }
        ApiKey::LeaveGroup => encoded(&leave_group(version), version),
        ApiKey::OffsetCommit => encoded(&offset_commit(version), version),
        ApiKey::OffsetFetch => encoded(&offset_fetch(version), version),
        ApiKey::ListGroups => {
            let request = ListGroupsRequest::default();
            let request = if version >= 4 { request.with_states_filter(vec![text("Stable"), text("Empty")]) } else { request };
            encoded(&if version >= 5 { request.with_types_filter(vec![text("classic")]) } else { request }, version)
        }
        ApiKey::DescribeGroups => encoded(&DescribeGroupsRequest::default().with_groups(vec![group().into(), group().into()]), version),
        ApiKey::DeleteGroups => encoded(&DeleteGroupsRequest::default().with_groups_names(vec![group().into(), group().into()]), version),
        ApiKey::OffsetDelete => {
            let partition = OffsetDeleteRequestPartition::default().with_partition_index(1);
            let topic = OffsetDeleteRequestTopic::default().with_name(text("topic").into()).with_partitions(vec![partition]);
            encoded(&OffsetDeleteRequest::default().with_group_id(group().into()).with_topics(vec![topic]), version)
        }
        other => security_body(other, version),
    }
}

fn security_body(api: ApiKey, version: i16) -> Bytes {
    let any = || Some(text("*"));
    match api {
        ApiKey::SaslHandshake => encoded(&SaslHandshakeRequest::default().with_mechanism(text("PLAIN")), version),
        ApiKey::SaslAuthenticate => {
            encoded(&SaslAuthenticateRequest::default().with_auth_bytes(Bytes::from_static(b"\0user\0password")), version)
        }
        ApiKey::DescribeAcls => {
            let request = DescribeAclsRequest::default().with_resource_name_filter(any()).with_principal_filter(any());
            encoded(&request.with_host_filter(any()).with_operation(1), version)
        }
        ApiKey::CreateAcls => {
            let acl = AclCreation::default().with_resource_name(text("topic")).with_principal(text("User:a")).with_host(text("*"));
            encoded(&CreateAclsRequest::default().with_creations(vec![acl.clone(), acl]), version)
        }
        ApiKey::DeleteAcls => {
            let filter = DeleteAclsFilter::default().with_resource_name_filter(any()).with_principal_filter(any()).with_host_filter(any());
            encoded(&DeleteAclsRequest::default().with_filters(vec![filter.clone(), filter]), version)
        }
        ApiKey::DescribeUserScramCredentials => {
            let user = UserName::default().with_name(text("user"));
            encoded(&DescribeUserScramCredentialsRequest::default().with_users(Some(vec![user.clone(), user])), version)
        }
        ApiKey::AlterUserScramCredentials => {
            let bytes = || Bytes::from_static(b"bytes");
            let set = ScramCredentialUpsertion::default().with_name(text("user")).with_iterations(4_096);
            let set = set.with_salt(bytes()).with_salted_password(bytes());
            let delete = ScramCredentialDeletion::default().with_name(text("user"));
            let request = AlterUserScramCredentialsRequest::default().with_upsertions(vec![set.clone(), set]);
            encoded(&request.with_deletions(vec![delete.clone(), delete]), version)
        }
        ApiKey::DescribeClientQuotas => {
            let component = ComponentData::default().with_entity_type(text("user")).with_match(Some(text("a")));
            encoded(&DescribeClientQuotasRequest::default().with_components(vec![component.clone(), component]), version)
        }
        other => panic!("{other:?} has no example"),
    }
}

#[test]
fn every_version_of_every_request_has_its_shape() {
    for (api, shape, decode) in APIS {
        let versions = schema::versions(api);
        for version in versions.min..=versions.max {
            let body = body(api, version);
            shape.check(&body, version).unwrap_or_else(|error| panic!("{api:?} {version}: {error}"));
            for cut in 0..body.len() {
                assert!(shape.check(&body[..cut], version).is_err(), "{api:?} {version} cut at {cut} of {}", body.len());
            }
            decode(body, version).unwrap();
        }
    }
}

#[test]
fn record_sets_are_found_where_they_are() {
    for version in 3..=13 {
        let body = body(ApiKey::Produce, version);
        let found = schema::PRODUCE.check(&body, version).unwrap();
        let found: Vec<&[u8]> = found.into_iter().map(|range| &body[range.unwrap()]).collect();
        assert_eq!(found, [&b"first records"[..], b"", b"more"], "version {version}");
    }
}

#[test]
fn a_claimed_length_is_not_believed() {
    let mut huge = BytesMut::new();
    huge.put_i32(i32::MAX);
    huge.put_bytes(0, 100);
    assert!(matches!(schema::METADATA.check(&huge, 0), Err(Malformed::Short { .. })));
    let compact = [&[0xff, 0xff, 0xff, 0xff, 0x0f][..], &[0; 100]].concat();
    assert!(matches!(schema::METADATA.check(&compact, 9), Err(Malformed::Short { .. })));
    assert_eq!(schema::METADATA.check(&(-2i32).to_be_bytes(), 0), Err(Malformed::NegativeLength { at: 0, length: -2 }));
}

#[test]
fn elements_are_counted() {
    let mut many = BytesMut::new();
    let count = MAX_ELEMENTS + 1;
    many.put_i32(count as i32);
    many.put_bytes(0, 2 * count);
    assert!(matches!(schema::METADATA.check(&many, 0), Err(Malformed::TooManyElements { .. })));
}

/// The codec reads these fields without looking at their size: it would go on elsewhere than the check did.
#[test]
fn a_tagged_field_that_lies_about_its_size_is_refused() {
    let version = 17;
    let body = body(ApiKey::Fetch, version).to_vec();
    let id = Uuid::from_u128(5);
    let at = body.windows(16).position(|window| window == id.as_bytes()).unwrap();
    let mut lying = body.clone();
    lying[at - 1] = 2;
    assert!(schema::FETCH.check(&body, version).is_ok());
    assert!(schema::FETCH.check(&lying, version).is_err());
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), api in 0..APIS.len(), version in 0i16..20) {
        let (api, shape, decode) = APIS[api];
        let versions = schema::versions(api);
        let version = version.clamp(versions.min, versions.max);
        if shape.check(&bytes, version).is_ok() {
            let _ = decode(bytes.into(), version);
        }
    }

    /// Closer to the edge than chance gets: good requests with a few bytes changed.
    #[test]
    fn damaged_requests_never_panic(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        api in 0..APIS.len(),
        version in 0i16..20,
    ) {
        let (api, shape, decode) = APIS[api];
        let versions = schema::versions(api);
        let version = version.clamp(versions.min, versions.max);
        let mut bytes = body(api, version).to_vec();
        for (at, byte) in damage {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        if shape.check(&bytes, version).is_ok() {
            let _ = decode(bytes.into(), version);
        }
    }
}
