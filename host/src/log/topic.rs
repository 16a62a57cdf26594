//! A topic as its lanes and partitions see it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use crate::config::TopicSettings;
use crate::env::Instant;
use crate::types::{LaneId, PartitionId, TopicId, TopicName};

/// Over which a lane's share of its topic's PUTs is taken.
const SHARE_SPAN: Duration = Duration::from_secs(60);

/// A topic: what its lanes and partitions share.
#[derive(Debug)]
pub struct Topic {
    /// Its identity.
    pub id: TopicId,
    /// Its name, for policies, metrics and messages.
    pub name: TopicName,
    /// Number of lanes; fixed for ever.
    pub lanes: u32,
    /// Number of partitions; may grow at run time, never shrinks.
    partitions: AtomicU32,
    /// Settings as resolved; may change at run time.
    pub settings: ArcSwap<TopicSettings>,
    puts: Mutex<Option<Puts>>,
}

/// PUTs of each lane in this span and the one before.
#[derive(Debug)]
struct Puts {
    since: Instant,
    now: Vec<u32>,
    before: Vec<u32>,
}

impl Topic {
    /// A topic of `partitions` in `lanes`, both at least 1.
    pub fn new(id: TopicId, name: TopicName, partitions: u32, lanes: u32, settings: TopicSettings) -> Self {
        let (lanes, partitions) = (lanes.max(1), AtomicU32::new(partitions));
        Self { id, name, lanes, partitions, settings: ArcSwap::from_pointee(settings), puts: Mutex::new(None) }
    }

    /// Number of partitions.
    pub fn partitions(&self) -> u32 {
        self.partitions.load(Ordering::Acquire)
    }

    /// Has at least so many partitions from now on.
    pub fn grow(&self, partitions: u32) {
        self.partitions.fetch_max(partitions, Ordering::AcqRel);
    }

    /// The lane that a partition lives in, however many there are.
    pub fn lane_of(&self, partition: PartitionId) -> LaneId {
        partition % self.lanes
    }

    /// A lane as people are told of it: they know the topic by its name.
    pub fn lane_name(&self, lane: LaneId) -> String {
        format!("lane {lane} of topic {}", self.name)
    }

    /// The partitions of a lane, ascending.
    pub fn partitions_of(&self, lane: LaneId) -> impl Iterator<Item = PartitionId> + use<> {
        (lane..self.partitions()).step_by(self.lanes as usize)
    }

    /// Counts a PUT of a lane.
    pub(super) fn count_put(&self, lane: LaneId, now: Instant) {
        let mut puts = self.puts.lock();
        self.recent(&mut puts, now).now[lane as usize] += 1;
    }

    /// A lane's share of the topic's PUTs in the last minute or two, in permille.
    pub(super) fn put_share_permille(&self, lane: LaneId, now: Instant) -> u32 {
        let mut puts = self.puts.lock();
        let puts = self.recent(&mut puts, now);
        let all: u64 = puts.now.iter().chain(&puts.before).map(|n| u64::from(*n)).sum();
        let own = u64::from(puts.now[lane as usize]) + u64::from(puts.before[lane as usize]);
        (own * 1_000).checked_div(all).unwrap_or(0) as u32
    }

    fn recent<'a>(&self, puts: &'a mut Option<Puts>, now: Instant) -> &'a mut Puts {
        let none = || vec![0; self.lanes as usize];
        let puts = puts.get_or_insert_with(|| Puts { since: now, now: none(), before: none() });
        let spans = now.saturating_duration_since(puts.since).as_secs() / SHARE_SPAN.as_secs();
        if spans > 0 {
            let last = std::mem::replace(&mut puts.now, none());
            puts.before = if spans == 1 { last } else { none() };
            puts.since = now;
        }
        puts
    }
}
