//! The store refuses, hangs, loses replies or is full: appends wait or fail with what to do, reads go on, and
//! all heals by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tidegate::ErrorKind;
use tidegate::env;
use tidegate::segment::FENCE_LEN;
use tidegate::store::{Fault, Operation, Request, StoreError, StoreErrorKind};
use tidegate_tests::records::one;
use tidegate_tests::world::{World, at, commit, create, is_manifest_put, is_segment_put, read_values, value};

#[tokio::test(start_paused = true)]
async fn an_upload_that_never_answers_holds_back_later_acks_but_not_their_uploads() {
    let world = World::with(|s| {
        s.topic_defaults.max_age_ms = 10;
        s.host.upload_deadline_ms = 5_000;
    });
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    let partition = at(&topic, 0);
    commit(&host, partition, one(value("before"))).await.unwrap();
    let stuck = Arc::new(AtomicBool::new(true));
    let script = stuck.clone();
    let mut victim = None;
    world.store.set_script(move |r: &Request<'_>| {
        if !is_segment_put(r) {
            return Fault::none();
        }
        let key = victim.get_or_insert_with(|| r.key.to_owned());
        if key == r.key && script.load(Ordering::SeqCst) { Fault::hang() } else { Fault::none() }
    });
    let began = env::now();
    let first = host.append(partition, one(value("stuck"))).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let second = host.append(partition, one(value("behind"))).await.unwrap();
    let second = tokio::spawn(second.committed.wait());
    assert_eq!(first.committed.wait().await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert!(began.elapsed() < Duration::from_secs(8), "told after {:?}", began.elapsed());
    assert_eq!(world.segments().len(), 2, "the later segment was uploaded meanwhile");
    assert_eq!(host.offsets(partition).await.unwrap().high_watermark, 1, "and nothing of it is readable");

    stuck.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(60)).await;
    // The waiter of the second may have been told the same; what matters is that it was not acknowledged early.
    if let Err(error) = second.await.unwrap() {
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    }
    let expected = [(0, value("before")), (1, value("stuck")), (2, value("behind"))];
    assert_eq!(read_values(&host, partition).await.unwrap(), expected.clone().into());
    assert_eq!(commit(&host, partition, one(value("after"))).await.unwrap(), 3);
    assert_eq!(read_values(&world.open().await, partition).await.unwrap().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn one_failed_request_on_an_idle_host_is_healed_by_the_next() {
    let world = World::with(|s| s.topic_defaults.max_age_ms = 10);
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    let partition = at(&topic, 0);
    commit(&host, partition, one(value("cached"))).await.unwrap();
    let mut failed = false;
    world.store.set_script(move |r: &Request<'_>| {
        let fail = is_segment_put(r) && !std::mem::replace(&mut failed, true);
        if fail { Fault::fail(StoreErrorKind::Unavailable) } else { Fault::none() }
    });
    let began = env::now();
    let appended = host.append(partition, one(value("refused once"))).await.unwrap();
    let reads = world.store.requests(Operation::Get);
    assert_eq!(read_values(&host, partition).await.unwrap(), [(0, value("cached"))].into());
    assert_eq!(world.store.requests(Operation::Get), reads, "a cached read asks nobody");
    appended.committed.wait().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "healed after {:?}", began.elapsed());
    tokio::time::sleep(Duration::from_secs(600)).await;
    let began = env::now();
    commit(&host, partition, one(value("after the silence"))).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(1));
}

