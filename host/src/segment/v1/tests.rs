use proptest::prelude::*;

use super::*;
use crate::record::testing::{batch, set};
use bytes::Bytes;

/// Ten batches of three records each, from offset 700 on, in two chunks.
fn chunks() -> Vec<Bytes> {
    let five = [(); 5].map(|()| batch(3, 40).timestamps(1000, 1));
    vec![set(&five).assign(700, 2, None).bytes, set(&five).assign(715, 2, None).bytes]
}

fn decode(index: &[u8], segment: &[u8]) -> Result<Index, crate::codec::FormatError> {
    Index::decode(index, 700, segment.len() as u64)
}

#[test]
fn an_export_reads_back_with_its_index() {
    let (data, index) = write(&chunks(), 12_345, 6).unwrap();
    assert_eq!(
        &data[..32],
        [b"KAFS\0\x01\0\0".as_slice(), &700i64.to_be_bytes(), &30i32.to_be_bytes(), &12_345i64.to_be_bytes(), &[0; 4]].concat()
    );
    assert_eq!(&data[data.len() - 12..], [&729i64.to_be_bytes(), b"END!".as_slice()].concat());
    let segment = read(&data).unwrap();
    assert_eq!((segment.base_offset, segment.last_offset, segment.record_count, segment.created_ms), (700, 729, 30, 12_345));
    assert_eq!(segment.batches.len(), 10);
    let index = decode(&index, &data).unwrap();
    assert_eq!(index.entries.iter().map(|e| e.offset).collect::<Vec<_>>(), [700, 706, 712, 718, 724]);
    for entry in &index.entries {
        assert!(segment.batches.iter().any(|b| (b.position, b.header.base_offset) == (entry.position as usize, entry.offset)));
    }
    assert_eq!((index.floor(0), index.floor(711)), (32, index.entries[1].position));
}

#[test]
fn keys_are_those_of_the_published_layout() {
    assert_eq!(data_key("ns", "t", 3, 42), "ns/t/3/segment-00000000000000000042.kfs");
    assert_eq!(index_key("ns", "t", 3, 42), "ns/t/3/segment-00000000000000000042.index");
}

#[test]
fn a_hostile_index_is_refused_and_rebuilt_from_data() {
    let (data, good) = write(&chunks(), 0, 6).unwrap();
    let edited = |at: usize, with: &[u8]| {
        let mut bytes = good.to_vec();
        bytes[at..at + with.len()].copy_from_slice(with);
        bytes
    };
    let hostile = [
        ("count -1", edited(6, &(-1i32).to_be_bytes())),
        ("count 2^31-1", edited(6, &i32::MAX.to_be_bytes())),
        ("count 0", edited(6, &0i32.to_be_bytes())),
        ("unsorted offsets", edited(16 + 12, &900i64.to_be_bytes())),
        ("equal offsets", edited(16 + 12, &700i64.to_be_bytes())),
        ("negative offset", edited(16, &(-1i64).to_be_bytes())),
        ("position past the end", edited(16 + 4 * 12 + 8, &(data.len() as i32 - 16).to_be_bytes())),
        ("negative position", edited(16 + 4 * 12 + 8, &(-5i32).to_be_bytes())),
        ("positions not rising", edited(16 + 12 + 8, &32i32.to_be_bytes())),
        ("first position", edited(16 + 8, &33i32.to_be_bytes())),
        ("interval below 0", edited(10, &(-1i32).to_be_bytes())),
        ("7 trailing bytes", [good.to_vec(), vec![0; 7]].concat()),
        ("cut short", good[..good.len() - 1].to_vec()),
        ("magic", edited(0, b"X")),
        ("version", edited(5, &[2])),
        ("no entries", [&good[..6], &[0; 10]].concat()),
    ];
    for (what, bytes) in hostile {
        assert!(decode(&bytes, &data).is_err(), "{what}");
    }
    let rebuilt = Index::rebuild(&read(&data).unwrap(), 6);
    assert_eq!(rebuilt.encode(), good);
    assert_eq!(rebuilt, decode(&good, &data).unwrap());
}

#[test]
fn every_flip_in_body_footer_and_checked_header_fields_is_found() {
    let (data, _) = write(&chunks()[..1], 0, 6).unwrap();
    // Flags, creation time and reserved bytes of the header have no checksum in this version.
    let unprotected = |at: usize| (6..8).contains(&at) || (20..32).contains(&at);
    for bit in (0..data.len() * 8).filter(|bit| !unprotected(bit / 8)) {
        let mut flipped = data.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&flipped).is_err(), "bit {bit}");
    }
}

#[test]
fn what_version_1_has_no_room_for_is_an_error_and_no_wrapped_number() {
    assert_eq!(write(&[], 0, 1).unwrap_err(), ExportError::Empty);
    let many = batch(1, 1).compression(crate::record::Compression::Gzip);
    let mut bytes = many.build();
    bytes[23..27].copy_from_slice(&(i32::MAX - 1).to_be_bytes());
    bytes[57..61].copy_from_slice(&i32::MAX.to_be_bytes());
    let first = bytes.clone().freeze();
    bytes[..8].copy_from_slice(&i64::from(i32::MAX).to_be_bytes());
    let error = write(&[first, bytes.freeze()], 0, 1).unwrap_err();
    assert!(matches!(error, ExportError::TooLarge { what: "record count", .. }), "{error}");
    let backwards: Vec<_> = chunks().into_iter().rev().collect();
    assert_eq!(write(&backwards, 0, 1).unwrap_err(), ExportError::Disordered { last: 729, found: 700 });
}

proptest! {
    #[test]
    fn any_export_round_trips(counts in proptest::collection::vec(1usize..6, 1..8), base in 0i64..1 << 60, interval in 0u32..10) {
        let builders: Vec<_> = counts.iter().map(|count| batch(*count, 10)).collect();
        let appended = set(&builders).assign(base, 1, None);
        let (data, index) = write(std::slice::from_ref(&appended.bytes), 5, interval).unwrap();
        let segment = read(&data).unwrap();
        prop_assert_eq!((segment.base_offset, segment.last_offset + 1), (base, appended.next_offset()));
        let decoded = Index::decode(&index, base, data.len() as u64).unwrap();
        prop_assert_eq!(decoded, Index::rebuild(&segment, interval));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>, base: i64, len: u64) {
        let _ = read(&bytes);
        let _ = Index::decode(&bytes, base, len);
        let _ = Index::decode(&[b"IDX\0\0\x01".as_slice(), &bytes].concat(), base, len);
    }
}
