//! One instance of one plugin for one kind: its store, and nothing else in it.

use std::sync::Arc;

use wasmtime::Store;
use wasmtime::component::{Instance as Exporting, InstancePre};

use super::contract::v0_1::state::{Stateful, StatefulIndices};
use super::contract::{types, v0_1};
use super::engine::Machine;
use super::fault::classify;
use super::limits::State;
use crate::policy::guard::{Fault, FaultClass};
use crate::policy::kinds::{Cost, Flush, Index, InitRequest, Policy, PolicyKind, ReadAhead, Snapshot};
use crate::policy::types::{
    Context, FlushBounds, FlushDecision, FlushReason, FlushView, IndexSpacing, IndexView, ReadAheadDecision, ReadAheadView,
};

mod state;

/// What a plugin says of itself, as it said it.
pub(super) struct Description {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) summary: String,
    pub(super) config_schema: String,
}

/// A kind of policy as its generated bindings call it.
pub(super) trait GuestKind: PolicyKind {
    /// Where the typed exports are, before instantiation.
    type Indices: Send + Sync;
    /// Typed exports of an instance.
    type Exports: Send;

    fn find(pre: &InstancePre<State>) -> wasmtime::Result<Self::Indices>;
    fn load(indices: &Self::Indices, store: &mut Store<State>, instance: &Exporting) -> wasmtime::Result<Self::Exports>;
    fn describe(exports: &Self::Exports, store: &mut Store<State>) -> wasmtime::Result<Description>;
    fn init(exports: &Self::Exports, store: &mut Store<State>, request: &InitRequest<'_>) -> wasmtime::Result<Result<(), String>>;
    fn call(exports: &Self::Exports, store: &mut Store<State>, view: &Self::View) -> wasmtime::Result<Self::Answer>;
}

/// A component ready to be instantiated for one kind.
pub(super) struct Prepared<K: GuestKind> {
    pre: InstancePre<State>,
    indices: K::Indices,
    /// `None`: it carries no state over a swap.
    state: Option<StatefulIndices>,
}

impl<K: GuestKind> Prepared<K> {
    pub(super) fn new(pre: &InstancePre<State>, stateful: bool) -> wasmtime::Result<Self> {
        let state = stateful.then(|| StatefulIndices::new(pre)).transpose()?;
        Ok(Self { pre: pre.clone(), indices: K::find(pre)?, state })
    }

    pub(super) fn instantiate(&self, store: &mut Store<State>) -> wasmtime::Result<(K::Exports, Option<Stateful>)> {
        let instance = self.pre.instantiate(&mut *store)?;
        let exports = K::load(&self.indices, store, &instance)?;
        let state = self.state.as_ref().map(|indices| indices.load(&mut *store, &instance)).transpose()?;
        Ok((exports, state))
    }
}

/// See the module. After a fault it must not be called again: a trap poisons its store.
pub(super) struct Instance<K: GuestKind> {
    machine: Arc<Machine>,
    store: Store<State>,
    exports: K::Exports,
    state: Option<Stateful>,
    /// Longest decision, in ticks.
    deadline: u64,
    /// Where the current seal's deadline lies, in the clock's ticks; `None`: each call has its own.
    seal_ends: Option<u64>,
}

impl<K: GuestKind> Instance<K> {
    /// Instantiates and initialises. Its faults are those of an init.
    pub(super) fn new(machine: &Arc<Machine>, pre: &Prepared<K>, plugin: Arc<str>, request: &InitRequest<'_>) -> Result<Self, Fault> {
        let mut store = new_store(machine, request.topic, plugin);
        let running = machine.clock.run();
        let (exports, state) = pre.instantiate(&mut store).map_err(|error| at_init(&error, &store, "instantiating it"))?;
        arm(&mut store, machine.init_ticks());
        let refused = K::init(&exports, &mut store, request).map_err(|error| at_init(&error, &store, "init"))?;
        drop(running);
        refused.map_err(|message| {
            Fault::new(FaultClass::ConfigRejected, format!("it refuses its config: {}", super::guest_log::escape(&message, 1 << 10)))
        })?;
        let deadline = machine.decision_ticks();
        Ok(Self { machine: machine.clone(), store, exports, state, deadline, seal_ends: None })
    }

    /// Ticks for the next call: its own, or what is left of the seal's.
    fn budget(&self) -> u64 {
        self.seal_ends.map_or(self.deadline, |end| end.saturating_sub(self.machine.clock.ticks()).min(self.deadline))
    }

    /// For a trial: a decision may take as long as an init, so that a busy machine refuses no plugin.
    pub(super) fn patient(mut self) -> Self {
        self.deadline = self.machine.init_ticks();
        self
    }
}

impl<K: GuestKind> Policy<K> for Instance<K> {
    fn decide(&mut self, view: &K::View) -> Result<K::Answer, Fault> {
        let budget = self.budget();
        let _running = self.machine.clock.run();
        self.store.data_mut().begin_call();
        arm(&mut self.store, budget);
        refuel(&self.machine, &mut self.store);
        K::call(&self.exports, &mut self.store, view).map_err(|error| {
            let mut fault = classify(&error, self.store.data(), "decide");
            if fault.class == FaultClass::Timeout && budget < self.deadline {
                fault.class = FaultClass::SealTimeout;
            }
            fault
        })
    }

    fn begin_seal(&mut self) {
        self.seal_ends = Some(self.machine.clock.ticks() + self.deadline);
    }

    fn is_spent(&self) -> bool {
        self.budget() == 0
    }

    fn cost(&self) -> Cost {
        let fuel = self.machine.metered.then(|| self.store.get_fuel().ok()).flatten().map(|left| FUEL - left);
        Cost { memory_bytes: self.store.data().limits.used_bytes(), fuel }
    }

