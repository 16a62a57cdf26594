//! JoinGroup: answered when the next generation begins, or at once.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::join_group_response::JoinGroupResponseMember;
use kafka_protocol::messages::{JoinGroupRequest, JoinGroupResponse};
use kafka_protocol::protocol::StrBytes;

use super::{MAX_ID_BYTES, kept, kept_bytes, text};
use crate::api::{Call, Service, Session, later};
use crate::connection::Accepted;
use crate::group::{Client, Join, JoinAnswer, JoinRefused, Joined, Protocol};
use crate::security::acl::Operation;

/// First version whose clients come again with the id that they are told.
const KNOWN_IDS: i16 = 4;
/// First version that tells the protocol's type, and may leave out its name.
const PROTOCOL_TYPES: i16 = 7;
/// First version in which a leader can be told not to assign.
const SKIPS: i16 = 9;

impl Service {
    pub(super) fn join_group(&self, session: Session, call: Call, client_id: &str, request: JoinGroupRequest) -> Accepted {
        let version = call.version;
        match self.start_join(&session, version, client_id, &request) {
            Ok(answer) => later(async move { call.answer(&response(version, wait(answer, &session).await)) }),
            Err(error) => {
                let refused = JoinRefused { error, member: kept(&request.member_id) };
                Accepted::Now(call.answer(&response(version, Err(refused))))
            }
        }
    }

    fn start_join(
        &self,
        session: &Session,
        version: i16,
        client_id: &str,
        request: &JoinGroupRequest,
    ) -> Result<JoinAnswer, ResponseError> {
        let join = self.read_join(session, version, client_id, request)?;
        self.groups.join(&request.group_id, join)
    }

    fn read_join(&self, session: &Session, version: i16, client_id: &str, request: &JoinGroupRequest) -> Result<Join, ResponseError> {
        self.group_for(session, Operation::Read, &request.group_id, false)?;
        let settings = &self.settings.groups;
        let (min, max) = (settings.session_timeout_min_ms, settings.session_timeout_max_ms);
        let session_ms = u32::try_from(request.session_timeout_ms).ok().filter(|ms| (min..=max).contains(ms));
        let session_ms = session_ms.ok_or(ResponseError::InvalidSessionTimeout)?;
        let rebalance_ms = if version >= 1 { u32::try_from(request.rebalance_timeout_ms).unwrap_or(0) } else { session_ms };
        let bytes: usize = request.protocols.iter().map(|protocol| protocol.name.len() + protocol.metadata.len()).sum();
        if bytes > settings.subscription_bytes as usize {
            return Err(ResponseError::GroupMaxSizeReached);
        }
        let instance = request.group_instance_id.as_ref().map(kept);
        let prefix = instance.as_deref().unwrap_or(client_id);
        if instance.as_ref().is_some_and(|instance| instance.is_empty() || instance.len() > MAX_ID_BYTES) {
            return Err(ResponseError::InvalidRequest);
        }
        let prefix: String = prefix.chars().take(MAX_ID_BYTES / 8).collect();
        Ok(Join {
            ticket: 0,
            member: kept(&request.member_id),
            fresh: format!("{prefix}-{}", self.storage.env().uuid()).into(),
            instance,
            client: Client { id: client_id.into(), host: format!("/{}", session.client).into() },
            session: Duration::from_millis(session_ms.into()),
            rebalance: Duration::from_millis(rebalance_ms.clamp(1, settings.rebalance_timeout_max_ms).into()),
            protocol_type: kept(&request.protocol_type),
            protocols: request.protocols.iter().map(|p| Protocol { name: kept(&p.name), metadata: kept_bytes(&p.metadata) }).collect(),
            comes_again: version >= KNOWN_IDS,
            can_skip: version >= SKIPS,
        })
    }
}

/// A broker that stops sends its members elsewhere.
async fn wait(answer: JoinAnswer, session: &Session) -> Result<Joined, JoinRefused> {
    let gone = || JoinRefused { error: ResponseError::NotCoordinator, member: Arc::from("") };
    tokio::select! {
        answer = answer => answer.unwrap_or_else(|_| Err(gone())),
        () = session.stop.cancelled() => Err(gone()),
    }
}

fn response(version: i16, joined: Result<Joined, JoinRefused>) -> JoinGroupResponse {
    let nullable = |name: &str| if name.is_empty() && version >= PROTOCOL_TYPES { None } else { Some(text(name)) };
    match joined {
        Err(JoinRefused { error, member }) => {
            let answer = JoinGroupResponse::default().with_error_code(error.code()).with_generation_id(-1);
            answer.with_member_id(text(&member)).with_protocol_name(nullable(""))
        }
        Ok(joined) => {
            let answer = JoinGroupResponse::default().with_generation_id(joined.generation).with_protocol_name(nullable(&joined.protocol));
            let answer = answer.with_leader(text(&joined.leader)).with_member_id(text(&joined.member));
            let answer = if version >= PROTOCOL_TYPES { answer.with_protocol_type(nullable(&joined.protocol_type)) } else { answer };
            let members = joined.members.into_iter().map(|m| member(version, &m.member, m.instance.as_deref(), m.metadata));
            answer.with_members(members.collect()).with_skip_assignment(joined.skip_assignment)
        }
    }
}

fn member(version: i16, id: &str, instance: Option<&str>, metadata: Bytes) -> JoinGroupResponseMember {
    let answer = JoinGroupResponseMember::default().with_member_id(text(id)).with_metadata(metadata);
    let instance: Option<StrBytes> = instance.filter(|_| version >= 5).map(text);
    answer.with_group_instance_id(instance)
}
