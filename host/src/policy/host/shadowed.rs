//! Candidates that run beside the live policies: what an operator does with them on this host.

use super::PolicyHost;
use super::binding::{ActiveBinding, Entry};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::Kind;
use crate::policy::shadow::{ShadowStatus, Start};
use crate::types::TimestampMs;

impl PolicyHost {
    /// Runs a candidate on all that its topics show from now on, without acting; it takes the place of one of the same pattern and kind.
    ///
    /// [`InvalidInput`](ErrorKind::InvalidInput): the pattern is no glob, or the plugin does not decide that kind. [`Busy`](ErrorKind::Busy): too
    /// many run.
    pub fn start_shadow(&self, candidate: ActiveBinding, by: &str, at_ms: TimestampMs) -> Result<()> {
        let entry = Entry::new(candidate, 0)?;
        let bound = entry.bound().map_err(|problem| Error::new(ErrorKind::InvalidInput, problem))?;
        let ActiveBinding { pattern: text, source, .. } = entry.binding.clone();
        let start = Start { pattern: entry.pattern().clone(), text, bound, source, by: by.to_owned(), at_ms };
        let (registry, around) = (&self.registry, &self.registry.around);
        registry.shadows.start(start, &around.settings, &around.metrics)?;
        if registry.inline { Ok(()) } else { registry.shadows.run() }
    }

    /// Ends a shadow of exactly this pattern and kind, and says what it came to; `None`: there is none.
    pub fn drop_shadow(&self, pattern: &str, kind: Kind) -> Option<ShadowStatus> {
        self.registry.shadows.end(pattern, kind)
    }

    /// All shadows of this host, in the order of their start.
    pub fn shadows(&self) -> Vec<ShadowStatus> {
        if self.registry.inline {
            self.registry.shadows.round();
        }
        self.registry.shadows.status()
    }
}
