#![no_main]
//! Catalog pages and snapshots: what is read is the same when written and read again.

use libfuzzer_sys::fuzz_target;
use tidegate_fuzz::both_ways;
use tidegate_fuzz::catalog::{Page, decode_snapshot, encode_snapshot};

fuzz_target!(|bytes: &[u8]| {
    both_ways(bytes, |bytes| {
        if let Ok(page) = Page::decode(bytes) {
            let _ = (page.encode(), page.coverage(), page.slots());
        }
        if let Ok(appends) = decode_snapshot(bytes) {
            assert_eq!(decode_snapshot(&encode_snapshot(&appends)), Ok(appends));
        }
    });
});
