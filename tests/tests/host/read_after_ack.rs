//! What was acknowledged is read back, whole and in order, also by the next host.

use std::collections::BTreeMap;
use std::time::Duration;

use tidegate::ErrorKind;
use tidegate::env;
use tidegate::record::RecordError;
use tidegate::runtime::{FetchPartition, FetchRequest, OffsetSpec};
use tidegate_tests::records::{many, one, timed};
use tidegate_tests::world::{World, at, commit, create, read_from, read_values, topic_name, value};

#[tokio::test(start_paused = true)]
async fn read_after_ack() {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 4, 2).await;
    for round in 0..3 {
        for partition in 0..4 {
            let offset = commit(&host, at(&topic, partition), one(value(format!("{partition}/{round}")))).await.unwrap();
            assert_eq!(offset, round);
        }
    }
    for reader in [host.clone(), world.open().await] {
        for partition in 0..4 {
            let expected = (0..3).map(|round| (round, value(format!("{partition}/{round}")))).collect();
            assert_eq!(read_values(&reader, at(&topic, partition)).await.unwrap(), expected);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn two_batches_in_one_set_get_contiguous_offsets_and_the_leader_epoch() {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    let partition = at(&topic, 0);
    let mut set = many(["a", "b", "c"]);
    set.extend_from_slice(&many(["d", "e"]));
    assert_eq!(commit(&host, partition, set).await.unwrap(), 0);
    assert_eq!(commit(&host, partition, one("f")).await.unwrap(), 5);
    let read = read_from(&host, partition, 0).await.unwrap();
    assert_eq!(read.iter().map(|b| b.base_offset).collect::<Vec<_>>(), [0, 3, 5]);
    let epoch = host.leader_epoch(partition).await.unwrap();
    assert!(read.iter().all(|b| b.leader_epoch == epoch as i32));
    let inside = read_from(&host, partition, 4).await.unwrap();
    assert_eq!(inside[0].base_offset, 3, "the batch that contains the offset comes first");
}

#[tokio::test(start_paused = true)]
async fn an_invalid_set_is_refused_whole_and_says_why() {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    let mut set = one("good");
    set.extend_from_slice(&one("bad"));
    let last = set.len() - 1;
    set[last] ^= 1;
    let error = host.append(at(&topic, 0), set).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(matches!(error.cause::<RecordError>(), Some(RecordError::WrongCrc { .. })), "{error}");
    assert_eq!(commit(&host, at(&topic, 0), one("next")).await.unwrap(), 0, "the refused set took no offset");
}

#[tokio::test(start_paused = true)]
async fn one_fetch_waits_once_for_all_its_partitions() {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 50, 4).await;
    let partitions: Vec<_> = (0..50).map(|p| FetchPartition { partition: at(&topic, p), offset: 0, max_bytes: 1 << 20 }).collect();
    let request = FetchRequest { partitions, max_bytes: 8 << 20, min_bytes: 1, max_wait: Duration::from_secs(30) };

    let began = env::now();
    let empty = host.fetch(request.clone()).await;
    assert_eq!(began.elapsed(), Duration::from_secs(30), "an empty fetch waits as long as it may, and no longer");
    assert!(empty.iter().all(|answer| answer.as_ref().unwrap().chunks.is_empty()));

    let waiting = tokio::spawn({
        let (host, request) = (host.clone(), request.clone());
        async move { host.fetch(request).await }
    });
    tokio::time::sleep(Duration::from_secs(3)).await;
    let began = env::now();
    commit(&host, at(&topic, 37), one("x")).await.unwrap();
    let answers = waiting.await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(2), "woken by the commit");
    let with_data: Vec<_> = (0..50).filter(|p| !answers[*p].as_ref().unwrap().chunks.is_empty()).collect();
    assert_eq!(with_data, [37]);
}

