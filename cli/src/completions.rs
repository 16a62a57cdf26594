//! `tidegate completions`: a script by which a shell completes commands, options and their values.
//!
//! Those are known when the script is made. The keys of a policy's config are the component's to name: for `policy set` and `policy shadow` the script
//! for bash asks `tidegate policy config --names`, which reads the schema of the component on the line.

use std::io::Write;

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::output::stream;

const BASH_KEYS: &str = include_str!("completions/keys.bash");

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Which shell.
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs) -> Result<()> {
    let script = script(args.shell);
    stream(|out| out.write_all(&script))
}

fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tidegate", &mut script);
    if shell == Shell::Bash {
        script.extend_from_slice(BASH_KEYS.as_bytes());
    }
    script
}
