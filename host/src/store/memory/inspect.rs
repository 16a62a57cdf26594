//! What a test sets and reads: the script, the counters, the log, the objects themselves.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};

use super::sparse::Contents;
use super::{Conditions, MemoryStore, RequestRecord, Script, State};
use crate::store::Operation;

impl MemoryStore {
    /// Treats preconditions like this from now on.
    pub fn set_conditions(&self, conditions: Conditions) {
        self.shared.state.lock().objects.conditions = conditions;
    }

    /// Keeps no zeros of the objects that come from now on (64 or more in a row): memory for those who store what says nothing.
    pub fn leave_out_zeros(&self) {
        self.shared.state.lock().objects.sparse = true;
    }

    /// Says from now on whether it has no room for segments; smaller writes it takes.
    pub fn set_full(&self, full: bool) {
        self.shared.state.lock().full = full;
    }

    /// Asks this script about every request from now on. It may look at the store, but not set another script.
    pub fn set_script(&self, script: impl Script + 'static) {
        *self.shared.script.lock() = Some(Box::new(script));
    }

    /// Lets everything go well from now on; requests under way keep their fate.
    pub fn clear_script(&self) {
        *self.shared.script.lock() = None;
    }

    /// Requests of one kind so far; a delete of many keys is one.
    pub fn requests(&self, operation: Operation) -> u64 {
        self.shared.state.lock().requests.get(&operation).copied().unwrap_or(0)
    }

    /// Requests of all kinds so far.
    pub fn total_requests(&self) -> u64 {
        self.shared.state.lock().requests.values().sum()
    }

    /// Bytes of bodies sent to the store so far, failed puts included.
    pub fn bytes_up(&self) -> u64 {
        self.shared.state.lock().bytes_up
    }

    /// Bytes that gets were answered with so far.
    pub fn bytes_down(&self) -> u64 {
        self.shared.state.lock().bytes_down
    }

    /// The last 65,536 requests in order; a delete shows each of its keys.
    pub fn log(&self) -> Vec<RequestRecord> {
        self.shared.state.lock().log.iter().cloned().collect()
    }

    /// Empties the log and sets all counters to 0.
    pub fn reset_counters(&self) {
        let mut state = self.shared.state.lock();
        let objects = std::mem::take(&mut state.objects);
        *state = State { objects, full: state.full, ..State::default() };
    }

    /// All objects.
    pub fn snapshot(&self) -> BTreeMap<String, Bytes> {
        self.shared.state.lock().objects.snapshot()
    }

    /// Writes an object behind everybody's back: no request, no fault, a new version.
    pub fn insert(&self, key: &str, bytes: impl Into<Bytes>) {
        let now = self.shared.env.unix_ms();
        self.shared.state.lock().objects.insert(key, Contents::Whole(bytes.into()), now);
    }

    /// Removes an object behind everybody's back; says whether it was there.
    pub fn remove(&self, key: &str) -> bool {
        self.shared.state.lock().objects.remove(key)
    }

    /// Changes the bytes of an object behind everybody's back and keeps its version, as a failing disk would.
    /// Says whether the object was there.
    pub fn tamper(&self, key: &str, change: impl FnOnce(&mut BytesMut)) -> bool {
        self.shared.state.lock().objects.tamper(key, change)
    }
}
