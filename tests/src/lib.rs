//! What the tests of the whole workspace share.

pub mod servers;
pub mod wire;
