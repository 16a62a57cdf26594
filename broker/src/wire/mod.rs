//! Bytes to requests and answers to bytes.
//!
//! The message types and their codec are `kafka-protocol`'s. Around it lie what a broker on an open port
//! needs: headers of requests of any kind, a check of a request's shape before the codec sees it (the codec
//! reserves memory for as many elements as a length field claims), and answers that consist of several pieces.

pub(crate) mod answer;
pub(crate) mod fetch;
pub(crate) mod header;
pub(crate) mod produce;
pub(crate) mod reader;
pub(crate) mod schema;
pub(crate) mod shape;
