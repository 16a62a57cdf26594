//! SyncGroup: answered when the leader has assigned, or at once.

use std::sync::Arc;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{SyncGroupRequest, SyncGroupResponse};

use super::{kept, kept_bytes, text};
use crate::api::{Call, Service, Session, later};
use crate::connection::Accepted;
use crate::group::{Sync, SyncAnswer, Synced, Who};
use crate::security::acl::Operation;

/// First version that tells the protocol.
const PROTOCOLS: i16 = 5;

impl Service {
    pub(super) fn sync_group(&self, session: Session, call: Call, request: &SyncGroupRequest) -> Accepted {
        let version = call.version;
        match self.start_sync(&session, request) {
            Ok(answer) => later(async move { call.answer(&response(version, wait(answer, &session).await)) }),
            Err(error) => Accepted::Now(call.answer(&response(version, Err(error)))),
        }
    }

    fn start_sync(&self, session: &Session, request: &SyncGroupRequest) -> Result<SyncAnswer, ResponseError> {
        self.group_for(session, Operation::Read, &request.group_id, false)?;
        let sync = Sync {
            ticket: 0,
            who: Who { member: &request.member_id, instance: request.group_instance_id.as_deref() },
            generation: request.generation_id,
            protocol_type: request.protocol_type.as_deref(),
            protocol: request.protocol_name.as_deref(),
            assignments: request.assignments.iter().map(|part| (kept(&part.member_id), kept_bytes(&part.assignment))).collect(),
        };
        self.groups.sync(&request.group_id, sync)
    }
}

async fn wait(answer: SyncAnswer, session: &Session) -> Result<Synced, ResponseError> {
    tokio::select! {
        answer = answer => answer.unwrap_or(Err(ResponseError::NotCoordinator)),
        () = session.stop.cancelled() => Err(ResponseError::NotCoordinator),
    }
}

fn response(version: i16, synced: Result<Synced, ResponseError>) -> SyncGroupResponse {
    match synced {
        Err(error) => SyncGroupResponse::default().with_error_code(error.code()),
        Ok(Synced { protocol_type, protocol, assignment }) => {
            let answer = SyncGroupResponse::default().with_assignment(assignment);
            let told = |name: Arc<str>| (version >= PROTOCOLS).then(|| text(&name));
            answer.with_protocol_type(told(protocol_type)).with_protocol_name(told(protocol))
        }
    }
}
