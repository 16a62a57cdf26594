//! Consumer groups without members: who coordinates them, their offsets, and what becomes of them.

use kafka_protocol::messages::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use kafka_protocol::messages::offset_delete_request::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use kafka_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use kafka_protocol::messages::*;
use tidegate_tests::member::{group, text};
use tidegate_tests::wire::name;

use crate::seen::{Seen, codes};

pub async fn cases(seen: &mut Seen) -> anyhow::Result<()> {
    coordinators(seen).await?;
    commits(seen).await?;
    committed(seen).await?;
    descriptions(seen).await?;
    deletions(seen).await
}

async fn coordinators(seen: &mut Seen) -> anyhow::Result<()> {
    let key = seen.fresh();
    let of = |kind: i8, keys: &[&str]| {
        FindCoordinatorRequest::default().with_key_type(kind).with_coordinator_keys(keys.iter().map(|key| text(key)).collect())
    };
    let read = |response: FindCoordinatorResponse| codes(response.coordinators.iter().map(|c| c.error_code).chain([response.error_code]));
    seen.ask("find coordinator: of a group", 4, &of(0, &[&key]), read).await?;
    seen.ask("find coordinator: of two groups", 4, &of(0, &[&key, "other"]), read).await?;
    seen.ask("find coordinator: of a group without a name", 4, &of(0, &[""]), read).await?;
    seen.ask("find coordinator: of nothing", 4, &of(0, &[]), read).await?;
    seen.ask("find coordinator: of an unknown kind", 4, &of(9, &[&key]), read).await?;
    seen.ask("find coordinator: of kind -1", 4, &of(-1, &[&key]), read).await
}

/// A commit from outside of any generation.
fn commit(id: &str, topic: &str, partition: i32, offset: i64) -> OffsetCommitRequest {
    let partition = OffsetCommitRequestPartition::default().with_partition_index(partition).with_committed_offset(offset);
    let topic = OffsetCommitRequestTopic::default().with_name(name(topic)).with_partitions(vec![partition]);
    OffsetCommitRequest::default().with_group_id(group(id)).with_generation_id_or_member_epoch(-1).with_topics(vec![topic])
}

async fn commits(seen: &mut Seen) -> anyhow::Result<()> {
    let read = |response: OffsetCommitResponse| codes(response.topics.iter().flat_map(|t| &t.partitions).map(|p| p.error_code));
    let (id, topic, unknown) = (seen.fresh(), seen.topic.clone(), seen.fresh());
    seen.ask("offset commit: from outside", 8, &commit(&id, &topic, 0, 1), read).await?;
    seen.ask("offset commit: group without a name", 8, &commit("", &topic, 0, 1), read).await?;
    seen.ask("offset commit: unknown topic", 8, &commit(&id, &unknown, 0, 1), read).await?;
    seen.ask("offset commit: partition 7 of 2", 8, &commit(&id, &topic, 7, 1), read).await?;
    seen.ask("offset commit: partition -1", 8, &commit(&id, &topic, -1, 1), read).await?;
    seen.ask("offset commit: topic name with a slash", 8, &commit(&id, "a/b", 0, 1), read).await?;
    seen.ask("offset commit: offset -7", 8, &commit(&id, &topic, 0, -7), read).await?;
    seen.ask("offset commit: offset beyond the end", 8, &commit(&id, &topic, 0, 1 << 40), read).await?;
    let mut noted = commit(&id, &topic, 0, 1);
    noted.topics[0].partitions[0].committed_metadata = Some(text(&"x".repeat(4_097)));
    seen.ask("offset commit: a note of 4097 bytes", 8, &noted, read).await?;
    let fresh = seen.fresh();
    let of = |generation: i32, member: &str| {
        commit(&fresh, &topic, 0, 1).with_generation_id_or_member_epoch(generation).with_member_id(text(member))
    };
    seen.ask("offset commit: generation 5 of an unknown group", 8, &of(5, "nobody"), read).await?;
    seen.ask("offset commit: unknown member from outside", 8, &of(-1, "nobody"), read).await?;
    seen.ask("offset commit: no topics", 8, &commit(&id, &topic, 0, 1).with_topics(vec![]), read).await
}

