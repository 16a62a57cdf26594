//! Idempotent producers and InitProducerId.

use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::{DescribeProducersRequest, InitProducerIdRequest, InitProducerIdResponse, ProduceResponse, TransactionalId};
use kafka_protocol::protocol::StrBytes;
use tidegate_tests::wire::{name, of_producer, produce};

use crate::seen::{Seen, codes};

/// Code, base offset and append time: a retry is told what its first copy was.
fn read(response: ProduceResponse) -> String {
    let partition = &response.responses[0].partition_responses[0];
    format!("{} offset {} append time {}", partition.error_code, partition.base_offset, partition.log_append_time_ms)
}

pub async fn cases(seen: &mut Seen) -> anyhow::Result<()> {
    let (topic, _) = seen.new_topic(1).await?;
    for (what, producer) in [
        ("first batch", (7_007, 1, 0)),
        ("next batch", (7_007, 1, 2)),
        ("the same batch again", (7_007, 1, 2)),
        ("the first batch again", (7_007, 1, 0)),
        ("a gap", (7_007, 1, 9)),
        ("half of a batch again", (7_007, 1, 3)),
        ("a newer epoch that does not start at 0", (7_007, 2, 4)),
        ("an older epoch", (7_007, 0, 4)),
        ("a newer epoch", (7_007, 2, 0)),
        ("the epoch before", (7_007, 1, 4)),
        ("unknown, its sequence starts at 5", (7_008, 0, 5)),
        ("sequence -1", (7_009, 0, -1)),
        ("id -2", (-2, 0, 0)),
        ("the last sequence before they wrap", (7_011, 0, i32::MAX)),
        ("epoch -1", (7_010, -1, 0)),
    ] {
        seen.ask(&format!("producer: {what}"), 9, &produce(&topic, vec![(0, of_producer(producer).freeze())]), read).await?;
    }
    inits(seen).await?;
    let asked =
        |topic: &str, partitions: &[i32]| TopicRequest::default().with_name(name(topic)).with_partition_indexes(partitions.to_vec());
    let unknown = seen.fresh();
    let request =
        DescribeProducersRequest::default().with_topics(vec![asked(&topic, &[0, 7, -1]), asked(&unknown, &[0]), asked("a/b", &[0])]);
    let read = |response: kafka_protocol::messages::DescribeProducersResponse| {
        codes(response.topics.iter().flat_map(|topic| &topic.partitions).map(|partition| partition.error_code))
    };
    seen.ask("describe producers: there, not there, unknown, no name", 0, &request, read).await
}

async fn inits(seen: &mut Seen) -> anyhow::Result<()> {
    let read = |response: InitProducerIdResponse| response.error_code.to_string();
    let plain = InitProducerIdRequest::default().with_transactional_id(None).with_transaction_timeout_ms(60_000);
    let named = |id: &str| plain.clone().with_transactional_id(Some(TransactionalId(StrBytes::from_string(id.into()))));
    let given = |id: i64, epoch| plain.clone().with_producer_id(id.into()).with_producer_epoch(epoch);
    seen.ask("init producer id", 4, &plain, read).await?;
    seen.ask("init producer id: time-out 0", 4, &plain.clone().with_transaction_timeout_ms(0), read).await?;
    seen.ask("init producer id: id without epoch", 4, &given(7, -1), read).await?;
    seen.ask("init producer id: epoch without id", 4, &given(-1, 7), read).await?;
    seen.ask("init producer id: id and epoch below -1", 4, &given(-5, -5), read).await?;
    seen.ask("init producer id: empty transactional id", 4, &named(""), read).await
}
