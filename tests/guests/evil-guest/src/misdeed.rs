//! What it does.

use std::hint::black_box;

use serde::Deserialize;

use crate::Config;

/// How it misbehaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Not at all.
    #[default]
    Good,
    /// Never returns.
    Loop,
    /// Traps without a word.
    Trap,
    /// Panics with a MiB of message, full of newlines and escape codes.
    Panic,
    /// Recurses for ever.
    Recurse,
    /// Allocates for ever.
    Grow,
    /// Logs for ever.
    Chatter,
    /// Never returns from a destructor.
    Drop,
    /// Ends the process.
    Exit,
    /// Reads the clock.
    Clock,
    /// Uses what a standard library seeds by chance.
    Random,
    /// Takes its time and answers well.
    Slow,
    /// Answers `value` in every field.
    Value,
    /// Always flushes.
    Now,
    /// Never flushes.
    Never,
}

/// Does it; returns only where the mode is one of answers.
pub(crate) fn commit(config: &Config) {
    match config.mode {
        Mode::Good | Mode::Value | Mode::Now | Mode::Never => {}
        Mode::Loop => for_ever(),
        Mode::Trap => trap(),
        Mode::Panic => panic!("evil\n\x1b[2J{}", "boom\n".repeat(210_000)),
        Mode::Recurse => drop(black_box(recurse(0))),
        Mode::Grow => grow(),
        Mode::Chatter => chatter(),
        Mode::Drop => drop(Endless),
        Mode::Exit => std::process::exit(3),
        Mode::Clock => drop(black_box(std::time::SystemTime::UNIX_EPOCH.elapsed())),
        Mode::Random => drop(black_box(std::collections::HashMap::from([(1, 2)]))),
        Mode::Slow => drop((0..config.rounds).fold(0, |sum: u64, round| black_box(sum ^ round)).to_string()),
    }
}

fn for_ever() {
    loop {
        black_box(());
    }
}

fn trap() {
    #[cfg(target_arch = "wasm32")]
    core::arch::wasm32::unreachable();
}

struct Endless;

impl Drop for Endless {
    fn drop(&mut self) {
        for_ever();
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

fn chatter() {
    let line = "again\n\x1b[2J and again; ".repeat(150);
    loop {
        tidegate_guest::log!(Info, "{line}");
    }
}
