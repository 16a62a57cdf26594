//! Misbehaves as its config says: what a compiled Rust guest does to a host, with a standard library under it. Without a config it is good.
//!
//! `mode` says how, `at` when, `partitions` for which topics.

use serde::Deserialize;
use tidegate_guest::{
    Context, Flush, FlushBounds, FlushDecision, FlushView, Index, IndexSpacing, IndexView, Policy, ReadAhead, ReadAheadDecision,
    ReadAheadView, UNBOUNDED,
};

mod misdeed;

use misdeed::Mode;

/// When it misbehaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum At {
    /// Where a view shows 666 buffered bytes, bytes of a slice, or bytes read.
    #[default]
    Trigger,
    /// At each view that shows records: not at the empty ones that a host tries out.
    Data,
    /// At this call, the first is 1.
    Call(u64),
    /// From this call on: after a host has tried it out.
    From(u64),
    /// In `init`.
    Init,
    /// Where it is to hand over its state.
    Snapshot,
    /// Where it is to take over a state.
    Restore,
}

/// The config.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How.
    pub mode: Mode,
    /// When.
    pub at: At,
    /// Only for topics of so many partitions; 0: for all.
    pub partitions: u32,
    /// What each field of an answer is, in mode `value`.
    pub value: u64,
    /// Rounds of a loop that do nothing, in mode `slow`.
    pub rounds: u64,
}

/// See the crate.
#[derive(Debug)]
pub struct Evil {
    config: Config,
    calls: u64,
}

impl Policy for Evil {
    type Config = Config;

    fn new(config: Config, context: &Context) -> Result<Self, String> {
        let spared = config.partitions != 0 && config.partitions != context.topic_partitions;
        let config = if spared { Config::default() } else { config };
        if config.at == At::Init {
            misdeed::commit(&config);
        }
        Ok(Self { config, calls: 0 })
    }

    /// The number of its calls, and what its config says beside.
    fn snapshot(&self) -> Vec<u8> {
        let mut snapshot = self.calls.to_le_bytes().to_vec();
        if self.config.at == At::Snapshot {
            misdeed::commit(&self.config);
            if self.config.mode == Mode::Value {
                snapshot.resize(self.config.value as usize, 0);
            }
        }
        snapshot
    }

    fn restore(&mut self, version: &str, snapshot: &[u8]) -> Result<(), String> {
        if self.config.at == At::Restore {
            misdeed::commit(&self.config);
            return Err(format!("evil\n\x1b[2J does not take what {version} knew"));
        }
        let calls = snapshot.try_into().map_err(|_| format!("{} bytes are no number of calls", snapshot.len()))?;
        self.calls = u64::from_le_bytes(calls);
        Ok(())
    }
}

impl Evil {
    /// Whether the answer is to be an evil one; it may not return at all.
    fn asked(&mut self, trigger: u64, records: u64) -> bool {
        self.calls += 1;
        let due = match self.config.at {
            At::Trigger => trigger == 666,
            At::Data => records > 0,
            At::Call(call) => self.calls == call,
            At::From(call) => self.calls >= call,
            At::Init | At::Snapshot | At::Restore => false,
        };
        if due {
            misdeed::commit(&self.config);
        }
        due
    }
}

impl Flush for Evil {
    fn decide(&mut self, view: &FlushView) -> FlushDecision {
        let due = self.asked(view.buffered_bytes, view.buffered_records);
        let value = self.config.value;
        match self.config.mode {
            Mode::Now if due => FlushDecision::Now,
            Mode::Never if due => FlushDecision::Wait(FlushBounds::NONE),
            Mode::Value if due => FlushDecision::Wait(FlushBounds {
                bytes: value,
                records: value,
                age_us: value,
                quiet_us: value,
                uploads_at_most: value.try_into().unwrap_or(u32::MAX),
            }),
            _ => FlushDecision::Wait(FlushBounds { bytes: 5_000, ..FlushBounds::NONE }),
        }
    }
}

impl Index for Evil {
    fn decide(&mut self, view: &IndexView) -> IndexSpacing {
        let due = self.asked(view.slice_bytes, view.slice_records);
        let value = self.config.value;
        match self.config.mode {
            Mode::Value if due => IndexSpacing { bytes: value, records: value, time_ms: value },
            _ => IndexSpacing { bytes: 8_192, records: UNBOUNDED, time_ms: UNBOUNDED },
        }
    }
}

impl ReadAhead for Evil {
    fn decide(&mut self, view: &ReadAheadView) -> ReadAheadDecision {
        let due = self.asked(view.run_bytes, view.run_bytes);
        let value = self.config.value;
        match self.config.mode {
            Mode::Value if due => {
                ReadAheadDecision { bytes: value, slices: value.try_into().unwrap_or(u32::MAX), admit: value.is_multiple_of(2) }
            }
            _ => ReadAheadDecision { bytes: 65_536, slices: 0, admit: true },
        }
    }
}

tidegate_guest::export! {
    summary: "Misbehaves as its config says",
    config_schema: include_str!("../config.schema.json"),
    state: carried,
    flush: Evil,
    index: Evil,
    read_ahead: Evil,
}
