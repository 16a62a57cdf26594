//! Whose turn it is when a fetch finds more than its answer holds.
//!
//! A client that always asks in the same order, over partitions of which the first always has records, would
//! never hear of the others. So the partitions served longest ago come first, and the client's own order
//! decides among equals; it holds whether or not the client rotates its partitions itself.

use std::collections::BTreeMap;

use tidegate::types::TopicPartition;

/// When each partition of a connection's fetches was last served.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    fetches: u64,
    /// Only partitions of the last fetch: bounded by the size of a request.
    served: BTreeMap<TopicPartition, u64>,
}

impl Turns {
    /// The positions of `asked` in the order in which they should be served.
    pub(super) fn order(&self, asked: &[TopicPartition]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..asked.len()).collect();
        order.sort_by_key(|at| self.served.get(&asked[*at]).copied().unwrap_or(0));
        order
    }

    /// Notes which of `asked` got records.
    pub(super) fn note(&mut self, asked: &[TopicPartition], served: impl Fn(usize) -> bool) {
        self.fetches += 1;
        let before = std::mem::take(&mut self.served);
        for (at, partition) in asked.iter().enumerate() {
            let last = if served(at) { Some(self.fetches) } else { before.get(partition).copied() };
            self.served.extend(last.map(|last| (*partition, last)));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tidegate::types::TopicId;
    use uuid::Uuid;

    use super::*;

    fn partition(partition: u32) -> TopicPartition {
        TopicPartition { topic: TopicId(Uuid::nil()), partition }
    }

    proptest! {
        #[test]
        fn every_partition_is_served_whatever_the_order_asked(rotations in proptest::collection::vec(0usize..8, 8)) {
            let mut turns = Turns::default();
            let mut served = std::collections::BTreeSet::new();
            for rotation in rotations {
                let mut asked: Vec<_> = (0..8).map(partition).collect();
                asked.rotate_left(rotation);
                let first = turns.order(&asked)[0];
                served.insert(asked[first]);
                turns.note(&asked, |at| at == first);
            }
            prop_assert_eq!(served.len(), 8);
        }
    }

    #[test]
    fn partitions_no_longer_asked_for_are_forgotten() {
        let mut turns = Turns::default();
        turns.note(&[partition(1), partition(2)], |_| true);
        turns.note(&[partition(2)], |_| false);
        assert_eq!(turns.served.len(), 1);
    }
}
