//! What an instance has learned, carried over a swap: the optional interface `state`.
//!
//! Both calls run where the owner decides, so they share the deadline of one decision: what taking a snapshot spent is missing when it is
//! restored.

use super::{GuestKind, Instance, arm, classify};
use crate::policy::guard::{Fault, FaultClass};
use crate::policy::kinds::Snapshot;
use crate::policy::wasm::guest_log::escape;

/// Largest snapshot, in bytes; `policy.handover_bytes` may make it smaller.
const MAX_BYTES: usize = 64 << 10;
/// Of a refusal, so much is kept, in bytes.
const MAX_REFUSAL: usize = 1 << 10;

impl<K: GuestKind> Instance<K> {
    pub(super) fn take_snapshot(&mut self) -> Result<Option<Snapshot>, Fault> {
        let Some(state) = &self.state else { return Ok(None) };
        let began = self.machine.clock.ticks();
        let _running = self.machine.clock.run();
        self.store.data_mut().begin_call();
        arm(&mut self.store, self.deadline);
        let taken = state.tidegate_policy_state().call_snapshot(&mut self.store);
        let bytes = taken.map_err(|error| classify(&error, self.store.data(), "snapshot"))?;
        if bytes.len() > MAX_BYTES {
            let problem = format!("snapshot handed over {} bytes, at most {MAX_BYTES} are taken", bytes.len());
            return Err(Fault::new(FaultClass::OutputLimit, problem));
        }
        Ok(Some(Snapshot { bytes, spent_ticks: self.machine.clock.ticks() - began }))
    }

    pub(super) fn take_over(&mut self, version: &str, snapshot: &Snapshot) -> Result<(), Fault> {
        let refused = |message: String| Err(Fault::new(FaultClass::StateRefused, message));
        let Some(state) = &self.state else { return refused("it carries no state over a swap".to_owned()) };
        let _running = self.machine.clock.run();
        self.store.data_mut().begin_call();
        arm(&mut self.store, self.deadline.saturating_sub(snapshot.spent_ticks));
        let restored = state.tidegate_policy_state().call_restore(&mut self.store, version, &snapshot.bytes);
        match restored.map_err(|error| classify(&error, self.store.data(), "restore"))? {
            Ok(()) => Ok(()),
            Err(message) => refused(format!("it refuses the state of version {version}: {}", escape(&message, MAX_REFUSAL))),
        }
    }
}
