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

/// Why an object was not understood. One word: what is read is returned in registers, with room for an error that nearly never comes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0)]
pub struct FormatError(Box<FormatProblem>);

/// What a [`FormatError`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatProblem {
    /// Damage, or a newer version.
    pub kind: FormatErrorKind,
    /// `header`, `footer`, `index of partition 3`, `block`, ...
    pub part: String,
    /// Position in the object, in bytes.
    pub position: u64,
    /// Expected and found.
    pub problem: String,
}

impl std::fmt::Display for FormatProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}: {}", self.part, self.position, self.problem)
    }
}

impl std::ops::Deref for FormatError {
    type Target = FormatProblem;

    fn deref(&self) -> &FormatProblem {
        &self.0
    }
}

impl FormatError {
    /// Damage at a position.
    pub fn damaged(part: impl Into<String>, position: u64, problem: impl Into<String>) -> Self {
        Self::new(FormatErrorKind::Damaged, part.into(), position, problem.into())
    }

    /// A version that is not known here.
    pub fn newer(part: impl Into<String>, position: u64, known: u16, found: u16) -> Self {
        let problem = format!("format version {found}, at most {known} is known here: use a newer version of this program");
        Self::new(FormatErrorKind::NewerVersion, part.into(), position, problem)
    }

    fn new(kind: FormatErrorKind, part: String, position: u64, problem: String) -> Self {
        Self(Box::new(FormatProblem { kind, part, position, problem }))
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
