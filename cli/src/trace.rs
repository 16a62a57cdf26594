//! `tidegate trace`.

use std::io::BufWriter;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde::Serialize;
use tidegate::runtime::{Recorded, RecordingSpec};
use tidegate_simulate::Trace;
use tidegate_simulate::trace::{Shape, Shaped};

use crate::args::AdminArgs;
use crate::client::Admin;
use crate::output::{self, Output};
use crate::signals::Signals;

const HELP: &str = "\
A trace is CSV: at_us, event (append, send, fetch, topic), topic, partition, bytes, records, reader, offset, lanes. It holds times and
sizes, no keys and no values. docs/policies.md describes the columns.

Examples:
  tidegate trace generate bursty --seconds 120 --rate 2000 > bursty.csv
  tidegate trace generate idle --partitions 5000 --seed 7 > idle.csv";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    command: TraceCommand,
}

#[derive(Debug, Subcommand)]
enum TraceCommand {
    /// Make a trace by recipe, on standard output.
    Generate(GenerateArgs),
    /// Record what the clients of a running broker ask for: times and sizes, no keys and no values.
    Record(RecordArgs),
}

const RECORD_HELP: &str = "\
The broker holds at most --requests of them in memory, 48 bytes each, and ends the recording by itself. Partitions are sampled, not requests: of
a partition that is recorded, everything is. Reads of what was appended before the recording are left out, since no simulation could answer them.
SIGINT (Ctrl-C) or SIGTERM ends it early; what was recorded so far is written.

Example:
  tidegate trace record --seconds 300 --permille 100 orders.csv";

#[derive(Debug, Args)]
#[command(after_help = RECORD_HELP)]
struct RecordArgs {
    #[command(flatten)]
    admin: AdminArgs,
    /// Where the trace goes.
    file: PathBuf,
    /// Length of the recording; a day at most.
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Requests after which it ends early; 2,000,000 at most.
    #[arg(long, default_value_t = 1_000_000)]
    requests: u32,
    /// Share of the partitions that is recorded.
    #[arg(long, default_value_t = 1_000)]
    permille: u32,
}

#[derive(Debug, Args)]
struct GenerateArgs {
    /// steady, bursty, diurnal, idle (many partitions, few in use), catch-up (readers that come late) or seek (readers that look
    /// here and there).
    shape: Shape,
    /// Length of the trace.
    #[arg(long)]
    seconds: Option<u64>,
    /// Batches a second, on average.
    #[arg(long)]
    rate: Option<u32>,
    /// Size of a batch on average, in bytes.
    #[arg(long)]
    bytes: Option<u32>,
    /// Records of a batch.
    #[arg(long)]
    records: Option<u32>,
    /// Partitions of the topic.
    #[arg(long)]
    partitions: Option<u32>,
    /// Lanes of the topic; 0: as the settings say.
    #[arg(long)]
    lanes: Option<u32>,
    /// Readers, one partition each.
    #[arg(long)]
    readers: Option<u32>,
    /// Decides what is left to chance.
    #[arg(long)]
    seed: Option<u64>,
}

pub(crate) fn run(args: TraceArgs, output: &Output) -> Result<()> {
    match args.command {
        TraceCommand::Generate(args) => {
            let trace = shaped(&args).trace()?;
            output::stream(|to| trace.write(BufWriter::new(to)))
        }
        TraceCommand::Record(args) => output.answer(&record(&args)?, |recorded| {
            let Summary { file, appends, fetches, left_out } = recorded;
            format!("{file}: {appends} appends, {fetches} fetches; {left_out} fetches of older records are left out")
        }),
    }
}

/// How often a recording is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// What a recording came to.
#[derive(Serialize)]
struct Summary {
    file: String,
    appends: usize,
    fetches: usize,
    left_out: u64,
}

fn record(args: &RecordArgs) -> Result<Summary> {
    let (path, file) = (&args.file, args.file.display().to_string());
    let admin = Admin::new(&args.admin)?;
    let is_new = !path.exists();
    // Before a recording is made that could not be kept; what is there stays until there is one.
    let to = std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(path);
    let to = to.with_context(|| format!("trace {file} cannot be written"))?;
    let kept = recorded(&admin, args).and_then(|recorded| keep(&recorded, to, file));
    if kept.is_err() && is_new {
        // No empty file is left; if this fails too, the first failure is the one to be told.
        drop(std::fs::remove_file(path));
    }
    kept
}

/// What the broker recorded until it or a signal ended that.
fn recorded(admin: &Admin, args: &RecordArgs) -> Result<Recorded> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = runtime.block_on(async { Signals::listen() })?;
    admin.start_recording(&RecordingSpec { seconds: args.seconds, requests: args.requests, permille: args.permille })?;
    while !admin.recording_state()?.ended {
        if let Ok(signal) = runtime.block_on(async { tokio::time::timeout(LOOK, signals.next()).await }) {
            output::progress(&format!("{signal} ends the recording"));
            break;
        }
    }
    admin.stop_recording()
}

fn keep(recorded: &Recorded, to: std::fs::File, file: String) -> Result<Summary> {
    let (trace, left_out) = Trace::recorded(recorded);
    trace.check()?;
    let written = emptied(&to).and_then(|()| trace.write(BufWriter::new(to)));
    written.with_context(|| format!("trace {file} cannot be written"))?;
    Ok(Summary { file, appends: recorded.appends.len(), fetches: recorded.fetches.len() - left_out as usize, left_out })
}

/// Takes away what a file held; a pipe or a terminal holds nothing.
fn emptied(to: &std::fs::File) -> std::io::Result<()> {
    if to.metadata()?.is_file() { to.set_len(0) } else { Ok(()) }
}

fn shaped(args: &GenerateArgs) -> Shaped {
    let usual = Shaped::new(args.shape);
    Shaped {
        shape: args.shape,
        seconds: args.seconds.unwrap_or(usual.seconds),
        rate: args.rate.unwrap_or(usual.rate),
        bytes: args.bytes.unwrap_or(usual.bytes),
        records: args.records.unwrap_or(usual.records),
        partitions: args.partitions.unwrap_or(usual.partitions),
        lanes: args.lanes.unwrap_or(usual.lanes),
        readers: args.readers.unwrap_or(usual.readers),
        seed: args.seed.unwrap_or(usual.seed),
    }
}
