//! The partitions of a lane: those that its topic has, which may become more while it leads.
//!
//! A partition that is new to this lane's leader need not be new to the lane: another host, which knew of it, may have
//! led in between. So it starts where the committed state says, which holds all that the manifest and the walk named;
//! what neither names starts at offset 0.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::catalog::Catalog;
use super::{Inner, Phase};
use crate::catalog::PartitionState;
use crate::error::{Error, ErrorKind, Result};
use crate::log::partition::{Offsets, Partition};
use crate::log::{ExtentLookup, Shared, Topic};
use crate::types::{LaneId, PartitionId};

type All = BTreeMap<PartitionId, Arc<Partition>>;

/// The partitions that the topic has in a lane now, with what is committed of them.
pub(super) fn at(
    shared: &Shared,
    topic: &Arc<Topic>,
    lane: LaneId,
    committed: &BTreeMap<PartitionId, PartitionState>,
    catalog: &Arc<Catalog>,
) -> All {
    let mut all = All::new();
    add_missing(&mut all, shared, topic, lane, committed, catalog);
    all
}

fn add_missing(
    all: &mut All,
    shared: &Shared,
    topic: &Arc<Topic>,
    lane: LaneId,
    committed: &BTreeMap<PartitionId, PartitionState>,
    catalog: &Arc<Catalog>,
) {
    for partition in topic.partitions_of(lane) {
        all.entry(partition).or_insert_with(|| {
            let at = committed.get(&partition).copied().unwrap_or_default();
            let offsets = Offsets { log_start: at.log_start, high_watermark: at.next_offset };
            let lookup: Arc<dyn ExtentLookup> = catalog.clone();
            Arc::new(Partition::new(shared.clone(), topic.clone(), partition, offsets, lookup))
        });
    }
}

impl Inner {
    /// A partition that was not there when it was last looked: takes in all that the topic has gained.
    pub(super) fn grown(&self, partition: PartitionId) -> Result<Arc<Partition>> {
        if partition >= self.topic.partitions() || self.topic.lane_of(partition) != self.id.lane {
            let message = format!("no partition {partition} in lane {} of topic {}", self.id.lane, self.topic.name);
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        // Whoever ends the lane takes this lock first, and then fails all partitions: none is added behind its back.
        let state = self.state.lock();
        if let Phase::Ended(error) = &state.phase {
            return Err(error.clone());
        }
        let mut all = All::clone(&self.partitions.load());
        add_missing(&mut all, &self.shared, &self.topic, self.id.lane, &state.committed, &self.catalog);
        let found = all[&partition].clone();
        self.partitions.store(Arc::new(all));
        Ok(found)
    }
}
