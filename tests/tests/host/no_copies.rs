//! A batch is not copied on its way from the append to the upload.

use bytes::BytesMut;
use tidegate_tests::records::one;
use tidegate_tests::stores::Watched;
use tidegate_tests::world::{World, at, create, is_log_key, value};

#[tokio::test(start_paused = true)]
async fn uploaded_chunks_are_the_appended_buffers() {
    let world = World::with(|s| s.topic_defaults.max_age_ms = 60_000);
    let way = Watched::new(world.store.clone());
    let host = world.open_on(way.clone()).await;
    let topic = create(&host, "orders", 3, 1).await;
    let mut appended = Vec::new();
    for i in 0..12 {
        let records: BytesMut = one(value(i));
        let place = (records.as_ptr() as usize, records.len());
        appended.push(place);
        drop(host.append(at(&topic, i % 3), records).await.unwrap());
    }
    host.flush(at(&topic, 0)).await.unwrap();
    let uploads: Vec<_> = way.uploads().into_iter().filter(|(key, chunks)| is_log_key(key) && chunks.len() > 2).collect();
    assert_eq!(uploads.len(), 1);
    let chunks = &uploads[0].1;
    for place in &appended {
        assert!(chunks.contains(place), "the batch at {place:?} was copied: {chunks:?}");
    }
    let batch_bytes: usize = appended.iter().map(|(_, len)| len).sum();
    let other: usize = chunks.iter().map(|(_, len)| len).sum::<usize>() - batch_bytes;
    assert!(other < 4_096, "{other} bytes besides the batches");
}
