//! Fetch answers, encoded around the records: the batches go out as the cache holds them.
//!
//! The message is `FetchResponse` of the Kafka protocol guide, versions 4 to 18. Nothing is transactional (the last
//! stable offset is the high watermark, whatever the isolation level), and an empty record set is written as
//! empty, not null, which some clients cannot read.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use uuid::Uuid;

/// First version with topic ids instead of names.
pub(crate) const TOPIC_IDS: i16 = 13;
const FLEXIBLE: i16 = 12;

/// A fetch answer.
#[derive(Debug, Default)]
pub(crate) struct FetchAnswer {
    /// Error of the whole request, from version 7 on.
    pub(crate) error: i16,
    /// The session, from version 7 on; 0: none.
    pub(crate) session_id: i32,
    pub(crate) topics: Vec<TopicAnswer>,
}

/// One topic of it, by name or, from version 13 on, by id.
#[derive(Debug)]
pub(crate) struct TopicAnswer {
    pub(crate) name: Arc<str>,
    pub(crate) id: Uuid,
    pub(crate) partitions: Vec<PartitionAnswer>,
}

/// One partition of it.
#[derive(Debug)]
pub(crate) struct PartitionAnswer {
    pub(crate) partition: i32,
    pub(crate) error: i16,
    pub(crate) high_watermark: i64,
    pub(crate) log_start: i64,
    /// Whole batches.
    pub(crate) records: Vec<Bytes>,
}

impl FetchAnswer {
    /// The body's pieces: the records are shared, only what lies between them is written anew.
    pub(crate) fn encode(self, version: i16) -> Vec<Bytes> {
        let mut out = Pieces { flexible: version >= FLEXIBLE, done: Vec::new(), current: BytesMut::with_capacity(256) };
        out.current.put_i32(0);
        if version >= 7 {
            out.current.put_i16(self.error);
            out.current.put_i32(self.session_id);
        }
        out.count(self.topics.len());
        for topic in self.topics {
            topic.encode(version, &mut out);
        }
        out.no_tags();
        out.finish()
    }
}

impl TopicAnswer {
    fn encode(self, version: i16, out: &mut Pieces) {
        if version >= TOPIC_IDS {
            out.current.put_slice(self.id.as_bytes());
        } else {
            out.text(&self.name);
        }
        out.count(self.partitions.len());
        for partition in self.partitions {
            partition.encode(version, out);
        }
        out.no_tags();
    }
}

impl PartitionAnswer {
    /// A partition without records: there are none, or an error is in the way.
    pub(crate) fn empty(partition: i32, error: i16, high_watermark: i64, log_start: i64) -> Self {
        Self { partition, error, high_watermark, log_start, records: Vec::new() }
    }

    /// Whether records come with it.
    pub(crate) fn has_records(&self) -> bool {
        self.records.iter().any(|chunk| !chunk.is_empty())
    }

    fn record_bytes(&self) -> usize {
        self.records.iter().map(Bytes::len).sum()
    }

    fn encode(self, version: i16, out: &mut Pieces) {
        out.current.put_i32(self.partition);
        out.current.put_i16(self.error);
        out.current.put_i64(self.high_watermark);
        out.current.put_i64(self.high_watermark);
        if version >= 5 {
            out.current.put_i64(self.log_start);
        }
        out.count(0);
        if version >= 11 {
            out.current.put_i32(-1);
        }
        out.byte_length(self.record_bytes());
        for chunk in self.records {
            out.share(chunk);
        }
        out.no_tags();
    }
}

/// Pieces under construction.
struct Pieces {
    flexible: bool,
    done: Vec<Bytes>,
    current: BytesMut,
}

impl Pieces {
    /// Length of an array.
    fn count(&mut self, len: usize) {
        self.byte_length(len);
    }

    fn byte_length(&mut self, len: usize) {
        if self.flexible { self.varint(len as u64 + 1) } else { self.current.put_i32(len as i32) }
    }

