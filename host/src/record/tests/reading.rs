use std::io::Write as _;

use super::*;

/// Offset, timestamp, and key and value.
type Decoded = (Offset, i64, [Option<Vec<u8>>; 2]);

fn decoded(bytes: &[u8]) -> Vec<Decoded> {
    let records = records(bytes, LIMIT).unwrap();
    let owned = |field: Option<&[u8]>| field.map(<[u8]>::to_vec);
    records.iter().map(|r| r.unwrap()).map(|r| (r.offset, r.timestamp, [owned(r.key), owned(r.value)])).collect()
}

proptest! {
    #[test]
    fn records_round_trip_through_every_codec(builder in any_batch(), base in 0i64..i64::MAX / 2) {
        let plain = decoded(&builder.clone().base_offset(base).compression(Compression::None).build());
        for codec in Compression::ALL {
            let bytes = builder.clone().base_offset(base).compression(codec).build();
            prop_assert_eq!(&decoded(&bytes), &plain, "{:?}", codec);
        }
    }

    #[test]
    fn find_timestamp_finds_the_first_record_as_a_scan_does(builder in any_batch(), from in 0i64..20, target in 0i64..1 << 50) {
        let bytes = builder.build();
        let expected = decoded(&bytes).into_iter().find(|r| r.0 >= from && r.1 >= target).map(|r| (r.0, r.1));
        prop_assert_eq!(find_timestamp(&bytes, from, target, LIMIT).unwrap(), expected);
    }
}

#[test]
fn raw_snappy_is_read_as_well_as_framed() {
    let plain = batch(20, 100).build();
    let raw = snap::raw::Encoder::new().compress_vec(&plain[BATCH_HEADER_LEN..]).unwrap();
    let bytes = batch(20, 100).compression(Compression::Snappy).build_with(&raw);
    assert_eq!(decoded(&bytes), decoded(&plain));
}

#[test]
fn joined_gzip_members_are_one_batch() {
    let plain = batch(4, 100).build();
    let (one, two) = plain[BATCH_HEADER_LEN..].split_at(150);
    let member = |part: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap()
    };
    let joined = [member(one), member(two)].concat();
    assert_eq!(decoded(&batch(4, 100).compression(Compression::Gzip).build_with(&joined)), decoded(&plain));
}

#[test]
fn a_decompression_bomb_stops_at_the_limit() {
    let zeros = TestRecord { timestamp: 0, key: None, value: Some(vec![0; 8 << 20]) };
    for codec in Compression::ALL.into_iter().skip(1) {
        let bytes = batch_of(vec![zeros.clone()]).compression(codec).build();
        let refused = records(&bytes, LIMIT).unwrap_err().to_string();
        assert!(refused.contains("more than 1048576 bytes"), "{codec:?}: {refused}");
        assert!(records(&bytes, 9 << 20).is_ok(), "{codec:?}");
    }
}

#[test]
fn a_snappy_block_that_claims_gigabytes_allocates_nothing() {
    let claim = [0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0];
    let bytes = batch(1, 1).compression(Compression::Snappy).build_with(&claim);
    assert!(records(&bytes, LIMIT).unwrap_err().to_string().contains("more than"));
}

#[test]
fn a_compressed_batch_with_fewer_records_than_it_says_errs_at_the_missing_one() {
    let payload = batch(2, 10).compression(Compression::Zstd).build()[BATCH_HEADER_LEN..].to_vec();
    let bytes = batch(3, 10).compression(Compression::Zstd).build_with(&payload);
    let decoded = records(&bytes, LIMIT).unwrap();
    let kinds: Vec<bool> = decoded.iter().map(|r| r.is_ok()).collect();
    assert_eq!(kinds, [true, true, false]);
}

#[test]
fn a_batch_that_cannot_be_decoded_is_spoken_for_by_its_header() {
    let batch = batch(3, 10).timestamps(100, 10).base_offset(7);
    let cut = batch.clone().compression(Compression::Zstd).build()[BATCH_HEADER_LEN..][..10].to_vec();
    for codec in Compression::ALL.into_iter().skip(1) {
        for junk in [&b"junk"[..], b"", &cut] {
            let bytes = batch.clone().compression(codec).build_with(junk);
            assert_eq!(find_timestamp(&bytes, 0, 50, LIMIT).unwrap(), Some((7, 120)), "{codec:?}");
            assert_eq!(find_timestamp(&bytes, 8, 120, LIMIT).unwrap(), Some((8, 120)), "{codec:?}");
            assert_eq!(find_timestamp(&bytes, 0, 121, LIMIT).unwrap(), None, "{codec:?}");
            assert_eq!(find_timestamp(&bytes, 10, 100, LIMIT).unwrap(), None, "{codec:?}");
        }
    }
}

#[test]
fn batches_ends_after_the_first_error() {
    let mut bytes = batch(1, 10).build();
    bytes.extend_from_slice(&batch(1, 10).build()[..70]);
    let read: Vec<bool> = batches(&bytes).map(|b| b.is_ok()).collect();
    assert_eq!(read, [true, false]);
}

#[test]
fn record_headers_are_walked() {
    // A record with one header: length, attributes, deltas, null key and value, a count of 1, key "k", value null.
    let payload = [18, 0, 0, 0, 1, 1, 2, 2, b'k', 1];
    let good = batch(1, 0).build_with(&payload);
    assert!(validate(&good).is_ok(), "{}", problem(&good));
    let without_key = [16, 0, 0, 0, 1, 1, 2, 1, 1];
    assert!(problem(&batch(1, 0).build_with(&without_key)).contains("header without a key"));
}
