//! Lines for the operator: tagged with topic and plugin by the host, which also cuts them and limits their rate.
//!
//! Outside of a host, as in `cargo test`, they go nowhere.

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// For the author of the policy.
    Debug,
    /// Worth knowing.
    Info,
    /// Somebody may have to act.
    Warn,
    /// Something is broken.
    Error,
}

/// Writes one line.
#[cfg(target_arch = "wasm32")]
pub fn line(level: Level, line: &str) {
    use crate::bindings::describe::tidegate::policy::log;
    let level = match level {
        Level::Debug => log::Level::Debug,
        Level::Info => log::Level::Info,
        Level::Warn => log::Level::Warn,
        Level::Error => log::Level::Error,
    };
    log::log(level, line);
}

/// Writes one line.
#[cfg(not(target_arch = "wasm32"))]
pub fn line(_: Level, _: &str) {}

/// Writes one formatted line: `log!(Warn, "{bytes} bytes is much")`.
#[macro_export]
macro_rules! log {
    ($level:ident, $($format:tt)*) => {
        $crate::logging::line($crate::logging::Level::$level, &$crate::__private::format!($($format)*))
    };
}

/// Reports panics as errors: on wasm32 without WASI a panic is otherwise a bare trap.
#[cfg(all(target_arch = "wasm32", feature = "std"))]
pub(crate) fn report_panics() {
    std::panic::set_hook(std::boxed::Box::new(|panic| line(Level::Error, &std::format!("{panic}"))));
}

/// A guest without `std` reports in its panic handler.
#[cfg(all(target_arch = "wasm32", not(feature = "std")))]
pub(crate) fn report_panics() {}

#[cfg(all(target_arch = "wasm32", not(feature = "std")))]
#[panic_handler]
fn panic(panic: &core::panic::PanicInfo<'_>) -> ! {
    line(Level::Error, &alloc::format!("{panic}"));
    core::arch::wasm32::unreachable()
}
