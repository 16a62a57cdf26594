//! Heartbeat.

use kafka_protocol::messages::{HeartbeatRequest, HeartbeatResponse};

use super::{check_group, code};
use crate::api::Service;
use crate::group::Who;

impl Service {
    pub(super) fn heartbeat(&self, request: &HeartbeatRequest) -> HeartbeatResponse {
        let who = Who { member: &request.member_id, instance: request.group_instance_id.as_deref() };
        let beat =
            check_group(&request.group_id, false).and_then(|()| self.groups.heartbeat(&request.group_id, &who, request.generation_id));
        HeartbeatResponse::default().with_error_code(code(beat))
    }
}
