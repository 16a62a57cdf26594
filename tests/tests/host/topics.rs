//! Topics come, go, and come again, on one host and on two.

use std::collections::BTreeMap;
use std::time::Duration;

use tidegate::ErrorKind;
use tidegate::runtime::TopicSpec;
use tidegate::store::{Fault, Operation, Request, StoreErrorKind};
use tidegate_tests::records::one;
use tidegate_tests::world::{World, at, commit, create, is_manifest_put, read_values, topic_name, until, value};

fn objects_of(world: &World, id: &str) -> Vec<String> {
    world.store.snapshot().into_keys().filter(|key| key.contains(id) && key.contains("/log/")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_name_created_again_is_another_topic_without_old_data() {
    let world = World::with(|s| s.host.delete_grace_ms = 1_000);
    let host = world.open().await;
    let old = create(&host, "orders", 2, 1).await;
    commit(&host, at(&old, 0), one(value("old"))).await.unwrap();
    host.delete_topic(&topic_name("orders")).await.unwrap();
    assert_eq!(host.topic(&topic_name("orders")).await.unwrap(), None);
    assert_eq!(host.append(at(&old, 0), one(value("late"))).await.unwrap_err().kind(), ErrorKind::NotFound);

    let new = create(&host, "orders", 2, 1).await;
    assert_ne!(new.id, old.id);
    for reader in [host.clone(), world.open().await] {
        assert_eq!(read_values(&reader, at(&new, 0)).await.unwrap(), BTreeMap::new());
        assert_eq!(reader.offsets(at(&old, 0)).await.unwrap_err().kind(), ErrorKind::NotFound);
    }
    until("the objects of the old one are gone", || {
        let left = objects_of(&world, &old.id.to_string());
        left.iter().all(|key| !world.segments().contains(key))
    })
    .await;
    let writer = world.open().await;
    assert_eq!(commit(&writer, at(&new, 0), one(value("new"))).await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn counts_and_config_are_checked_before_anything_is_written() {
    let world = World::default();
    let host = world.open().await;
    let before = world.store.snapshot();
    let spec = TopicSpec::named(topic_name("orders"));
    let bad = [
        TopicSpec { partitions: Some(0), ..spec.clone() },
        TopicSpec { partitions: Some(2), lanes: Some(3), ..spec.clone() },
        TopicSpec { config: [("no_such_setting".to_owned(), "1".to_owned())].into(), ..spec.clone() },
        TopicSpec { config: [("retention_ms".to_owned(), "soon".to_owned())].into(), ..spec.clone() },
    ];
    for spec in bad {
        assert_eq!(host.create_topic(spec).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    assert_eq!(world.store.snapshot(), before);
    let config = [("retention_ms".to_owned(), "60000".to_owned())].into();
    let topic = host.create_topic(TopicSpec { partitions: Some(6), config, ..spec.clone() }).await.unwrap();
    assert_eq!((topic.partitions, topic.lanes), (6, 4));
    assert_eq!(host.topic_settings(&topic).unwrap().retention_ms, 60_000);
    assert_eq!(host.create_topic(spec).await.unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(host.offsets(at(&topic, 6)).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test(start_paused = true)]
async fn hosts_learn_of_each_others_topics() {
    let world = World::with(|s| s.host.metadata_interval_ms = 10_000);
    let (a, b) = (world.open().await, world.open().await);
    let first = create(&a, "first", 1, 1).await;
    assert_eq!(b.topic(&topic_name("first")).await.unwrap(), Some(first.clone()), "on a miss");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let second = create(&a, "second", 1, 1).await;
    assert_eq!(commit(&b, at(&second, 0), one(value("x"))).await.unwrap(), 0, "on a miss by id");
    create(&a, "third", 1, 1).await;
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(b.topics().await.unwrap().len(), 3, "on the interval");
    a.delete_topic(&topic_name("first")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(b.topic_by_id(first.id).await.unwrap(), None);
    assert_eq!(b.append(at(&first, 0), one(value("x"))).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test(start_paused = true)]
async fn asking_for_an_unknown_id_is_no_way_to_flood_the_store() {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    host.delete_topic(&topic.name).await.unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
    let before = world.store.total_requests();
    for _ in 0..1_000 {
        host.offsets(at(&topic, 0)).await.unwrap_err();
    }
    assert!(world.store.total_requests() - before < 10);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_cut_off_by_a_crash_is_finished_by_the_next_host() {
    let world = World::with(|s| {
        s.host.delete_grace_ms = 1_000;
        s.host.metadata_interval_ms = 1_000;
    });
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    commit(&host, at(&topic, 0), one(value("old"))).await.unwrap();
    world.store.set_script(|r: &Request<'_>| if is_manifest_put(r) { Fault::fail(StoreErrorKind::Unavailable) } else { Fault::none() });
    host.delete_topic(&topic.name).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    host.abort();
    world.store.clear_script();
    assert!(!world.segments().is_empty());
    let _next = world.open().await;
    until("the objects are gone", || world.segments().is_empty()).await;
    until("nothing is left to do", || !world.store.snapshot().keys().any(|key| key.starts_with("deletions/"))).await;
}

#[tokio::test(start_paused = true)]
async fn a_creation_that_fails_leaves_no_topic_and_can_be_repeated() {
    let world = World::default();
    let host = world.open().await;
    let mut manifests = 0;
    world.store.set_script(move |r: &Request<'_>| {
        manifests += u32::from(is_manifest_put(r));
        if r.operation == Operation::Put && manifests >= 3 { Fault::fail(StoreErrorKind::Refused) } else { Fault::none() }
    });
    let spec = TopicSpec { partitions: Some(4), lanes: Some(4), ..TopicSpec::named(topic_name("orders")) };
    host.create_topic(spec.clone()).await.unwrap_err();
    assert_eq!(host.topic(&topic_name("orders")).await.unwrap(), None);
    world.store.clear_script();
    let topic = host.create_topic(spec).await.unwrap();
    for partition in 0..4 {
        commit(&host, at(&topic, partition), one(value("x"))).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_record_set_is_told_with_the_name_of_its_topic() {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 2, 1).await;
    let refused = host.append(at(&topic, 1), bytes::BytesMut::new()).await.unwrap_err();
    assert_eq!(refused.to_string(), "record set for partition 1 of topic orders refused: record set is empty");
}