/// Enough flushes for several checkpoints while manifests meet `fault`, then all is well again.
async fn checkpoints_meet(fault: impl Fn() -> Fault + Send + 'static) {
    let world = World::with(|s| s.host.upload_deadline_ms = 2_000);
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    let partition = at(&topic, 0);
    host.offsets(partition).await.unwrap();
    let refused = Arc::new(AtomicU32::new(0));
    let count = refused.clone();
    world.store.set_script(move |r: &Request<'_>| {
        let hit = is_manifest_put(r) && count.fetch_add(1, Ordering::SeqCst) < 3;
        if hit { fault() } else { Fault::none() }
    });
    let mut watermark = 0;
    for i in 0..40 {
        commit(&host, partition, one(value(i))).await.unwrap();
        let now = host.offsets(partition).await.unwrap().high_watermark;
        assert!(now > watermark, "the high watermark stands still or goes back");
        watermark = now;
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(commit(&host, partition, one(value(40))).await.unwrap(), 40, "nobody was fenced");
    assert!(refused.load(Ordering::SeqCst) > 0, "no checkpoint met the fault");
    host.close().await.unwrap();
    let expected = (0..41).map(|i| (i, value(i))).collect();
    assert_eq!(read_values(&world.open().await, partition).await.unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_refused_checkpoint_holds_nothing_back() {
    checkpoints_meet(|| Fault::fail(StoreErrorKind::Unavailable)).await;
}

#[tokio::test(start_paused = true)]
async fn a_hanging_checkpoint_holds_nothing_back() {
    checkpoints_meet(Fault::hang).await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_to_ones_own_checkpoint_fences_nobody() {
    checkpoints_meet(Fault::lost_reply).await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_to_ones_own_segment_fences_nobody() {
    let world = World::default();
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    let partition = at(&topic, 0);
    commit(&host, partition, one(value(0))).await.unwrap();
    world.store.set_script(|r: &Request<'_>| if is_segment_put(r) && r.attempt == 1 { Fault::lost_reply() } else { Fault::none() });
    for i in 1..5 {
        assert_eq!(commit(&host, partition, one(value(i))).await.unwrap(), i);
    }
    assert_eq!(read_values(&host, partition).await.unwrap().len(), 5, "nothing is there twice");
}

#[tokio::test(start_paused = true)]
async fn a_full_store_refuses_writes_serves_reads_and_recovers_alone() {
    let world = World::with(|s| {
        s.host.upload_deadline_ms = 2_000;
        s.host.append_timeout_ms = 1_000;
        s.host.buffer_bytes = 1 << 20;
        s.topic_defaults.max_age_ms = 10;
        s.topic_defaults.max_batch_bytes = 64 << 10;
    });
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    let partition = at(&topic, 0);
    commit(&host, partition, one(value("before"))).await.unwrap();
    let full = Arc::new(AtomicBool::new(true));
    let script = full.clone();
    world.store.set_script(move |r: &Request<'_>| {
        let refuse = r.operation == Operation::Put && script.load(Ordering::SeqCst);
        if refuse { Fault::fail(StoreErrorKind::Full) } else { Fault::none() }
    });
    let mut acked = vec![(0, value("before"))];
    for i in 0..10 {
        match commit(&host, partition, one(value(i))).await {
            Ok(offset) => acked.push((offset, value(i))),
            Err(e) => assert!(matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::OutcomeUnknown | ErrorKind::Busy), "{e:?}"),
        }
        assert_eq!(read_values(&host, partition).await.unwrap(), [(0, value("before"))].into(), "reads go on");
    }
    assert_eq!(acked.len(), 1, "nothing is acknowledged that is not stored");
    let asked = world.store.requests(Operation::Put);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let tries = world.store.requests(Operation::Put) - asked;
    assert!(tries < 600, "{tries} attempts in a minute is a storm");

    full.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let offset = commit(&host, partition, one(value("room again"))).await.unwrap();
    acked.push((offset, value("room again")));
    let read = read_values(&world.open().await, partition).await.unwrap();
    for (offset, value) in acked {
        assert_eq!(read.get(&offset), Some(&value));
    }
    assert_eq!(read.keys().copied().collect::<Vec<_>>(), (0..read.len() as i64).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn room_can_be_made_in_a_store_that_has_none_for_segments() {
    let world = World::with(|s| {
        s.host.retention_interval_ms = 1_000;
        s.host.delete_grace_ms = 1_000;
        s.topic_defaults.max_age_ms = 10;
    });
    let host = world.open().await;
    let (topic, other) = (create(&host, "orders", 1, 1).await, create(&host, "other", 1, 1).await);
    let partition = at(&topic, 0);
    for i in 0..5 {
        commit(&host, partition, one(value(i))).await.unwrap();
        commit(&host, at(&other, 0), one(value(i))).await.unwrap();
    }
    world.store.set_full(true);
    let began = env::now();
    let refused = commit(&host, partition, one(value("waits"))).await.unwrap_err();
    assert_eq!((refused.kind(), refused.cause().map(|e: &StoreError| e.kind)), (ErrorKind::OutcomeUnknown, Some(StoreErrorKind::Full)));
    assert!(began.elapsed() < Duration::from_secs(1), "told after {:?}", began.elapsed());

    let refused = commit(&host, partition, one(value("is not taken"))).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unavailable, "sent again and again, it would be there as often");

    let segments = || world.store.snapshot().iter().filter(|(key, bytes)| key.contains("/log/") && bytes.len() as u64 > FENCE_LEN).count();
    assert_eq!(segments(), 10);
    assert_eq!(host.trim(partition, 5).await.unwrap(), 5);
    host.delete_topic(&other.name).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(segments(), 0, "what was trimmed and what was deleted is gone");
    assert!(world.open().await.topic(&topic.name).await.unwrap().is_some(), "a host starts");

    world.store.set_full(false);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(read_values(&host, partition).await.unwrap(), [(5, value("waits"))].into());
}
