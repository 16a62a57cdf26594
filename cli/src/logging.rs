//! Logs go to standard error; standard output belongs to answers.

use std::io::IsTerminal;

use anyhow::Result;
use tracing_subscriber::EnvFilter;

use crate::args::{Cli, Command, LogFormat};
use crate::failure::Usage;

/// Installs the subscriber: everything from `info` on while serving, warnings otherwise.
pub(crate) fn start(cli: &Cli) -> Result<()> {
    let default = if matches!(cli.command, Command::Serve(_)) { "info" } else { "warn" };
    let wanted = cli.log.as_deref().unwrap_or(default);
    let filter = EnvFilter::try_new(wanted).map_err(|e| Usage(format!("--log {wanted:?}: {e}")))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match cli.log_format {
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => builder.json().init(),
    }
    Ok(())
}
