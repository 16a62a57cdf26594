use proptest::prelude::*;

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

/// Small enough to try every bit of it.
fn small() -> Sealed {
    let slice = |partition, base| {
        let sets = vec![set(&[batch(2, 20).producer(9, 1, 4), batch(1, 30)]).assign(base, 3, None)];
        SliceInput { partition, sets, spacing: IndexSpacing { records: 1, ..SPACING } }
    };
    seal(identity(), 5, vec![slice(0, 7), slice(4, 0)])
}

fn flipped(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut flipped = bytes.to_vec();
    flipped[bit / 8] ^= 1 << (bit % 8);
    flipped
}

fn part(object: &[u8], position: u64, len: u64) -> &[u8] {
    &object[position as usize..(position + len) as usize]
}

#[test]
fn a_sealed_segment_verifies_and_reads_back() {
    let sealed = sample();
    let object = joined(&sealed);
    assert_eq!((crc32fast::hash(&object), object.len() as u64), (sealed.body.crc32(), sealed.body.len()));
    let verified = verify(&object).unwrap();
    assert_eq!((&verified.footer, &verified.indexes, verified.records), (&sealed.footer, &sealed.indexes, 130));
    assert_eq!(Header::decode(&object).unwrap(), sealed.header);
    assert_eq!(sealed.footer.slices.iter().map(|s| s.partition).collect::<Vec<_>>(), [1, 5], "slices are in partition order");
    let slice = sealed.footer.slice(5).unwrap();
    assert_eq!((slice.base_offset, slice.next_offset, slice.batch_count), (1000, 1030, 6));
    assert_eq!((slice.first_timestamp, slice.max_timestamp), (1000, 1042));
    assert_eq!(slice.crc32, crc32fast::hash(part(&object, slice.position, slice.len)));
    assert!(sealed.footer.slice(2).is_none());
}

#[test]
fn sealing_copies_no_batch_bytes() {
    let appended = set(&[batch(5, 1000)]).assign(0, 1, None);
    let sealed = seal(identity(), 5, vec![SliceInput { partition: 0, sets: vec![appended.clone()], spacing: SPACING }]);
    assert_eq!(sealed.body.chunks()[1].as_ptr(), appended.bytes.as_ptr());
    assert_eq!(sealed.slices().next().unwrap()[0].as_ptr(), appended.bytes.as_ptr());
}

#[test]
fn a_footer_lists_the_appends_of_producers_alone() {
    let producers = sample().footer.producers;
    assert_eq!(producers.len(), 13);
    let expected =
        ProducerAppend { partition: 1, producer_id: 9, producer_epoch: 1, first_sequence: 10, last_sequence: 14, base_offset: 10 };
    assert_eq!(producers[1], expected);
}

#[test]
fn any_flipped_bit_of_a_whole_object_is_found() {
    let object = joined(&small());
    verify(&object).unwrap();
    for bit in 0..object.len() * 8 {
        assert!(verify(&flipped(&object, bit)).is_err(), "bit {bit}");
    }
    for len in 0..object.len() {
        assert!(verify(&object[..len]).is_err(), "cut to {len} bytes");
    }
}

#[test]
fn a_flipped_bit_is_found_by_whoever_reads_only_that_part() {
    let sealed = small();
    let object = joined(&sealed);
    for bit in 0..HEADER_LEN * 8 {
        assert!(Header::decode(&flipped(&object[..HEADER_LEN], bit)).is_err(), "header bit {bit}");
    }
    for (slice, index) in sealed.footer.slices.iter().zip(&sealed.indexes) {
        let encoded = part(&object, slice.index_position, slice.index_len.into());
        for bit in 0..encoded.len() * 8 {
            assert!(slice.read_index(&flipped(encoded, bit)).is_err(), "index bit {bit}");
        }
        let bytes = part(&object, slice.position, slice.len);
        for bit in 0..bytes.len() * 8 {
            let error = index.verify(0..index.entries().len(), &flipped(bytes, bit)).unwrap_err();
            let block = index.range_of(index.block_at(error.position)..index.block_at(error.position) + 1);
            assert!(block.contains(&(slice.position + bit as u64 / 8)), "body bit {bit}: {error}");
        }
    }
    let last = sealed.footer.slices.last().unwrap();
    let tail = &object[(last.index_position + u64::from(last.index_len)) as usize..];
    read_footer(tail, object.len() as u64).unwrap();
    for bit in 0..tail.len() * 8 {
        let read = read_footer(&flipped(tail, bit), object.len() as u64);
        // A longer footer than there is may be asked for; with the whole object at hand it is damage.
        assert!(read.is_err(), "footer bit {bit}");
    }
}

