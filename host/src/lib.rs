//! Tidegate: a storage runtime for Kafka-style logs on S3.
//!
//! A broker embeds this crate. The host buffers record batches, flushes them as immutable segments, reads
//! them back through a cache, and owns every byte; the decisions (when to flush, how densely to index, how
//! far to read ahead) come from WebAssembly components that are bound per topic and swapped while traffic
//! flows. **A policy may cost latency or money, never data.**
//!
//! A module imports only from the lines below its own, or from what stands left of it on its line:
//!
//! ```text
//! L5  runtime  admin                              opens partitions, owns tasks, drains; the HTTP API
//! L4  log                                         partition: watermarks, fetch; lane: flush, commit, fencing
//! L3  buffer  read_ahead                          working state; ask policies
//! L2  store  metadata  cache  policy::*           adapters to S3, memory, wasmtime
//! L1  codec  policy  record  index  segment  catalog        pure: bytes in, bytes out
//! L0  error  types  env  cost  config  metrics
//! ```

pub mod config;
pub mod cost;
pub mod env;
pub mod error;
pub mod metrics;
pub mod types;

pub mod catalog;
pub mod codec;
pub mod index;
pub mod policy;
pub mod record;
pub mod segment;

pub mod cache;
pub mod metadata;
pub mod store;

pub mod buffer;
pub mod read_ahead;

pub mod log;

pub mod admin;
pub mod runtime;

pub use config::Settings;
pub use error::{Error, ErrorKind, Result};
pub use runtime::Storage;
