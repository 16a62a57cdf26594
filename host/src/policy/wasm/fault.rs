//! Which class of fault an error of the engine is.

use wasmtime::{Trap, WasmBacktrace};

use super::engine::MAX_FRAMES;
use super::guest_log::escape;
use super::limits::State;
use super::wasi::Refused;
use crate::policy::guard::{Fault, FaultClass};

/// Of the engine's message, so much is kept, in bytes.
const MAX_MESSAGE: usize = 512;

/// Classifies an error of a call. `doing` names what was called.
pub(super) fn classify(error: &wasmtime::Error, state: &State, doing: &str) -> Fault {
    let class = class(error, state);
    let message = match class {
        FaultClass::Timeout => format!("{doing} did not return within its deadline"),
        FaultClass::Oom => format!("{doing} asked for {} bytes of memory, more than policy.memory_bytes", state.denied().unwrap_or(0)),
        FaultClass::Stack => format!("{doing} exhausted its stack: a recursion without end, or frames beyond policy.stack_bytes"),
        FaultClass::OutputLimit => format!("{doing} handed over more bytes than policy.handover_bytes allows"),
        FaultClass::Panic => format!("{doing} panicked: {}", state.log.last_words().unwrap_or_default()),
        _ => format!("{doing}: {}", escape(&error.root_cause().to_string(), MAX_MESSAGE)),
    };
    Fault::new(class, message)
}

fn class(error: &wasmtime::Error, state: &State) -> FaultClass {
    let Some(trap) = error.downcast_ref::<Trap>() else { return class_of_error(error) };
    let frames = error.downcast_ref::<WasmBacktrace>().map_or(0, |backtrace| backtrace.frames().len());
    match trap {
        Trap::Interrupt => FaultClass::Timeout,
        Trap::StackOverflow => FaultClass::Stack,
        // A compiled guest keeps its own stack at the bottom of its memory, and falls off it.
        Trap::MemoryOutOfBounds if frames >= MAX_FRAMES => FaultClass::Stack,
        Trap::UnreachableCodeReached if state.denied().is_some() => FaultClass::Oom,
        Trap::UnreachableCodeReached if state.log.last_words().is_some() => FaultClass::Panic,
        _ => FaultClass::Trap,
    }
}

fn class_of_error(error: &wasmtime::Error) -> FaultClass {
    if error.downcast_ref::<Refused>().is_some() {
        return FaultClass::Limit;
    }
    let text = format!("{error:#}");
    if text.contains("fuel") {
        FaultClass::OutputLimit
    } else if text.contains("exceed") && text.contains("limit") {
        FaultClass::Limit
    } else {
        FaultClass::BadValue
    }
}
