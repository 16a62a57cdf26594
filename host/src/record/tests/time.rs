//! What headers claim about time, and what is stored.

use super::*;

/// A valid batch of timestamps 100, 300, 200 whose header claims `max` instead of 300.
fn claims(max: i64) -> BytesMut {
    tampered(&of_times(&[100, 300, 200]), header::MAX_TIMESTAMP_AT, &max.to_be_bytes())
}

fn of_times(times: &[i64]) -> BatchBuilder {
    batch_of(times.iter().map(|timestamp| TestRecord { timestamp: *timestamp, key: None, value: None }).collect())
}

/// What is stored of these bytes on a topic with the producers' own timestamps, and its header.
fn stored(bytes: &[u8]) -> (bytes::Bytes, BatchHeader) {
    let appended = validate(bytes).unwrap().assign(0, 0, None);
    let header = BatchHeader::parse(&appended.bytes).unwrap();
    assert_eq!(header, appended.batches[0].header, "the header in memory is the stored one");
    check_crc(&appended.bytes, &header).unwrap();
    (appended.bytes, header)
}

#[test]
fn a_plain_batch_claims_no_other_largest_timestamp_than_its_records_have() {
    for claim in [99, 299, 300, 301, -1, i64::MIN, i64::MAX] {
        let (bytes, header) = stored(&claims(claim));
        assert_eq!(header.max_timestamp, 300, "claimed {claim}");
        assert_eq!(find_timestamp(&bytes, 0, 101, LIMIT).unwrap(), Some((1, 300)), "claimed {claim}");
        assert_eq!(find_timestamp(&bytes, 0, 301, LIMIT).unwrap(), None, "claimed {claim}");
    }
}

#[test]
fn the_largest_timestamp_of_a_plain_batch_is_that_of_any_record() {
    for times in [&[5][..], &[-1, -1], &[-7, -9], &[9, 8, 7], &[0, i64::MAX], &[0, i64::MIN]] {
        let bytes = tampered(&of_times(times), header::MAX_TIMESTAMP_AT, &77i64.to_be_bytes());
        assert_eq!(stored(&bytes).1.max_timestamp, *times.iter().max().unwrap(), "{times:?}");
    }
}

#[test]
fn a_batch_that_tells_the_truth_is_stored_as_it_came() {
    let sent = of_times(&[100, 300, 200]).build();
    let (bytes, header) = stored(&sent);
    assert_eq!((&bytes[BATCH_HEADER_LEN..], header.crc), (&sent[BATCH_HEADER_LEN..], BatchHeader::parse(&sent).unwrap().crc));
}

#[test]
fn of_a_compressed_batch_the_header_is_believed() {
    for codec in Compression::ALL.into_iter().skip(1) {
        let sent = tampered(&of_times(&[100, 300, 200]).compression(codec), header::MAX_TIMESTAMP_AT, &250i64.to_be_bytes());
        assert_eq!(stored(&sent).1, BatchHeader { leader_epoch: 0, ..BatchHeader::parse(&sent).unwrap() }, "{codec:?}");
    }
}

#[test]
fn whose_clock_a_timestamp_is_of_is_not_for_the_producer_to_say() {
    for codec in Compression::ALL {
        let sent = of_times(&[100, 300, 200]).compression(codec).append_time().build();
        let (bytes, header) = stored(&sent);
        assert!(!header.is_append_time(), "{codec:?}");
        assert_eq!((header.compression(), header.max_timestamp), (codec, 300));
        let times: Vec<i64> = records(&bytes, LIMIT).unwrap().iter().map(|record| record.unwrap().timestamp).collect();
        assert_eq!(times, [100, 300, 200], "{codec:?}");
        let appended = validate(&sent).unwrap().assign(0, 0, Some(9_999)).batches[0].header;
        assert!(appended.is_append_time() && appended.max_timestamp == 9_999, "{codec:?}: the topic says");
    }
}

#[test]
fn every_batch_of_a_set_is_put_right() {
    let mut sent = claims(1);
    sent.extend_from_slice(&of_times(&[7]).build());
    sent.extend_from_slice(&claims(2));
    let appended = validate(&sent).unwrap().assign(40, 3, None);
    let read: Vec<BatchMeta> = batches(&appended.bytes).map(Result::unwrap).collect();
    assert_eq!(read, appended.batches);
    assert_eq!(read.iter().map(|batch| batch.header.max_timestamp).collect::<Vec<_>>(), [300, 7, 300]);
    for batch in &read {
        check_crc(&appended.bytes[batch.position..batch.end()], &batch.header).unwrap();
    }
}
