//! The Kafka wire protocol over a Tidegate host.
//!
//! This crate holds no state that must survive: topics, records and committed offsets are the host's. It turns frames
//! into calls of [`tidegate::Storage`] and answers back, without copying a record on the way in or out.
//!
//! ```text
//! server         listeners, limits, graceful stop
//! admission      how many connections, and from where
//! connection     frames in, answers out in the order of their requests; what may wait at once is bounded
//! api            one file for each API: what a request means
//! configs        Kafka's configs of topics and brokers, and what they mean here
//! fetch_session  what clients follow, so that they name only what changed
//! security       who clients are, and what they may do: SASL, TLS, access rules
//! group          consumer groups: a pure state machine, and the locks and timer around it
//! wire           headers, the shape of requests (checked before they are decoded), encoding of answers
//! ```
//!
//! Not there, and so not listed to clients: transactions, and the consumer group protocol of KIP-848 (clients that know it
//! also know the classic one, which is their default).

mod admission;
mod api;
mod config;
mod configs;
mod connection;
mod errors;
mod fetch_session;
mod group;
mod security;
mod server;
mod topics;
mod wire;

pub use config::{BrokerSettings, GroupSettings, Limits, ListenerSettings, Mechanism, SecuritySettings, TlsSettings};
pub use security::users::{UserStore, UserSummary};
pub use server::{BindError, Broker};
