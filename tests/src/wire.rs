//! A broker on a memory store, and a Kafka client of a few lines that speaks every version.
//!
//! The client's side of the protocol is `kafka-protocol`'s own: what our answers mean is not for us to say.

use std::net::SocketAddr;
use std::ops::RangeInclusive;

use anyhow::{Context, ensure};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::produce_response::PartitionProduceResponse;
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, CreateTopicsRequest, FetchRequest, ProduceRequest, RequestHeader, ResponseHeader,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};
use tidegate::config::HostSettings;
use tidegate::store::MemoryStore;
use tidegate::{Settings, Storage};
use tidegate_broker::{Broker, BrokerSettings, ListenerSettings};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A broker that serves on a free port of this machine.
pub struct Running {
    /// Where.
    pub address: SocketAddr,
    /// All of them, in the order of the settings.
    pub addresses: Vec<SocketAddr>,
    /// What it serves.
    pub storage: Storage,
    /// Where its objects lie.
    pub store: MemoryStore,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    /// Starts one with defaults.
    pub async fn start() -> anyhow::Result<Self> {
        Self::with(Settings::default(), BrokerSettings::default()).await
    }

    /// Starts one; the listeners of the settings are replaced.
    pub async fn with(settings: Settings, mut broker: BrokerSettings) -> anyhow::Result<Self> {
        broker.listeners = vec![listener()];
        Self::on(MemoryStore::default(), settings, broker).await
    }

    /// Starts one with the listeners of the settings, on a store that others may use as well. Most records here are older than any
    /// retention (their timestamps begin at 0): unless the settings say when, none of its rounds comes while a test runs.
    pub async fn on(store: MemoryStore, mut settings: Settings, broker: BrokerSettings) -> anyhow::Result<Self> {
        let HostSettings { retention_interval_ms: unsaid, .. } = HostSettings::default();
        if settings.host.retention_interval_ms == unsaid {
            settings.host.retention_interval_ms = 24 * 60 * 60 * 1000;
        }
        let storage = Storage::builder(settings).store(std::sync::Arc::new(store.clone())).open().await?;
        let broker = Broker::bind(storage.clone(), broker).await?;
        let addresses = broker.addresses();
        let address = addresses[0];
        let stop = CancellationToken::new();
        let task = tokio::spawn(broker.run(stop.clone()));
        Ok(Self { address, addresses, storage, store, stop, task })
    }

    /// A client of it.
    pub async fn client(&self) -> anyhow::Result<Client> {
        Client::connect(self.address).await
    }

    /// Stops the broker, then the host.
    pub async fn stop(self) -> anyhow::Result<()> {
        self.stop.cancel();
        self.task.await?;
        self.storage.close().await?;
        Ok(())
    }
}

/// A listener on a free port of this machine.
pub fn listener() -> ListenerSettings {
    ListenerSettings { listen: ([127, 0, 0, 1], 0).into(), ..ListenerSettings::default() }
}

/// Bytes both ways.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// One connection.
pub struct Client {
    stream: Box<dyn Stream>,
    sent: i32,
    received: i32,
}

