//! What the tests of the whole workspace share.

pub mod broker;
pub mod client;
pub mod kcat;
pub mod load;
pub mod servers;
pub mod wire;
