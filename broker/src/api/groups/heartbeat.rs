//! Heartbeat.

use kafka_protocol::messages::{HeartbeatRequest, HeartbeatResponse};

use super::code;
use crate::api::{Service, Session};
use crate::group::Who;
use crate::security::acl::Operation;

impl Service {
    pub(super) fn heartbeat(&self, session: &Session, request: &HeartbeatRequest) -> HeartbeatResponse {
        let who = Who { member: &request.member_id, instance: request.group_instance_id.as_deref() };
        let may = self.group_for(session, Operation::Read, &request.group_id, false);
        let beat = may.and_then(|()| self.groups.heartbeat(&request.group_id, &who, request.generation_id));
        HeartbeatResponse::default().with_error_code(code(beat))
    }
}