impl Client {
    /// Connects.
    pub async fn connect(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self::over(stream))
    }

    /// Speaks over what is connected already.
    pub fn over(stream: impl Stream + 'static) -> Self {
        Self { stream: Box::new(stream), sent: 0, received: 0 }
    }

    /// Sends bytes as they are.
    pub async fn send_raw(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        Ok(self.stream.write_all(bytes).await?)
    }

    /// Tells that no more is sent; answers can still come.
    pub async fn end(&mut self) -> anyhow::Result<()> {
        Ok(self.stream.shutdown().await?)
    }

    /// Sends a request without waiting for its answer.
    pub async fn send<R: Request>(&mut self, version: i16, request: &R) -> anyhow::Result<()> {
        self.sent += 1;
        let header = RequestHeader::default()
            .with_request_api_key(R::KEY)
            .with_request_api_version(version)
            .with_correlation_id(self.sent)
            .with_client_id(Some(StrBytes::from_static_str("test")));
        let mut frame = BytesMut::new();
        header.encode(&mut frame, R::header_version(version))?;
        request.encode(&mut frame, version)?;
        let mut bytes = BytesMut::with_capacity(4 + frame.len());
        bytes.put_u32(frame.len() as u32);
        bytes.extend_from_slice(&frame);
        self.send_raw(&bytes).await
    }

    /// The next answer's bytes, without their length.
    pub async fn receive_raw(&mut self) -> anyhow::Result<Bytes> {
        let len = self.stream.read_u32().await.context("no answer")?;
        let mut bytes = vec![0; len as usize];
        self.stream.read_exact(&mut bytes).await?;
        Ok(bytes.into())
    }

    /// The next answer's bytes, without their length, into room that is there already.
    pub async fn receive_into(&mut self, answer: &mut BytesMut) -> anyhow::Result<()> {
        let len = self.stream.read_u32().await.context("no answer")? as usize;
        ensure!(len <= answer.capacity(), "an answer of {len} bytes, there is room for {}", answer.capacity());
        answer.clear();
        answer.resize(len, 0);
        Ok(self.stream.read_exact(answer).await.map(|_| ())?)
    }

    /// The answer to the oldest request without one.
    pub async fn receive<R: Request>(&mut self, version: i16) -> anyhow::Result<R::Response> {
        let mut bytes = self.receive_raw().await?;
        self.received += 1;
        let header = ResponseHeader::decode(&mut bytes, R::Response::header_version(version))?;
        ensure!(header.correlation_id == self.received, "answer {} came in place of {}", header.correlation_id, self.received);
        let response = R::Response::decode(&mut bytes, version)?;
        ensure!(!bytes.has_remaining(), "{} bytes behind the answer", bytes.len());
        Ok(response)
    }

    /// Sends a request and waits for its answer.
    pub async fn call<R: Request>(&mut self, version: i16, request: &R) -> anyhow::Result<R::Response> {
        self.send(version, request).await?;
        self.receive::<R>(version).await
    }

    /// First and last version listed for an API.
    pub async fn listed(&mut self, api: ApiKey) -> anyhow::Result<RangeInclusive<i16>> {
        let response = self.call(0, &ApiVersionsRequest::default()).await?;
        let api = response.api_keys.iter().find(|listed| listed.api_key == api as i16).context("the API is not listed")?;
        Ok(api.min_version..=api.max_version)
    }

    /// Whether the broker closes the connection instead of sending more.
    pub async fn is_closed(&mut self) -> bool {
        !matches!(self.stream.read(&mut [0; 1]).await, Ok(1))
    }

    /// Creates a topic.
    pub async fn create(&mut self, topic: &str, partitions: i32) -> anyhow::Result<()> {
        let topic = CreatableTopic::default().with_name(name(topic)).with_num_partitions(partitions).with_replication_factor(1);
        let response = self.call(2, &CreateTopicsRequest::default().with_topics(vec![topic])).await?;
        ensure!(response.topics[0].error_code == 0, "topic not created: {response:?}");
        Ok(())
    }

    /// Produces to one partition with acks from all, and waits.
    pub async fn produce(&mut self, topic: &str, partition: i32, records: impl Into<Bytes>) -> anyhow::Result<PartitionProduceResponse> {
        let mut response = self.call(9, &produce(topic, vec![(partition, records.into())])).await?;
        Ok(response.responses.remove(0).partition_responses.remove(0))
    }

    /// Fetches from one partition, without waiting.
    pub async fn fetch(&mut self, topic: &str, partition: i32, offset: i64, max_bytes: i32) -> anyhow::Result<PartitionData> {
        let mut response = self.call(11, &fetch(topic, &[(partition, offset)], max_bytes, 0)).await?;
        Ok(response.responses.remove(0).partitions.remove(0))
    }
}

/// A topic's name as the codec wants it.
pub fn name(topic: &str) -> kafka_protocol::messages::TopicName {
    StrBytes::from_string(topic.to_owned()).into()
}

/// A produce request for partitions of a topic, with acks from all.
pub fn produce(topic: &str, partitions: Vec<(i32, Bytes)>) -> ProduceRequest {
    let partitions = partitions.into_iter();
    let data = partitions.map(|(index, records)| PartitionProduceData::default().with_index(index).with_records(Some(records)));
    let topic = TopicProduceData::default().with_name(name(topic)).with_partition_data(data.collect());
    ProduceRequest::default().with_acks(-1).with_timeout_ms(30_000).with_topic_data(vec![topic])
}

