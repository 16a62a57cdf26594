//! The APIs of consumer groups.
//!
//! What a request does to a group, or to its offsets, is done or queued while it is accepted: requests of one
//! connection act in their order. Only the waiting goes on beside the next requests, and ends when the broker stops.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::ApiKey;
use kafka_protocol::protocol::StrBytes;

use super::{Call, Service, Session, decode, later};
use crate::connection::Accepted;
use crate::security::acl::{Operation, Resource};
use crate::wire::header::RequestHeader;
use crate::wire::reader::Malformed;
use crate::wire::schema;

mod delete_groups;
mod describe_groups;
mod find_coordinator;
mod heartbeat;
mod join_group;
mod leave_group;
mod list_groups;
mod offset_commit;
mod offset_delete;
mod offset_fetch;
mod sync_group;

/// Longest group id, member id and instance id, in bytes: many groups are kept in one object.
const MAX_ID_BYTES: usize = 1_024;

impl Service {
    pub(super) async fn dispatch_group(
        self: &Arc<Self>,
        api: ApiKey,
        session: Session,
        call: Call,
        frame: BytesMut,
        body: usize,
    ) -> Result<Accepted, Malformed> {
        let service = self.clone();
        let version = call.version;
        Ok(match api {
            ApiKey::JoinGroup => {
                let client_id = RequestHeader::client_id(&frame).to_owned();
                let request = decode(frame, body, version, &schema::JOIN_GROUP)?;
                self.join_group(session, call, &client_id, request)
            }
            ApiKey::SyncGroup => self.sync_group(session, call, &decode(frame, body, version, &schema::SYNC_GROUP)?),
            ApiKey::Heartbeat => Accepted::Now(call.answer(&self.heartbeat(&session, &decode(frame, body, version, &schema::HEARTBEAT)?))),
            ApiKey::LeaveGroup => {
                Accepted::Now(call.answer(&self.leave_group(&session, version, &decode(frame, body, version, &schema::LEAVE_GROUP)?)))
            }
            ApiKey::OffsetCommit => {
                let request = decode(frame, body, version, &schema::OFFSET_COMMIT)?;
                let answer = self.offset_commit(&session, request).await;
                later(async move { call.answer(&answer.await) })
            }
            ApiKey::OffsetFetch => {
                let request = decode(frame, body, version, &schema::OFFSET_FETCH)?;
                later(async move { call.answer(&service.offset_fetch(session, version, request).await) })
            }
            ApiKey::OffsetDelete => {
                let request = decode(frame, body, version, &schema::OFFSET_DELETE)?;
                Accepted::Now(call.answer(&self.offset_delete(&session, request).await))
            }
            ApiKey::ListGroups => {
                let request = decode(frame, body, version, &schema::LIST_GROUPS)?;
                later(async move { call.answer(&service.list_groups(session, version, &request).await) })
            }
            ApiKey::DescribeGroups => {
                let request = decode(frame, body, version, &schema::DESCRIBE_GROUPS)?;
                later(async move { call.answer(&service.describe_groups(session, version, &request).await) })
            }
            ApiKey::DeleteGroups => {
                let request = decode(frame, body, version, &schema::DELETE_GROUPS)?;
                Accepted::Now(call.answer(&self.delete_groups(&session, request).await))
            }
            _ => {
                let request = decode(frame, body, version, &schema::FIND_COORDINATOR)?;
                Accepted::Now(call.answer(&self.find_coordinator(&session, version, request)))
            }
        })
    }
}

impl Service {
    /// Whether an id can be a group's, and the client may do this to the group.
    fn group_for(&self, session: &Session, operation: Operation, id: &str, may_be_empty: bool) -> Result<(), ResponseError> {
        check_group(id, may_be_empty)?;
        self.authorize(session, operation, Resource::group(id))
    }
}

/// Whether an id can be a group's. Requests about offsets alone may leave it empty, as old clients do.
fn check_group(id: &str, may_be_empty: bool) -> Result<(), ResponseError> {
    let good = id.len() <= MAX_ID_BYTES && (may_be_empty || !id.is_empty());
    if good { Ok(()) } else { Err(ResponseError::InvalidGroupId) }
}

fn code(result: Result<(), ResponseError>) -> i16 {
    result.err().map_or(0, |error| error.code())
}

/// Text of a request that is kept: a copy, because the request's frame may be large.
fn kept(text: &StrBytes) -> Arc<str> {
    text.as_str().into()
}

fn kept_bytes(bytes: &Bytes) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}
