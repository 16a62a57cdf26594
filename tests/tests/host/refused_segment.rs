//! A segment's upload is refused once while producers wait: nothing acknowledged is lost, nothing is reordered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tidegate::store::{Fault, Request, StoreErrorKind};
use tidegate_tests::records::one;
use tidegate_tests::world::{World, at, create, is_segment_put, read_values, value};

const PRODUCERS: usize = 16;
const BATCHES: usize = 20;

#[tokio::test(start_paused = true)]
async fn acked_records_outlive_a_refused_segment() {
    let world = World::default();
    let mut segments = 0;
    world.store.set_script(move |r: &Request<'_>| {
        segments += usize::from(is_segment_put(r));
        let fault = if is_segment_put(r) && segments == 2 { Fault::fail(StoreErrorKind::Unavailable) } else { Fault::none() };
        fault.before(Duration::from_millis(5))
    });
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    let partition = at(&topic, 0);
    let acked = Arc::new(Mutex::new(BTreeMap::new()));
    let producers = (0..PRODUCERS).map(|producer| {
        let (host, acked) = (host.clone(), acked.clone());
        tokio::spawn(async move {
            for i in 0..BATCHES {
                let value = value(format!("{producer}/{i}"));
                let Ok(appended) = host.append(partition, one(&value)).await else { continue };
                if appended.committed.wait().await.is_ok() {
                    let watermark = host.offsets(partition).await.unwrap().high_watermark;
                    assert!(watermark > appended.base_offset, "acked above the high watermark");
                    assert!(acked.lock().insert(appended.base_offset, value).is_none(), "an offset was given twice");
                }
            }
        })
    });
    for producer in producers.collect::<Vec<_>>() {
        producer.await.unwrap();
    }
    let read = read_values(&host, partition).await.unwrap();
    assert_eq!(read.keys().copied().collect::<Vec<_>>(), (0..read.len() as i64).collect::<Vec<_>>(), "a hole in the log");
    let acked = acked.lock();
    assert!(acked.len() > PRODUCERS * BATCHES / 2, "most appends succeed: {}", acked.len());
    for (offset, value) in acked.iter() {
        assert_eq!(read.get(offset), Some(value), "acked record {offset}");
    }
}

#[tokio::test(start_paused = true)]
async fn acks_come_in_order_however_the_uploads_finish() {
    let world = World::default();
    let mut segments = 0;
    world.store.set_script(move |r: &Request<'_>| {
        segments += u64::from(is_segment_put(r));
        // The first upload takes longest, the last one shortest.
        Fault::none().before(Duration::from_millis(if is_segment_put(r) { 1_000 / segments.max(1) } else { 1 }))
    });
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    let partition = at(&topic, 0);
    let acked = Arc::new(Mutex::new(Vec::new()));
    let mut waiters = Vec::new();
    for i in 0..6 {
        let appended = host.append(partition, one(value(i))).await.unwrap();
        let acked = acked.clone();
        waiters.push(tokio::spawn(async move {
            appended.committed.wait().await.unwrap();
            acked.lock().push(i);
        }));
        let flushing = host.clone();
        waiters.push(tokio::spawn(async move { flushing.flush(partition).await.unwrap() }));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    for waiter in waiters {
        waiter.await.unwrap();
    }
    assert_eq!(*acked.lock(), (0..6).collect::<Vec<_>>());
    assert!(world.segments().len() > 1, "several uploads were in flight");
}
