//! What is damaged is named, with what to do about it, before anything is written.

use std::time::Duration;

use tidegate::ErrorKind;
use tidegate::metadata::TopicRecord;
use tidegate_tests::records::one;
use tidegate_tests::world::{World, at, commit, create, is_log_key, read_values, value};

/// A log of a few segments that no checkpoint covers: its host crashed.
async fn crashed() -> (World, TopicRecord) {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 2, 1).await;
    for i in 0..5 {
        commit(&host, at(&topic, i % 2), one(value(i))).await.unwrap();
    }
    host.abort();
    tokio::time::sleep(Duration::from_secs(1)).await;
    (world, topic)
}

fn manifest(world: &World) -> String {
    world.store.snapshot().into_keys().find(|key| key.ends_with("/manifest")).expect("there is one lane")
}

/// Opening fails with this kind, names the object and a remedy, and writes nothing.
async fn is_refused(world: &World, topic: &TopicRecord, object: &str, kind: ErrorKind) {
    let before = world.store.snapshot();
    let host = world.open().await;
    let probed = world.store.snapshot();
    for error in [
        host.append(at(topic, 0), one(value("new"))).await.unwrap_err(),
        host.offsets(at(topic, 1)).await.unwrap_err(),
        host.take_lead(&topic.name, 0).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), kind, "{error}");
        let text = error.to_string();
        assert!(text.contains(object), "{text:?} does not name {object}");
        assert!(text.starts_with("lane 0 of topic orders could not be opened"), "{text:?} does not name the topic");
        assert!(text.contains("restore") || text.contains("upgrade") || text.contains("delete"), "{text:?} names no remedy");
    }
    tokio::time::sleep(Duration::from_secs(120)).await;
    let logs =
        |objects: &std::collections::BTreeMap<String, bytes::Bytes>| objects.keys().filter(|k| is_log_key(k)).cloned().collect::<Vec<_>>();
    assert_eq!(logs(&world.store.snapshot()), logs(&before), "a fence was written");
    assert_eq!(world.store.snapshot().get(object), probed.get(object), "the object was touched");
}

#[tokio::test(start_paused = true)]
async fn a_missing_manifest_stops_the_opening() {
    let (world, topic) = crashed().await;
    let manifest = manifest(&world);
    assert!(world.store.remove(&manifest));
    is_refused(&world, &topic, &manifest, ErrorKind::Corrupt).await;
}

#[tokio::test(start_paused = true)]
async fn a_manifest_cut_short_stops_the_opening() {
    let (world, topic) = crashed().await;
    let manifest = manifest(&world);
    assert!(world.store.tamper(&manifest, |bytes| bytes.truncate(bytes.len() / 2)));
    is_refused(&world, &topic, &manifest, ErrorKind::Corrupt).await;
}

#[tokio::test(start_paused = true)]
async fn a_manifest_with_one_flipped_bit_stops_the_opening() {
    let (world, topic) = crashed().await;
    let manifest = manifest(&world);
    assert!(world.store.tamper(&manifest, |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
    }));
    is_refused(&world, &topic, &manifest, ErrorKind::Corrupt).await;
}

#[tokio::test(start_paused = true)]
async fn a_damaged_segment_of_the_run_stops_the_opening() {
    for damage in ["footer", "trailer", "short", "zeroes"] {
        let (world, topic) = crashed().await;
        let victim = world.segments()[2].clone();
        assert!(world.store.tamper(&victim, |bytes| {
            let len = bytes.len();
            match damage {
                "footer" => bytes[len - 60] ^= 1,
                "trailer" => bytes[len - 1] ^= 1,
                "short" => bytes.truncate(len - 7),
                _ => bytes.fill(0),
            }
        }));
        is_refused(&world, &topic, &victim, ErrorKind::Corrupt).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_repaired_object_is_opened_by_the_same_host_after_a_while() {
    let (world, topic) = crashed().await;
    let victim = world.segments()[1].clone();
    let whole = world.store.snapshot()[&victim].clone();
    world.store.tamper(&victim, |bytes| bytes.fill(0));
    let host = world.open().await;
    host.offsets(at(&topic, 0)).await.unwrap_err();
    world.store.tamper(&victim, |bytes| bytes.copy_from_slice(&whole));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(read_values(&host, at(&topic, 0)).await.unwrap().len(), 3);
    assert_eq!(commit(&host, at(&topic, 0), one(value("next"))).await.unwrap(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_flipped_bit_in_one_body_leaves_the_rest_readable_and_never_reaches_a_reader() {
    let (world, topic) = crashed().await;
    let needle = value("2");
    let victim = world.segments()[2].clone();
    assert!(world.store.tamper(&victim, |bytes| {
        let position = bytes.windows(needle.len()).position(|w| w == needle).expect("the value lies there");
        bytes[position + 5] ^= 1;
    }));
    let host = world.open().await;
    assert_eq!(read_values(&host, at(&topic, 1)).await.unwrap().len(), 2, "the other partition");
    let error = read_values(&host, at(&topic, 0)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains(&victim), "{error}");
    let behind = tidegate_tests::world::read_from(&host, at(&topic, 0), 2).await.unwrap();
    assert_eq!(behind[0].values, [value(4)], "what lies behind the damage");
}
