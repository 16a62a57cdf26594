//! What [`export!`](crate::export) expands to: from the generated exports to the traits.

pub use alloc::format;
pub use alloc::string::String;
pub use alloc::vec::Vec;

/// Makes a plugin of one policy, or of one for each of several kinds (`flush`, `index`, `read_ahead`, in this order).
///
/// Name and version are those of the crate, unless `name` says otherwise; `state: carried` exports what the policies have learned, for whoever
/// takes over from them. On other targets than wasm32 it expands to nothing.
#[macro_export]
macro_rules! export {
    (
        $(name: $name:expr,)?
        summary: $summary:expr,
        $(config_schema: $schema:expr,)?
        $(state: $carried:ident,)?
        $(flush: $flush:ty,)?
        $(index: $index:ty,)?
        $(read_ahead: $read_ahead:ty,)?
    ) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            use $crate::__private::{Slot, String};
            use $crate::bindings;

            struct Exports;

            impl bindings::describe::exports::tidegate::policy::describe::Guest for Exports {
                fn describe() -> bindings::describe::exports::tidegate::policy::describe::Description {
                    let schema: &str = [$($schema,)? ""][0];
                    bindings::describe::exports::tidegate::policy::describe::Description {
                        name: String::from([$($name,)? env!("CARGO_PKG_NAME")][0]),
                        version: String::from(env!("CARGO_PKG_VERSION")),
                        summary: String::from($summary),
                        config_schema: String::from(schema),
                    }
                }
            }
            bindings::describe::export_describe!(Exports with_types_in $crate::bindings::describe);

            $($crate::__export_state!($carried);)?
            $($crate::__export_kind!(flush, export_flush, Flush, $flush, FlushView, FlushDecision);)?
            $($crate::__export_kind!(index, export_index, Index, $index, IndexView, IndexSpacing);)?
            $($crate::__export_kind!(read_ahead, export_read_ahead, ReadAhead, $read_ahead, ReadAheadView, ReadAheadDecision);)?
        };
    };
}

/// The state of [`export!`](crate::export).
#[doc(hidden)]
#[macro_export]
macro_rules! __export_state {
    (carried) => {
        impl bindings::state::exports::tidegate::policy::state::Guest for Exports {
            fn snapshot() -> $crate::__private::Vec<u8> {
                $crate::__private::instance().snapshot()
            }
            fn restore(version: String, snapshot: $crate::__private::Vec<u8>) -> Result<(), String> {
                $crate::__private::instance().restore(&version, &snapshot)
            }
        }
        bindings::state::export_state!(Exports with_types_in $crate::bindings::state);
    };
}

/// One kind of [`export!`](crate::export).
#[doc(hidden)]
#[macro_export]
macro_rules! __export_kind {
    ($module:ident, $export:ident, $kind:ident, $policy:ty, $view:ident, $answer:ident) => {
        const _: () = {
            static SLOT: Slot<$policy> = Slot::new();

            impl bindings::$module::exports::tidegate::policy::$module::Guest for Exports {
                fn init(config: String, context: $crate::Context) -> Result<(), String> {
                    SLOT.init(&config, &context)
                }
                fn decide(view: $crate::$view) -> $crate::$answer {
                    SLOT.with(|policy| <$policy as $crate::$kind>::decide(policy, &view))
                }
            }
    bindings::$module::$export!(Exports with_types_in $crate::bindings::$module);
        };
    };
}

#[cfg(target_arch = "wasm32")]
pub use slot::{Slot, instance};

#[cfg(target_arch = "wasm32")]
mod slot {
    use alloc::string::String;
    use alloc::vec::Vec;
    use core::cell::{Cell, RefCell};

    use crate::{Context, Policy, logging};

    /// The one policy of an instance.
    pub struct Slot<P>(RefCell<Option<P>>);

    #[allow(unsafe_code, reason = "a static must be Sync")]
    // SAFETY: a guest has one thread; threads are off in every host of this contract.
    unsafe impl<P> Sync for Slot<P> {}

    impl<P> Slot<P> {
        /// Empty until `init`.
        #[allow(clippy::new_without_default, reason = "for statics only")]
        pub const fn new() -> Self {
            Self(RefCell::new(None))
        }

        /// Asks the policy; a host that has not initialised it broke the contract.
        pub fn with<R>(&self, ask: impl FnOnce(&mut P) -> R) -> R {
            ask(self.0.borrow_mut().as_mut().expect("the host calls init before anything else"))
        }
    }

    impl<P: Policy> Slot<P> {
        /// Makes the policy.
        pub fn init(&'static self, config: &str, context: &Context) -> Result<(), String> {
            logging::report_panics();
            *self.0.borrow_mut() = Some(crate::create(config, context)?);
            INSTANCE.0.set(Some(self));
            Ok(())
        }
    }

    /// The policy of an instance, whatever its kind: a host initialises one.
    pub trait Stateful {
        /// What it has learned.
        fn snapshot(&self) -> Vec<u8>;
        /// Takes that over.
        fn restore(&self, version: &str, snapshot: &[u8]) -> Result<(), String>;
    }

    impl<P: Policy> Stateful for Slot<P> {
        fn snapshot(&self) -> Vec<u8> {
            self.with(|policy| policy.snapshot())
        }
        fn restore(&self, version: &str, snapshot: &[u8]) -> Result<(), String> {
            self.with(|policy| policy.restore(version, snapshot))
        }
    }

    struct Current(Cell<Option<&'static dyn Stateful>>);

    #[allow(unsafe_code, reason = "a static must be Sync")]
    // SAFETY: a guest has one thread; threads are off in every host of this contract.
    unsafe impl Sync for Current {}

    static INSTANCE: Current = Current(Cell::new(None));

    /// What was initialised last; a host that has initialised nothing broke the contract.
    pub fn instance() -> &'static dyn Stateful {
        INSTANCE.0.get().expect("the host calls init before anything else")
    }
}
