//! `tidegate completions`: a script by which a shell completes commands, options and their values.
//!
//! Those are known when the script is made. The keys of a policy's config are the component's to name: for `policy set` and `policy shadow` the scripts
//! for bash, zsh and fish ask `tidegate policy config --names`, which reads the schema of the component on the line.

use std::io::Write;

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::output::stream;

const BASH_KEYS: &str = include_str!("completions/keys.bash");
const FISH_KEYS: &str = include_str!("completions/keys.fish");
const ZSH_KEYS: &str = include_str!("completions/keys.zsh");
/// Where the part begins in the script for zsh that names the function to complete with, which is ours.
const ZSH_CALL: &str = "if [ \"$funcstack[1]\" = \"_tidegate\" ]; then";

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Which shell.
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs) -> Result<()> {
    let script = script(args.shell)?;
    stream(|out| out.write_all(script.as_bytes()))
}

fn script(shell: Shell) -> Result<String> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tidegate", &mut script);
    let script = String::from_utf8(script)?;
    Ok(match shell {
        Shell::Bash => script + BASH_KEYS,
        Shell::Fish => script + FISH_KEYS,
        Shell::Zsh => script.split(ZSH_CALL).next().unwrap_or_default().to_owned() + ZSH_KEYS,
        _ => script,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_for_zsh_calls_what_knows_the_keys_and_nothing_else() {
        let calls = |script: &str| script.matches("compdef _tidegate").count();
        let made = script(Shell::Zsh).unwrap();
        assert_eq!((calls(&made), calls(ZSH_KEYS)), (1, 1));
    }
}
