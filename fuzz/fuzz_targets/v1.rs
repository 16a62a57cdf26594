#![no_main]
//! Segments of version 1 and their indexes.

use libfuzzer_sys::fuzz_target;
use tidegate_fuzz::segment::v1::{self, Index};
use tidegate_fuzz::with_right_crc;

fuzz_target!(|bytes: &[u8]| {
    let _ = v1::read(bytes);
    if let Ok(index) = Index::decode(bytes, 0, 1 << 31) {
        assert_eq!(Index::decode(&index.encode(), 0, 1 << 31).as_ref(), Ok(&index));
        assert!(index.floor(i64::MAX) >= 32);
    }
    let batch = with_right_crc(bytes).freeze();
    if let Ok((data, index)) = v1::write(&[batch], 0, 1) {
        let segment = v1::read(&data);
        if let Ok(segment) = segment {
            assert_eq!(Index::rebuild(&segment, 1).encode(), index);
        }
    }
});
