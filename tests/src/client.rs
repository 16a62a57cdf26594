//! A small Kafka client that knows exactly what was acknowledged, and at which offset.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{ApiKey, ProduceRequest, ProduceResponse, RequestHeader, ResponseHeader, TopicName};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use tidegate::env::Env;
use tidegate::record::testing::{TestRecord, batch_of};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The last version of Produce that names topics in the old, simple encoding.
const PRODUCE_VERSION: i16 = 8;
/// Longest answer, in bytes.
const MAX_ANSWER: usize = 1 << 20;
/// How long an answer may take before the test gives up: no measure of anything.
const PATIENCE: Duration = Duration::from_secs(120);

/// One connection.
pub struct KafkaClient {
    stream: TcpStream,
    correlation_id: i32,
}

impl KafkaClient {
    /// Connects.
    pub async fn connect(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, correlation_id: 0 })
    }

    /// Appends one batch of these values, of now, with acks=all, without a retry; the base offset that was acknowledged.
    pub async fn produce(&mut self, topic: &str, partition: i32, values: &[String]) -> Result<i64> {
        let timestamp = Env::system().unix_ms();
        let record = |value: &String| TestRecord { timestamp, key: None, value: Some(value.clone().into_bytes()) };
        let records = batch_of(values.iter().map(record).collect()).build().freeze();
        let data = PartitionProduceData::default().with_index(partition).with_records(Some(records));
        let name = TopicName(StrBytes::from_string(topic.to_owned()));
        let topic_data = TopicProduceData::default().with_name(name).with_partition_data(vec![data]);
        let request = ProduceRequest::default().with_acks(-1).with_timeout_ms(60_000).with_topic_data(vec![topic_data]);
        let mut answer = self.ask(ApiKey::Produce, PRODUCE_VERSION, &request).await?;
        let response = ProduceResponse::decode(&mut answer, PRODUCE_VERSION)?;
        let partition = response.responses.first().and_then(|topic| topic.partition_responses.first()).context("an empty answer")?;
        ensure!(partition.error_code == 0, "refused with error {}: {:?}", partition.error_code, partition.error_message);
        Ok(partition.base_offset)
    }

    async fn ask(&mut self, api: ApiKey, version: i16, request: &impl Encodable) -> Result<Bytes> {
        self.correlation_id += 1;
        let header = RequestHeader::default()
            .with_request_api_key(api as i16)
            .with_request_api_version(version)
            .with_correlation_id(self.correlation_id)
            .with_client_id(Some(StrBytes::from_static_str("tidegate-tests")));
        let mut frame = BytesMut::from(&[0; 4][..]);
        header.encode(&mut frame, api.request_header_version(version))?;
        request.encode(&mut frame, version)?;
        let len = u32::try_from(frame.len() - 4)?;
        frame[..4].copy_from_slice(&len.to_be_bytes());
        timeout(PATIENCE, self.exchange(&frame, api.response_header_version(version))).await.context("no answer")?
    }

    async fn exchange(&mut self, frame: &[u8], header_version: i16) -> Result<Bytes> {
        self.stream.write_all(frame).await?;
        let len = self.stream.read_u32().await? as usize;
        if len > MAX_ANSWER {
            bail!("an answer of {len} bytes");
        }
        let mut answer = vec![0; len];
        self.stream.read_exact(&mut answer).await?;
        let mut answer = Bytes::from(answer);
        let header = ResponseHeader::decode(&mut answer, header_version)?;
        ensure!(header.correlation_id == self.correlation_id, "the answer of another request");
        Ok(answer)
    }
}
