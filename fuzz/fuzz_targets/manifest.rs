#![no_main]
//! Manifests: what is read is the same when written and read again (`encode` demands it).

use libfuzzer_sys::fuzz_target;
use tidegate_fuzz::both_ways;
use tidegate_fuzz::catalog::Manifest;

fuzz_target!(|bytes: &[u8]| {
    both_ways(bytes, |bytes| {
        if let Ok(manifest) = Manifest::decode(bytes) {
            let _ = manifest.encode();
        }
    });
});