#[tokio::test(start_paused = true)]
async fn a_fetch_keeps_to_its_bytes_but_gives_one_whole_batch() {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 8, 1).await;
    for partition in 0..8 {
        for _ in 0..3 {
            commit(&host, at(&topic, partition), one(vec![7; 20_000])).await.unwrap();
        }
    }
    let partitions: Vec<_> = (0..8).map(|p| FetchPartition { partition: at(&topic, p), offset: 0, max_bytes: 10_000 }).collect();
    let request = FetchRequest { partitions, max_bytes: 10_000, min_bytes: 1, max_wait: Duration::ZERO };
    let answers = host.fetch(request.clone()).await;
    let lens: Vec<_> = answers.iter().map(|a| a.as_ref().unwrap().len).collect();
    assert!(lens[0] > 20_000 && lens[0] < 21_000, "the first batch whole, and alone: {lens:?}");
    assert!(lens[1..].iter().all(|len| *len == 0), "{lens:?}");

    let roomy = FetchRequest { max_bytes: 50_000, ..request };
    let partitions = roomy.partitions.into_iter().map(|p| FetchPartition { max_bytes: 21_000, ..p }).collect();
    let answers = host.fetch(FetchRequest { partitions, ..roomy }).await;
    let lens: Vec<_> = answers.iter().map(|a| a.as_ref().unwrap().len).collect();
    assert!(lens.iter().sum::<usize>() <= 50_000 && lens[1] > 20_000, "{lens:?}");
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_fails_leaves_the_others_readable() {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 2, 1).await;
    commit(&host, at(&topic, 0), one("x")).await.unwrap();
    let ask = |partition, offset| FetchPartition { partition: at(&topic, partition), offset, max_bytes: 1 << 20 };
    let partitions = vec![ask(7, 0), ask(0, 0), ask(0, 99)];
    let answers = host.fetch(FetchRequest { partitions, max_bytes: 1 << 20, min_bytes: 1, max_wait: Duration::from_secs(9) }).await;
    assert_eq!(answers[0].as_ref().unwrap_err().kind(), ErrorKind::NotFound);
    assert!(answers[1].as_ref().unwrap().len > 0);
    assert_eq!(answers[2].as_ref().unwrap_err().kind(), ErrorKind::OffsetOutOfRange);
}

#[tokio::test(start_paused = true)]
async fn places_are_found_by_end_and_by_time() {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    let partition = at(&topic, 0);
    let empty = host.list_offset(partition, OffsetSpec::MaxTimestamp).await.unwrap();
    assert_eq!(empty, None);
    commit(&host, partition, timed([(100, "a"), (300, "b"), (200, "c")])).await.unwrap();
    commit(&host, partition, timed([(250, "d"), (300, "e")])).await.unwrap();
    let cases = BTreeMap::from([
        ("earliest", (OffsetSpec::Earliest, Some((0, -1)))),
        ("latest", (OffsetSpec::Latest, Some((5, -1)))),
        ("largest timestamp", (OffsetSpec::MaxTimestamp, Some((1, 300)))),
        ("first timestamp", (OffsetSpec::Timestamp(0), Some((0, 100)))),
        ("a timestamp between", (OffsetSpec::Timestamp(101), Some((1, 300)))),
        ("behind the last", (OffsetSpec::Timestamp(301), None)),
    ]);
    for reader in [host.clone(), world.open().await] {
        for (what, (spec, expected)) in &cases {
            assert_eq!(reader.list_offset(partition, *spec).await.unwrap(), *expected, "{what}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn wait_for_data_tells_data_from_time() {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 2, 2).await;
    let both = [(at(&topic, 0), 0), (at(&topic, 1), 0)];
    assert!(!host.wait_for_data(&both, Duration::from_secs(5)).await);
    commit(&host, at(&topic, 1), one("x")).await.unwrap();
    assert!(host.wait_for_data(&both, Duration::from_secs(5)).await);
    assert!(host.topic(&topic_name("none")).await.unwrap().is_none());
}
