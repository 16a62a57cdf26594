//! Lines of a guest: cut, escaped, rate-limited, and handed to tracing.

use std::sync::Arc;

use crate::config::GuestLogSettings;
use crate::env::{Instant, now};

/// Of a failing guest's last words, so much is kept, in bytes.
const MAX_LAST_WORDS: usize = 256;

/// Level of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// The log of one instance.
pub(super) struct GuestLog {
    limits: GuestLogSettings,
    topic: Box<str>,
    plugin: Arc<str>,
    tokens: f64,
    refilled: Option<Instant>,
    suppressed: u64,
    /// The last error of the current call: what a panic had to say.
    last_error: Option<String>,
}

impl GuestLog {
    pub(super) fn new(limits: GuestLogSettings, topic: &str, plugin: Arc<str>) -> Self {
        let tokens = limits.burst.into();
        Self { limits, topic: topic.into(), plugin, tokens, refilled: None, suppressed: 0, last_error: None }
    }

    pub(super) fn begin_call(&mut self) {
        self.last_error = None;
    }

    /// What the guest said last before it failed.
    pub(super) fn last_words(&self) -> Option<String> {
        self.last_error.as_ref().map(|said| escape(said, MAX_LAST_WORDS))
    }

    /// What a guest writes to stderr: a panic comes in pieces.
    pub(super) fn complain(&mut self, piece: &str) {
        let said = self.last_error.get_or_insert_default();
        let room = MAX_LAST_WORDS.saturating_sub(said.len());
        said.extend(piece.chars().take(room));
        self.write(Level::Error, piece);
    }

    pub(super) fn line(&mut self, level: Level, line: &str) {
        if level == Level::Error {
            self.last_error = Some(line.chars().take(MAX_LAST_WORDS).collect());
        }
        self.write(level, line);
    }

    fn write(&mut self, level: Level, line: &str) {
        if !self.admits() {
            self.suppressed += 1;
            return;
        }
        let line = escape(line, self.limits.line_bytes as usize);
        let (topic, plugin, suppressed) = (&self.topic, &self.plugin, std::mem::take(&mut self.suppressed));
        match level {
            Level::Debug => tracing::debug!(target: "tidegate::plugin", topic = %topic, plugin = %plugin, suppressed, "{line}"),
            Level::Info => tracing::info!(target: "tidegate::plugin", topic = %topic, plugin = %plugin, suppressed, "{line}"),
            Level::Warn => tracing::warn!(target: "tidegate::plugin", topic = %topic, plugin = %plugin, suppressed, "{line}"),
            Level::Error => tracing::error!(target: "tidegate::plugin", topic = %topic, plugin = %plugin, suppressed, "{line}"),
        }
    }

    fn admits(&mut self) -> bool {
        let now = now();
        let since = self.refilled.replace(now).map_or(0.0, |at| now.duration_since(at).as_secs_f64());
        self.tokens = (self.tokens + since * f64::from(self.limits.lines_per_s)).min(self.limits.burst.into());
        let admitted = self.tokens >= 1.0;
        if admitted {
            self.tokens -= 1.0;
        }
        admitted
    }
}

/// At most `limit` bytes of a text, control characters escaped.
pub(super) fn escape(text: &str, limit: usize) -> String {
    let mut escaped = String::new();
    for c in text.trim_end().chars() {
        let before = escaped.len();
        if c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
        if escaped.len() > limit {
            escaped.truncate(before);
            escaped.push('…');
            break;
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_cannot_forge_others_or_flood_the_log() {
        assert_eq!(escape("a\nERROR forged\x1b[2J\u{202e}", 100), "a\\nERROR forged\\u{1b}[2J\\u{202e}");
        assert!(escape(&"é\n".repeat(1 << 20), 256).len() < 264);
        let mut log = GuestLog::new(GuestLogSettings::default(), "t", "p".into());
        let admitted = (0..10_000).filter(|_| log.admits()).count();
        assert!((50..=60).contains(&admitted), "{admitted}");
    }

    #[test]
    fn the_first_words_of_a_panic_are_kept_however_it_is_written() {
        let mut log = GuestLog::new(GuestLogSettings::default(), "t", "p".into());
        for piece in ["panicked at ", "lib.rs:1:\n", "boom", &"x".repeat(1 << 20), "the end"] {
            log.complain(piece);
        }
        let said = log.last_words().unwrap();
        assert!(said.starts_with("panicked at lib.rs:1:\\nboomxxx") && said.len() < 264, "{said}");
    }
}
