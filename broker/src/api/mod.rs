//! What requests mean: one file for each API; those of administrators in `admin`, of consumer groups in `groups`, of users and access
//! rules in `security`.
//!
//! Requests that change something are carried out while they are accepted, so that what follows on the same
//! connection finds it done: appends reach the buffer, topics come and go. What only waits or reads
//! (commits, fetches, lookups) goes on beside the next requests.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::{Buf, BytesMut};
use kafka_protocol::messages::ApiKey;
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion};
use parking_lot::Mutex;
use tidegate::Storage;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use self::turns::Turns;
use crate::config::BrokerSettings;
use crate::connection::{Accepted, Handler, Outcome};
use crate::fetch_session::FetchSessions;
use crate::group::Groups;
use crate::security::Security;
use crate::security::login::{Login, Probation};
use crate::topics::Topics;
use crate::wire::answer::Answer;
use crate::wire::header::RequestHeader;
use crate::wire::reader::Malformed;
use crate::wire::schema;
use crate::wire::shape::Shape;

mod admin;
mod authorize;
mod create_topics;
mod delete_topics;
mod describe_producers;
mod fetch;
mod groups;
mod init_producer_id;
mod list_offsets;
mod metadata;
mod produce;
mod security;
mod turns;
mod versions;

/// Partitions looked at side by side for one request, where each may cost a request to the store.
const LOOKUPS_AT_ONCE: usize = 16;

/// Where a client is told to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// What the broker knows of a connection.
#[derive(Clone)]
pub(crate) struct Session {
    /// The advertised address of the listener it came through.
    endpoint: Endpoint,
    /// Where it comes from.
    client: IpAddr,
    /// The same as access rules name it.
    host: Arc<str>,
    /// Who it is.
    login: Arc<Login>,
    /// Whose turn it is in fetches with more than fits.
    turns: Arc<Mutex<Turns>>,
    /// Ends long waits.
    stop: CancellationToken,
}

impl Session {
    pub(crate) fn new(endpoint: Endpoint, client: IpAddr, login: Login, stop: CancellationToken) -> Self {
        let host = client.to_canonical().to_string().into();
        Self { endpoint, client, host, login: Arc::new(login), turns: Arc::default(), stop }
    }
}

/// Serves all APIs.
pub(crate) struct Service {
    storage: Storage,
    topics: Topics,
    groups: Groups,
    fetch_sessions: FetchSessions,
    security: Security,
    settings: BrokerSettings,
    /// Bytes of records in answers that are not written yet.
    fetch_room: Arc<Semaphore>,
}

/// How a request is to be answered.
#[derive(Clone, Copy, Debug)]
struct Call {
    version: i16,
    correlation_id: i32,
}

impl Call {
    /// The answer; what cannot be encoded closes the connection.
    fn answer<M: Encodable + HeaderVersion>(self, message: &M) -> Outcome {
        Self::outcome(Answer::encode(self.correlation_id, self.version, message))
    }

    fn outcome(answer: Result<Answer, Malformed>) -> Outcome {
        answer.map_or_else(|error| Outcome::Close(format!("answer not encoded: {error}")), Outcome::Answer)
    }
}

/// Checks and decodes a request whose body starts at `body` of its frame.
fn decode<M: Decodable>(frame: BytesMut, body: usize, version: i16, shape: &'static Shape) -> Result<M, Malformed> {
    shape.check(&frame[body..], version)?;
    let mut frame = frame.freeze();
    frame.advance(body);
    M::decode(&mut frame, version).map_err(|error| Malformed::Codec(error.to_string()))
}

impl Service {
    pub(crate) fn new(storage: Storage, settings: BrokerSettings) -> Self {
        Self {
            topics: Topics::new(storage.clone(), settings.auto_create_topics),
            groups: Groups::new(storage.clone(), settings.groups.clone()),
            fetch_sessions: FetchSessions::new(&settings.limits, storage.env().clone(), storage.metrics().clone()),
            security: Security::new(
                &storage,
                settings.security.clone(),
                settings.listeners.iter().any(|listener| !listener.sasl.is_empty()),
            ),
            fetch_room: Arc::new(Semaphore::new(settings.limits.total_fetch_bytes as usize)),
            storage,
            settings,
        }
    }

    pub(crate) fn security(&self) -> &Security {
        &self.security
    }

