//! `tidegate`: serves a broker, and operates one that runs.
//!
//! The binary parses and wires, nothing more: what it does lies in the host, the broker and, for a running
//! broker, behind the admin API.

use std::process::ExitCode;

use clap::Parser;

mod args;
mod client;
mod completions;
mod config;
mod failure;
mod input;
mod logging;
mod output;
mod plugin;
mod policy;
mod segment;
mod serve;
mod signals;
mod simulate;
mod topic;
mod trace;
mod user;

use args::{Cli, Command};
use output::Output;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return failure::misused(&error, std::env::args_os()),
    };
    let output = Output::new(cli.json);
    match run(cli, &output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output.failure(&error);
            failure::exit_code(&error)
        }
    }
}

fn run(cli: Cli, output: &Output) -> anyhow::Result<()> {
    logging::start(&cli)?;
    match cli.command {
        Command::Serve(args) => serve::run(args, output),
        Command::Topic(args) => topic::run(args, output),
        Command::Policy(args) => policy::run(args, output),
        Command::Plugin(args) => plugin::run(&args, cli.json, &mut std::io::stdout().lock()),
        Command::Segment(args) => segment::run(args, output),
        Command::Simulate(args) => simulate::run(args, output),
        Command::Trace(args) => trace::run(args, output),
        Command::User(args) => user::run(args, output),
        Command::Completions(args) => completions::run(&args),
    }
}
