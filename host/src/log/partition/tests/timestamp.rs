//! Offsets by timestamp.

use super::bench::{Bench, commit, quiet_topic, small_chunks};
use crate::record::Compression;
use crate::record::testing::{TestRecord, batch, batch_of};
use crate::store::Operation;

/// Batches of three records, 10 ms apart, with timestamps that go up by 100 ms a batch.
fn history(bench: &mut Bench, compression: Compression) -> Vec<super::bench::Stored> {
    let mut stored = Vec::new();
    for segment in 0..4 {
        let sets = (0..20).map(|i| vec![batch(3, 1_000).timestamps(1_000 + 100 * (segment * 20 + i), 10).compression(compression)]);
        stored.extend(bench.segment(vec![(0, sets.collect())]));
    }
    stored
}

fn expected(timestamp: i64, log_start: i64) -> Option<(i64, i64)> {
    let records = (0..240).map(|offset| (offset, 1_000 + 100 * (offset / 3) + 10 * (offset % 3)));
    records.filter(|(offset, _)| *offset >= log_start).find(|(_, t)| *t >= timestamp)
}

#[tokio::test(start_paused = true)]
async fn a_timestamp_gives_the_exact_record() {
    for compression in [Compression::None, Compression::Lz4] {
        let mut bench = Bench::new(1, small_chunks(), quiet_topic());
        let stored = history(&mut bench, compression);
        let (cold, hot) = (bench.open(0), bench.open_empty(0));
        stored.into_iter().for_each(|s| commit(&hot, s));
        for partition in [&cold, &hot] {
            for log_start in [0, 7, 100, 240] {
                partition.set_log_start(log_start);
                for timestamp in (900..9_100).step_by(37).chain([i64::MIN, i64::MAX]) {
                    let found = partition.find_timestamp(timestamp).await.expect("it is readable");
                    assert_eq!(found, expected(timestamp, log_start), "timestamp {timestamp} from offset {log_start} on");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cold_lookup_reads_one_index_and_one_chunk() {
    let mut bench = Bench::new(1, small_chunks(), quiet_topic());
    history(&mut bench, Compression::None);
    let partition = bench.open(0);
    assert_eq!(partition.find_timestamp(6_011).await.expect("it is readable"), expected(6_011, 0));
    assert_eq!(bench.store.requests(Operation::Get), 2);
    assert_eq!(partition.reading().time_lookups_per_min, 1);
}

/// A batch of `bytes` zeros, at timestamp 100.
fn zeros(bytes: usize) -> crate::record::testing::BatchBuilder {
    batch_of(vec![TestRecord { timestamp: 100, key: None, value: Some(vec![0; bytes]) }])
}

#[tokio::test]
async fn decoding_a_batch_that_grows_holds_up_nobody_else() {
    let mut bench = Bench::new(1, small_chunks(), quiet_topic());
    let stored = bench.segment(vec![(0, vec![vec![zeros(32 << 20).compression(Compression::Gzip)]])]);
    let partition = bench.open_empty(0);
    stored.into_iter().for_each(|s| commit(&partition, s));
    let done = parking_lot::Mutex::new(Vec::new());
    let lookup = async {
        assert_eq!(partition.find_timestamp(50).await.expect("it is readable"), Some((0, 100)));
        done.lock().push("lookup");
    };
    let others = async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        done.lock().push("others");
    };
    tokio::join!(lookup, others);
    assert_eq!(*done.lock(), ["others", "lookup"]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_nobody_can_decode_stops_no_lookup() {
    let mut bench = Bench::new(1, small_chunks(), quiet_topic());
    let plain = |timestamp| vec![batch(1, 100).timestamps(timestamp, 0)];
    let bomb = zeros((128 << 20) + 1).compression(Compression::Zstd);
    let stored = bench.segment(vec![(0, vec![plain(50), vec![bomb], plain(200)])]);
    let partition = bench.open_empty(0);
    stored.into_iter().for_each(|s| commit(&partition, s));
    for (timestamp, expected) in [(50, Some((0, 50))), (51, Some((1, 100))), (101, Some((2, 200))), (201, None)] {
        assert_eq!(partition.find_timestamp(timestamp).await.expect("the header is readable"), expected, "timestamp {timestamp}");
    }
}
