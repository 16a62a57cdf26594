//! Exit codes: 0 done, 1 it failed, 2 the command line is wrong.

use std::ffi::OsString;
use std::process::ExitCode;

use tidegate::admin::api::ErrorDetail;

use crate::output::Output;

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

/// Tells what clap has to say in place of a command: help and versions as they are, a wrong command line as the command would have failed.
pub(crate) fn misused(error: &clap::Error, mut args: impl Iterator<Item = OsString>) -> ExitCode {
    // What clap could not parse has no flags; behind `--` there are none either.
    let json = args.by_ref().take_while(|arg| arg != "--").any(|arg| arg == "--json");
    if json && error.use_stderr() {
        let text = error.render().to_string();
        let message = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
        Output::new(true).failure(&Usage(message.to_owned()).into());
    } else {
        // Nobody is left to tell if this fails.
        drop(error.print());
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}
