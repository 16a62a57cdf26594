//! Every API of consumer groups at every version that is listed, for old and new clients.

use kafka_protocol::messages::offset_delete_request::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use kafka_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics};
use kafka_protocol::messages::*;
use tidegate_broker::{BrokerSettings, GroupSettings};
use tidegate_tests::member::{Member, group, text};
use tidegate_tests::wire::{Client, Running, name};

async fn start() -> anyhow::Result<(Running, Client)> {
    let groups = GroupSettings { initial_rebalance_delay_ms: 10, ..GroupSettings::default() };
    let broker = Running::with(Default::default(), BrokerSettings { groups, ..Default::default() }).await?;
    let mut client = broker.client().await?;
    client.create("topic", 2).await?;
    Ok((broker, client))
}

#[tokio::test]
async fn the_coordinator_is_found_in_every_version() -> anyhow::Result<()> {
    let (broker, mut client) = start().await?;
    for version in client.listed(ApiKey::FindCoordinator).await? {
        let request = FindCoordinatorRequest::default();
        let request = match version {
            4.. => request.with_coordinator_keys(vec![text("a"), text("b")]),
            _ => request.with_key(text("a")),
        };
        let response = client.call(version, &request).await?;
        let found: Vec<_> = match version {
            4.. => response.coordinators.iter().map(|c| (c.error_code, c.node_id.0, c.host.to_string(), c.port)).collect(),
            _ => vec![(response.error_code, response.node_id.0, response.host.to_string(), response.port); 2],
        };
        let expected = (0, 0, "127.0.0.1".to_owned(), i32::from(broker.address.port()));
        assert_eq!(found, [expected.clone(), expected], "version {version}");
        if version >= 1 {
            let response = client.call(version, &request.with_key_type(1)).await?;
            let error = response.coordinators.first().map_or(response.error_code, |c| c.error_code);
            assert_eq!(error, 53, "there are no transactions, version {version}");
        }
    }
    broker.stop().await
}

#[tokio::test]
async fn members_join_and_leave_in_every_version() -> anyhow::Result<()> {
    let (broker, mut client) = start().await?;
    let (syncs, beats, leaves) =
        (client.listed(ApiKey::SyncGroup).await?, client.listed(ApiKey::Heartbeat).await?, client.listed(ApiKey::LeaveGroup).await?);
    for version in client.listed(ApiKey::JoinGroup).await? {
        let mut member = Member::of("g");
        if version >= 4 {
            let response = client.call(version, &member.joining(version)).await?;
            assert_eq!(response.error_code, 79, "version {version}");
        }
        let joined = member.join(&mut client, version).await?;
        assert_eq!((joined.error_code, joined.members.len()), (0, 1), "version {version}");
        assert_eq!((&joined.leader, joined.protocol_name.as_deref()), (&joined.member_id, Some("range")), "version {version}");
        assert_eq!(joined.protocol_type.as_deref(), (version >= 7).then_some("consumer"), "version {version}");
        for version in syncs.clone() {
            let response = client.call(version, &member.syncing(version, &[(&member.id, "part")])).await?;
            assert_eq!((response.error_code, &response.assignment[..]), (0, &b"part"[..]), "sync version {version}");
        }
        for version in beats.clone() {
            assert_eq!(member.heartbeat(&mut client, version).await?, 0, "heartbeat version {version}");
        }
        let leave = version.clamp(*leaves.start(), *leaves.end());
        assert_eq!(member.leave(&mut client, leave).await?, 0, "leave version {leave}");
        assert_eq!(member.leave(&mut client, leave).await?, 25, "again in version {leave}");
    }
    broker.stop().await
}

#[tokio::test]
async fn offsets_go_in_and_come_out_in_every_version() -> anyhow::Result<()> {
    let (broker, mut client) = start().await?;
    let member = Member::of("g");
    for version in client.listed(ApiKey::OffsetCommit).await? {
        assert_eq!(member.commit(&mut client, version, 0, version.into()).await?, 0, "version {version}");
        assert_eq!(member.committed(&mut client, 0).await?, i64::from(version));
    }
    for version in client.listed(ApiKey::OffsetFetch).await? {
        let found = if version < 8 { fetch_one(&mut client, version).await? } else { fetch_many(&mut client, version).await? };
        let epoch = if version >= 5 { 3 } else { -1 };
        assert_eq!(found[0], (0, 9, epoch, Some("note".to_owned())), "version {version}");
        assert_eq!(found[1], (1, -1, -1, Some(String::new())), "version {version}");
        assert_eq!(found.len(), if version >= 2 { 3 } else { 2 }, "asked for all, version {version}");
    }
    broker.stop().await
}

type Offsets = Vec<(i32, i64, i32, Option<String>)>;

async fn fetch_one(client: &mut Client, version: i16) -> anyhow::Result<Offsets> {
    let topic = OffsetFetchRequestTopic::default().with_name(name("topic")).with_partition_indexes(vec![0, 1]);
    let request = OffsetFetchRequest::default().with_group_id(group("g"));
    let mut topics = client.call(version, &request.clone().with_topics(Some(vec![topic]))).await?.topics;
    if version >= 2 {
        topics.extend(client.call(version, &request.with_topics(None)).await?.topics);
    }
    let partitions = topics.into_iter().flat_map(|topic| topic.partitions);
    Ok(partitions.map(|p| (p.partition_index, p.committed_offset, p.committed_leader_epoch, p.metadata.map(|m| m.to_string()))).collect())
}

