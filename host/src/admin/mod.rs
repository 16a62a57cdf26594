//! The admin API: HTTP and JSON over [`Storage`], for operators and their tools.
//!
//! ```text
//! GET    /healthz              whether the process answers; never needs the token
//! GET    /metrics              OpenMetrics text
//! GET    /v1/topics            all topics             POST    creates one
//! GET    /v1/topics/{name}     one, with settings     DELETE  deletes it
//! GET    /v1/policies          bindings and how they do
//! PUT    /v1/policies          binds a component      DELETE ?pattern=&kind=  unbinds
//! GET    /v1/policies/history  what became of them    ?pattern=&kind=
//! POST   /v1/policies/rollback takes a change back
//! GET    /v1/recording         how a recording of requests is getting on
//! POST   /v1/recording         begins one             DELETE  ends it and answers what it holds
//! GET    /v1/policies/shadows  candidates and how they do
//! PUT    /v1/policies/shadows  begins one             DELETE ?pattern=&kind=  drops one
//! POST   /v1/policies/shadows/promote  binds one
//! ```
//!
//! The API loads code, so whoever reaches it owns the broker: without a token it is served at loopback addresses
//! only. A change goes on when its client hangs up: what was half done would be nobody's to finish.

use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::error::{Error, ErrorKind, Result};
use crate::runtime::Storage;

pub mod api;
mod auth;
mod policies;
mod recording;
mod reply;
mod shadows;
mod topics;

use auth::Token;
use reply::{Failure, Reply};

/// Longest answer to a request, body included.
const REQUEST_DEADLINE: Duration = Duration::from_secs(120);
/// Bytes of a request besides a component: names, patterns, config.
const OTHER_BODY_BYTES: u64 = 256 << 10;
/// Requests at once; more are told to come back.
const MAX_REQUESTS: usize = 64;

/// Serves the API until `shutdown`, then ends the requests in progress and returns.
///
/// [`ErrorKind::InvalidInput`] if others than this machine reach the listener and there is no token.
pub async fn run(listener: TcpListener, storage: Storage, token: Option<String>, shutdown: CancellationToken) -> Result<()> {
    let failed = |e| Error::new(ErrorKind::Unavailable, "the admin listener failed").with_source(e);
    let address = listener.local_addr().map_err(failed)?;
    auth::check_listener(address, token.is_some())?;
    let app = router(storage, token);
    axum::serve(listener, app).with_graceful_shutdown(shutdown.cancelled_owned()).await.map_err(failed)
}

fn router(storage: Storage, token: Option<String>) -> Router {
    // Base64 makes four bytes of three.
    let body_bytes = storage.settings().policy.component_bytes / 3 * 4 + OTHER_BODY_BYTES;
    let turns = std::sync::Arc::new(tokio::sync::Semaphore::new(MAX_REQUESTS));
    Router::new()
        .route("/metrics", get(metrics))
        .route("/v1/topics", get(topics::list).post(topics::create))
        .route("/v1/topics/{name}", get(topics::describe).delete(topics::delete))
        .route("/v1/policies", get(policies::list).put(policies::set).delete(policies::unset))
        .route("/v1/policies/history", get(policies::history))
        .route("/v1/policies/rollback", post(policies::roll_back))
        .route("/v1/recording", get(recording::state).post(recording::start).delete(recording::stop))
        .route("/v1/policies/shadows", get(shadows::list).put(shadows::start).delete(shadows::drop_one))
        .route("/v1/policies/shadows/promote", post(shadows::promote))
        .route_layer(middleware::from_fn_with_state(token.map(Token::new), auth::require))
        .fallback(reply::no_such_path)
        .method_not_allowed_fallback(reply::no_such_method)
        .layer(middleware::from_fn_with_state(turns, reply::bounded))
        .layer(DefaultBodyLimit::max(usize::try_from(body_bytes).unwrap_or(usize::MAX)))
        // Bounded by nothing: a busy API is no reason to end the host, and the answer costs nothing.
        .route("/healthz", get(health))
        .with_state(storage)
}

async fn health() -> Reply<api::Health> {
    Reply::ok(api::Health { status: "ok".to_owned() })
}

async fn metrics(State(storage): State<Storage>) -> Response {
    let format = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, format)], storage.metrics().encode()).into_response()
}

/// Runs a change to its end, also when the client that asked for it is gone.
async fn to_its_end<T: Send + 'static>(change: impl Future<Output = Result<T>> + Send + 'static) -> Result<T, Failure> {
    let ended = tokio::spawn(change).await;
    let lost = |_| Failure::from(Error::new(ErrorKind::Unavailable, "the request failed inside the host; its log says why"));
    ended.map_err(lost)?.map_err(Failure::from)
}