    fn text(&mut self, text: &str) {
        if self.flexible {
            self.varint(text.len() as u64 + 1)
        } else {
            self.current.put_i16(text.len() as i16)
        }
        self.current.put_slice(text.as_bytes());
    }

    fn no_tags(&mut self) {
        if self.flexible {
            self.current.put_u8(0);
        }
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.current.put_u8(value as u8 | 0x80);
            value >>= 7;
        }
        self.current.put_u8(value as u8);
    }

    fn share(&mut self, chunk: Bytes) {
        if !self.current.is_empty() {
            self.done.push(self.current.split().freeze());
        }
        self.done.push(chunk);
    }

    fn finish(mut self) -> Vec<Bytes> {
        self.done.push(self.current.freeze());
        self.done
    }
}

#[cfg(test)]
mod tests {
    use kafka_protocol::messages::FetchResponse;
    use kafka_protocol::messages::fetch_response::{FetchableTopicResponse, PartitionData};
    use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};

    use super::*;

    fn partition(number: i32, error: i16, records: &[&'static [u8]]) -> PartitionAnswer {
        let records = records.iter().map(|chunk| Bytes::from_static(chunk)).collect();
        PartitionAnswer { partition: number, error, high_watermark: 77, log_start: 3, records }
    }

    fn answer() -> FetchAnswer {
        let long: &'static [u8] = &[7; 300];
        let one = vec![partition(0, 0, &[b"first", long]), partition(1, 0, &[]), partition(2, 1, &[])];
        let two = vec![partition(9, 0, &[long])];
        let topic = |name: &str, id, partitions| TopicAnswer { name: name.into(), id: Uuid::from_u128(id), partitions };
        FetchAnswer { error: 0, session_id: 0x01020304, topics: vec![topic("one", 1, one), topic("two", 2, two), topic("none", 3, vec![])] }
    }

    /// The same answer by the codec's own types.
    fn expected(version: i16) -> FetchResponse {
        let topics = answer().topics.into_iter().map(|topic| {
            let partitions = topic.partitions.into_iter().map(|p| {
                PartitionData::default()
                    .with_partition_index(p.partition)
                    .with_error_code(p.error)
                    .with_high_watermark(p.high_watermark)
                    .with_last_stable_offset(p.high_watermark)
                    .with_log_start_offset(if version >= 5 { p.log_start } else { -1 })
                    .with_aborted_transactions(Some(vec![]))
                    .with_records(Some(p.records.concat().into()))
            });
            let named = FetchableTopicResponse::default().with_partitions(partitions.collect());
            if version >= TOPIC_IDS {
                named.with_topic_id(topic.id)
            } else {
                named.with_topic(StrBytes::from_string(topic.name.to_string()).into())
            }
        });
        let response = FetchResponse::default().with_responses(topics.collect());
        if version >= 7 { response.with_session_id(0x01020304) } else { response }
    }

    #[test]
    fn every_version_is_what_the_codec_writes_and_reads() {
        for version in 4..=18 {
            let ours: Vec<u8> = answer().encode(version).concat();
            let mut theirs = BytesMut::new();
            expected(version).encode(&mut theirs, version).unwrap();
            assert_eq!(ours, theirs, "version {version}");
            let mut bytes = Bytes::from(ours);
            assert_eq!(FetchResponse::decode(&mut bytes, version).unwrap(), expected(version), "version {version}");
            assert!(bytes.is_empty());
        }
    }

    #[test]
    fn records_are_shared_not_copied() {
        let chunk = Bytes::from(vec![5; 1000]);
        let mut answer = answer();
        answer.topics[0].partitions[0].records = vec![chunk.clone()];
        let pieces = answer.encode(12);
        assert!(pieces.iter().any(|piece| piece.as_ptr() == chunk.as_ptr() && piece.len() == chunk.len()));
    }
}
