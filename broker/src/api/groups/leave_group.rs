//! LeaveGroup: one member by itself, or, from version 3 on, many, also by their instances.

use kafka_protocol::messages::leave_group_response::MemberResponse;
use kafka_protocol::messages::{LeaveGroupRequest, LeaveGroupResponse};

use super::code;
use crate::api::{Service, Session};
use crate::group::Leaving;
use crate::security::acl::Operation;

/// First version that takes many.
const BATCHES: i16 = 3;

impl Service {
    pub(super) fn leave_group(&self, session: &Session, version: i16, request: &LeaveGroupRequest) -> LeaveGroupResponse {
        let leaving: Vec<Leaving<'_>> = match version {
            BATCHES.. => {
                request.members.iter().map(|m| Leaving { member: &m.member_id, instance: m.group_instance_id.as_deref() }).collect()
            }
            _ => vec![Leaving { member: &request.member_id, instance: None }],
        };
        let may = self.group_for(session, Operation::Read, &request.group_id, false);
        let left = may.and_then(|()| self.groups.leave(&request.group_id, &leaving));
        let left = match left {
            Ok(left) => left,
            Err(error) => return LeaveGroupResponse::default().with_error_code(error.code()),
        };
        if version < BATCHES {
            return LeaveGroupResponse::default().with_error_code(left.into_iter().map(code).next().unwrap_or(0));
        }
        let members = request.members.iter().zip(left).map(|(member, left)| {
            let answer = MemberResponse::default().with_member_id(member.member_id.clone());
            answer.with_group_instance_id(member.group_instance_id.clone()).with_error_code(code(left))
        });
        LeaveGroupResponse::default().with_members(members.collect())
    }
}
