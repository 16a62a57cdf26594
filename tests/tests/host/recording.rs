//! Recordings of requests are bounded, sampled by partition, and end by themselves.

use std::time::Duration;

use tidegate::ErrorKind;
use tidegate::runtime::{FetchPartition, FetchRequest, Recorded, RecordingSpec};
use tidegate_tests::records::one;
use tidegate_tests::world::{World, at, commit, create, value};

const SPEC: RecordingSpec = RecordingSpec { seconds: 60, requests: 1_000, permille: 1_000 };

/// Records a few appends and one fetch of each of so many partitions.
async fn record(spec: RecordingSpec, partitions: u32) -> Recorded {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", partitions, 1).await;
    commit(&host, at(&topic, 0), one(value("before"))).await.unwrap();
    host.start_recording(spec).unwrap();
    for partition in 0..partitions {
        for number in 0..3 {
            commit(&host, at(&topic, partition), one(value(number))).await.unwrap();
        }
        let fetch = FetchPartition { partition: at(&topic, partition), offset: 1, max_bytes: 1 << 20 };
        let request = FetchRequest { partitions: vec![fetch], max_bytes: 1 << 20, min_bytes: 1, max_wait: Duration::ZERO };
        host.fetch(request).await[0].as_ref().unwrap();
    }
    let recorded = host.stop_recording().unwrap();
    assert_eq!(host.stop_recording().unwrap_err().kind(), ErrorKind::NotFound, "it is handed out once");
    recorded
}

#[tokio::test(start_paused = true)]
async fn a_recording_holds_what_was_asked_since_it_began() {
    let recorded = record(SPEC, 2).await;
    assert_eq!((recorded.topics.len(), recorded.topics[0].partitions, recorded.topics[0].lanes), (1, 2, 1));
    let appends: Vec<(u32, i64, u32)> = recorded.appends.iter().map(|a| (a.partition, a.offset, a.records)).collect();
    assert_eq!(appends, [(0, 1, 1), (0, 2, 1), (0, 3, 1), (1, 0, 1), (1, 1, 1), (1, 2, 1)]);
    assert!(recorded.appends.iter().all(|a| a.waits && a.bytes > 200) && recorded.appends.is_sorted_by_key(|a| a.at_us));
    let fetches: Vec<(u32, i64, i64)> = recorded.fetches.iter().map(|f| (f.partition, f.offset, f.next)).collect();
    assert_eq!(fetches, [(0, 1, 4), (1, 1, 3)]);
}

#[tokio::test(start_paused = true)]
async fn a_recording_ends_by_number_and_by_time() {
    let few = record(RecordingSpec { requests: 4, ..SPEC }, 2).await;
    assert_eq!(few.appends.len() + few.fetches.len(), 4);
    let host = World::default().open().await;
    host.start_recording(SPEC).unwrap();
    assert_eq!(host.start_recording(SPEC).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(host.recording_state().unwrap(), (false, 0));
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(host.recording_state().unwrap(), (true, 0));
    host.start_recording(SPEC).unwrap();
}

#[tokio::test(start_paused = true)]
async fn of_a_partition_that_is_sampled_everything_is_recorded() {
    let recorded = record(RecordingSpec { permille: 400, ..SPEC }, 40).await;
    let mut partitions: Vec<u32> = recorded.appends.iter().map(|a| a.partition).collect();
    assert!(partitions.chunks(3).all(|three| three.iter().all(|partition| *partition == three[0])));
    partitions.dedup();
    assert!((5..30).contains(&partitions.len()), "{} of 40 partitions", partitions.len());
    assert_eq!(recorded.fetches.iter().map(|f| f.partition).collect::<Vec<_>>(), partitions);
}

#[tokio::test(start_paused = true)]
async fn numbers_out_of_range_are_named() {
    let host = World::default().open().await;
    for (spec, key) in [
        (RecordingSpec { seconds: 0, ..SPEC }, "seconds is 0, expected 1 to 86400"),
        (RecordingSpec { requests: 0, ..SPEC }, "requests is 0"),
        (RecordingSpec { permille: 1_001, ..SPEC }, "permille is 1001, expected 1 to 1000"),
    ] {
        let error = host.start_recording(spec).unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidInput && error.message().contains(key), "{error}");
    }
}
