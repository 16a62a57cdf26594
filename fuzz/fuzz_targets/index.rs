#![no_main]
//! A slice's index: what is read is written the same, and every lookup stays inside it.

use libfuzzer_sys::fuzz_target;
use tidegate_fuzz::both_ways;
use tidegate_fuzz::index::SliceIndex;

fuzz_target!(|bytes: &[u8]| {
    both_ways(bytes, |bytes| {
        let Ok(index) = SliceIndex::decode(bytes, 0) else { return };
        assert_eq!(SliceIndex::decode(&index.encode(), 0).as_ref(), Ok(&index));
        let blocks = index.entries().len();
        assert!(index.floor(i64::MAX) == blocks - 1 && index.block_at(0) == 0);
        let chunk = index.chunk_of(index.range().end, 1 << 20);
        assert_eq!(chunk.range.end, index.range().end);
        let _ = index.verify(0..1, bytes);
    });
});
