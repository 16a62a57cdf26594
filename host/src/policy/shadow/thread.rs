//! The thread that shadows run on: while there are any, a round every fifty milliseconds.
//!
//! It looks by rather than being woken: waking a thread costs an append more than telling it something. Seldom, since each look takes a core from
//! somebody. The events carry their times.

use std::sync::Arc;
use std::time::Duration;

use super::Shadows;
use crate::error::{Error, ErrorKind, Result};

/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(50);

impl Shadows {
    /// Starts the thread, unless it runs. It ends with the last shadow, or with the host.
    pub(crate) fn run(self: &Arc<Self>) -> Result<()> {
        let mut list = self.list.lock();
        if list.running {
            return Ok(());
        }
        let weak = Arc::downgrade(self);
        let work = move || {
            while let Some(shadows) = weak.upgrade().filter(|shadows| shadows.goes_on()) {
                shadows.round();
                drop(shadows);
                pause();
            }
        };
        let failed = |e| Error::new(ErrorKind::Unavailable, "no thread can be started for shadows").with_source(e);
        std::thread::Builder::new().name("policy-shadow".into()).spawn(work).map_err(failed)?;
        list.running = true;
        Ok(())
    }

    /// Whether there is anything to run; if not, the thread that asks ends.
    fn goes_on(&self) -> bool {
        let mut list = self.list.lock();
        list.running = !list.shadows.is_empty();
        list.running
    }
}

#[allow(clippy::disallowed_methods, reason = "a thread of our own, which has nothing to do but wait")]
fn pause() {
    std::thread::sleep(PAUSE);
}
