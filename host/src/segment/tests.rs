use super::*;
use crate::policy::{IndexSpacing, UNBOUNDED};
use crate::record::testing::{batch, set};
use crate::types::{Nonce, TopicId};

const SPACING: IndexSpacing = IndexSpacing { bytes: 4096, records: UNBOUNDED, time_ms: UNBOUNDED };

fn identity() -> Identity {
    Identity { topic: TopicId(uuid::Uuid::from_u128(7)), lane: 1, slot: 42, epoch: 3, nonce: Nonce(99) }
}

fn sample() -> Sealed {
    let slice = |partition, base: i64, batches: usize| {
        let sets = (0..batches as i64).map(|i| {
            let two = set(&[batch(5, 100).timestamps(1000 + i, 10).producer(9, 1, 10 * i as i32), batch(5, 300)]);
            two.assign(base + 10 * i, 3, None)
        });
        SliceInput { partition, sets: sets.collect(), spacing: SPACING }
    };
    seal(identity(), 5, vec![slice(5, 1000, 3), slice(1, 0, 10)])
}

fn joined(sealed: &Sealed) -> Vec<u8> {
    sealed.body.chunks().concat()
}

#[test]
fn a_sealed_segment_verifies_and_reads_back() {
    let sealed = sample();
    let object = joined(&sealed);
    assert_eq!(crc32fast::hash(&object), sealed.body.crc32());
    let verified = verify(&object).unwrap();
    assert_eq!((&verified.footer, &verified.indexes, verified.records), (&sealed.footer, &sealed.indexes, 130));
    assert_eq!(sealed.footer.producers.len(), 13);
    assert_eq!(Header::decode(&object).unwrap(), sealed.header);
}
