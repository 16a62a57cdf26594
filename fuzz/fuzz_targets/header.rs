#![no_main]
//! The header of a log object: what is read is written the same.

use libfuzzer_sys::fuzz_target;
use tidegate_fuzz::both_ways;
use tidegate_fuzz::segment::{HEADER_LEN, Header};

fuzz_target!(|bytes: &[u8]| {
    both_ways(bytes.get(..HEADER_LEN).unwrap_or(bytes), |bytes| {
        if let Ok(header) = Header::decode(bytes) {
            assert_eq!(header.encode(), bytes);
        }
    });
});
