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
    // A host cuts there; to hand it much more would be a fault of its own.
    log::log(level, &line[..line.floor_char_boundary(MAX_LINE)]);
}

#[cfg(target_arch = "wasm32")]
const MAX_LINE: usize = 4 << 10;

/// A panic's message up to where a host cuts it: a guest that panics for want of memory has none to spare.
#[cfg(target_arch = "wasm32")]
struct Cut(alloc::string::String);

#[cfg(target_arch = "wasm32")]
impl core::fmt::Write for Cut {
    fn write_str(&mut self, piece: &str) -> core::fmt::Result {
        let room = MAX_LINE.saturating_sub(self.0.len());
        self.0.push_str(&piece[..piece.floor_char_boundary(room)]);
        Ok(())
    }
}

#[cfg(target_arch = "wasm32")]
fn report(panic: &dyn core::fmt::Display) {
    use core::fmt::Write;
    let mut said = Cut(alloc::string::String::new());
    let _ = write!(said, "{panic}");
    line(Level::Error, &said.0);
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
    std::panic::set_hook(std::boxed::Box::new(|panic| report(panic)));
}

/// A guest without `std` reports in its panic handler.
#[cfg(all(target_arch = "wasm32", not(feature = "std")))]
pub(crate) fn report_panics() {}

#[cfg(all(target_arch = "wasm32", not(feature = "std")))]
#[panic_handler]
fn panic(panic: &core::panic::PanicInfo<'_>) -> ! {
    report(panic);
    core::arch::wasm32::unreachable()
}
