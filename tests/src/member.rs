//! A consumer group's member of a few lines, on the wire.

use anyhow::{Context, ensure};
use bytes::Bytes;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestTopic;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::*;
use kafka_protocol::protocol::StrBytes;

use crate::wire::{Client, name};

/// What it says of itself.
#[derive(Clone, Debug)]
pub struct Member {
    /// Group.
    pub group: &'static str,
    /// Its id; empty until it was told one.
    pub id: String,
    /// Of a static member.
    pub instance: Option<&'static str>,
    /// The generation that it is in.
    pub generation: i32,
    /// Session time-out, in milliseconds.
    pub session_ms: i32,
    /// The topic it subscribes to.
    pub topic: &'static str,
}

/// Text as the codec wants it.
pub fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

/// A group's id as the codec wants it.
pub fn group(id: &str) -> GroupId {
    text(id).into()
}

/// The subscription of a consumer to one topic.
pub fn subscription(topic: &str) -> Bytes {
    let mut bytes = vec![0, 1, 0, 0, 0, 1];
    bytes.extend((topic.len() as u16).to_be_bytes());
    bytes.extend(topic.as_bytes());
    bytes.extend([0xff; 4]);
    bytes.into()
}

impl Member {
    /// One that has not joined yet.
    pub fn of(group: &'static str) -> Self {
        Self { group, id: String::new(), instance: None, generation: -1, session_ms: 10_000, topic: "topic" }
    }

    /// A static one.
    pub fn named(group: &'static str, instance: &'static str) -> Self {
        Self { instance: Some(instance), ..Self::of(group) }
    }

    fn static_id(&self, version: i16, since: i16) -> Option<StrBytes> {
        self.instance.filter(|_| version >= since).map(StrBytes::from_static_str)
    }

    /// Its request to join.
    pub fn joining(&self, version: i16) -> JoinGroupRequest {
        let protocol = JoinGroupRequestProtocol::default().with_name(text("range")).with_metadata(subscription(self.topic));
        let request = JoinGroupRequest::default().with_group_id(group(self.group)).with_session_timeout_ms(self.session_ms);
        let request = request.with_member_id(text(&self.id)).with_group_instance_id(self.static_id(version, 5));
        let request = if version >= 1 { request.with_rebalance_timeout_ms(30_000) } else { request };
        request.with_protocol_type(text("consumer")).with_protocols(vec![protocol])
    }

    /// Takes over what an answer to a join says.
    pub fn joined(&mut self, response: &JoinGroupResponse) {
        self.id = response.member_id.to_string();
        self.generation = response.generation_id;
    }

    /// Joins, twice if it is told an id first, and waits for the generation.
    pub async fn join(&mut self, client: &mut Client, version: i16) -> anyhow::Result<JoinGroupResponse> {
        let mut response = client.call(version, &self.joining(version)).await?;
        if response.error_code == 79 {
            self.id = response.member_id.to_string();
            response = client.call(version, &self.joining(version)).await?;
        }
        if response.error_code == 0 {
            self.joined(&response);
        }
        Ok(response)
    }

    /// Its request for its assignment; a leader brings those of all.
    pub fn syncing(&self, version: i16, parts: &[(&str, &'static str)]) -> SyncGroupRequest {
        let parts = parts.iter().map(|(member, part)| {
            SyncGroupRequestAssignment::default().with_member_id(text(member)).with_assignment(Bytes::from_static(part.as_bytes()))
        });
        let request = SyncGroupRequest::default().with_group_id(group(self.group)).with_generation_id(self.generation);
        let request = request.with_member_id(text(&self.id)).with_assignments(parts.collect());
        let request =
            if version >= 5 { request.with_protocol_type(Some(text("consumer"))).with_protocol_name(Some(text("range"))) } else { request };
        request.with_group_instance_id(self.static_id(version, 3))
    }

    /// Syncs and waits for the assignment.
    pub async fn sync(&self, client: &mut Client, parts: &[(&str, &'static str)]) -> anyhow::Result<(i16, Bytes)> {
        let response = client.call(5, &self.syncing(5, parts)).await?;
        Ok((response.error_code, response.assignment))
    }

    /// Joins and syncs as the only member of its group.
    pub async fn alone(&mut self, client: &mut Client) -> anyhow::Result<()> {
        let response = self.join(client, 9).await?;
        ensure!(response.error_code == 0, "not joined: {response:?}");
        let (error, part) = self.sync(client, &[(&self.id, "all")]).await?;
        ensure!(error == 0 && part == "all", "not synced: {error} {part:?}");
        Ok(())
    }

    /// The error of a heartbeat.
    pub async fn heartbeat(&self, client: &mut Client, version: i16) -> anyhow::Result<i16> {
        let request = HeartbeatRequest::default().with_group_id(group(self.group)).with_generation_id(self.generation);
        let request = request.with_member_id(text(&self.id)).with_group_instance_id(self.static_id(version, 3));
        Ok(client.call(version, &request).await?.error_code)
    }

    /// The error of leaving.
    pub async fn leave(&self, client: &mut Client, version: i16) -> anyhow::Result<i16> {
        let request = LeaveGroupRequest::default().with_group_id(group(self.group));
        let request = if version >= 3 {
            let member = MemberIdentity::default().with_member_id(text(&self.id)).with_group_instance_id(self.static_id(version, 3));
            request.with_members(vec![member])
        } else {
            request.with_member_id(text(&self.id))
        };
        let response = client.call(version, &request).await?;
        Ok(response.members.first().map_or(response.error_code, |member| member.error_code))
    }

    /// Its request to commit an offset of its topic.
    pub fn committing(&self, version: i16, partition: i32, offset: i64) -> OffsetCommitRequest {
        let partition = OffsetCommitRequestPartition::default().with_partition_index(partition).with_committed_offset(offset);
        let partition = partition.with_committed_metadata(Some(text("note")));
        let partition = if version >= 6 { partition.with_committed_leader_epoch(3) } else { partition };
        let topic = OffsetCommitRequestTopic::default().with_name(name(self.topic)).with_partitions(vec![partition]);
        let request = OffsetCommitRequest::default().with_group_id(group(self.group)).with_member_id(text(&self.id));
        let request = request.with_generation_id_or_member_epoch(self.generation).with_topics(vec![topic]);
        request.with_group_instance_id(self.static_id(version, 7))
    }

    /// The error of committing an offset.
    pub async fn commit(&self, client: &mut Client, version: i16, partition: i32, offset: i64) -> anyhow::Result<i16> {
        let response = client.call(version, &self.committing(version, partition, offset)).await?;
        Ok(response.topics[0].partitions[0].error_code)
    }

    /// The offset committed for a partition of its topic; -1 for none.
    pub async fn committed(&self, client: &mut Client, partition: i32) -> anyhow::Result<i64> {
        let topic = OffsetFetchRequestTopic::default().with_name(name(self.topic)).with_partition_indexes(vec![partition]);
        let request = OffsetFetchRequest::default().with_group_id(group(self.group)).with_topics(Some(vec![topic]));
        let response = client.call(5, &request).await?;
        ensure!(response.error_code == 0, "offsets not told: {response:?}");
        let partition = response.topics.first().and_then(|topic| topic.partitions.first()).context("no partition in the answer")?;
        ensure!(partition.error_code == 0, "offset not told: {partition:?}");
        Ok(partition.committed_offset)
    }
}
