use bytes::BytesMut;
use proptest::prelude::*;

use super::testing::{BatchBuilder, TestRecord, batch, batch_of, set};
use super::*;

mod reading;
mod time;

const LIMIT: usize = 1 << 20;

fn validate(bytes: &[u8]) -> Result<RecordSet, RecordError> {
    RecordSet::validate(BytesMut::from(bytes), LIMIT)
}

/// A valid batch with some bytes replaced and its CRC made right again.
fn tampered(builder: &BatchBuilder, at: usize, with: &[u8]) -> BytesMut {
    let mut bytes = builder.build();
    bytes[at..at + with.len()].copy_from_slice(with);
    let crc = header::crc_of(&bytes).to_be_bytes();
    bytes[header::CRC_AT..header::CRC_AT + 4].copy_from_slice(&crc);
    bytes
}

fn problem(bytes: &[u8]) -> String {
    validate(bytes).unwrap_err().to_string()
}

#[test]
fn hostile_batches_are_refused_before_an_offset_is_assigned() {
    let good = batch(3, 10);
    assert_eq!(problem(&[]), "record set is empty");
    assert!(problem(&tampered(&good, 23, &(-1i32).to_be_bytes())).contains("last offset delta -1, expected 2"));
    assert!(problem(&tampered(&good, 57, &7i32.to_be_bytes())).contains("last offset delta 2, expected 6"));
    assert!(problem(&tampered(&good, 57, &(-1i32).to_be_bytes())).contains("record count -1"));
    assert!(problem(&tampered(&good, 57, &0i32.to_be_bytes())).contains("record count 0"));
    assert!(problem(&tampered(&good, 8, &1_000_000i32.to_be_bytes())).contains("1000012 bytes"));
    assert!(problem(&tampered(&good, 8, &i32::MAX.to_be_bytes())).contains("its length says"));
    assert!(problem(&tampered(&good, 8, &(-1i32).to_be_bytes())).contains("no room"));
    assert!(problem(&tampered(&good, 22, &[7])).contains("compression codec 7"));
    let mut wrong_crc = good.build();
    wrong_crc[70] ^= 1;
    assert!(matches!(validate(&wrong_crc), Err(RecordError::WrongCrc { position: 0, .. })));
}

#[test]
fn record_count_and_last_offset_delta_must_match_the_records() {
    let good = batch(3, 10);
    let mut more = tampered(&good, 23, &3i32.to_be_bytes());
    more = {
        more[57..61].copy_from_slice(&4i32.to_be_bytes());
        let crc = header::crc_of(&more).to_be_bytes();
        more[17..21].copy_from_slice(&crc);
        more
    };
    assert!(problem(&more).contains("expected"), "{}", problem(&more));
    let mut payload = good.build()[BATCH_HEADER_LEN..].to_vec();
    payload.push(0);
    assert!(problem(&good.build_with(&payload)).contains("1 bytes too many"));
    payload.truncate(payload.len() - 2);
    assert!(validate(&good.build_with(&payload)).is_err());
    // The second record says that it is the third.
    let first = batch(1, 10).build().len() - BATCH_HEADER_LEN;
    let mut swapped = good.build()[BATCH_HEADER_LEN..].to_vec();
    assert_eq!(swapped[first + 3], 2, "offset delta 1, zigzag");
    swapped[first + 3] = 4;
    assert!(problem(&good.build_with(&swapped)).contains("offset delta 2, expected 1"));
}

#[test]
fn a_record_count_that_no_batch_can_hold_is_refused_at_once() {
    let mut bytes = batch(1, 10).build();
    bytes[23..27].copy_from_slice(&(i32::MAX - 1).to_be_bytes());
    bytes[57..61].copy_from_slice(&i32::MAX.to_be_bytes());
    let crc = header::crc_of(&bytes).to_be_bytes();
    bytes[17..21].copy_from_slice(&crc);
    assert!(problem(&bytes).contains("hold at most"));
}

#[test]
fn old_magic_is_named_even_where_the_message_is_short() {
    let mut old = vec![0u8; 30];
    old[16] = 1;
    assert_eq!(validate(&old).unwrap_err(), RecordError::OldMagic { position: 0, magic: 1 });
    old[16] = 0;
    assert_eq!(validate(&old).unwrap_err(), RecordError::OldMagic { position: 0, magic: 0 });
}

#[test]
fn one_bad_batch_refuses_the_whole_set() {
    let mut bytes = batch(2, 10).build();
    let second = bytes.len();
    bytes.extend_from_slice(&batch(2, 10).build());
    bytes[second + 70] ^= 1;
    assert!(matches!(validate(&bytes), Err(RecordError::WrongCrc { position, .. }) if position == second));
}

#[test]
fn a_batch_over_the_limit_is_refused_with_its_size() {
    let bytes = batch(1, 1000).build();
    let size = bytes.len();
    let refused = RecordSet::validate(bytes.clone(), size - 1).unwrap_err();
    assert_eq!(refused, RecordError::TooLarge { position: 0, size, limit: size - 1 });
    assert!(RecordSet::validate(bytes, size).is_ok());
}

#[test]
fn two_batches_in_one_set_get_contiguous_offsets_in_both_headers() {
    let set = set(&[batch(3, 10), batch(4, 10).compression(Compression::Gzip)]);
    assert_eq!(set.record_count(), 7);
    let appended = set.assign(1_000, 5, None);
    assert_eq!((appended.base_offset(), appended.next_offset()), (1_000, 1_007));
    let read: Vec<BatchMeta> = batches(&appended.bytes).map(Result::unwrap).collect();
    assert_eq!(read, appended.batches);
    assert_eq!(read.iter().map(|b| b.header.base_offset).collect::<Vec<_>>(), [1_000, 1_003]);
    assert!(read.iter().all(|b| b.header.leader_epoch == 5));
}

