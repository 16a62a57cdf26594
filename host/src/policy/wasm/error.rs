//! Why a component was refused, and what to do about it.

use std::fmt;

use crate::error::{Error, ErrorKind};
use crate::policy::guard::{Fault, FaultClass};

/// A component was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    class: FaultClass,
    problem: String,
    remedy: String,
}

impl LoadError {
    /// What is wrong, and what to do.
    pub fn new(class: FaultClass, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { class, problem: problem.into(), remedy: remedy.into() }
    }

    /// Class of the problem.
    pub fn class(&self) -> FaultClass {
        self.class
    }

    /// What is wrong.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// What to do.
    pub fn remedy(&self) -> &str {
        &self.remedy
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.class, self.problem, self.remedy)
    }
}

impl std::error::Error for LoadError {}

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        let kind = match error.class {
            FaultClass::Superseded => ErrorKind::Conflict,
            FaultClass::CompileBusy | FaultClass::CompileTimeout => ErrorKind::Busy,
            FaultClass::Unavailable => ErrorKind::Unavailable,
            _ => ErrorKind::InvalidInput,
        };
        Error::new(kind, error.to_string())
    }
}

impl LoadError {
    /// The same refusal, where it is news of second rank.
    pub(super) fn after(self, first: &LoadError) -> Self {
        Self { problem: format!("{}; and {}", first.problem, self.problem), ..self }
    }

    /// The refusal of a component that failed while it was tried out.
    pub(super) fn from_fault(fault: Fault, remedy: &str) -> Self {
        Self::new(fault.class, fault.message, remedy)
    }
}
