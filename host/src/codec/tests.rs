use proptest::prelude::*;

use super::*;

#[test]
fn integers_round_trip() {
    let mut w = Writer::default();
    w.u8(1).u16(2).u32(3).u64(4).u128(5).i16(-6).i32(-7).i64(i64::MIN).uvarint(u64::MAX).varint(i64::MIN).varint(i64::MAX);
    let bytes = w.into_bytes();
    let mut r = Reader::new("test", &bytes, 0);
    assert_eq!((r.u8().unwrap(), r.u16().unwrap(), r.u32().unwrap(), r.u64().unwrap(), r.u128().unwrap()), (1, 2, 3, 4, 5));
    assert_eq!((r.i16().unwrap(), r.i32().unwrap(), r.i64().unwrap()), (-6, -7, i64::MIN));
    assert_eq!((r.uvarint().unwrap(), r.varint().unwrap(), r.varint().unwrap()), (u64::MAX, i64::MIN, i64::MAX));
    r.finish().unwrap();
}

#[test]
fn a_read_past_the_end_names_part_and_position() {
    let error = Reader::new("part", &[1, 2, 3], 100).u32().unwrap_err();
    assert_eq!(error.to_string(), "part at 100: 4 bytes expected, 3 left");
}

#[test]
fn a_count_is_bounded_by_the_bytes_that_remain() {
    let bytes = [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    assert!(Reader::new("part", &bytes, 0).count(1).unwrap_err().problem.contains("at most 4"));
    assert_eq!(Reader::new("part", &[0, 0, 0, 2, 0, 0, 0, 0], 0).count(2).unwrap(), 2);
    assert!(Reader::new("part", &[0xff; 11], 0).uvarint().is_err());
}

#[test]
fn a_newer_version_is_told_from_damage() {
    let newer = Writer::open(b"TEST", 9).close();
    assert_eq!(Reader::open("part", &newer, 0, b"TEST", 1).unwrap_err().kind, FormatErrorKind::NewerVersion);
    let mut damaged = newer.to_vec();
    damaged[5] ^= 1;
    assert_eq!(Reader::open("part", &damaged, 0, b"TEST", 1).unwrap_err().kind, FormatErrorKind::Damaged);
    for len in 0..newer.len() {
        assert_eq!(Reader::open("part", &newer[..len], 0, b"TEST", 1).unwrap_err().kind, FormatErrorKind::Damaged);
    }
}

#[test]
fn in_object_names_the_key_and_says_what_to_do() {
    let error = FormatError::damaged("footer", 7, "crc").in_object("log/1");
    assert_eq!(error.kind(), crate::ErrorKind::Corrupt);
    assert!(error.to_string().contains("\"log/1\"") && error.to_string().contains("footer at 7: crc"), "{error}");
    assert_eq!(FormatError::newer("manifest", 0, 1, 2).in_object("m").kind(), crate::ErrorKind::Unsupported);
}

proptest! {
    #[test]
    fn crc32_of_parts_and_whole_agree(a: Vec<u8>, b: Vec<u8>) {
        let whole = crc32fast::hash(&[a.as_slice(), &b].concat());
        let (crc_a, crc_b) = (crc32fast::hash(&a), crc32fast::hash(&b));
        prop_assert_eq!(crc32_combine(crc_a, crc_b, b.len() as u64), whole);
        prop_assert_eq!(crc32_of_rest(crc_a, whole, b.len() as u64), crc_b);
    }

    #[test]
    fn varints_round_trip(unsigned: u64, signed: i64) {
        let mut w = Writer::default();
        w.uvarint(unsigned).varint(signed);
        let mut r = Reader::new("test", w.as_slice(), 0);
        prop_assert_eq!((r.uvarint().unwrap(), r.varint().unwrap()), (unsigned, signed));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        let mut r = Reader::new("test", &bytes, u64::MAX / 2);
        while r.uvarint().and_then(|_| r.varint_count(3)).and_then(|n| r.take(n)).is_ok() {}
        let _ = Reader::open("test", &bytes, 0, b"TEST", 1);
    }
}
