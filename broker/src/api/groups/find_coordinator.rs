//! FindCoordinator: this broker coordinates every group.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::{BrokerId, FindCoordinatorRequest, FindCoordinatorResponse};
use kafka_protocol::protocol::StrBytes;

use super::text;
use crate::api::{Service, Session};
use crate::security::acl::Operation;
use crate::topics::Refusal;

/// First version that asks for many.
const BATCHES: i16 = 4;
/// Key type of a consumer group.
const GROUP: i8 = 0;
/// Key type of a transactional id.
const TRANSACTION: i8 = 1;

impl Service {
    pub(super) fn find_coordinator(&self, session: &Session, version: i16, request: FindCoordinatorRequest) -> FindCoordinatorResponse {
        if version >= BATCHES {
            let keys = request.coordinator_keys.into_iter();
            let found = keys.map(|key| self.coordinator(session, request.key_type, key)).collect();
            return FindCoordinatorResponse::default().with_coordinators(found);
        }
        let found = self.coordinator(session, request.key_type, request.key);
        let answer = FindCoordinatorResponse::default().with_error_code(found.error_code).with_node_id(found.node_id);
        answer.with_host(found.host).with_port(found.port).with_error_message(found.error_message)
    }

    fn coordinator(&self, session: &Session, key_type: i8, key: StrBytes) -> Coordinator {
        let refused = match key_type {
            GROUP => self.group_for(session, Operation::Describe, &key, true).err().map(|code| Refusal::new(code, reason(code))),
            TRANSACTION => Some(Refusal::new(ResponseError::TransactionalIdAuthorizationFailed, "transactions are not supported")),
            _ => Some(Refusal::new(ResponseError::InvalidRequest, format!("coordinators of type {key_type} are not supported"))),
        };
        let answer = Coordinator::default().with_key(key);
        match refused {
            None => {
                let answer = answer.with_node_id(BrokerId(self.settings.node_id)).with_host(text(&session.endpoint.host));
                answer.with_port(session.endpoint.port.into()).with_error_message(None)
            }
            Some(Refusal { code, message }) => {
                let answer = answer.with_node_id(BrokerId(-1)).with_port(-1);
                answer.with_error_code(code.code()).with_error_message(Some(StrBytes::from_string(message)))
            }
        }
    }
}

fn reason(code: ResponseError) -> &'static str {
    match code {
        ResponseError::InvalidGroupId => "the group id is too long",
        _ => "Authorization failed.",
    }
}
