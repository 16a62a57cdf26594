//! Benchmarks: each case prints one JSON line for each of its names.
//!
//! What is compared runs interleaved in one process, round by round, and the median of the rounds is printed; timings are told as ratios, since
//! no two machines agree on more. Counts (requests, bytes, copies) are exact. Nothing here is a test: tests check behaviour.
//!
//! ```text
//! report   lines            measure  rounds, medians       batches  record batches to append
//! host     a host to bench  native   policies as native code        bare  a component without a host
//! views    views of one side as another's  cases    what is measured
//! ```

#[macro_use]
mod views;

mod bare;
mod batches;
mod cases;
mod host;
mod measure;
mod native;
mod report;

use std::process::ExitCode;

use clap::Parser;

/// Run benchmarks and print one JSON line for each name: `{"case","name","value","unit"}`, with `baseline`, `against` and `ratio` where it is a comparison.
#[derive(Debug, Parser)]
#[command(name = "tidegate-bench")]
struct Args {
    /// Cases to run; none means all. Names of them: see --list.
    cases: Vec<String>,
    /// Print the names of the cases and end.
    #[arg(long)]
    list: bool,
    /// Directory of the bundled components (`make plugins`).
    #[arg(long, env = "TIDEGATE_PLUGINS", default_value = "target/plugins")]
    plugins: std::path::PathBuf,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::failed(&error);
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> anyhow::Result<()> {
    if args.list {
        cases::ALL.iter().for_each(|case| report::text(case.name));
        return Ok(());
    }
    let plugins = host::Plugins::new(&args.plugins);
    for case in cases::chosen(&args.cases)? {
        (case.run)(&report::Report::new(case.name), &plugins)?;
    }
    Ok(())
}
