//! One fixed client load over loopback: a broker with the default policies on a local store, one connection, five requests in flight.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{CreateTopicsRequest, FetchRequest, ProduceRequest, RequestHeader, ResponseHeader, TopicName};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};
use tidegate::config::StoreSettings;
use tidegate::{Settings, Storage};
use tidegate_broker::{Broker, BrokerSettings, ListenerSettings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::batches::of_size;
use crate::host::{Plugins, runtime};
use crate::measure::median;
use crate::report::Report;

const ROUNDS: usize = 3;
const TOPIC: &str = "bench";
const PARTITIONS: i32 = 4;
const REQUESTS: i32 = 2_048;
const IN_FLIGHT: i32 = 5;
const FETCH_BYTES: i32 = 1 << 20;

pub(crate) fn run(report: &Report, plugins: &Plugins) -> Result<()> {
    let (mut produced, mut consumed) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (produce, consume) = round(plugins)?;
        produced.push(produce);
        consumed.push(consume);
    }
    report.value("produce", median(produced), "MB/s");
    report.value("consume", median(consumed), "MB/s");
    Ok(())
}

/// MB/s of producing and of consuming.
fn round(plugins: &Plugins) -> Result<(f64, f64)> {
    let directory = tempfile::tempdir()?;
    let server = runtime()?;
    let settings = Settings { store: StoreSettings::Local { path: directory.path().to_owned() }, ..Settings::default() };
    let (host, broker) = server.block_on(async {
        let host = Storage::builder(settings).open().await?;
        plugins.bind_defaults(&host).await?;
        let listener = ListenerSettings { listen: ([127, 0, 0, 1], 0).into(), ..ListenerSettings::default() };
        let settings = BrokerSettings { listeners: vec![listener], ..BrokerSettings::default() };
        anyhow::Ok((host.clone(), Broker::bind(host, settings).await?))
    })?;
    let (address, stop) = (broker.addresses()[0], CancellationToken::new());
    let serving = server.spawn(broker.run(stop.clone()));

    let client = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let rates = client.block_on(load(address));
    stop.cancel();
    server.block_on(serving)?;
    server.block_on(host.close())?;
    rates
}

async fn load(address: SocketAddr) -> Result<(f64, f64)> {
    let mut connection = Connection::open(address).await?;
    let topic = CreatableTopic::default().with_name(name()).with_num_partitions(PARTITIONS).with_replication_factor(1);
    connection.send(2, &CreateTopicsRequest::default().with_topics(vec![topic])).await?;
    ensure!(connection.receive::<CreateTopicsRequest>(2).await?.topics[0].error_code == 0, "the topic was not created");
    let batch = of_size(64 << 10).freeze();
    let megabytes = batch.len() as f64 * f64::from(REQUESTS) / 1e6;
    let start = tidegate::env::now();
    connection.produce(&batch).await?;
    let produce = megabytes / start.elapsed().as_secs_f64();
    let start = tidegate::env::now();
    connection.consume(batch.len() * REQUESTS as usize).await?;
    Ok((produce, megabytes / start.elapsed().as_secs_f64()))
}

fn name() -> TopicName {
    StrBytes::from_static_str(TOPIC).into()
}

struct Connection {
    stream: TcpStream,
    sent: i32,
}

impl Connection {
    async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, sent: 0 })
    }

    async fn produce(&mut self, batch: &Bytes) -> Result<()> {
        for n in 0..REQUESTS + IN_FLIGHT {
            if n >= IN_FLIGHT {
                let response = self.receive::<ProduceRequest>(9).await?;
                let code = response.responses[0].partition_responses[0].error_code;
                ensure!(code == 0, "produce was refused with error {code}");
            }
            if n < REQUESTS {
                let data = PartitionProduceData::default().with_index(n % PARTITIONS).with_records(Some(batch.clone()));
                let topic = TopicProduceData::default().with_name(name()).with_partition_data(vec![data]);
                self.send(9, &ProduceRequest::default().with_acks(-1).with_timeout_ms(30_000).with_topic_data(vec![topic])).await?;
            }
        }
        Ok(())
    }

    async fn consume(&mut self, bytes: usize) -> Result<()> {
        let mut offsets = [0; PARTITIONS as usize];
        let mut served = 0;
        while served < bytes {
            let ask = |(index, offset): (i32, &i64)| {
                FetchPartition::default().with_partition(index).with_fetch_offset(*offset).with_partition_max_bytes(FETCH_BYTES)
            };
            let topic = FetchTopic::default().with_topic(name()).with_partitions((0..).zip(&offsets).map(ask).collect());
            let request = FetchRequest::default().with_replica_id((-1).into()).with_max_wait_ms(500).with_min_bytes(1);
            self.send(11, &request.with_max_bytes(50 << 20).with_topics(vec![topic])).await?;
            let response = self.receive::<FetchRequest>(11).await?;
            for partition in response.responses.iter().flat_map(|topic| &topic.partitions) {
                let records = partition.records.as_deref().unwrap_or_default();
                served += records.len();
                offsets[partition.partition_index as usize] = next_offset(records).unwrap_or(offsets[partition.partition_index as usize]);
            }
        }
        Ok(())
    }

    async fn send<R: Request>(&mut self, version: i16, request: &R) -> Result<()> {
        self.sent += 1;
        let header = RequestHeader::default()
            .with_request_api_key(R::KEY)
            .with_request_api_version(version)
            .with_correlation_id(self.sent)
            .with_client_id(Some(StrBytes::from_static_str("bench")));
        let mut frame = BytesMut::new();
        frame.put_u32(0);
        header.encode(&mut frame, R::header_version(version))?;
        request.encode(&mut frame, version)?;
        let len = u32::try_from(frame.len() - 4)?;
        frame[..4].copy_from_slice(&len.to_be_bytes());
        Ok(self.stream.write_all(&frame).await?)
    }

    async fn receive<R: Request>(&mut self, version: i16) -> Result<R::Response> {
        let len = tokio::time::timeout(Duration::from_secs(60), self.stream.read_u32()).await.context("no answer")??;
        let mut frame = BytesMut::zeroed(len as usize);
        self.stream.read_exact(&mut frame).await?;
        let mut frame = frame.freeze();
        ResponseHeader::decode(&mut frame, R::Response::header_version(version))?;
        R::Response::decode(&mut frame, version)
    }
}

/// The offset after the last batch.
fn next_offset(mut records: &[u8]) -> Option<i64> {
    let mut next = None;
    while records.len() >= 61 {
        let number = |range: std::ops::Range<usize>| records[range].iter().fold(0_i64, |n, byte| n << 8 | i64::from(*byte));
        next = Some(number(0..8) + number(23..27) + 1);
        records = &records[(12 + number(8..12) as usize).min(records.len())..];
    }
    next
}
