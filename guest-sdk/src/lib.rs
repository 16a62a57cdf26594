//! Write Tidegate policies.
//!
//! A policy sees numbers and answers with a decision: a trait with one verb for each kind, a typed config, and one macro that makes a plugin of
//! it. The same code runs natively in `cargo test`; the bindings exist on wasm32 only. Build a plugin with
//! `tidegate plugin build CRATE_DIR`: the component imports nothing but the log, though it may use `std`.
//!
//! # A flush policy
//!
//! ```
//! use serde::Deserialize;
//! use tidegate_guest::{Context, Flush, FlushBounds, FlushDecision, FlushView, Policy};
//!
//! #[derive(Deserialize)]
//! #[serde(default, deny_unknown_fields)]
//! struct Config {
//!     bytes: u64,
//! }
//!
//! impl Default for Config {
//!     fn default() -> Self {
//!         Self { bytes: 1 << 20 }
//!     }
//! }
//!
//! struct BySize(Config);
//!
//! impl Policy for BySize {
//!     type Config = Config;
//!     fn new(config: Config, context: &Context) -> Result<Self, String> {
//!         match config.bytes {
//!             0 => Err("bytes must be above 0".into()),
//!             bytes if bytes > context.max_segment_bytes => Err("bytes is above the topic's largest segment".into()),
//!             _ => Ok(Self(config)),
//!         }
//!     }
//! }
//!
//! impl Flush for BySize {
//!     fn decide(&mut self, view: &FlushView) -> FlushDecision {
//!         FlushBounds { bytes: self.0.bytes, ..FlushBounds::NONE }.on(view)
//!     }
//! }
//!
//! tidegate_guest::export! {
//!     summary: "Flushes at a size",
//!     config_schema: r#"{"type":"object","additionalProperties":false,"properties":{"bytes":{"type":"integer","minimum":1}}}"#,
//!     flush: BySize,
//! }
//!
//! let mut policy: BySize = tidegate_guest::create(r#"{"bytes": 100}"#, &Context::default())?;
//! let view = FlushView { buffered_bytes: 100, ..FlushView::default() };
//! assert_eq!(policy.decide(&view), FlushDecision::Now);
//! assert!(tidegate_guest::create::<BySize>(r#"{"byte": 100}"#, &Context::default()).is_err());
//! # Ok::<(), String>(())
//! ```
//!
//! # An index policy
//!
//! ```
//! use tidegate_guest::{Context, Index, IndexSpacing, IndexView, NoConfig, Policy, UNBOUNDED};
//!
//! /// Entries lie closer in what is searched a lot.
//! struct BySeeks;
//!
//! impl Policy for BySeeks {
//!     type Config = NoConfig;
//!     fn new(_: NoConfig, _: &Context) -> Result<Self, String> {
//!         Ok(Self)
//!     }
//! }
//!
//! impl Index for BySeeks {
//!     fn decide(&mut self, view: &IndexView) -> IndexSpacing {
//!         let bytes = if view.seeks_per_min > 10 { 8 << 10 } else { 64 << 10 };
//!         IndexSpacing { bytes, records: UNBOUNDED, time_ms: UNBOUNDED }
//!     }
//! }
//!
//! tidegate_guest::export! {
//!     summary: "Indexes densely what is searched",
//!     index: BySeeks,
//! }
//!
//! let mut policy: BySeeks = tidegate_guest::create("{}", &Context::default()).unwrap();
//! assert_eq!(policy.decide(&IndexView { seeks_per_min: 60, ..IndexView::default() }).bytes, 8 << 10);
//! ```
//!
//! # A read-ahead policy
//!
//! ```
//! use tidegate_guest::{Context, NoConfig, Policy, ReadAhead, ReadAheadDecision, ReadAheadView};
//!
//! /// Stays ahead by what the reader consumes while a GET is on its way.
//! struct ByPace;
//!
//! impl Policy for ByPace {
//!     type Config = NoConfig;
//!     fn new(_: NoConfig, _: &Context) -> Result<Self, String> {
//!         Ok(Self)
//!     }
//! }
//!
//! impl ReadAhead for ByPace {
//!     fn decide(&mut self, view: &ReadAheadView) -> ReadAheadDecision {
//!         let bytes = view.pace_bytes_per_s.saturating_mul(view.store_first_byte_us) / 1_000_000 * 2;
//!         ReadAheadDecision { bytes, slices: 0, admit: true }
//!     }
//! }
//!
//! tidegate_guest::export! {
//!     summary: "Reads ahead by pace",
//!     read_ahead: ByPace,
//! }
//!
//! let mut policy: ByPace = tidegate_guest::create("{}", &Context::default()).unwrap();
//! let view = ReadAheadView { pace_bytes_per_s: 10_000_000, store_first_byte_us: 20_000, ..ReadAheadView::default() };
//! assert_eq!(policy.decide(&view).bytes, 400_000);
//! ```
//!
//! # State over a swap
//!
//! A policy that learns can hand over what it knows when another version or config of it is bound: implement
//! [`snapshot`](Policy::snapshot) and [`restore`](Policy::restore), and add `state: carried,` to [`export!`], before its kinds. Without that it
//! starts over.
//!
//! # Without `std`
//!
//! With `default-features = false` a guest is `no_std`: it brings a global allocator, and a panic is reported by the SDK's own handler.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;
extern crate self as tidegate_guest;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod budget;
mod config;
pub mod logging;
mod policy;
mod state;
mod types;

#[doc(hidden)]
#[path = "export.rs"]
pub mod __private;
#[doc(hidden)]
pub mod bindings;

pub use budget::PutBudget;
pub use config::{NoConfig, in_ranges};
pub use policy::{Flush, Index, Policy, ReadAhead, create};
pub use state::{decode, encode};
pub use types::{
    ANY_UPLOADS, Context, FlushBounds, FlushDecision, FlushReason, FlushView, IndexSpacing, IndexView, ReadAheadDecision, ReadAheadView,
    UNBOUNDED,
};

#[doc(hidden)]
pub use wit_bindgen as __wit_bindgen;
