//! Members of consumer groups, and those that claim to be.

use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use kafka_protocol::messages::*;
use tidegate_tests::member::{Member, group, text};
use tidegate_tests::wire::name;

use crate::seen::{Seen, codes};

pub async fn cases(seen: &mut Seen) -> anyhow::Result<()> {
    joins(seen).await?;
    strangers(seen).await?;
    member(seen).await
}

/// A member of a group that nobody knows yet; names of members are static in the tests.
fn of_new_group(seen: &mut Seen) -> Member {
    Member::of(Box::leak(seen.fresh().into_boxed_str()))
}

fn joined(response: JoinGroupResponse) -> String {
    response.error_code.to_string()
}

async fn joins(seen: &mut Seen) -> anyhow::Result<()> {
    let fresh = of_new_group(seen);
    let plain = || fresh.joining(5);
    seen.ask("join group: without a member id", 5, &plain(), joined).await?;
    seen.ask("join group: group without a name", 5, &plain().with_group_id(group("")), joined).await?;
    seen.ask("join group: unknown member id", 5, &plain().with_member_id(text("nobody")), joined).await?;
    for session in [0, 1, i32::MAX, -1] {
        seen.ask(&format!("join group: session time-out {session}"), 5, &plain().with_session_timeout_ms(session), joined).await?;
    }
    seen.ask("join group: no protocols", 5, &plain().with_protocols(vec![]), joined).await?;
    seen.ask("join group: no protocol type", 5, &plain().with_protocol_type(text("")), joined).await?;
    let unknown = of_new_group(seen);
    let claims = unknown.joining(5).with_member_id(text("nobody"));
    seen.ask("join group: member of a group that is not there", 5, &claims, joined).await
}

/// Requests of members that no group knows.
async fn strangers(seen: &mut Seen) -> anyhow::Result<()> {
    let fresh = seen.fresh();
    for (what, id) in [("unknown group", &*fresh), ("group without a name", "")] {
        let beat = HeartbeatRequest::default().with_group_id(group(id)).with_generation_id(1).with_member_id(text("nobody"));
        seen.ask(&format!("heartbeat: {what}"), 4, &beat, |response| response.error_code.to_string()).await?;
        let sync = SyncGroupRequest::default().with_group_id(group(id)).with_generation_id(1).with_member_id(text("nobody"));
        seen.ask(&format!("sync group: {what}"), 3, &sync, |response| response.error_code.to_string()).await?;
        let leave = LeaveGroupRequest::default().with_group_id(group(id));
        let leave = leave.with_members(vec![MemberIdentity::default().with_member_id(text("nobody"))]);
        seen.ask(&format!("leave group: {what}"), 4, &leave, left).await?;
    }
    Ok(())
}

fn left(response: LeaveGroupResponse) -> String {
    format!("{} [{}]", response.error_code, codes(response.members.iter().map(|member| member.error_code)))
}

/// A member of generation 1, and what it may get wrong.
async fn member(seen: &mut Seen) -> anyhow::Result<()> {
    let mut member = of_new_group(seen);
    let mut client = seen.client().await?;
    let mut response = member.join(&mut client, 5).await?;
    while [14, 15, 16].contains(&response.error_code) {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        response = member.join(&mut client, 5).await?;
    }
    seen.note("member: joins", format!("{} in generation {}", response.error_code, response.generation_id));
    let sync = |generation: i32, id: &str| member.syncing(3, &[]).with_generation_id(generation).with_member_id(text(id));
    let synced = |response: SyncGroupResponse| response.error_code.to_string();
    let beat = |generation: i32, id: &str| {
        HeartbeatRequest::default().with_group_id(group(member.group)).with_generation_id(generation).with_member_id(text(id))
    };
    let told = |response: HeartbeatResponse| response.error_code.to_string();
    let id = member.id.clone();
    for (what, generation, id) in [
        ("of an older generation", 0, &*id),
        ("of a newer generation", 2, &id),
        ("of generation -1", -1, &id),
        ("of another member", 1, "nobody"),
        ("without a member", 1, ""),
        ("in its turn", 1, &id),
        ("again", 1, &id),
    ] {
        seen.ask(&format!("member: sync {what}"), 3, &sync(generation, id), synced).await?;
        seen.ask(&format!("member: heartbeat {what}"), 4, &beat(generation, id), told).await?;
        seen.ask(&format!("member: commit {what}"), 8, &commit(&member, generation, id, &seen.topic.clone()), committed).await?;
    }
    let other = of_new_group(seen);
    let stranger = other.joining(5).with_group_id(group(member.group)).with_protocol_type(text("connect"));
    seen.ask("member: another one joins with another kind of protocol", 5, &stranger, joined).await?;
    let from_outside = commit(&member, -1, "", &seen.topic.clone());
    seen.ask("member: commit from outside of a group with members", 8, &from_outside, committed).await?;
    let delete = DeleteGroupsRequest::default().with_groups_names(vec![group(member.group)]);
    seen.ask("member: its group is to be deleted", 2, &delete, |response| codes(response.results.iter().map(|g| g.error_code))).await?;
    for (what, id) in [("another one leaves", "nobody"), ("leaves", &*id), ("leaves again", &id)] {
        let leave = LeaveGroupRequest::default().with_group_id(group(member.group));
        let leave = leave.with_members(vec![MemberIdentity::default().with_member_id(text(id))]);
        seen.ask(&format!("member: {what}"), 4, &leave, left).await?;
    }
    seen.ask("member: heartbeat after it left", 4, &beat(1, &id), told).await
}

fn commit(member: &Member, generation: i32, id: &str, topic: &str) -> OffsetCommitRequest {
    let partition = OffsetCommitRequestPartition::default().with_committed_offset(1);
    let topic = OffsetCommitRequestTopic::default().with_name(name(topic)).with_partitions(vec![partition]);
    let request = OffsetCommitRequest::default().with_group_id(group(member.group)).with_topics(vec![topic]);
    request.with_generation_id_or_member_epoch(generation).with_member_id(text(id))
}

fn committed(response: OffsetCommitResponse) -> String {
    codes(response.topics.iter().flat_map(|topic| &topic.partitions).map(|partition| partition.error_code))
}