#[test]
fn a_tail_that_is_too_short_says_how_much_is_needed() {
    let object = joined(&sample());
    let size = object.len() as u64;
    let tail = |len: u64| &object[(size - len) as usize..];
    let Err(FooterError::NeedMore { tail_len }) = read_footer(tail(20), size) else { panic!("a trailer is no footer") };
    assert!(read_footer(tail(tail_len), size).is_ok());
    assert_eq!(read_footer(tail(tail_len - 1), size), Err(FooterError::NeedMore { tail_len }));
    assert_eq!(read_footer(tail(3), size), Err(FooterError::NeedMore { tail_len: size.min(TAIL_READ_BYTES) }));
    assert!(matches!(read_footer(&object, size - 1), Err(FooterError::Format(_))), "a tail longer than its object");
}

#[test]
fn a_fence_reads_like_a_segment_without_slices() {
    let body = fence(identity(), 77);
    let object = body.chunks().concat();
    assert_eq!(crc32fast::hash(&object), body.crc32());
    let header = Header::decode(&object).unwrap();
    assert_eq!((header.kind, header.identity, header.created_ms), (LogObjectKind::Fence, identity(), 77));
    let footer = read_footer(&object, object.len() as u64).unwrap();
    assert_eq!(footer, Footer { header, slices: vec![], producers: vec![] });
    assert_eq!(verify(&object).unwrap().records, 0);
    for bit in 0..object.len() * 8 {
        assert!(verify(&flipped(&object, bit)).is_err(), "bit {bit}");
    }
}

#[test]
fn a_newer_version_is_told_from_damage() {
    let mut newer = sample().header.encode().to_vec();
    newer[5] = 3;
    let damaged = Header::decode(&newer).unwrap_err();
    assert_eq!(damaged.kind, FormatErrorKind::Damaged, "the checksum does not fit");
    let crc = crc32fast::hash(&newer[..HEADER_LEN - 4]).to_be_bytes();
    newer[HEADER_LEN - 4..].copy_from_slice(&crc);
    assert_eq!(Header::decode(&newer).unwrap_err().kind, FormatErrorKind::NewerVersion);
}

#[test]
fn a_segment_may_span_more_than_32_bits_of_offsets_and_bytes() {
    let large = set(&[batch(1, 16 << 20)]).assign(0, 1, None);
    let at = |offset: i64| {
        let mut set = large.clone();
        set.batches[0].header.base_offset = offset;
        set
    };
    let sets = (0..130).map(|i| at(i << 32)).collect();
    let sealed = seal(identity(), 5, vec![SliceInput { partition: 0, sets, spacing: SPACING }]);
    let slice = sealed.footer.slices[0];
    assert!(slice.len > 1 << 31);
    assert_eq!((slice.base_offset, slice.next_offset), (0, (129 << 32) + 1));
    let encoded = sealed.indexes[0].encode();
    let index = slice.read_index(&encoded).unwrap();
    let last = index.entries().last().unwrap();
    assert_eq!((last.offset, last.position), (129 << 32, slice.position + 129 * large.bytes.len() as u64));
    let tail = sealed.body.chunks().last().unwrap();
    assert_eq!(read_footer(tail, sealed.body.len()).unwrap(), sealed.footer);
}

