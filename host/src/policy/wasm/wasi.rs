//! The WASI interfaces that a guest's standard library imports, whether it uses them or not: inert.
//!
//! Environment and arguments are empty, the streams go to the guest's log, the hash seed is a constant, and all else (clocks, chance, input,
//! exit) is refused when it is called. Nothing here blocks: a stream that did would panic on a worker of the host's runtime.
//! Whatever is not listed (files, sockets, HTTP) is refused at load.

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, ComponentType, Lift, Linker, LinkerInstance, Lower, Resource, ResourceType};
use wasmtime::{Engine, StoreContextMut};

use super::guest_log::Level;
use super::limits::State;

const INERT: [&str; 18] = [
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/stderr",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:cli/terminal-stderr",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:random/random",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
];

/// What a guest may write to a stream at once, in bytes.
const WRITE_BYTES: u64 = 4 << 10;

/// Something was called that a policy does not get.
#[derive(Debug)]
pub(super) struct Refused(String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the policy called {}, which no policy gets", self.0)
    }
}

impl std::error::Error for Refused {}

enum OutputStream {}
enum InputStream {}
enum IoError {}
enum Pollable {}
enum TerminalInput {}
enum TerminalOutput {}

#[derive(ComponentType, Lift, Lower)]
#[component(variant)]
enum StreamError {
    #[component(name = "last-operation-failed")]
    #[allow(dead_code, reason = "the contract of WASI has it; an inert stream never fails")]
    Failed(Resource<IoError>),
    #[component(name = "closed")]
    Closed,
}

type Written = (Result<(), StreamError>,);
type Context<'a> = StoreContextMut<'a, State>;

/// Whether an import is one of the inert interfaces.
pub(super) fn is_inert(import: &str) -> bool {
    import.split_once('@').is_some_and(|(name, version)| INERT.contains(&name) && version.starts_with("0.2."))
}

/// Links the inert interfaces that a component imports.
pub(super) fn link(linker: &mut Linker<State>, component: &Component, engine: &Engine) -> wasmtime::Result<()> {
    for (name, import) in component.component_type().imports(engine) {
        if let (true, ComponentItem::ComponentInstance(instance)) = (is_inert(name), import.ty) {
            let mut linked = linker.instance(name)?;
            for (item, export) in instance.exports(engine) {
                match export.ty {
                    ComponentItem::Resource(_) => linked.resource(item, resource(item), |_, _| Ok(()))?,
                    ComponentItem::ComponentFunc(_) => function(&mut linked, name, item)?,
                    _ => {}
                }
            }
        }
    }
    Ok(())
}

fn resource(name: &str) -> ResourceType {
    match name {
        "output-stream" => ResourceType::host::<OutputStream>(),
        "input-stream" => ResourceType::host::<InputStream>(),
        "error" => ResourceType::host::<IoError>(),
        "pollable" => ResourceType::host::<Pollable>(),
        "terminal-input" => ResourceType::host::<TerminalInput>(),
        "terminal-output" => ResourceType::host::<TerminalOutput>(),
        _ => ResourceType::host::<()>(),
    }
}

fn function(linked: &mut LinkerInstance<'_, State>, interface: &str, name: &str) -> wasmtime::Result<()> {
    match name {
        "get-environment" => linked.func_wrap(name, |_: Context<'_>, (): ()| Ok((Vec::<(String, String)>::new(),))),
        "get-arguments" => linked.func_wrap(name, |_: Context<'_>, (): ()| Ok((Vec::<String>::new(),))),
        "initial-cwd" => linked.func_wrap(name, |_: Context<'_>, (): ()| Ok((None::<String>,))),
        "insecure-seed" => linked.func_wrap(name, |_: Context<'_>, (): ()| Ok(((0x7469_6465_u64, 0x6761_7465_u64),))),
        "get-stdin" => linked.func_wrap(name, |_: Context<'_>, (): ()| Ok((Resource::<InputStream>::new_own(0),))),
        "get-stdout" => linked.func_wrap(name, |_: Context<'_>, (): ()| Ok((Resource::<OutputStream>::new_own(1),))),
        "get-stderr" => linked.func_wrap(name, |_: Context<'_>, (): ()| Ok((Resource::<OutputStream>::new_own(2),))),
        "get-terminal-stdin" => linked.func_wrap(name, |_: Context<'_>, (): ()| Ok((None::<Resource<TerminalInput>>,))),
        "get-terminal-stdout" | "get-terminal-stderr" => {
            linked.func_wrap(name, |_: Context<'_>, (): ()| Ok((None::<Resource<TerminalOutput>>,)))
        }
        "[method]output-stream.check-write" => {
            linked.func_wrap(name, |_: Context<'_>, (_,): (Resource<OutputStream>,)| Ok((Ok::<u64, StreamError>(WRITE_BYTES),)))
        }
        "[method]output-stream.write" | "[method]output-stream.blocking-write-and-flush" => linked.func_wrap(name, write),
        "[method]output-stream.flush" | "[method]output-stream.blocking-flush" => {
            linked.func_wrap(name, |_: Context<'_>, (_,): (Resource<OutputStream>,)| -> wasmtime::Result<Written> { Ok((Ok(()),)) })
        }
        "[method]output-stream.subscribe" => {
            linked.func_wrap(name, |_: Context<'_>, (_,): (Resource<OutputStream>,)| Ok((Resource::<Pollable>::new_own(0),)))
        }
        "[method]pollable.ready" => linked.func_wrap(name, |_: Context<'_>, (_,): (Resource<Pollable>,)| Ok((true,))),
        "[method]pollable.block" => linked.func_wrap(name, |_: Context<'_>, (_,): (Resource<Pollable>,)| Ok(())),
        _ => {
            let full = format!("{interface}#{name}");
            linked.func_new(name, move |_, _, _, _| Err(wasmtime::Error::new(Refused(full.clone()))))
        }
    }
}

/// Streams are logs: what a panic writes to stderr becomes the fault's message.
fn write(mut store: Context<'_>, (stream, bytes): (Resource<OutputStream>, Vec<u8>)) -> wasmtime::Result<Written> {
    let text = String::from_utf8_lossy(&bytes);
    match stream.rep() {
        2 => store.data_mut().log.complain(&text),
        _ if text.trim().is_empty() => {}
        _ => store.data_mut().log.line(Level::Info, &text),
    }
    if bytes.len() as u64 > WRITE_BYTES { Ok((Err(StreamError::Closed),)) } else { Ok((Ok(()),)) }
}
