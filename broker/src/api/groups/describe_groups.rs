//! DescribeGroups.

use std::sync::Arc;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::describe_groups_response::{DescribedGroup, DescribedGroupMember};
use kafka_protocol::messages::{DescribeGroupsRequest, DescribeGroupsResponse, GroupId};

use super::text;
use crate::api::{Service, Session};
use crate::group::{MemberSummary, Summary, of_read};
use crate::security::acl::{Operation, Resource};

/// First version that tells what may be done with a group.
const OPERATIONS: i16 = 3;
const INSTANCES: i16 = 4;
/// First version in which a group that does not exist is an error.
const NOT_FOUND: i16 = 6;

impl Service {
    pub(super) async fn describe_groups(
        self: Arc<Self>,
        session: Session,
        version: i16,
        request: &DescribeGroupsRequest,
    ) -> DescribeGroupsResponse {
        let mut groups = Vec::with_capacity(request.groups.len());
        for group in &request.groups {
            let described = self.describe_group(&session, version, group).await;
            let operations = self.operations(&session, Resource::group(group));
            let described = if version >= OPERATIONS && request.include_authorized_operations {
                described.with_authorized_operations(operations)
            } else {
                described
            };
            groups.push(described);
        }
        DescribeGroupsResponse::default().with_groups(groups)
    }

    async fn describe_group(&self, session: &Session, version: i16, group: &GroupId) -> DescribedGroup {
        let answer = DescribedGroup::default().with_group_id(group.clone());
        if let Err(error) = self.group_for(session, Operation::Describe, group, true) {
            return answer.with_error_code(error.code());
        }
        if let Some(summary) = self.groups.summary(group) {
            return describe(version, answer, summary);
        }
        match self.storage.group_offsets(group).await {
            Ok(Some(offsets)) => answer.with_group_state(text("Empty")).with_protocol_type(text(&offsets.protocol_type)),
            Ok(None) if version < NOT_FOUND => answer.with_group_state(text("Dead")),
            Ok(None) => {
                let message = format!("group {:?} does not exist", group.as_str());
                let answer = answer.with_group_state(text("Dead")).with_error_message(Some(text(&message)));
                answer.with_error_code(ResponseError::GroupIdNotFound.code())
            }
            Err(error) => answer.with_error_code(of_read(&error).code()),
        }
    }
}

fn describe(version: i16, answer: DescribedGroup, summary: Summary) -> DescribedGroup {
    let members = summary.members.into_iter().map(|m| member(version, m)).collect();
    let answer = answer.with_group_state(text(summary.state.name())).with_protocol_type(text(&summary.protocol_type));
    answer.with_protocol_data(text(&summary.protocol)).with_members(members)
}

fn member(version: i16, member: MemberSummary) -> DescribedGroupMember {
    let answer = DescribedGroupMember::default().with_member_id(text(&member.id)).with_client_id(text(&member.client_id));
    let answer = answer.with_client_host(text(&member.client_host)).with_member_metadata(member.metadata);
    let instance = member.instance.filter(|_| version >= INSTANCES);
    answer.with_member_assignment(member.assignment).with_group_instance_id(instance.map(|instance| text(&instance)))
}
