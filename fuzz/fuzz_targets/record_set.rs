#![no_main]
//! What a producer sends: refused, or taken with offsets that follow each other.

use libfuzzer_sys::fuzz_target;
use tidegate_fuzz::record::{RecordSet, batches};
use tidegate_fuzz::with_right_crc;

fuzz_target!(|bytes: &[u8]| {
    for bytes in [bytes::BytesMut::from(bytes), with_right_crc(bytes)] {
        let Ok(set) = RecordSet::validate(bytes, 1 << 20) else { continue };
        let count = set.record_count() as i64;
        let appended = set.assign(1 << 40, 3, Some(7));
        assert_eq!(appended.next_offset() - appended.base_offset(), count);
        let read: Vec<_> = batches(&appended.bytes).map(|batch| batch.expect("a validated set reads back")).collect();
        assert_eq!(read, appended.batches);
    }
});
