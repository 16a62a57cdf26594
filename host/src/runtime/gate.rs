//! What a host still does: everything, reads only, or nothing.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::{Error, ErrorKind, Result};

const RUNNING: u8 = 0;
const DRAINING: u8 = 1;
const CLOSED: u8 = 2;

/// Moves one way: running, draining, closed.
#[derive(Debug, Default)]
pub(super) struct Gate(AtomicU8);

impl Gate {
    /// Whether writes and the opening of lanes are allowed; [`ErrorKind::Closed`] if not.
    pub(super) fn writable(&self) -> Result<()> {
        self.at_most(RUNNING)
    }

    /// Whether reads are allowed; [`ErrorKind::Closed`] if not.
    pub(super) fn readable(&self) -> Result<()> {
        self.at_most(DRAINING)
    }

    /// From now on only what is open is read.
    pub(super) fn drain(&self) {
        self.0.fetch_max(DRAINING, Ordering::AcqRel);
    }

    /// From now on nothing is done.
    pub(super) fn close(&self) {
        self.0.fetch_max(CLOSED, Ordering::AcqRel);
    }

    fn at_most(&self, allowed: u8) -> Result<()> {
        let phase = self.0.load(Ordering::Acquire);
        let state = if phase <= allowed {
            return Ok(());
        } else if phase == DRAINING {
            "the host is draining: it takes no writes and opens no lanes"
        } else {
            "the host is closed"
        };
        Err(Error::new(ErrorKind::Closed, state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draining_host_still_reads_and_never_goes_back() {
        let gate = Gate::default();
        assert!(gate.writable().is_ok() && gate.readable().is_ok());
        gate.drain();
        assert_eq!(gate.writable().unwrap_err().kind(), ErrorKind::Closed);
        assert!(gate.readable().is_ok());
        gate.close();
        gate.drain();
        assert_eq!(gate.readable().unwrap_err().kind(), ErrorKind::Closed);
    }
}