    pub(crate) fn groups(&self) -> &Groups {
        &self.groups
    }

    async fn start(self: &Arc<Self>, session: &Session, frame: BytesMut) -> Result<Accepted, Malformed> {
        if session.login.is_raw() {
            return Ok(Accepted::Now(Box::pin(self.bare_token(session, &frame)).await));
        }
        let header = RequestHeader::read(&frame)?;
        let api = match versions::negotiate(header) {
            Ok(api) => api,
            Err(outcome) => return Ok(Accepted::Now(outcome)),
        };
        if let Some(reason) = session.login.refuses(api) {
            self.storage.metrics().security.refused_connection(reason);
            return Ok(Accepted::Now(Outcome::Close(format!("{api:?} was sent, and the client is {reason}"))));
        }
        let call = Call { version: header.version, correlation_id: header.correlation_id };
        let body = RequestHeader::body_position(&frame, api.request_header_version(call.version))?;
        self.dispatch(api, session, call, frame, body).await
    }

    async fn dispatch(
        self: &Arc<Self>,
        api: ApiKey,
        session: &Session,
        call: Call,
        frame: BytesMut,
        body: usize,
    ) -> Result<Accepted, Malformed> {
        let service = self.clone();
        let session = session.clone();
        Ok(match api {
            ApiKey::Produce => return Box::pin(self.produce(&session, call, frame, body)).await,
            ApiKey::CreateTopics => {
                let request = decode(frame, body, call.version, &schema::CREATE_TOPICS)?;
                Accepted::Now(call.answer(&Box::pin(self.create_topics(&session, call.version, request)).await))
            }
            ApiKey::DeleteTopics => {
                let request = decode(frame, body, call.version, &schema::DELETE_TOPICS)?;
                Accepted::Now(call.answer(&Box::pin(self.delete_topics(&session, call.version, request)).await))
            }
            ApiKey::DescribeProducers => {
                let request = decode(frame, body, call.version, &schema::DESCRIBE_PRODUCERS)?;
                later(async move { call.answer(&service.describe_producers(session, request).await) })
            }
            ApiKey::Fetch => {
                let request = decode(frame, body, call.version, &schema::FETCH)?;
                self.fetch(session, call, request)
            }
            ApiKey::InitProducerId => {
                let request = decode(frame, body, call.version, &schema::INIT_PRODUCER_ID)?;
                later(async move { call.answer(&service.init_producer_id(&session, request).await) })
            }
            ApiKey::ListOffsets => {
                let request = decode(frame, body, call.version, &schema::LIST_OFFSETS)?;
                later(async move { call.answer(&service.list_offsets(session, call.version, request).await) })
            }
            ApiKey::Metadata => {
                let request = decode(frame, body, call.version, &schema::METADATA)?;
                later(async move { call.answer(&service.metadata(session, call.version, request).await) })
            }
            ApiKey::ApiVersions => {
                let request = decode(frame, body, call.version, &schema::API_VERSIONS)?;
                Accepted::Now(call.answer(&versions::answer(call.version, &request)))
            }
            ApiKey::SaslHandshake
            | ApiKey::SaslAuthenticate
            | ApiKey::DescribeAcls
            | ApiKey::CreateAcls
            | ApiKey::DeleteAcls
            | ApiKey::DescribeClientQuotas
            | ApiKey::DescribeUserScramCredentials
            | ApiKey::AlterUserScramCredentials => {
                return Box::pin(self.dispatch_security(api, session, call, frame, body)).await;
            }
            _ if admin::SERVED.contains(&api) => return Box::pin(self.dispatch_admin(api, session, call, frame, body)).await,
            _ => return Box::pin(self.dispatch_group(api, session, call, frame, body)).await,
        })
    }
}

fn later(work: impl Future<Output = Outcome> + Send + 'static) -> Accepted {
    Accepted::Later(Box::pin(work))
}

impl Handler for Arc<Service> {
    type Session = Session;

    fn probation(&self, session: &Session) -> Option<Probation> {
        session.login.probation()
    }

    async fn accept(&self, session: &Session, frame: BytesMut) -> Accepted {
        let started = self.start(session, frame).await;
        started.unwrap_or_else(|malformed| Accepted::Now(Outcome::Close(format!("malformed request: {malformed}"))))
    }
}
