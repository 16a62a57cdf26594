//! Produce.

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{ProduceRequest, ProduceResponse, TransactionalId};
use kafka_protocol::protocol::StrBytes;
use tidegate_tests::wire::{batch, changed, old_message, produce, seal};

use crate::seen::{Seen, codes};

pub fn read(response: ProduceResponse) -> String {
    codes(response.responses.iter().flat_map(|topic| &topic.partition_responses).map(|partition| partition.error_code))
}

pub async fn cases(seen: &mut Seen) -> anyhow::Result<()> {
    record_sets(seen).await?;
    places(seen).await?;
    requests(seen).await
}

async fn record_sets(seen: &mut Seen) -> anyhow::Result<()> {
    let mut wrong_crc = batch(&[b"a"]);
    wrong_crc[17] ^= 1;
    let mut two = batch(&[b"a"]);
    two.extend_from_slice(&batch(&[b"b"]));
    let mut trailing = batch(&[b"a"]);
    trailing.put_slice(&[0; 7]);
    let sets: [(&str, BytesMut); 22] = [
        ("a good batch", batch(&[b"a"])),
        ("wrong crc", wrong_crc),
        ("two batches in a set", two),
        ("empty set", BytesMut::new()),
        ("trailing bytes", trailing),
        ("magic 0", old_message(0, 0)),
        ("magic 1", old_message(1, 0)),
        ("magic 3", changed(16, &[3])),
        ("magic -1", changed(16, &[0xff])),
        ("last offset delta below 0", changed(23, &(-1i32).to_be_bytes())),
        ("last offset delta too large", changed(23, &5i32.to_be_bytes())),
        ("record count 7 of 2", changed(57, &7i32.to_be_bytes())),
        ("record count 0", changed(57, &0i32.to_be_bytes())),
        ("record count -1", changed(57, &(-1i32).to_be_bytes())),
        ("batch length beyond the set", changed(8, &9_999i32.to_be_bytes())),
        ("batch length 0", changed(8, &0i32.to_be_bytes())),
        ("batch length -1", changed(8, &(-1i32).to_be_bytes())),
        ("cut short in the header", BytesMut::from(&batch(&[b"abcdef"])[..40])),
        ("cut short in a record", BytesMut::from(&batch(&[b"abcdef"])[..65])),
        ("no batch at all", BytesMut::from(&b"hello"[..])),
        ("larger than allowed", batch(&[&vec![0; 2 << 20]])),
        ("base offset 77", changed(0, &77i64.to_be_bytes())),
    ];
    let topic = seen.topic.clone();
    for (what, records) in sets {
        seen.ask(&format!("produce: {what}"), 9, &produce(&topic, vec![(1, records.freeze())]), read).await?;
    }
    for (what, attributes) in [
        ("codec 7", 7u16),
        ("a gzip batch that is none", 1),
        ("control", 1 << 5),
        ("transactional", 1 << 4),
        ("unknown attributes", 1 << 14),
    ] {
        seen.ask(&format!("produce: {what}"), 9, &produce(&topic, vec![(1, changed(21, &attributes.to_be_bytes()).freeze())]), read)
            .await?;
    }
    let far: i64 = 1 << 50;
    let mut future = changed(27, &far.to_be_bytes());
    future[35..43].copy_from_slice(&far.to_be_bytes());
    seal(&mut future);
    seen.ask("produce: timestamps of the far future", 9, &produce(&topic, vec![(1, future.freeze())]), read).await
}

async fn places(seen: &mut Seen) -> anyhow::Result<()> {
    let (topic, good) = (seen.topic.clone(), batch(&[b"a"]).freeze());
    for partition in [2, -1, i32::MAX] {
        seen.ask(&format!("produce: partition {partition} of 2"), 9, &produce(&topic, vec![(partition, good.clone())]), read).await?;
    }
    let unknown = seen.fresh();
    seen.ask("produce: unknown topic", 9, &produce(&unknown, vec![(0, good.clone())]), read).await?;
    for (what, bad) in [("empty", ""), ("..", ".."), ("with a slash", "a/b"), ("of 250 characters", &*"x".repeat(250))] {
        seen.ask(&format!("produce: topic name {what}"), 9, &produce(bad, vec![(0, good.clone())]), read).await?;
    }
    let by_id = |id| {
        let data = PartitionProduceData::default().with_index(1).with_records(Some(good.clone()));
        let topic = TopicProduceData::default().with_topic_id(id).with_partition_data(vec![data]);
        ProduceRequest::default().with_acks(-1).with_timeout_ms(30_000).with_topic_data(vec![topic])
    };
    let stranger = tidegate::env::Env::system().uuid();
    seen.ask("produce: topic by id", 13, &by_id(seen.id.0), read).await?;
    seen.ask("produce: unknown topic id", 13, &by_id(stranger), read).await?;
    seen.ask("produce: topic id of zeros", 13, &by_id(Default::default()), read).await?;
    let mixed = produce(&topic, vec![(1, good.clone()), (9, good)]);
    seen.ask("produce: one partition of two is not there", 9, &mixed, read).await
}

async fn requests(seen: &mut Seen) -> anyhow::Result<()> {
    let topic = seen.topic.clone();
    let good = || produce(&topic, vec![(1, batch(&[b"a"]).freeze())]);
    for acks in [2, -2, i16::MAX] {
        seen.ask(&format!("produce: acks {acks}"), 9, &good().with_acks(acks), read).await?;
    }
    seen.ask("produce: acks 1", 9, &good().with_acks(1), read).await?;
    seen.ask("produce: time-out -1", 9, &good().with_timeout_ms(-1).with_acks(1), read).await?;
    let id = TransactionalId(StrBytes::from_string(seen.fresh()));
    seen.ask("produce: with a transactional id", 9, &good().with_transactional_id(Some(id)), read).await?;
    seen.ask("produce: no topics", 9, &produce(&topic, vec![]).with_topic_data(vec![]), read).await?;
    seen.ask("produce: no partitions", 9, &produce(&topic, vec![]), read).await?;
    let data = PartitionProduceData::default().with_index(1).with_records(None);
    let mut null = produce(&topic, vec![]);
    null.topic_data[0].partition_data = vec![data];
    seen.ask("produce: null set", 9, &null, read).await?;
    let bytes: Bytes = batch(&[b"a"]).freeze();
    seen.ask("produce: version 3", 3, &produce(&topic, vec![(1, bytes)]), read).await
}
