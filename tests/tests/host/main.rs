//! Scenarios of a host on a store in memory, in virtual time, and on a directory: one or a few of a kind in each file.

#![allow(clippy::unwrap_used, reason = "the steps of a scenario are functions, not only those marked as tests")]

mod admin;
mod binding_history;
mod binding_races;
mod bindings;
mod bounded_memory;
mod cost;
mod damage;
mod drain;
mod fencing;
mod growth;
mod idle_lane;
mod index_views;
mod local_store;
mod no_copies;
mod producers;
mod read_after_ack;
mod recording;
mod refused_segment;
mod shadow_races;
mod shared_lane;
mod store_trouble;
mod topics;
