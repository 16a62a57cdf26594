//! The pure layers of the host, and the decoding of requests of the broker, compiled on their own: no runtime, no store, no wasmtime, so that an
//! instrumented build takes seconds. That they compile like this also shows that they need nothing else.
#![allow(dead_code, missing_docs, reason = "parts that only the host uses")]

#[path = "../../host/src/catalog/mod.rs"]
pub mod catalog;
#[path = "../../host/src/codec/mod.rs"]
pub mod codec;
#[path = "../../host/src/error.rs"]
pub mod error;
#[path = "../../host/src/index/mod.rs"]
pub mod index;
#[path = "../../host/src/record/mod.rs"]
pub mod record;
#[path = "../../host/src/segment/mod.rs"]
pub mod segment;
#[path = "../../host/src/types.rs"]
pub mod types;
pub mod wire;

pub use error::{Error, ErrorKind};

/// The one policy type that the formats know, and the value that leaves a bound out.
pub mod policy {
    pub const UNBOUNDED: u64 = u64::MAX;

    /// As in the host.
    #[derive(Clone, Copy, Debug)]
    pub struct IndexSpacing {
        pub bytes: u64,
        pub records: u64,
        pub time_ms: u64,
    }
}

/// The bytes as they are, and once more with a right CRC-32 in their last four: a fuzzer does not guess checksums.
pub fn both_ways(bytes: &[u8], parse: impl Fn(&[u8])) {
    parse(bytes);
    if let Some(end) = bytes.len().checked_sub(4) {
        let mut summed = bytes.to_vec();
        summed[end..].copy_from_slice(&crc32fast::hash(&bytes[..end]).to_be_bytes());
        parse(&summed);
    }
}

/// A batch's CRC-32C made right, if the bytes have room for a header.
pub fn with_right_crc(bytes: &[u8]) -> bytes::BytesMut {
    let mut bytes = bytes::BytesMut::from(bytes);
    if bytes.len() >= record::BATCH_HEADER_LEN {
        let length = i32::from_be_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
        let end = (length.max(0) as usize).saturating_add(12).clamp(record::BATCH_HEADER_LEN, bytes.len());
        let crc = crc32c::crc32c(&bytes[21..end]).to_be_bytes();
        bytes[17..21].copy_from_slice(&crc);
        bytes[16] = 2;
    }
    bytes
}
