//! What the tests of the whole workspace share.

pub mod author;
pub mod broker;
pub mod client;
pub mod kcat;
pub mod load;
pub mod member;
pub mod plugins;
pub mod records;
pub mod registry;
pub mod security;
pub mod servers;
pub mod stores;
pub mod wire;
pub mod world;