#[test]
fn a_footer_that_contradicts_itself_is_refused_though_its_crc_is_right() {
    let good = sample();
    let refused = |edit: &dyn Fn(&mut Footer)| {
        let mut footer = good.footer.clone();
        edit(&mut footer);
        let mut w = crate::codec::Writer::default();
        w.put(&vec![0; footer_position(&good) as usize]);
        footer.encode(&mut w);
        let footer_bytes = &w.as_slice()[footer_position(&good) as usize..];
        let (footer_len, footer_crc32) = (footer_bytes.len() as u32, crc32fast::hash(footer_bytes));
        trailer::Trailer { footer_len, footer_crc32, body_crc32: footer.header.body_crc32 }.encode(&mut w);
        match read_footer(w.as_slice(), w.len() as u64) {
            Err(FooterError::Format(e)) => e.problem.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert!(refused(&|f| f.slices[1].position += 1).contains("expected at"));
    assert!(refused(&|f| f.slices[1].len = u64::MAX).contains("past every position"));
    assert!(refused(&|f| f.slices[1].len += 100).contains("slices end at"));
    assert!(refused(&|f| f.slices[0].index_position = 3).contains("expected at"));
    assert!(refused(&|f| f.slices[1].index_len += 28).contains("indexes end at"));
    assert!(refused(&|f| f.slices[0].next_offset = -4).contains("not in order"));
    assert!(refused(&|f| f.slices[0].batch_count = u32::MAX).contains("batch count"));
    assert!(refused(&|f| f.slices[0].partition = 9).contains("partition order"));
    assert!(refused(&|f| f.producers[0].base_offset = 1 << 40).contains("in no slice"));
    assert!(refused(&|f| f.header.body_len = u64::MAX).contains("slices end at"));
}

fn footer_position(sealed: &Sealed) -> u64 {
    let last = sealed.footer.slices.last().unwrap();
    last.index_position + u64::from(last.index_len)
}

proptest! {
    #[test]
    fn any_segment_round_trips(
        slices in proptest::collection::btree_map(0u32..100, proptest::collection::vec((1usize..4, 0usize..200), 1..5), 1..6),
        records in 1u64..8,
    ) {
        let input = |(partition, sets): (u32, Vec<(usize, usize)>)| {
            let mut next = i64::from(partition) << 33;
            let sets = sets.into_iter().map(|(count, len)| {
                let appended = set(&[batch(count, len).producer(1, 1, 1), batch(1, len)]).assign(next, 3, None);
                next = appended.next_offset();
                appended
            });
            SliceInput { partition, sets: sets.collect(), spacing: IndexSpacing { records, ..SPACING } }
        };
        let sealed = seal(identity(), 5, slices.into_iter().map(input).collect());
        let object = joined(&sealed);
        prop_assert_eq!(crc32fast::hash(&object), sealed.body.crc32());
        let verified = verify(&object).unwrap();
        prop_assert_eq!((verified.footer, verified.indexes), (sealed.footer, sealed.indexes));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>, size: u64) {
        let _ = Header::decode(&bytes);
        let _ = read_footer(&bytes, size);
        let _ = read_footer(&bytes, bytes.len() as u64);
        let _ = verify(&bytes);
    }

    #[test]
    fn an_object_with_right_checksums_and_wrong_tables_never_panics(edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let sealed = small();
        let mut object = joined(&sealed);
        let footer_at = footer_position(&sealed) as usize;
        let trailer_at = object.len() - 20;
        for (at, byte) in edits {
            object[footer_at + HEADER_LEN + at.index(trailer_at - footer_at - HEADER_LEN)] = byte;
        }
        let crc = crc32fast::hash(&object[footer_at..trailer_at]).to_be_bytes();
        object[trailer_at + 4..trailer_at + 8].copy_from_slice(&crc);
        let _ = verify(&object);
    }
}
