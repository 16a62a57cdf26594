//! ListOffsets.

use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{ListOffsetsRequest, ListOffsetsResponse};
use tidegate_tests::wire::name;

use crate::seen::{Seen, codes};

/// Codes and offsets.
fn read(response: ListOffsetsResponse) -> String {
    let found = response.topics.iter().flat_map(|topic| &topic.partitions);
    found.map(|p| format!("{} offset {}", p.error_code, p.offset)).collect::<Vec<_>>().join(", ")
}

fn of(topic: &str, partitions: Vec<ListOffsetsPartition>) -> ListOffsetsRequest {
    let topic = ListOffsetsTopic::default().with_name(name(topic)).with_partitions(partitions);
    ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![topic])
}

fn at(timestamp: i64) -> ListOffsetsPartition {
    ListOffsetsPartition::default().with_timestamp(timestamp)
}

pub async fn cases(seen: &mut Seen) -> anyhow::Result<()> {
    let topic = seen.topic.clone();
    for timestamp in [-1, -2, -3, -4, -5, -6, -7, i64::MIN, 0, 1_000, 1_001, i64::MAX] {
        seen.ask(&format!("list offsets: timestamp {timestamp}"), 9, &of(&topic, vec![at(timestamp)]), read).await?;
    }
    for timestamp in [-3, -4, -5] {
        seen.ask(&format!("list offsets: timestamp {timestamp} in version 5"), 5, &of(&topic, vec![at(timestamp)]), read).await?;
    }
    let (fresh, _) = seen.new_topic(1).await?;
    for timestamp in [-1, -3, 0] {
        seen.ask(&format!("list offsets: timestamp {timestamp} where nothing is"), 9, &of(&fresh, vec![at(timestamp)]), read).await?;
    }
    for partition in [2, -1] {
        let asked = of(&topic, vec![at(-1).with_partition_index(partition)]);
        seen.ask(&format!("list offsets: partition {partition} of 2"), 9, &asked, read).await?;
    }
    let unknown = seen.fresh();
    seen.ask("list offsets: unknown topic", 9, &of(&unknown, vec![at(-1)]), read).await?;
    seen.ask("list offsets: topic name with a slash", 9, &of("a/b", vec![at(-1)]), read).await?;
    seen.ask("list offsets: newer leader epoch", 9, &of(&topic, vec![at(-1).with_current_leader_epoch(i32::MAX)]), read).await?;
    seen.ask("list offsets: a partition twice", 9, &of(&topic, vec![at(-1), at(-2)]), read).await?;
    seen.ask("list offsets: read committed", 9, &of(&topic, vec![at(-1)]).with_isolation_level(1), read).await?;
    seen.ask("list offsets: isolation level 2", 9, &of(&topic, vec![at(-1)]).with_isolation_level(2), |response| {
        codes(response.topics.iter().flat_map(|topic| &topic.partitions).map(|partition| partition.error_code))
    })
    .await?;
    seen.ask("list offsets: no topics", 9, &of(&topic, vec![]).with_topics(vec![]), read).await
}
