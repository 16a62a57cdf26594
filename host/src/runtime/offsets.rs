//! Where places in a partition are: ends of the log and of leader epochs, and records by time.

use super::api::{EpochEnd, OffsetSpec};
use crate::error::Result;
use crate::log::lane::Lane;
use crate::log::partition::Partition;
use crate::types::{Epoch, Offset, PartitionId, TimestampMs};

/// The timestamp of a place that is no record.
const NO_TIMESTAMP: TimestampMs = -1;

type Place = (Offset, TimestampMs);

pub(super) async fn find(partition: &Partition, spec: OffsetSpec) -> Result<Option<Place>> {
    match spec {
        OffsetSpec::Earliest => Ok(Some((partition.offsets()?.log_start, NO_TIMESTAMP))),
        OffsetSpec::Latest => Ok(Some((partition.offsets()?.high_watermark, NO_TIMESTAMP))),
        OffsetSpec::Timestamp(timestamp) => partition.find_timestamp(timestamp).await,
        OffsetSpec::MaxTimestamp => latest(partition).await,
    }
}

/// The end of an epoch. That of the leader ends at the high watermark, also where it has written nothing yet.
pub(super) async fn epoch_end(lane: &Lane, partition: PartitionId, epoch: Epoch) -> Result<Option<EpochEnd>> {
    let (partition, current) = (lane.partition(partition)?, lane.epoch());
    if epoch > current {
        return Ok(None);
    }
    if epoch == current {
        return Ok(Some(EpochEnd { epoch, offset: partition.offsets()?.high_watermark }));
    }
    let (found, offset) = partition.epoch_end(epoch).await?;
    Ok(Some(EpochEnd { epoch: found.unwrap_or(epoch), offset }))
}

/// The first record with the largest timestamp: at most 65 lookups by time close in on it. Each goes through indexes
/// that are in memory after the first few, and few callers ever ask.
async fn latest(partition: &Partition) -> Result<Option<Place>> {
    let Some(mut best) = partition.find_timestamp(TimestampMs::MIN).await? else { return Ok(None) };
    let mut none_from = i128::from(TimestampMs::MAX) + 1;
    while let Some(middle) = between(best.1, none_from) {
        match partition.find_timestamp(middle).await? {
            Some(later) => best = later,
            None => none_from = i128::from(middle),
        }
    }
    Ok(Some(best))
}

/// A timestamp above `low` and below `high`, in the middle; `None` if there is none.
fn between(low: TimestampMs, high: i128) -> Option<TimestampMs> {
    let low = i128::from(low);
    let middle = low + (high - low) / 2;
    (middle > low).then(|| i64::try_from(middle).expect("below the largest timestamp plus one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_in_ends_at_the_largest_timestamp() {
        for largest in [TimestampMs::MIN + 1, -1, 0, 1_700_000_000_000, TimestampMs::MAX] {
            let (mut best, mut none_from, mut steps) = (TimestampMs::MIN, i128::from(TimestampMs::MAX) + 1, 0);
            while let Some(middle) = between(best, none_from) {
                steps += 1;
                if middle <= largest { best = middle } else { none_from = i128::from(middle) }
            }
            assert_eq!(best, largest);
            assert!(steps <= 65, "{steps}");
        }
    }
}
