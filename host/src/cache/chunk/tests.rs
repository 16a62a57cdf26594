use super::*;
use crate::record::testing::batch;
use proptest::prelude::*;

fn encoded(base_offset: Offset, records: usize, value: usize) -> Bytes {
    batch(records, value).base_offset(base_offset).build().freeze()
}

#[test]
fn a_rope_reads_like_one_piece() {
    let batches: Vec<Bytes> = (0..40).map(|i| encoded(i * 3, 3, 500)).collect();
    let joined = Chunk::new(vec![Bytes::from(batches.concat())], 0).expect("the batches are good");
    let rope = Chunk::new(batches, 0).expect("the batches are good");
    for from in 0..120 {
        for max_bytes in [0, 2_000, 9_999, usize::MAX] {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            let of_rope = rope.read(from, 100, max_bytes, true, &mut a);
            assert_eq!(of_rope, joined.read(from, 100, max_bytes, true, &mut b));
            assert_eq!(a.concat(), b.concat());
        }
    }
}

#[test]
fn memory_kept_alive_is_weighed() {
    let large = Bytes::from([encoded(0, 1, 100), encoded(1, 1, 50_000)].concat());
    let part = large.slice(..encoded(0, 1, 100).len());
    let chunk = Chunk::new(vec![part], large.len() as u64).expect("the batch is good");
    assert!(chunk.weight() >= large.len() as u64 && chunk.len() < 300);
}

#[test]
fn offsets_that_go_back_are_refused() {
    assert!(Chunk::new(vec![encoded(5, 2, 10), encoded(6, 1, 10)], 0).is_err());
    assert!(Chunk::new(Vec::new(), 0).is_err());
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..4)) {
        let parts = parts.into_iter().map(Bytes::from).collect();
        if let Ok(chunk) = Chunk::new(parts, 0) {
            chunk.read(0, Offset::MAX, usize::MAX, true, &mut Vec::new());
        }
    }
}
