//! Why stored bytes were not understood.

use crate::error::{Error, ErrorKind};

/// What can be done about bytes that were not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FormatErrorKind {
    /// They fail their checks: not what was written, or never written by this format.
    Damaged,
    /// They pass their checksum, and say that they need a newer version of this program.
    NewerVersion,
}

/// Why an object was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part} at {position}: {problem}")]
pub struct FormatError {
    /// Damage, or a newer version.
    pub kind: FormatErrorKind,
    /// `header`, `footer`, `index of partition 3`, `block`, ...
    pub part: String,
    /// Position in the object, in bytes.
    pub position: u64,
    /// Expected and found.
    pub problem: String,
}

impl FormatError {
    /// Damage at a position.
    pub fn damaged(part: impl Into<String>, position: u64, problem: impl Into<String>) -> Self {
        Self { kind: FormatErrorKind::Damaged, part: part.into(), position, problem: problem.into() }
    }

    /// A version that is not known here.
    pub fn newer(part: impl Into<String>, position: u64, known: u16, found: u16) -> Self {
        let problem = format!("format version {found}, at most {known} is known here: use a newer version of this program");
        Self { kind: FormatErrorKind::NewerVersion, part: part.into(), position, problem }
    }

    /// The public error, naming the object by its key.
    pub fn in_object(self, key: &str) -> Error {
        let (kind, what) = match self.kind {
            FormatErrorKind::Damaged => (ErrorKind::Corrupt, "is damaged: restore it from a copy, nothing of it is used"),
            FormatErrorKind::NewerVersion => (ErrorKind::Unsupported, "was not understood"),
        };
        Error::new(kind, format!("object {key:?} {what}")).with_source(self)
    }
}
