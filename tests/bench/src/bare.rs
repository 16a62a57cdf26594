//! A bundled component in wasmtime without a host around it: no deadline, no limits, no guard, no clamps. What a call costs at least.

use wasmtime::component::{Component, HasSelf, Linker};
use wasmtime::{Config, Engine, Result, Store};

#[allow(missing_docs, unreachable_pub, clippy::all, reason = "generated")]
mod bindings {
    pub mod flush {
        wasmtime::component::bindgen!({ path: "../../wit", world: "flush-policy" });
    }
    pub mod index {
        wasmtime::component::bindgen!({ path: "../../wit", world: "index-policy", with: {
            "tidegate:policy/types": super::flush::tidegate::policy::types,
            "tidegate:policy/log": super::flush::tidegate::policy::log,
        } });
    }
    pub mod read_ahead {
        wasmtime::component::bindgen!({ path: "../../wit", world: "read-ahead-policy", with: {
            "tidegate:policy/types": super::flush::tidegate::policy::types,
            "tidegate:policy/log": super::flush::tidegate::policy::log,
        } });
    }
}

use bindings::flush::tidegate::policy::{log, types};
pub(crate) use types::{FlushReason, FlushView, IndexView, ReadAheadView};

struct State;

impl types::Host for State {}
impl log::Host for State {
    fn log(&mut self, _: log::Level, _: String) {}
}

fn parts(component: &[u8]) -> Result<(Component, Linker<State>, Store<State>)> {
    let mut config = Config::new();
    config.concurrency_support(false);
    let engine = Engine::new(&config)?;
    let mut linker = Linker::new(&engine);
    log::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    Ok((Component::new(&engine, component)?, linker, Store::new(&engine, State)))
}

macro_rules! bare {
    ($name:ident, $module:ident, $world:ident, $interface:ident, $view:ident) => {
        /// Calls of one instance with one view.
        pub(crate) fn $name(component: &[u8], view: $view) -> Result<impl FnMut() + use<>> {
            let (component, linker, mut store) = parts(component)?;
            let world = bindings::$module::$world::instantiate(&mut store, &component, &linker)?;
            let refused = |problem: String| wasmtime::Error::msg(format!("init refused: {problem}"));
            world.$interface().call_init(&mut store, "{}", context!(tidegate::policy::Context::default() => types::Context))?.map_err(refused)?;
            Ok(move || {
                let decided = world.$interface().call_decide(&mut store, std::hint::black_box(view));
                std::hint::black_box(decided.expect("a bundled policy does not fail"));
            })
        }
    };
}

bare!(flush, flush, FlushPolicy, tidegate_policy_flush, FlushView);
bare!(index, index, IndexPolicy, tidegate_policy_index, IndexView);
bare!(read_ahead, read_ahead, ReadAheadPolicy, tidegate_policy_read_ahead, ReadAheadView);