    fn snapshot(&mut self) -> Result<Option<Snapshot>, Fault> {
        self.take_snapshot()
    }

    fn restore(&mut self, version: &str, snapshot: &Snapshot) -> Result<(), Fault> {
        self.take_over(version, snapshot)
    }
}

/// A store with its limits, armed for an init.
pub(super) fn new_store(machine: &Machine, topic: &str, plugin: Arc<str>) -> Store<State> {
    let mut store = Store::new(&machine.engine, State::new(&machine.settings, topic, plugin));
    store.limiter(|state| &mut state.limits);
    store.set_hostcall_fuel(usize::try_from(machine.settings.handover_bytes).unwrap_or(usize::MAX));
    arm(&mut store, machine.init_ticks());
    refuel(machine, &mut store);
    store
}

/// More than any call can burn within its deadline: work is counted, never limited.
const FUEL: u64 = u64::MAX;

fn refuel(machine: &Machine, store: &mut Store<State>) {
    if machine.metered {
        store.set_fuel(FUEL).expect("a metered engine counts fuel");
    }
}

/// The tick that is under way counts for nothing.
pub(super) fn arm(store: &mut Store<State>, ticks: u64) {
    store.set_epoch_deadline(ticks + 1);
}

pub(super) fn at_init(error: &wasmtime::Error, store: &Store<State>, doing: &str) -> Fault {
    let fault = classify(error, store.data(), doing);
    Fault::new(fault.class.at_init(), fault.message)
}

macro_rules! guest_kind {
    ($kind:ident, $module:ident, $indices:ident, $exports:ident, $interface:ident) => {
        impl GuestKind for $kind {
            type Indices = v0_1::$module::$indices;
            type Exports = v0_1::$module::$exports;

            fn find(pre: &InstancePre<State>) -> wasmtime::Result<Self::Indices> {
                v0_1::$module::$indices::new(pre)
            }
            fn load(indices: &Self::Indices, store: &mut Store<State>, instance: &Exporting) -> wasmtime::Result<Self::Exports> {
                indices.load(store, instance)
            }
            fn describe(exports: &Self::Exports, store: &mut Store<State>) -> wasmtime::Result<Description> {
                let it = exports.tidegate_policy_describe().call_describe(store)?;
                Ok(Description { name: it.name, version: it.version, summary: it.summary, config_schema: it.config_schema })
            }
            fn init(exports: &Self::Exports, store: &mut Store<State>, request: &InitRequest<'_>) -> wasmtime::Result<Result<(), String>> {
                exports.$interface().call_init(store, request.config, request.context.into())
            }
            fn call(exports: &Self::Exports, store: &mut Store<State>, view: &Self::View) -> wasmtime::Result<Self::Answer> {
                Ok(exports.$interface().call_decide(store, view.into())?.into())
            }
        }
    };
}

guest_kind!(Flush, flush, FlushPolicyIndices, FlushPolicy, tidegate_policy_flush);
guest_kind!(Index, index, IndexPolicyIndices, IndexPolicy, tidegate_policy_index);
guest_kind!(ReadAhead, read_ahead, ReadAheadPolicyIndices, ReadAheadPolicy, tidegate_policy_read_ahead);

/// `From` between a plain type and its generated twin, field by field.
macro_rules! mirror {
    (to $from:ty => $to:ident { $($field:ident),* $(,)? }) => {
        impl From<&$from> for types::$to {
            fn from(value: &$from) -> Self {
                Self { $($field: value.$field.into()),* }
            }
        }
    };
    (from $to:ident { $($field:ident),* $(,)? }) => {
        impl From<types::$to> for $to {
            fn from(value: types::$to) -> Self {
                Self { $($field: value.$field),* }
            }
        }
    };
}

mirror!(to Context => Context {
    topic_partitions, lane_partitions, lanes, window, max_segment_bytes, max_age_us, index_entry_bytes, read_ahead_slices, cache_bytes,
    put_price_nano, get_price_nano,
});
mirror!(to FlushView => FlushView {
    reason, now_ms, buffered_bytes, buffered_records, buffered_partitions, oldest_age_us, quiet_us, arrival_bytes_per_s,
    arrival_batches_per_s, waiting_acks, uploads_in_flight, upload_p50_us, ack_p99_us, throttled_permille, pressure_permille,
    topic_put_share_permille,
});
mirror!(to IndexView => IndexView {
    slice_bytes, slice_records, slice_batches, time_span_ms, seeks_per_min, time_lookups_per_min, fetch_p50_bytes,
});
mirror!(to ReadAheadView => ReadAheadView {
    run_fetches, run_bytes, last_fetch_bytes, pace_bytes_per_s, lag_bytes, ready_bytes, in_flight_bytes, misses, evicted_bytes,
    abandoned_bytes, store_first_byte_us, store_bytes_per_s, slice_bytes, budget_free_bytes, cache_free_permille, arrival_bytes_per_s,
});
mirror!(from FlushBounds { bytes, records, age_us, quiet_us, uploads_at_most });
mirror!(from IndexSpacing { bytes, records, time_ms });
mirror!(from ReadAheadDecision { bytes, slices, admit });

impl From<FlushReason> for types::FlushReason {
    fn from(reason: FlushReason) -> Self {
        match reason {
            FlushReason::FirstAppend => Self::FirstAppend,
            FlushReason::Bound => Self::Bound,
            FlushReason::UploadDone => Self::UploadDone,
            FlushReason::Pressure => Self::Pressure,
        }
    }
}

impl From<types::FlushDecision> for FlushDecision {
    fn from(decision: types::FlushDecision) -> Self {
        match decision {
            types::FlushDecision::Now => Self::Now,
            types::FlushDecision::Wait(bounds) => Self::Wait(bounds.into()),
        }
    }
}