async fn fetch_many(client: &mut Client, version: i16) -> anyhow::Result<Offsets> {
    let topic = OffsetFetchRequestTopics::default().with_name(name("topic")).with_partition_indexes(vec![0, 1]);
    let some = OffsetFetchRequestGroup::default().with_group_id(group("g")).with_topics(Some(vec![topic]));
    let all = OffsetFetchRequestGroup::default().with_group_id(group("g")).with_topics(None);
    let none = OffsetFetchRequestGroup::default().with_group_id(group("other")).with_topics(None);
    let groups = client.call(version, &OffsetFetchRequest::default().with_groups(vec![some, all, none])).await?.groups;
    assert!(groups.len() == 3 && groups.iter().all(|group| group.error_code == 0), "version {version}");
    let partitions = groups.into_iter().flat_map(|group| group.topics).flat_map(|topic| topic.partitions);
    Ok(partitions.map(|p| (p.partition_index, p.committed_offset, p.committed_leader_epoch, p.metadata.map(|m| m.to_string()))).collect())
}

#[tokio::test]
async fn groups_are_listed_and_described_in_every_version() -> anyhow::Result<()> {
    let (broker, mut client) = start().await?;
    let mut member = Member::named("live", "instance");
    member.alone(&mut client).await?;
    assert_eq!(Member::of("stored").commit(&mut client, 9, 0, 1).await?, 0);
    for version in client.listed(ApiKey::ListGroups).await? {
        let listed = client.call(version, &ListGroupsRequest::default()).await?;
        let names: Vec<_> = listed.groups.iter().map(|g| (g.group_id.to_string(), g.protocol_type.to_string())).collect();
        let expected = [("live", "consumer"), ("stored", "")].map(|(group, kind)| (group.to_owned(), kind.to_owned()));
        assert_eq!((listed.error_code, names.as_slice()), (0, &expected[..]), "version {version}");
        if version >= 4 {
            let request = ListGroupsRequest::default().with_states_filter(vec![text("stable"), text("Dead")]);
            let listed = client.call(version, &request).await?;
            assert_eq!((listed.groups.len(), listed.groups[0].group_state.as_str()), (1, "Stable"), "version {version}");
        }
        if version >= 5 {
            assert_eq!(listed.groups[0].group_type.as_str(), "classic");
            let request = ListGroupsRequest::default().with_types_filter(vec![text("share")]);
            assert!(client.call(version, &request).await?.groups.is_empty(), "version {version}");
        }
    }
    for version in client.listed(ApiKey::DescribeGroups).await? {
        let request = DescribeGroupsRequest::default().with_groups(["live", "stored", "none"].map(group).to_vec());
        let groups = client.call(version, &request).await?.groups;
        let states: Vec<_> = groups.iter().map(|g| (g.error_code, g.group_state.as_str())).collect();
        let missing = if version >= 6 { 69 } else { 0 };
        assert_eq!(states, [(0, "Stable"), (0, "Empty"), (missing, "Dead")], "version {version}");
        let found = &groups[0].members[0];
        assert_eq!((found.member_id.as_str(), &found.member_assignment[..]), (member.id.as_str(), &b"all"[..]), "version {version}");
        assert_eq!((found.client_id.as_str(), found.client_host.as_str()), ("test", "/127.0.0.1"));
        assert_eq!(found.group_instance_id.as_deref(), (version >= 4).then_some("instance"), "version {version}");
        assert_eq!((groups[0].protocol_data.as_str(), groups[0].protocol_type.as_str()), ("range", "consumer"));
    }
    broker.stop().await
}

#[tokio::test]
async fn groups_and_offsets_are_deleted_in_every_version() -> anyhow::Result<()> {
    let (broker, mut client) = start().await?;
    let member = Member::of("g");
    for version in client.listed(ApiKey::DeleteGroups).await? {
        assert_eq!(member.commit(&mut client, 9, 0, 5).await?, 0);
        let request = DeleteGroupsRequest::default().with_groups_names(["g", "none"].map(group).to_vec());
        let results = client.call(version, &request).await?.results;
        assert_eq!(results.iter().map(|r| r.error_code).collect::<Vec<_>>(), [0, 69], "version {version}");
        assert_eq!(member.committed(&mut client, 0).await?, -1, "version {version}");
    }
    for version in client.listed(ApiKey::OffsetDelete).await? {
        assert_eq!((member.commit(&mut client, 9, 0, 5).await?, member.commit(&mut client, 9, 1, 6).await?), (0, 0));
        let partitions = [0, 7].map(|index| OffsetDeleteRequestPartition::default().with_partition_index(index)).to_vec();
        let topic = OffsetDeleteRequestTopic::default().with_name(name("topic")).with_partitions(partitions);
        let request = OffsetDeleteRequest::default().with_group_id(group("g")).with_topics(vec![topic]);
        let response = client.call(version, &request).await?;
        let codes: Vec<_> = response.topics[0].partitions.iter().map(|p| p.error_code).collect();
        assert_eq!((response.error_code, codes), (0, vec![0, 3]), "version {version}");
        assert_eq!((member.committed(&mut client, 0).await?, member.committed(&mut client, 1).await?), (-1, 6));
        assert_eq!(client.call(version, &request.with_group_id(group("none"))).await?.error_code, 69);
    }
    broker.stop().await
}
