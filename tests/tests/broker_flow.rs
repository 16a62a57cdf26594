//! What a request costs, counted: no copy of its records on the way in or out, and few allocations.
//!
//! Broker and client share one thread, and the client allocates nothing while it is counted, so what is counted is the broker's.

use allocation_counter::AllocationInfo;
use anyhow::Result;
use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::RequestHeader;
use kafka_protocol::protocol::{Encodable, Request};
use tidegate::Settings;
use tidegate::config::Acks;
use tidegate_broker::BrokerSettings;
use tidegate_tests::wire::{Client, Running, batch, fetch, produce};
use tokio::runtime::Runtime;

/// Bytes that a request may take besides its records: answers, futures, bookkeeping.
const BESIDES: u64 = 48 << 10;
/// Allocations that a request of one partition may make, from the frame to the answer.
const ALLOCATIONS: u64 = 80;

struct Flow {
    runtime: Runtime,
    broker: Running,
    client: Client,
    answer: BytesMut,
}

impl Flow {
    /// A broker whose batches stay in the write buffer until they are asked for.
    fn start() -> Result<Self> {
        let mut settings = Settings::default();
        settings.topic_defaults.acks = Acks::Buffered;
        settings.topic_defaults.max_age_ms = 60_000;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let broker = runtime.block_on(Running::with(settings, BrokerSettings::default()))?;
        let mut client = runtime.block_on(broker.client())?;
        runtime.block_on(client.create("topic", 2))?;
        Ok(Self { runtime, broker, client, answer: BytesMut::with_capacity(4 << 20) })
    }

    /// Puts a request as it is, and counts until its answer is there.
    fn count(&mut self, frame: &Bytes) -> AllocationInfo {
        let Self { runtime, client, answer, .. } = self;
        let sent = || {
            runtime.block_on(async {
                client.send_raw(frame).await.unwrap();
                client.receive_into(answer).await.unwrap();
            });
        };
        allocation_counter::measure(sent)
    }

    /// The least that a request takes, over some rounds: upkeep and timers of the broker run beside it.
    fn least(&mut self, frames: &[Bytes]) -> AllocationInfo {
        let counted: Vec<AllocationInfo> = frames.iter().map(|frame| self.count(frame)).collect();
        counted.into_iter().min_by_key(|info| info.bytes_total).expect("at least one frame")
    }
}

fn framed<R: Request>(version: i16, request: &R) -> Bytes {
    let header = RequestHeader::default().with_request_api_key(R::KEY).with_request_api_version(version).with_correlation_id(7);
    let mut frame = BytesMut::new();
    frame.put_u32(0);
    header.encode(&mut frame, R::header_version(version)).unwrap();
    request.encode(&mut frame, version).unwrap();
    let len = frame.len() as u32 - 4;
    frame[..4].copy_from_slice(&len.to_be_bytes());
    frame.freeze()
}

fn produced(len: usize) -> Bytes {
    framed(9, &produce("topic", vec![(0, batch(&[&vec![7; len]]).freeze())]))
}

#[test]
fn a_produce_request_takes_its_frame_and_little_else() -> Result<()> {
    let mut flow = Flow::start()?;
    let (small, large) = (produced(100), produced(900_000));
    let little = flow.least(&[small.clone(), small.clone(), small]);
    assert!(little.bytes_total < BESIDES && little.count_total < ALLOCATIONS, "{little:?}");
    let much = flow.least(&[large.clone(), large.clone(), large]);
    assert!(much.bytes_total < 900_000 + BESIDES && much.count_total < ALLOCATIONS, "the frame, and no copy of it: {much:?}");
    Ok(())
}

#[test]
fn a_cached_fetch_takes_no_copy_of_its_records() -> Result<()> {
    let mut flow = Flow::start()?;
    for _ in 0..3 {
        flow.count(&produced(900_000));
    }
    let topic = flow.runtime.block_on(flow.broker.storage.topics())?[0].id;
    let partition = tidegate::types::TopicPartition { topic, partition: 0 };
    flow.runtime.block_on(flow.broker.storage.flush(partition))?;
    let asked = framed(11, &fetch("topic", &[(0, 0)], 3 << 20, 0));
    flow.count(&asked);
    let copied = flow.broker.storage.metrics().cache.copied_bytes.get();
    let found = flow.least(&[asked.clone(), asked.clone(), asked]);
    assert!(flow.answer.len() > 2_700_000, "{} bytes came", flow.answer.len());
    assert!(found.bytes_total < BESIDES && found.count_total < ALLOCATIONS, "{found:?}");
    assert_eq!(flow.broker.storage.metrics().cache.copied_bytes.get(), copied);
    Ok(())
}
