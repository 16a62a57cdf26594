//! The write buffer of a lane, and the memory that all of them share.
//!
//! A batch is counted in the shared budget from its append until its segment is committed or has failed: the
//! permit travels with the batches, so nothing can forget to give it back.

mod budget;
mod plan;
mod write;

pub use budget::{BufferBudget, Permit, Pressure};
pub use plan::Plan;
pub use write::WriteBuffer;