#[test]
fn assign_copies_no_bytes_and_keeps_the_crc() {
    let set = set(&[batch(3, 1000)]);
    let before = set.bytes.as_ptr();
    let crc = set.batches[0].header.crc;
    let appended = set.assign(i64::from(u32::MAX) * 8, 1, None);
    assert_eq!((appended.bytes.as_ptr(), appended.batches[0].header.crc), (before, crc));
    check_crc(&appended.bytes, &appended.batches[0].header).unwrap();
}

#[test]
fn append_time_counts_for_every_record_and_gets_a_new_crc() {
    let appended = set(&[batch(3, 10).timestamps(100, 50)]).assign(0, 1, Some(9_999));
    let header = BatchHeader::parse(&appended.bytes).unwrap();
    assert_eq!(header, appended.batches[0].header);
    assert_eq!((header.base_timestamp, header.max_timestamp, header.first_timestamp()), (100, 9_999, 9_999));
    check_crc(&appended.bytes, &header).unwrap();
    let decoded = records(&appended.bytes, LIMIT).unwrap();
    assert!(decoded.iter().all(|r| r.unwrap().timestamp == 9_999));
    assert_eq!(find_timestamp(&appended.bytes, 0, 9_999, LIMIT).unwrap(), Some((0, 9_999)));
    assert_eq!(find_timestamp(&appended.bytes, 2, 5_000, LIMIT).unwrap(), Some((2, 9_999)));
    assert_eq!(find_timestamp(&appended.bytes, 0, 10_000, LIMIT).unwrap(), None);
}

#[test]
fn sequences_wrap_as_producers_wrap_them() {
    let last = |base| BatchHeader::parse(&batch(3, 1).producer(1, 0, base).build()).unwrap().last_sequence();
    assert_eq!((last(0), last(i32::MAX - 2), last(i32::MAX - 1), last(-1)), (2, i32::MAX, 0, -1));
}

#[test]
fn a_producer_id_needs_an_epoch_and_a_sequence() {
    for (id, epoch, sequence) in [(5, -1, 0), (5, 0, -1), (0, i16::MIN, i32::MIN)] {
        let error = validate(&batch(1, 1).producer(id, epoch, sequence).build()).unwrap_err();
        assert!(matches!(&error, RecordError::Malformed { .. }) && error.to_string().contains("producer id"), "{error}");
    }
    let plain = RecordSet::validate(batch(1, 1).build(), LIMIT).unwrap();
    let own = RecordSet::validate(batch(1, 1).producer(0, 0, 0).build(), LIMIT).unwrap();
    assert_eq!((plain.has_producers(), own.has_producers()), (false, true));
}

fn any_record() -> impl Strategy<Value = TestRecord> {
    let bytes = || proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40));
    (0i64..1 << 50, bytes(), bytes()).prop_map(|(timestamp, key, value)| TestRecord { timestamp, key, value })
}

pub(super) fn any_batch() -> impl Strategy<Value = BatchBuilder> {
    let records = proptest::collection::vec(any_record(), 1..20);
    let codec = proptest::sample::select(Compression::ALL.to_vec());
    (records, codec, any_producer())
        .prop_map(|(records, codec, (id, epoch, sequence))| batch_of(records).compression(codec).producer(id, epoch, sequence))
}

/// With an id, epoch and sequence count from 0; without, they are whatever they are.
fn any_producer() -> impl Strategy<Value = (i64, i16, i32)> {
    let valid = |(id, epoch, sequence)| if id < 0 { (id, epoch, sequence) } else { (id, epoch & i16::MAX, sequence & i32::MAX) };
    any::<(i64, i16, i32)>().prop_map(valid)
}

proptest! {
    #[test]
    fn what_is_built_validates_and_is_assigned(builders in proptest::collection::vec(any_batch(), 1..4), base in 0i64..i64::MAX / 2) {
        let set = set(&builders);
        let count = set.record_count() as i64;
        let appended = set.assign(base, 7, None);
        prop_assert_eq!((appended.base_offset(), appended.next_offset()), (base, base + count));
        let read: Vec<_> = batches(&appended.bytes).collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(read, appended.batches);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        let _ = validate(&bytes);
        let _ = batches(&bytes).count();
        let _ = records(&bytes, LIMIT).map(|records| records.iter().count());
        let _ = find_timestamp(&bytes, 0, 0, LIMIT);
    }

    #[test]
    fn a_changed_batch_never_panics_and_never_validates(builder in any_batch(), at: prop::sample::Index, flip in 1u8..) {
        let mut bytes = builder.build();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        // Base offset and leader epoch are no part of what the client says: they are patched.
        prop_assert!(validate(&bytes).is_err() || at < 8 || (12..16).contains(&at));
        let _ = records(&bytes, LIMIT).map(|records| records.iter().count());
        let _ = find_timestamp(&bytes, 0, 0, LIMIT);
    }

    #[test]
    fn arbitrary_records_with_a_right_crc_never_panic(payload in proptest::collection::vec(any::<u8>(), 0..200), codec in proptest::sample::select(Compression::ALL.to_vec())) {
        let bytes = batch(3, 1).compression(codec).build_with(&payload);
        if let Ok(set) = RecordSet::validate(bytes, LIMIT) {
            let appended = set.assign(0, 0, None);
            let _ = records(&appended.bytes, LIMIT).map(|records| records.iter().count());
        }
    }
}
