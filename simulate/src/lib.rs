//! What a policy will cost and gain, before it is swapped in.
//!
//! A [`Trace`] of appends and fetches is replayed through a real host: its buffers, flush pipeline, cache and read-ahead, with real components
//! deciding, over a modelled store. On tokio's paused clock a minute passes in the time that its work takes, and one seed gives one run.
//!
//! ```text
//! trace    appends and fetches with their times: read, written, generated
//! store    how a store answers: latency, throttling, prices
//! policy   candidates: components by name, with their configs
//! replay   a trace against a host, in whatever time its runtime has
//! run      one candidate in virtual time
//! outcome  what came of it          report   tables and pages
//! ```
//!
//! What it cannot know: how clients react. Arrivals are those of the trace, whatever a policy does to the acks that its producers waited
//! for. Timers have a resolution of a millisecond, here as on a running host.

mod appends;
mod batch;
mod measure;
mod outcome;
mod policy;
pub mod replay;
pub mod report;
mod run;
pub mod store;
pub mod trace;

pub use outcome::{Latencies, Outcome, Point, Sizes, Waste};
pub use policy::{Candidate, Plugins};
pub use run::{Simulation, run};
pub use store::{ModelStore, StoreModel};
pub use trace::Trace;
