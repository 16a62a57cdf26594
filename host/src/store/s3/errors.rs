//! What an answer, or the lack of one, means.
//!
//! The line that matters runs between "was not written" and "perhaps was": whatever could have reached the store
//! is [`OutcomeUnknown`](StoreErrorKind::OutcomeUnknown) for a put, also a 500 or a gateway's 502 or 504.

use std::error::Error;
use std::io;

use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};

use crate::store::{Operation, PutMode, StoreError, StoreErrorKind};

/// Longest message kept, in characters.
const MESSAGE: usize = 300;

pub(super) fn classify<E>(operation: Operation, key: &str, mode: Option<&PutMode>, error: SdkError<E, HttpResponse>) -> StoreError
where
    E: ProvideErrorMetadata + Error + 'static,
{
    let (kind, message) = match &error {
        SdkError::ServiceError(answer) => {
            let status = answer.raw().status().as_u16();
            let (code, text) = (answer.err().code().unwrap_or(""), answer.err().message().unwrap_or(""));
            let kind = answered(operation, mode, status, code);
            (kind, format!("HTTP {status} {code}: {text}{}", remedy(code)))
        }
        other => (unanswered(other), DisplayErrorContext(other).to_string()),
    };
    StoreError::new(kind, operation, key, message.chars().take(MESSAGE).collect::<String>())
}

/// The kind of an error answer.
pub(super) fn answered(operation: Operation, mode: Option<&PutMode>, status: u16, code: &str) -> StoreErrorKind {
    use StoreErrorKind as K;
    by_code(code).unwrap_or(match (status, mode) {
        (404 | 412, Some(PutMode::Replace(_))) => K::VersionMismatch,
        (412, Some(PutMode::Create)) => K::AlreadyExists,
        (412, None) => K::VersionMismatch,
        (404, Some(PutMode::Create)) => K::Refused,
        (404 | 416, None) => K::NotFound,
        (409, _) => K::Conflict,
        (429 | 503, _) => K::Throttled,
        (501, _) => K::Unsupported,
        (507, _) => K::Full,
        (408 | 500.., _) if operation == Operation::Put => K::OutcomeUnknown,
        (408 | 500.., _) => K::Unavailable,
        _ => K::Refused,
    })
}

/// Codes that say more than the status they come with; those of per-key errors have no status at all.
pub(super) fn by_code(code: &str) -> Option<StoreErrorKind> {
    use StoreErrorKind as K;
    Some(match code {
        "SlowDown" | "ServiceUnavailable" | "Throttling" | "ThrottlingException" | "RequestLimitExceeded" | "TooManyRequests" => {
            K::Throttled
        }
        "NoSuchBucket" | "RequestTimeTooSkewed" => K::Refused,
        "NotImplemented" => K::Unsupported,
        "InsufficientStorage" | "XMinioStorageFull" | "QuotaExceeded" => K::Full,
        // The bytes that reached the store were not those that were sent, or not all of them: nothing was written.
        "BadDigest" | "IncompleteBody" | "XAmzContentChecksumMismatch" | "XAmzContentSHA256Mismatch" | "RequestTimeout" => K::Unavailable,
        _ => return None,
    })
}

fn remedy(code: &str) -> &'static str {
    match code {
        "RequestTimeTooSkewed" => " (this machine's clock is off: set it)",
        "NoSuchBucket" => " (create the bucket, or correct store.bucket)",
        "InvalidAccessKeyId" | "SignatureDoesNotMatch" => " (correct store.access_key and store.secret_key)",
        "PermanentRedirect" | "AuthorizationHeaderMalformed" => " (correct store.region)",
        _ => "",
    }
}

fn unanswered<E, R>(error: &SdkError<E, R>) -> StoreErrorKind {
    match error {
        SdkError::ConstructionFailure(_) => StoreErrorKind::Refused,
        SdkError::DispatchFailure(failure) => match failure.as_connector_error() {
            Some(source) => unsent(source).unwrap_or(StoreErrorKind::OutcomeUnknown),
            None => StoreErrorKind::OutcomeUnknown,
        },
        _ => StoreErrorKind::OutcomeUnknown,
    }
}

/// The kind of a failure that happened before anything was sent.
fn unsent(error: &(dyn Error + 'static)) -> Option<StoreErrorKind> {
    let mut source = Some(error);
    while let Some(error) = source {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            use io::ErrorKind as E;
            if matches!(io.kind(), E::ConnectionRefused | E::HostUnreachable | E::NetworkUnreachable | E::AddrNotAvailable) {
                return Some(StoreErrorKind::Unavailable);
            }
        }
        let text = error.to_string();
        if text.contains("certificate") {
            return Some(StoreErrorKind::Refused);
        }
        if text.contains("dns error") || text.contains("client error (Connect)") {
            return Some(StoreErrorKind::Unavailable);
        }
        source = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Version;

    #[test]
    fn every_answer_has_its_class() {
        use StoreErrorKind as K;
        let create = Some(PutMode::Create);
        let replace = Some(PutMode::Replace(Version("v".into())));
        let cases = [
            (&create, 412, "PreconditionFailed", K::AlreadyExists),
            (&replace, 412, "PreconditionFailed", K::VersionMismatch),
            (&replace, 404, "NoSuchKey", K::VersionMismatch),
            (&create, 404, "NoSuchBucket", K::Refused),
            (&replace, 404, "NoSuchBucket", K::Refused),
            (&create, 409, "ConditionalRequestConflict", K::Conflict),
            (&replace, 409, "OperationAborted", K::Conflict),
            (&create, 503, "SlowDown", K::Throttled),
            (&create, 503, "", K::Throttled),
            (&create, 429, "", K::Throttled),
            (&create, 400, "ThrottlingException", K::Throttled),
            (&create, 500, "InternalError", K::OutcomeUnknown),
            (&create, 502, "", K::OutcomeUnknown),
            (&create, 504, "", K::OutcomeUnknown),
            (&create, 501, "NotImplemented", K::Unsupported),
            (&create, 400, "BadDigest", K::Unavailable),
            (&create, 507, "", K::Full),
            (&create, 403, "AccessDenied", K::Refused),
            (&create, 403, "RequestTimeTooSkewed", K::Refused),
            (&create, 400, "InvalidArgument", K::Refused),
            (&None, 404, "NoSuchKey", K::NotFound),
            (&None, 404, "NoSuchBucket", K::Refused),
            (&None, 416, "InvalidRange", K::NotFound),
            (&None, 412, "PreconditionFailed", K::VersionMismatch),
        ];
        for (mode, status, code, expected) in cases {
            assert_eq!(answered(Operation::Put, mode.as_ref(), status, code), expected, "{mode:?} {status} {code}");
        }
        assert_eq!(answered(Operation::Get, None, 500, "InternalError"), K::Unavailable);
    }
}
