//! Misbehaves as its config says, once the buffer holds 666 bytes: what a compiled Rust guest does to a host, with a standard library under it.

use std::hint::black_box;

use serde::Deserialize;
use tidegate_guest::{Context, Flush, FlushBounds, FlushDecision, FlushView, Policy};

/// How it misbehaves.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Not at all.
    #[default]
    Good,
    /// Never returns.
    Loop,
    /// Panics with half a MiB of message, full of newlines and escape codes.
    Panic,
    /// Recurses for ever.
    Recurse,
    /// Allocates for ever.
    Grow,
    /// Logs for ever.
    Chatter,
    /// Ends the process.
    Exit,
    /// Reads the clock.
    Clock,
}

/// The config.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How it misbehaves.
    pub mode: Mode,
}

/// See the crate.
#[derive(Debug)]
pub struct Evil(Mode);

impl Policy for Evil {
    type Config = Config;

    fn new(config: Config, _: &Context) -> Result<Self, String> {
        Ok(Self(config.mode))
    }
}

impl Flush for Evil {
    fn decide(&mut self, view: &FlushView) -> FlushDecision {
        if view.buffered_bytes == 666 {
            misbehave(self.0);
        }
        FlushDecision::Wait(FlushBounds { bytes: 5_000, ..FlushBounds::NONE })
    }
}

fn misbehave(mode: Mode) {
    match mode {
        Mode::Good => {}
        Mode::Loop => loop {
            black_box(());
        },
        Mode::Panic => panic!("evil\n\x1b[2J{}", "boom\n".repeat(100_000)),
        Mode::Recurse => drop(black_box(recurse(0))),
        Mode::Grow => grow(),
        Mode::Chatter => loop {
            tidegate_guest::log!(Info, "again");
        },
        Mode::Exit => std::process::exit(3),
        Mode::Clock => drop(black_box(std::time::SystemTime::UNIX_EPOCH.elapsed())),
    }
}

#[allow(unconditional_recursion, reason = "that is its point")]
fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    recurse(frame[7] + 1) + black_box(frame)[9]
}

fn grow() {
    let mut all = Vec::new();
    loop {
        all.push(black_box(vec![1_u8; 64 << 10]));
    }
}

tidegate_guest::export! {
    summary: "Misbehaves as its config says",
    flush: Evil,
}
