//! Exit codes: 0 done, 1 it failed, 2 the command line is wrong.

use std::process::ExitCode;

use tidegate::admin::api::ErrorDetail;

/// What a running broker answered instead of doing it.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) ErrorDetail);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Refused {}

/// The command line asks for something that makes no sense.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The exit code that says what kind of failure this is; clap itself uses 2 as well.
pub(crate) fn exit_code(error: &anyhow::Error) -> ExitCode {
    if error.is::<Usage>() { ExitCode::from(2) } else { ExitCode::FAILURE }
}