/// A fetch over partitions of a topic from given offsets on.
pub fn fetch(topic: &str, partitions: &[(i32, i64)], max_bytes: i32, max_wait_ms: i32) -> FetchRequest {
    let wanted = partitions.iter().map(|(partition, offset)| {
        FetchPartition::default().with_partition(*partition).with_fetch_offset(*offset).with_partition_max_bytes(max_bytes)
    });
    let topic = FetchTopic::default().with_topic(name(topic)).with_partitions(wanted.collect());
    FetchRequest::default()
        .with_replica_id((-1).into())
        .with_max_wait_ms(max_wait_ms)
        .with_min_bytes(1)
        .with_max_bytes(max_bytes)
        .with_topics(vec![topic])
}

/// One record batch of magic 2 with these values.
pub fn batch(values: &[&[u8]]) -> BytesMut {
    let mut records = BytesMut::new();
    for (delta, value) in values.iter().enumerate() {
        let mut record = BytesMut::from(&[0, 0][..]);
        put_varint(&mut record, delta as i64);
        put_varint(&mut record, -1);
        put_varint(&mut record, value.len() as i64);
        record.put_slice(value);
        put_varint(&mut record, 0);
        put_varint(&mut records, record.len() as i64);
        records.extend_from_slice(&record);
    }
    let mut batch = BytesMut::new();
    batch.put_i64(0);
    batch.put_i32(49 + records.len() as i32);
    batch.put_i32(-1);
    batch.put_i8(2);
    batch.put_u32(0);
    batch.put_i16(0);
    batch.put_i32(values.len() as i32 - 1);
    batch.put_i64(1_000);
    batch.put_i64(1_000);
    batch.put_i64(-1);
    batch.put_i16(-1);
    batch.put_i32(-1);
    batch.put_i32(values.len() as i32);
    batch.extend_from_slice(&records);
    seal(&mut batch);
    batch
}

/// A batch of two records with some bytes changed, and a checksum that fits.
pub fn changed(at: usize, bytes: &[u8]) -> BytesMut {
    let mut batch = batch(&[b"a", b"b"]);
    batch[at..at + bytes.len()].copy_from_slice(bytes);
    seal(&mut batch);
    batch
}

/// A batch of two records of a producer: its id, epoch and first sequence.
pub fn of_producer((id, epoch, sequence): (i64, i16, i32)) -> BytesMut {
    let fields = [&id.to_be_bytes()[..], &epoch.to_be_bytes(), &sequence.to_be_bytes()].concat();
    changed(43, &fields)
}

/// A message of one of the formats before record batches.
pub fn old_message(magic: i8, offset: i64) -> BytesMut {
    let mut set = BytesMut::new();
    set.put_i64(offset);
    set.put_i32(if magic == 0 { 19 } else { 27 });
    set.put_u32(0);
    set.put_i8(magic);
    set.put_i8(0);
    if magic == 1 {
        set.put_i64(5);
    }
    set.put_i32(-1);
    set.put_i32(5);
    set.put_slice(b"value");
    set
}

/// Writes the checksum that fits a batch's contents.
pub fn seal(batch: &mut [u8]) {
    let crc = crc32c::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
}

/// Base offset and last offset of each batch in a record set.
pub fn offsets(mut records: &[u8]) -> Vec<(i64, i64)> {
    let mut found = Vec::new();
    while records.len() >= 61 {
        let base = i64::from_be_bytes(records[..8].try_into().expect("8 bytes"));
        let size = 12 + u32::from_be_bytes(records[8..12].try_into().expect("4 bytes")) as usize;
        let delta = i32::from_be_bytes(records[23..27].try_into().expect("4 bytes"));
        found.push((base, base + i64::from(delta)));
        records = &records[size.min(records.len())..];
    }
    assert!(records.is_empty(), "a batch was cut");
    found
}

fn put_varint(bytes: &mut BytesMut, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    while rest >= 0x80 {
        bytes.put_u8(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.put_u8(rest as u8);
}
