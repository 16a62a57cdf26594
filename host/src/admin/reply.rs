//! Answers: JSON, and for each kind of error the HTTP status that says the same.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use super::REQUEST_DEADLINE;
use super::api::{ErrorBody, ErrorDetail, kind_name};
use crate::error::{Error, ErrorKind};
use crate::policy::wasm::LoadError;

/// A success with a body.
pub(super) struct Reply<T>(StatusCode, T);

impl<T> Reply<T> {
    pub(super) fn ok(body: T) -> Self {
        Self(StatusCode::OK, body)
    }

    pub(super) fn created(body: T) -> Self {
        Self(StatusCode::CREATED, body)
    }
}

impl<T: Serialize> IntoResponse for Reply<T> {
    fn into_response(self) -> Response {
        (self.0, Json(self.1)).into_response()
    }
}

/// A failure: status, kind and message.
#[derive(Debug)]
pub(super) struct Failure {
    status: StatusCode,
    kind: &'static str,
    class: Option<&'static str>,
    message: String,
}

impl Failure {
    pub(super) fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, class: None, message: message.into() }
    }

    /// In the framework's words, begun as ours are. The rest stays: names in them are the client's.
    fn refused_body(status: StatusCode, message: String) -> Self {
        let kind = if status == StatusCode::PAYLOAD_TOO_LARGE { "too_large" } else { "invalid_input" };
        let rest = message.chars().next().map_or("", |first| &message[first.len_utf8()..]);
        Self::new(status, kind, format!("{}{rest}", message.chars().take(1).collect::<String>().to_lowercase()))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let class = error.cause::<LoadError>().map(|refusal| refusal.class().as_str());
        Self { class, ..Self::new(status_of(error.kind()), kind_name(error.kind()), error.to_string()) }
    }
}

impl From<JsonRejection> for Failure {
    fn from(rejection: JsonRejection) -> Self {
        Self::refused_body(rejection.status(), rejection.body_text())
    }
}

impl From<QueryRejection> for Failure {
    fn from(rejection: QueryRejection) -> Self {
        Self::refused_body(rejection.status(), rejection.body_text())
    }
}

impl From<PathRejection> for Failure {
    fn from(rejection: PathRejection) -> Self {
        Self::refused_body(rejection.status(), rejection.body_text())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body =
            ErrorBody { error: ErrorDetail { kind: self.kind.to_owned(), class: self.class.map(str::to_owned), message: self.message } };
        let mut response = (self.status, Json(body)).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        response
    }
}

fn status_of(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::InvalidInput => StatusCode::BAD_REQUEST,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::AlreadyExists | ErrorKind::Conflict => StatusCode::CONFLICT,
        ErrorKind::OffsetOutOfRange => StatusCode::RANGE_NOT_SATISFIABLE,
        ErrorKind::NotLeader => StatusCode::MISDIRECTED_REQUEST,
        ErrorKind::Unavailable | ErrorKind::Busy | ErrorKind::Closed => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::OutcomeUnknown => StatusCode::GATEWAY_TIMEOUT,
        ErrorKind::Corrupt => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorKind::Unsupported => StatusCode::NOT_IMPLEMENTED,
    }
}

/// A JSON body whose refusal is told like every other failure.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let Json(body) = Json::from_request(request, state).await?;
        Ok(Self(body))
    }
}

pub(super) async fn no_such_path(request: Request) -> Failure {
    Failure::new(StatusCode::NOT_FOUND, "not_found", format!("there is nothing at {}", request.uri().path()))
}

pub(super) async fn no_such_method(request: Request) -> Failure {
    let message = format!("{} is not what {} takes", request.method(), request.uri().path());
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, "invalid_input", message)
}

/// Bounds the number and the time of requests.
pub(super) async fn bounded(State(turns): State<Arc<Semaphore>>, request: Request, next: Next) -> Response {
    let Ok(_turn) = turns.try_acquire() else {
        return Failure::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many requests at once; try again").into_response();
    };
    match tokio::time::timeout(REQUEST_DEADLINE, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let message = format!("no answer within {} s; the change, if it was one, goes on", REQUEST_DEADLINE.as_secs());
            Failure::new(StatusCode::GATEWAY_TIMEOUT, "outcome_unknown", message).into_response()
        }
    }
}
