//! The APIs of authentication, users and access rules.

use std::sync::Arc;

use bytes::BytesMut;
use kafka_protocol::messages::ApiKey;
use kafka_protocol::protocol::StrBytes;

use super::{Call, Service, Session, decode, later};
use crate::connection::Accepted;
use crate::wire::reader::Malformed;
use crate::wire::schema;

mod acls;
mod create_acls;
mod quotas;
mod sasl;
mod scram;

impl Service {
    pub(super) async fn dispatch_security(
        self: &Arc<Self>,
        api: ApiKey,
        session: Session,
        call: Call,
        frame: BytesMut,
        body: usize,
    ) -> Result<Accepted, Malformed> {
        let service = self.clone();
        Ok(match api {
            ApiKey::SaslHandshake => {
                let request = decode(frame, body, call.version, &schema::SASL_HANDSHAKE)?;
                Accepted::Now(call.answer(&self.sasl_handshake(&session, call.version, request)))
            }
            ApiKey::SaslAuthenticate => {
                let request = decode(frame, body, call.version, &schema::SASL_AUTHENTICATE)?;
                Accepted::Now(self.sasl_authenticate(&session, call, request).await)
            }
            ApiKey::DescribeAcls => {
                let request = decode(frame, body, call.version, &schema::DESCRIBE_ACLS)?;
                Accepted::Now(call.answer(&self.describe_acls(&session, &request)))
            }
            ApiKey::CreateAcls => {
                let request = decode(frame, body, call.version, &schema::CREATE_ACLS)?;
                Accepted::Now(call.answer(&self.create_acls(&session, &request).await))
            }
            ApiKey::DeleteAcls => {
                let request = decode(frame, body, call.version, &schema::DELETE_ACLS)?;
                Accepted::Now(call.answer(&self.delete_acls(&session, &request).await))
            }
            ApiKey::DescribeClientQuotas => {
                let request = decode(frame, body, call.version, &schema::DESCRIBE_QUOTAS)?;
                Accepted::Now(call.answer(&self.describe_quotas(&session, &request)))
            }
            ApiKey::DescribeUserScramCredentials => {
                let request = decode(frame, body, call.version, &schema::DESCRIBE_SCRAM)?;
                later(async move { call.answer(&service.describe_scram(&session, &request).await) })
            }
            _ => {
                let request = decode(frame, body, call.version, &schema::ALTER_SCRAM)?;
                Accepted::Now(call.answer(&self.alter_scram(&session, &request).await))
            }
        })
    }
}

fn text(text: impl Into<String>) -> StrBytes {
    StrBytes::from_string(text.into())
}
