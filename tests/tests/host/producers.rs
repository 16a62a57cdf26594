//! Idempotent producers over the lives of a host.

use std::collections::BTreeSet;

use bytes::BytesMut;
use tidegate::record::testing::batch;
use tidegate::runtime::ProducerError;
use tidegate::store::Operation;
use tidegate::types::TopicName;
use tidegate::{ErrorKind, Storage};
use tidegate_tests::world::{World, at, commit, create, read_values};

/// A batch of one record.
fn of(id: i64, epoch: i16, sequence: i32) -> BytesMut {
    batch(1, 20).producer(id, epoch, sequence).build()
}

async fn known(storage: &Storage, name: &str) -> Vec<(i64, i16, i32)> {
    let topic = storage.topic(&TopicName::new(name).unwrap()).await.unwrap().unwrap();
    let known = storage.producers(at(&topic, 0)).await.unwrap();
    known.into_iter().map(|producer| (producer.id, producer.epoch, producer.last_sequence)).collect()
}

#[tokio::test(start_paused = true)]
async fn no_two_producers_get_one_id_whatever_becomes_of_their_hosts() {
    let world = World::default();
    let mut given = BTreeSet::new();
    for _ in 0..4 {
        let (one, other) = (world.open().await, world.open().await);
        for _ in 0..3 {
            assert!(given.insert(one.new_producer_id().await.unwrap()));
            assert!(given.insert(other.new_producer_id().await.unwrap()));
        }
        one.abort();
        other.close().await.unwrap();
        assert_eq!(other.new_producer_id().await.unwrap_err().kind(), ErrorKind::Closed);
    }
    assert!(given.iter().all(|id| *id >= 0));
    assert_eq!(world.count(Operation::Put, |key| key == "meta/producer-ids"), 8, "a host takes a block and gives out its ids");
}

#[tokio::test(start_paused = true)]
async fn a_topic_remembers_its_producers_over_crashes_and_clean_stops() {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 2, 1).await;
    for sequence in 0..40 {
        assert_eq!(commit(&host, at(&topic, 0), of(7, 0, sequence)).await.unwrap(), i64::from(sequence));
    }
    assert_eq!(commit(&host, at(&topic, 1), of(7, 0, 0)).await.unwrap(), 0, "each partition has sequences of its own");
    host.abort();
    let second = world.open().await;
    assert_eq!(commit(&second, at(&topic, 0), of(7, 0, 39)).await.unwrap(), 39);
    assert_eq!(commit(&second, at(&topic, 0), of(7, 1, 0)).await.unwrap(), 40);
    assert_eq!(known(&second, "orders").await, [(7, 1, 0)]);
    second.close().await.unwrap();
    let third = world.open().await;
    let error = third.append(at(&topic, 0), of(7, 0, 39)).await.unwrap_err();
    assert_eq!(error.cause(), Some(&ProducerError::FencedEpoch { producer_id: 7, current: 1, found: 0 }));
    assert_eq!(commit(&third, at(&topic, 0), of(7, 1, 0)).await.unwrap(), 40);
    assert_eq!(read_values(&third, at(&topic, 0)).await.unwrap().len(), 41);
}
