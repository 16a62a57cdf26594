//! Produce requests: the record sets are cut out of the frame they came in, without a copy.
//!
//! A frame is one allocation. It is decoded while shared, the decoded request is dropped, and the frame,
//! ours alone again, is split where the record sets lie; each becomes a buffer that the host patches in place.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::ProduceRequest;
use kafka_protocol::messages::produce_request::TopicProduceData;
use kafka_protocol::protocol::Decodable;
use uuid::Uuid;

use super::reader::Malformed;
use super::schema::PRODUCE;

/// A produce request that owns its record sets.
#[derive(Debug)]
pub(crate) struct Produce {
    pub(crate) transactional: bool,
    pub(crate) acks: i16,
    pub(crate) timeout_ms: i32,
    pub(crate) topics: Vec<TopicRecords>,
}

/// What it holds for one topic, by name or, from version 13 on, by id.
#[derive(Debug)]
pub(crate) struct TopicRecords {
    pub(crate) name: String,
    pub(crate) id: Uuid,
    pub(crate) partitions: Vec<PartitionRecords>,
}

/// A record set and the partition it is for.
#[derive(Debug)]
pub(crate) struct PartitionRecords {
    pub(crate) partition: i32,
    /// Empty for a null record set.
    pub(crate) records: BytesMut,
}

impl Produce {
    /// Reads a request whose body starts at `body` of its frame.
    pub(crate) fn read(frame: BytesMut, body: usize, version: i16) -> Result<Self, Malformed> {
        let sets = PRODUCE.check(&frame[body..], version)?;
        let frame = frame.freeze();
        let mut request = decode(frame.slice(body..), version)?;
        let frame = frame.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
        let mut cut = cut(frame, body, &sets).into_iter();
        for partition in request.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
            partition.records = cut.next().flatten().unwrap_or_default();
        }
        Ok(request)
    }
}

/// Decodes everything but the records, keeping nothing of the frame.
fn decode(mut body: Bytes, version: i16) -> Result<Produce, Malformed> {
    let request = ProduceRequest::decode(&mut body, version).map_err(|error| Malformed::Codec(error.to_string()))?;
    Ok(Produce {
        transactional: request.transactional_id.is_some(),
        acks: request.acks,
        timeout_ms: request.timeout_ms,
        topics: request.topic_data.iter().map(topic).collect(),
    })
}

fn topic(topic: &TopicProduceData) -> TopicRecords {
    let partitions = topic.partition_data.iter().map(|data| PartitionRecords { partition: data.index, records: BytesMut::new() });
    TopicRecords { name: topic.name.to_string(), id: topic.topic_id, partitions: partitions.collect() }
}

/// Splits the ranges, which ascend and are relative to `body`, off the frame.
fn cut(mut frame: BytesMut, body: usize, sets: &[Option<Range<usize>>]) -> Vec<Option<BytesMut>> {
    let mut cut: Vec<_> = sets
        .iter()
        .rev()
        .map(|set| {
            let set = set.as_ref()?;
            frame.truncate(body + set.end);
            Some(frame.split_off(body + set.start))
        })
        .collect();
    cut.reverse();
    cut
}

#[cfg(test)]
mod tests {
    use kafka_protocol::messages::produce_request::PartitionProduceData;
    use kafka_protocol::protocol::{Encodable, StrBytes};

    use super::*;

    fn request(version: i16) -> ProduceRequest {
        let partition = |index, records| PartitionProduceData::default().with_index(index).with_records(records);
        let topic = |name: &'static str, id, partitions| {
            let data = TopicProduceData::default().with_partition_data(partitions);
            if version >= 13 { data.with_topic_id(Uuid::from_u128(id)) } else { data.with_name(StrBytes::from_static_str(name).into()) }
        };
        let one = vec![partition(0, Some(vec![1; 500].into())), partition(3, None), partition(1, Some(Bytes::new()))];
        let two = vec![partition(7, Some(vec![2; 70_000].into()))];
        ProduceRequest::default().with_acks(-1).with_timeout_ms(5).with_topic_data(vec![topic("one", 1, one), topic("two", 2, two)])
    }

    fn frame(version: i16) -> BytesMut {
        let mut frame = BytesMut::from(&b"header"[..]);
        request(version).encode(&mut frame, version).unwrap();
        frame
    }

    #[test]
    fn every_version_gives_each_partition_its_records() {
        for version in 3..=13 {
            let produce = Produce::read(frame(version), 6, version).unwrap();
            let sets: Vec<_> = produce.topics.iter().flat_map(|t| &t.partitions).map(|p| (p.partition, p.records.to_vec())).collect();
            assert_eq!(sets, [(0, vec![1; 500]), (3, vec![]), (1, vec![]), (7, vec![2; 70_000])], "version {version}");
            let names: Vec<_> = produce.topics.iter().map(|t| (t.name.as_str(), t.id.as_u128())).collect();
            assert_eq!(names, if version >= 13 { [("", 1), ("", 2)] } else { [("one", 0), ("two", 0)] });
        }
    }

    #[test]
    fn records_stay_where_the_socket_put_them() {
        for version in 3..=13 {
            let frame = frame(version);
            let addresses = frame.as_ptr_range();
            let first = frame.windows(500).position(|window| window == [1; 500]).unwrap();
            let second = frame.windows(70_000).position(|window| window == [2; 70_000]).unwrap();
            let mut produce = Produce::read(frame, 6, version).unwrap();
            let one = produce.topics[0].partitions.remove(0).records;
            let two = produce.topics[1].partitions.remove(0).records;
            assert_eq!(one.as_ptr() as usize - addresses.start as usize, first, "version {version}");
            assert_eq!(two.as_ptr() as usize - addresses.start as usize, second, "version {version}");
            assert_eq!(two.freeze().as_ptr() as usize - addresses.start as usize, second, "frozen, version {version}");
        }
    }
}
