//! The public error: a few kinds that say what the caller can do, and a message for a person.

use std::fmt;

/// Result of the public API.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What the caller can do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The input is wrong; the same call fails again. Nothing was stored.
    InvalidInput,
    /// No such topic, partition, object or binding.
    NotFound,
    /// It is there already.
    AlreadyExists,
    /// Another change of the same thing won. Look at what it is now before trying again.
    Conflict,
    /// The offset lies below the log start or above the log end.
    OffsetOutOfRange,
    /// Another writer leads the lane. Find the new leader; open again only when told to.
    NotLeader,
    /// A service or this host cannot do it now; try again.
    Unavailable,
    /// Bounded memory or a bounded queue is full; slow down and try again.
    Busy,
    /// The write may or may not have happened, and may still happen.
    OutcomeUnknown,
    /// Stored bytes fail their checks. The message names object and remedy.
    Corrupt,
    /// Something this version or this store cannot do.
    Unsupported,
    /// The host is draining or closed.
    Closed,
}

/// An error of the public API. Cheap to clone: one failure is often told to many waiters.
#[derive(Clone)]
pub struct Error {
    kind: ErrorKind,
    message: std::sync::Arc<str>,
    source: Option<std::sync::Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `kind`; the message is lower case and names the object and the range.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into().into(), source: None }
    }

    /// The same with its cause.
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(std::sync::Arc::new(source));
        self
    }

    /// What the caller can do.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The message, without its causes.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The cause, if it is an `E`: a broker tells apart why a record set was refused.
    pub fn cause<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.source.as_deref()?.downcast_ref()
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.kind)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
