//! Two hosts on one store: whoever led before is told, and never writes over or into what came after.

use std::time::Duration;

use bytes::Bytes;
use tidegate::ErrorKind;
use tidegate::record::testing::batch;
use tidegate::runtime::Event;
use tidegate::store::{Fault, Gate, Operation, Request};
use tidegate_tests::records::one;
use tidegate_tests::stores::Pausable;
use tidegate_tests::world::{World, at, commit, create, is_log_key, is_segment_put, read_values, topic_name, until, value};

fn log_of(world: &World) -> Vec<(String, Bytes)> {
    world.store.snapshot().into_iter().filter(|(key, _)| is_log_key(key)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_paused_writer_is_fenced_and_harms_nothing() {
    let world = World::with(|s| {
        s.host.retention_interval_ms = 1_000;
        s.host.delete_grace_ms = 1_000;
        s.host.upload_deadline_ms = 600_000;
    });
    let way = Pausable::new(world.store.clone());
    let a = world.open_on(way.clone()).await;
    let topic = create(&a, "orders", 1, 1).await;
    let partition = at(&topic, 0);
    commit(&a, partition, one(value("a0"))).await.unwrap();
    way.pause();
    let stalled = a.append(partition, one(value("a1"))).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;

    let b = world.open().await;
    assert_eq!(commit(&b, partition, one(value("b1"))).await.unwrap(), 1);
    assert_eq!(b.trim(partition, 1).await.unwrap(), 1);
    tokio::time::sleep(Duration::from_secs(30)).await;
    commit(&b, partition, one(value("b2"))).await.unwrap();
    let theirs = log_of(&world);

    let mut events = a.events();
    way.resume();
    assert_eq!(stalled.committed.wait().await.unwrap_err().kind(), ErrorKind::NotLeader);
    let fenced = a.append(partition, one(value("a2"))).await.unwrap_err();
    assert_eq!(fenced.kind(), ErrorKind::NotLeader);
    assert!(fenced.to_string().starts_with("lane 0 of topic orders is led by another writer"), "{fenced}");
    assert!(matches!(events.recv().await.unwrap(), Event::Fenced(lane) if lane.topic == topic.id));
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(a.append(partition, one(value("a3"))).await.unwrap_err().kind(), ErrorKind::NotLeader, "never by itself");
    assert_eq!(log_of(&world), theirs, "the fenced writer changed the log");
    commit(&b, partition, one(value("b3"))).await.unwrap();
    let expected = [(1, value("b1")), (2, value("b2")), (3, value("b3"))];
    assert_eq!(read_values(&b, partition).await.unwrap(), expected.into());
}

#[tokio::test(start_paused = true)]
async fn a_lead_regained_sees_what_others_wrote_meanwhile() {
    let world = World::default();
    let a = world.open().await;
    let topic = create(&a, "orders", 1, 1).await;
    let partition = at(&topic, 0);
    commit(&a, partition, one(value("a"))).await.unwrap();
    let b = world.open().await;
    for i in 0..1_000 {
        b.append(partition, one(format!("b{i}"))).await.unwrap();
    }
    b.flush(partition).await.unwrap();
    assert_eq!(b.offsets(partition).await.unwrap().high_watermark, 1_001);

    let _ = commit(&a, partition, one(value("refused"))).await.unwrap_err();
    let epoch = a.take_lead(&topic_name("orders"), 0).await.unwrap();
    assert!(epoch > b.leader_epoch(partition).await.unwrap_or(0));
    assert_eq!(a.offsets(partition).await.unwrap().high_watermark, 1_001);
    assert_eq!(commit(&a, partition, one(value("a again"))).await.unwrap(), 1_001);
    let read = read_values(&a, partition).await.unwrap();
    assert_eq!(read.len(), 1_002);
    assert_eq!((&read[&0], &read[&1_000], &read[&1_001]), (&value("a"), &b"b999".to_vec(), &value("a again")));
}

/// The old leader does not know yet: what it remembers of a producer that went on with the new one is no ground to refuse it.
#[tokio::test(start_paused = true)]
async fn a_producer_of_the_new_leader_is_sent_on_by_the_old_one_and_not_refused() {
    let world = World::default();
    let of = |epoch, sequence| batch(1, 20).producer(7, epoch, sequence).build();
    for (epoch, sequence) in [(0, 3), (1, 1)] {
        let a = world.open().await;
        let topic = create(&a, &format!("orders{epoch}"), 1, 1).await;
        let partition = at(&topic, 0);
        commit(&a, partition, of(0, 0)).await.unwrap();
        let b = world.open().await;
        for sent in [(0, 1), (0, 2), (1, 0)] {
            commit(&b, partition, of(sent.0, sent.1)).await.unwrap();
        }
        let error = a.append(partition, of(epoch, sequence)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotLeader, "epoch {epoch}, sequence {sequence}: {error}");
        assert_eq!(a.metrics().lane.fenced.get(), 1, "and it knows now");
    }
}

/// A leader that is one refuses as before; for whoever sends nonsense without end the store is asked now and then.
#[tokio::test(start_paused = true)]
async fn a_leader_refuses_for_few_requests() {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    let of = |sequence| batch(1, 20).producer(7, 0, sequence).build();
    commit(&host, at(&topic, 0), of(0)).await.unwrap();
    world.store.reset_counters();
    let began = tidegate::env::now();
    let refused = futures::future::join_all((0..50).map(async |_| host.append(at(&topic, 0), of(9)).await.unwrap_err().kind())).await;
    assert!(refused.iter().all(|kind| *kind == ErrorKind::InvalidInput), "{refused:?}");
    for _ in 0..5 {
        assert_eq!(host.append(at(&topic, 0), of(9)).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    let looks = world.store.requests(Operation::Get);
    assert!(u128::from(looks) <= began.elapsed().as_millis() / 100 + 1, "{looks} looks in {:?}", began.elapsed());
    assert_eq!(commit(&host, at(&topic, 0), of(1)).await.unwrap(), 1);
}

/// The old host shuts down while its segment is on its way; the new one opens at once.
async fn shutdown_with_an_upload_in_flight(old_arrives_first: bool) {
    let world = World::default();
    let a = world.open().await;
    let topic = create(&a, "orders", 1, 1).await;
    let partition = at(&topic, 0);
    commit(&a, partition, one(value("before"))).await.unwrap();
    let gate = Gate::new();
    let script_gate = gate.clone();
    let mut first = true;
    world.store.set_script(move |r: &Request<'_>| {
        let hold = is_segment_put(r) && std::mem::take(&mut first);
        if hold { Fault::none().held(&script_gate).detached() } else { Fault::none() }
    });
    let appended = a.append(partition, one(value("in flight"))).await.unwrap();
    let mut closing = tokio::spawn({
        let a = a.clone();
        async move { a.close().await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    if old_arrives_first {
        gate.open();
        (&mut closing).await.unwrap().unwrap();
        appended.committed.wait().await.unwrap();
    }
    let b = world.open().await;
    let offset = commit(&b, partition, one(value("after"))).await.unwrap();
    gate.open();
    let read = read_values(&b, partition).await.unwrap();
    if old_arrives_first {
        assert_eq!(read, [(0, value("before")), (1, value("in flight")), (2, value("after"))].into());
    } else {
        assert!(closing.await.unwrap().is_err(), "closing cannot claim that all was stored");
        assert_eq!(offset, 1);
        assert_eq!(read, [(0, value("before")), (1, value("after"))].into());
    }
    let reread = read_values(&world.open().await, partition).await.unwrap();
    assert_eq!(reread, read, "the log is one, whoever reads it");
}

#[tokio::test(start_paused = true)]
async fn an_upload_in_flight_at_shutdown_completes_before_the_lead_moves() {
    shutdown_with_an_upload_in_flight(true).await;
}

#[tokio::test(start_paused = true)]
async fn an_upload_in_flight_at_shutdown_is_fenced_if_it_comes_too_late() {
    shutdown_with_an_upload_in_flight(false).await;
}

#[tokio::test(start_paused = true)]
async fn callers_share_one_opening_and_leaving_does_not_stop_it() {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 4, 1).await;
    let fences = world.log_objects().len();
    world.store.set_script(|_: &Request<'_>| Fault::none().before(Duration::from_millis(50)));
    let callers: Vec<_> = (0..4)
        .flat_map(|p| [p; 8])
        .map(|p| {
            let (host, partition) = (host.clone(), at(&topic, p));
            tokio::spawn(async move { host.offsets(partition).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(20)).await;
    for caller in &callers[1..] {
        caller.abort();
    }
    for (i, caller) in callers.into_iter().enumerate() {
        let outcome = caller.await;
        assert_eq!(outcome.is_ok(), i == 0);
    }
    assert_eq!(world.log_objects().len(), fences + 1, "one opening, one fence");
    until("the lane is open", || !host.open_partitions().is_empty()).await;
    assert_eq!(host.open_partitions().len(), 4);
    assert_eq!(world.log_objects().len(), fences + 1);
}
