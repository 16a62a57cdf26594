//! The Kafka wire protocol over a Tidegate host.
//!
//! This crate holds no state that must survive: topics, offsets and records are the host's. It turns frames
//! into calls of [`tidegate::Storage`] and answers back, without copying a record on the way in or out.
//!
//! ```text
//! server       listeners, limits, graceful stop
//! connection   frames in, answers out in the order of their requests; what may wait at once is bounded
//! api          one file for each API: what a request means
//! wire         headers, the shape of requests (checked before they are decoded), encoding of answers
//! ```
//!
//! Not there, and so not listed to clients: consumer groups, transactions and idempotent producers (Java
//! producers need `enable.idempotence=false`).

mod api;
mod config;
mod connection;
mod errors;
mod server;
mod topics;
mod wire;

pub use config::{BrokerSettings, Limits, ListenerSettings};
pub use server::{BindError, Broker};