async fn committed(seen: &mut Seen) -> anyhow::Result<()> {
    let read = |response: OffsetFetchResponse| {
        let of_group = |group: &offset_fetch_response::OffsetFetchResponseGroup| {
            let partitions = group.topics.iter().flat_map(|t| &t.partitions).map(|p| format!("{} at {}", p.error_code, p.committed_offset));
            format!("{} [{}]", group.error_code, partitions.collect::<Vec<_>>().join(", "))
        };
        response.groups.iter().map(of_group).collect::<Vec<_>>().join(" ")
    };
    let (id, topic, unknown) = (seen.fresh(), seen.topic.clone(), seen.fresh());
    let of = |id: &str, topic: &str, partitions: &[i32]| {
        let topic = OffsetFetchRequestTopics::default().with_name(name(topic)).with_partition_indexes(partitions.to_vec());
        OffsetFetchRequest::default()
            .with_groups(vec![OffsetFetchRequestGroup::default().with_group_id(group(id)).with_topics(Some(vec![topic]))])
    };
    seen.ask("offset fetch: unknown group", 8, &of(&id, &topic, &[0]), read).await?;
    seen.ask("offset fetch: unknown topic", 8, &of(&id, &unknown, &[0]), read).await?;
    seen.ask("offset fetch: partition 7 of 2", 8, &of(&id, &topic, &[7, -1]), read).await?;
    seen.ask("offset fetch: group without a name", 8, &of("", &topic, &[0]), read).await?;
    seen.ask("offset fetch: topic name with a slash", 8, &of(&id, "a/b", &[0]), read).await
}

async fn descriptions(seen: &mut Seen) -> anyhow::Result<()> {
    let read = |response: DescribeGroupsResponse| {
        let groups = response.groups.iter().map(|group| format!("{} {}", group.error_code, group.group_state.as_str()));
        groups.collect::<Vec<_>>().join(", ")
    };
    let unknown = seen.fresh();
    let of = |ids: &[&str]| DescribeGroupsRequest::default().with_groups(ids.iter().map(|id| group(id)).collect());
    seen.ask("describe groups: unknown", 5, &of(&[&unknown]), read).await?;
    seen.ask("describe groups: unknown in version 6", 6, &of(&[&unknown]), read).await?;
    seen.ask("describe groups: without a name", 5, &of(&[""]), read).await?;
    seen.ask("describe groups: none", 5, &of(&[]), read).await?;
    let listed = |response: ListGroupsResponse| format!("{} {}", response.error_code, response.groups.len());
    let states = ListGroupsRequest::default().with_states_filter(vec![text("Asleep")]);
    seen.ask("list groups: of an unknown state", 4, &states, listed).await?;
    let types = ListGroupsRequest::default().with_types_filter(vec![text("strange")]);
    seen.ask("list groups: of an unknown type", 5, &types, listed).await
}

async fn deletions(seen: &mut Seen) -> anyhow::Result<()> {
    let read = |response: DeleteGroupsResponse| codes(response.results.iter().map(|group| group.error_code));
    let (id, topic, unknown) = (seen.fresh(), seen.topic.clone(), seen.fresh());
    let of = |ids: &[&str]| DeleteGroupsRequest::default().with_groups_names(ids.iter().map(|id| group(id)).collect());
    let committed = |response: OffsetCommitResponse| response.topics[0].partitions[0].error_code.to_string();
    seen.ask("offset delete: something to delete", 8, &commit(&id, &topic, 0, 1), committed).await?;
    let forget = |id: &str, topic: &str, partition: i32| {
        let partition = OffsetDeleteRequestPartition::default().with_partition_index(partition);
        let topic = OffsetDeleteRequestTopic::default().with_name(name(topic)).with_partitions(vec![partition]);
        OffsetDeleteRequest::default().with_group_id(group(id)).with_topics(vec![topic])
    };
    let forgot = |response: OffsetDeleteResponse| {
        format!("{} [{}]", response.error_code, codes(response.topics.iter().flat_map(|t| &t.partitions).map(|p| p.error_code)))
    };
    seen.ask("offset delete: unknown group", 0, &forget(&unknown, &topic, 0), forgot).await?;
    seen.ask("offset delete: group without a name", 0, &forget("", &topic, 0), forgot).await?;
    seen.ask("offset delete: unknown topic", 0, &forget(&id, &unknown, 0), forgot).await?;
    seen.ask("offset delete: partition 7 of 2", 0, &forget(&id, &topic, 7), forgot).await?;
    seen.ask("offset delete: one that was committed", 0, &forget(&id, &topic, 0), forgot).await?;
    seen.ask("delete groups: something to delete", 8, &commit(&id, &topic, 0, 1), committed).await?;
    seen.ask("delete groups: unknown", 2, &of(&[&unknown]), read).await?;
    seen.ask("delete groups: without a name", 2, &of(&[""]), read).await?;
    seen.ask("delete groups: none", 2, &of(&[]), read).await?;
    seen.ask("delete groups: one with offsets", 2, &of(&[&id]), read).await?;
    seen.ask("delete groups: again", 2, &of(&[&id]), read).await
}
