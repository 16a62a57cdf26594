//! The end of a host: appends are refused first, then all lanes flush, commit and checkpoint at the same time.

use std::time::Duration;

use tokio::time::timeout;

use super::host::Host;
use crate::error::{Error, ErrorKind, Result};

/// After this only what is open can be read. May be repeated: what is closed stays closed.
pub(super) async fn drain(host: &Host) -> Result<()> {
    host.gate.drain();
    let ms = host.settings.host.drain_deadline_ms;
    let closed = timeout(Duration::from_millis(ms), host.lanes.close()).await;
    closed.unwrap_or_else(|_| {
        let message = format!("the lanes were not closed within {ms} ms: what was not acknowledged may or may not be stored");
        Err(Error::new(ErrorKind::OutcomeUnknown, message))
    })
}

/// Drains, then stops everything, whatever the draining gave.
pub(super) async fn close(host: &Host) -> Result<()> {
    let drained = drain(host).await;
    abort(host);
    host.tasks.ended().await;
    drained
}

/// Stops everything at once.
pub(super) fn abort(host: &Host) {
    host.gate.close();
    host.tasks.stop();
    host.lanes.abort();
}
