//! One session: the partitions that its client follows, and what it was told of them.

use std::collections::{BTreeMap, HashMap};

use super::{Asked, PartitionKey, Wanted};
use crate::wire::fetch::PartitionAnswer;

/// Memory of one partition without its topic's name: an entry in each of the two maps. Rounded up.
pub(super) const PARTITION_BYTES: usize = 256;

/// The epoch of the request after the one with `epoch`.
pub(super) fn next_epoch(epoch: i32) -> i32 {
    if epoch == i32::MAX { 1 } else { epoch + 1 }
}

/// What a client follows.
#[derive(Debug)]
pub(crate) struct Session {
    /// Of the next request.
    pub(super) epoch: i32,
    /// Whether its client names topics by id.
    pub(super) by_id: bool,
    /// Where in `turns` each partition is.
    places: HashMap<PartitionKey, u64>,
    /// In the order in which partitions are to be served.
    turns: BTreeMap<u64, Followed>,
    /// The last place so far.
    last: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Followed {
    key: PartitionKey,
    wanted: Wanted,
    /// What the client was told last; -1: nothing that holds.
    high_watermark: i64,
    log_start: i64,
}

/// Number of partitions and bytes of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) partitions: usize,
    pub(super) bytes: usize,
}

impl Session {
    /// A session over partitions that were just answered; the ones that gave records go last.
    pub(super) fn new(by_id: bool, answered: &[(Asked, PartitionAnswer)]) -> Self {
        let mut session = Self { epoch: 1, by_id, places: HashMap::new(), turns: BTreeMap::new(), last: 0, bytes: 0 };
        for (asked, _) in answered {
            session.follow(asked.clone());
        }
        for (asked, answer) in answered {
            session.tell(&asked.key, answer);
        }
        session
    }

    /// Takes up what a request adds, changes and forgets.
    pub(super) fn update(&mut self, wanted: Vec<Asked>, forgotten: &[PartitionKey]) {
        wanted.into_iter().for_each(|asked| self.follow(asked));
        forgotten.iter().for_each(|key| self.forget(key));
    }

    /// The size that [`update`](Self::update) can bring it to.
    pub(super) fn size_with(&self, wanted: &[Asked]) -> Size {
        let new = wanted.iter().filter(|asked| !self.places.contains_key(&asked.key));
        new.fold(self.size(), |size, asked| Size { partitions: size.partitions + 1, bytes: size.bytes + weight(&asked.key) })
    }

    pub(super) fn size(&self) -> Size {
        Size { partitions: self.turns.len(), bytes: self.bytes }
    }

    /// All partitions, in the order in which they are to be served.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.turns.values().map(|followed| Asked { key: followed.key.clone(), wanted: followed.wanted }).collect()
    }

    /// Whether the client must be told this, and notes that it is. One that is not followed any more is not told of.
    pub(super) fn tell(&mut self, key: &PartitionKey, answer: &PartitionAnswer) -> bool {
        let Some(followed) = self.places.get(key).and_then(|place| self.turns.get_mut(place)) else { return false };
        let with_records = answer.has_records();
        let told = (followed.high_watermark, followed.log_start);
        let news = with_records || answer.error != 0 || told != (answer.high_watermark, answer.log_start);
        // Once the error has gone, the client is told so whatever the offsets are.
        followed.high_watermark = if answer.error == 0 { answer.high_watermark } else { -1 };
        followed.log_start = answer.log_start;
        if with_records {
            self.put_last(key);
        }
        news
    }

    fn follow(&mut self, asked: Asked) {
        if let Some(followed) = self.places.get(&asked.key).and_then(|place| self.turns.get_mut(place)) {
            followed.wanted = asked.wanted;
            return;
        }
        self.bytes += weight(&asked.key);
        self.last += 1;
        self.places.insert(asked.key.clone(), self.last);
        self.turns.insert(self.last, Followed { key: asked.key, wanted: asked.wanted, high_watermark: -1, log_start: -1 });
    }

    fn forget(&mut self, key: &PartitionKey) {
        if let Some(place) = self.places.remove(key) {
            self.turns.remove(&place);
            self.bytes -= weight(key);
        }
    }

    fn put_last(&mut self, key: &PartitionKey) {
        let Some(place) = self.places.get_mut(key) else { return };
        if let Some(followed) = self.turns.remove(place) {
            self.last += 1;
            *place = self.last;
            self.turns.insert(self.last, followed);
        }
    }
}

fn weight(key: &PartitionKey) -> usize {
    PARTITION_BYTES + key.name_bytes()
}
