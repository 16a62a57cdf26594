#![no_main]
//! Decoding the records of a batch, whatever its codec: bounded, and never more than it says.

use libfuzzer_sys::fuzz_target;
use tidegate_fuzz::record::{find_timestamp, records};
use tidegate_fuzz::with_right_crc;

const LIMIT_BYTES: usize = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let batch = with_right_crc(bytes);
    let _ = find_timestamp(&batch, 0, 0, LIMIT_BYTES);
    let Ok(decoded) = records(&batch, LIMIT_BYTES) else { return };
    assert!(decoded.iter().count() <= decoded.header().record_count as usize);
});
