//! What may happen to a shard of group offsets: pure, so that it can be done again on a newer state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::metadata::{CommittedOffset, GroupOffsets, OffsetShard};
use crate::types::{TimestampMs, TopicId, TopicPartition};

/// Groups in one shard at most.
pub(super) const MAX_GROUPS: usize = 4_096;
/// Partitions with an offset in one shard at most: a shard is written as a whole.
pub(super) const MAX_OFFSETS: usize = 100_000;

/// A change of one shard.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// Sets offsets of a group.
    Commit { group: String, protocol_type: String, offsets: Vec<(TopicPartition, CommittedOffset)> },
    /// Removes some offsets of a group.
    DeleteOffsets { group: String, partitions: Vec<TopicPartition> },
    /// Removes all that a group has.
    DeleteGroup { group: String },
    /// Notes which groups have members, and removes what nobody needs any more.
    Tidy(Tidy),
}

/// A round of tidying.
#[derive(Clone, Debug)]
pub(super) struct Tidy {
    pub(super) now_ms: TimestampMs,
    /// How long a group without members keeps its offsets.
    pub(super) retention_ms: i64,
    /// Groups with members.
    pub(super) active: Arc<BTreeSet<String>>,
    /// Topics that are gone for ever.
    pub(super) gone: Arc<BTreeSet<TopicId>>,
}

impl Change {
    /// Changes the shard, or says why not and leaves it. Tells whether there was anything to change.
    pub(super) fn apply(&self, shard: &mut OffsetShard) -> Result<bool> {
        match self {
            Self::Commit { group, protocol_type, offsets } => commit(shard, group, protocol_type, offsets),
            Self::DeleteOffsets { group, partitions } => Ok(delete_offsets(shard, group, partitions)),
            Self::DeleteGroup { group } => Ok(shard.groups.remove(group).is_some()),
            Self::Tidy(tidy) => Ok(tidy.apply(shard)),
        }
    }
}

fn commit(shard: &mut OffsetShard, group: &str, protocol_type: &str, offsets: &[(TopicPartition, CommittedOffset)]) -> Result<bool> {
    let known = shard.groups.get(group);
    let has = |at: &TopicPartition| known.is_some_and(|k| k.topics.get(&at.topic).is_some_and(|t| t.contains_key(&at.partition)));
    let added = offsets.iter().map(|(at, _)| *at).filter(|at| !has(at)).collect::<BTreeSet<_>>().len();
    let stored: usize = if added == 0 { 0 } else { shard.groups.values().map(|group| group.len()).sum() };
    if stored + added > MAX_OFFSETS || (known.is_none() && shard.groups.len() >= MAX_GROUPS) {
        let groups = shard.groups.len();
        let message = format!(
            "group {group:?}: its shard holds {groups} groups with {stored} offsets, {added} more were to be added; \
             at most {MAX_GROUPS} groups with {MAX_OFFSETS} are kept: delete groups that are not needed"
        );
        return Err(Error::new(ErrorKind::InvalidInput, message));
    }
    if known.is_some_and(|known| says_nothing_new(known, protocol_type, offsets)) {
        return Ok(false);
    }
    let entry = Arc::make_mut(shard.groups.entry(group.to_owned()).or_default());
    if !protocol_type.is_empty() {
        protocol_type.clone_into(&mut entry.protocol_type);
        entry.idle_since_ms = None;
    }
    for (at, offset) in offsets {
        entry.topics.entry(at.topic).or_default().insert(at.partition, offset.clone());
    }
    Ok(true)
}

/// Whether members commit what is stored. Many clients do so every few seconds while nothing comes; when they did it last
/// does not matter while the group has members. Without membership it does.
fn says_nothing_new(known: &GroupOffsets, protocol_type: &str, offsets: &[(TopicPartition, CommittedOffset)]) -> bool {
    let same = |(at, new): &(TopicPartition, CommittedOffset)| {
        let stored = known.topics.get(&at.topic).and_then(|topic| topic.get(&at.partition));
        stored.is_some_and(|old| (old.offset, old.epoch, &old.metadata) == (new.offset, new.epoch, &new.metadata))
    };
    let active = known.protocol_type == protocol_type && known.idle_since_ms.is_none();
    !protocol_type.is_empty() && active && offsets.iter().all(same)
}

fn delete_offsets(shard: &mut OffsetShard, group: &str, partitions: &[TopicPartition]) -> bool {
    let Some(entry) = shard.groups.get_mut(group) else { return false };
    let entry = Arc::make_mut(entry);
    let mut removed = false;
    for at in partitions {
        removed |= entry.topics.get_mut(&at.topic).is_some_and(|topic| topic.remove(&at.partition).is_some());
    }
    entry.topics.retain(|_, partitions| !partitions.is_empty());
    if entry.is_empty() {
        shard.groups.remove(group);
    }
    removed
}

impl Tidy {
    fn apply(&self, shard: &mut OffsetShard) -> bool {
        let before = shard.groups.len();
        let mut changed = false;
        for (group, entry) in &mut shard.groups {
            if let Some(tidied) = self.of_group(entry, self.active.contains(group)) {
                *entry = Arc::new(tidied);
                changed = true;
            }
        }
        shard.groups.retain(|_, group| !group.is_empty());
        changed || shard.groups.len() < before
    }

    /// What becomes of a group, if anything changes.
    fn of_group(&self, group: &GroupOffsets, active: bool) -> Option<GroupOffsets> {
        let idle_since_ms = if active { None } else { Some(group.idle_since_ms.unwrap_or(self.now_ms)) };
        let keeps = |at_ms: TimestampMs| match idle_since_ms {
            Some(idle) => self.now_ms.saturating_sub(idle.max(at_ms)) < self.retention_ms,
            None => true,
        };
        let lives = |topic: &TopicId| !self.gone.contains(topic);
        let dead = group.topics.iter().any(|(topic, offsets)| !lives(topic) || offsets.values().any(|offset| !keeps(offset.at_ms)));
        if !dead && idle_since_ms == group.idle_since_ms {
            return None;
        }
        let mut topics: BTreeMap<_, _> = group.topics.iter().filter(|(topic, _)| lives(topic)).map(|(t, o)| (*t, o.clone())).collect();
        topics.values_mut().for_each(|offsets| offsets.retain(|_, offset| keeps(offset.at_ms)));
        topics.retain(|_, offsets| !offsets.is_empty());
        Some(GroupOffsets { protocol_type: group.protocol_type.clone(), idle_since_ms, topics })
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn topic(id: u128) -> TopicId {
        TopicId(Uuid::from_u128(id))
    }

    fn at(id: u128, partition: u32) -> TopicPartition {
        TopicPartition { topic: topic(id), partition }
    }

    fn offset(offset: i64, at_ms: i64) -> CommittedOffset {
        CommittedOffset { offset, epoch: None, metadata: String::new(), at_ms }
    }

    fn commit_of(group: &str, offsets: &[(TopicPartition, CommittedOffset)]) -> Change {
        Change::Commit { group: group.into(), protocol_type: "consumer".into(), offsets: offsets.to_vec() }
    }

    fn tidy(now_ms: i64, active: &[&str], gone: &[u128]) -> Change {
        let active = Arc::new(active.iter().map(|group| (*group).to_owned()).collect());
        Change::Tidy(Tidy { now_ms, retention_ms: 100, active, gone: Arc::new(gone.iter().map(|id| topic(*id)).collect()) })
    }

    fn found(shard: &OffsetShard, group: &str) -> Vec<(u128, u32, i64)> {
        let topics = shard.groups.get(group).map(|group| group.topics.clone()).unwrap_or_default();
        topics.iter().flat_map(|(t, ps)| ps.iter().map(|(p, o)| (t.0.as_u128(), *p, o.offset)).collect::<Vec<_>>()).collect()
    }

    #[test]
    fn the_last_commit_of_a_partition_wins() {
        let mut shard = OffsetShard::default();
        commit_of("g", &[(at(1, 0), offset(5, 0)), (at(1, 1), offset(6, 0))]).apply(&mut shard).unwrap();
        commit_of("g", &[(at(1, 0), offset(3, 1))]).apply(&mut shard).unwrap();
        assert_eq!(found(&shard, "g"), [(1, 0, 3), (1, 1, 6)]);
        assert_eq!(found(&shard, "h"), []);
    }

    #[test]
    fn members_that_commit_what_is_stored_write_nothing() {
        let mut shard = OffsetShard::default();
        let all = [(at(1, 0), offset(5, 0)), (at(1, 1), offset(6, 0))];
        assert!(commit_of("g", &all).apply(&mut shard).unwrap());
        let later = [(at(1, 0), offset(5, 90))];
        assert!(!commit_of("g", &later).apply(&mut shard).unwrap());
        assert!(commit_of("g", &[(at(1, 0), offset(4, 90))]).apply(&mut shard).unwrap(), "back is a change too");
        let alone = Change::Commit { group: "g".into(), protocol_type: String::new(), offsets: all.to_vec() };
        assert!(alone.apply(&mut shard).unwrap() && alone.apply(&mut shard).unwrap(), "without membership the time counts");
        tidy(95, &[], &[]).apply(&mut shard).unwrap();
        assert!(commit_of("g", &later).apply(&mut shard).unwrap(), "the group is idle no more");
        assert_eq!(shard.groups["g"].idle_since_ms, None);
    }

    #[test]
    fn what_is_deleted_is_gone_and_nothing_else() {
        let mut shard = OffsetShard::default();
        commit_of("g", &[(at(1, 0), offset(5, 0)), (at(2, 0), offset(6, 0))]).apply(&mut shard).unwrap();
        commit_of("h", &[(at(1, 0), offset(7, 0))]).apply(&mut shard).unwrap();
        let delete = |partitions: &[TopicPartition]| Change::DeleteOffsets { group: "g".into(), partitions: partitions.to_vec() };
        assert!(delete(&[at(1, 0)]).apply(&mut shard).unwrap());
        assert!(!delete(&[at(1, 0)]).apply(&mut shard).unwrap());
        assert_eq!((found(&shard, "g"), found(&shard, "h")), (vec![(2, 0, 6)], vec![(1, 0, 7)]));
        assert!(Change::DeleteGroup { group: "h".into() }.apply(&mut shard).unwrap());
        assert!(!Change::DeleteGroup { group: "h".into() }.apply(&mut shard).unwrap());
        assert!(delete(&[at(2, 0)]).apply(&mut shard).unwrap());
        assert!(shard.groups.is_empty(), "a group without offsets is forgotten");
    }

    #[test]
    fn offsets_of_a_group_with_members_are_kept_however_old() {
        let mut shard = OffsetShard::default();
        commit_of("g", &[(at(1, 0), offset(5, 0))]).apply(&mut shard).unwrap();
        assert!(!tidy(1_000_000, &["g"], &[]).apply(&mut shard).unwrap(), "nothing to write");
        assert_eq!(found(&shard, "g"), [(1, 0, 5)]);
    }

    #[test]
    fn offsets_go_so_long_after_the_last_member_or_the_last_commit_whichever_is_later() {
        let mut shard = OffsetShard::default();
        commit_of("g", &[(at(1, 0), offset(5, 0)), (at(1, 1), offset(6, 1_050))]).apply(&mut shard).unwrap();
        assert!(tidy(1_000, &[], &[]).apply(&mut shard).unwrap(), "idle since now, however old the commit");
        assert!(!tidy(1_099, &[], &[]).apply(&mut shard).unwrap());
        assert!(tidy(1_100, &[], &[]).apply(&mut shard).unwrap());
        assert_eq!(found(&shard, "g"), [(1, 1, 6)]);
        assert!(tidy(1_101, &["g"], &[]).apply(&mut shard).unwrap(), "members are back");
        assert!(tidy(1_200, &[], &[]).apply(&mut shard).unwrap(), "and gone again");
        assert_eq!(found(&shard, "g"), [(1, 1, 6)]);
        assert!(tidy(1_300, &[], &[]).apply(&mut shard).unwrap());
        assert!(shard.groups.is_empty());
    }

    #[test]
    fn offsets_of_deleted_topics_go_whoever_is_in_the_group() {
        let mut shard = OffsetShard::default();
        commit_of("g", &[(at(1, 0), offset(5, 0)), (at(2, 0), offset(6, 0))]).apply(&mut shard).unwrap();
        assert!(tidy(1, &["g"], &[1]).apply(&mut shard).unwrap());
        assert_eq!(found(&shard, "g"), [(2, 0, 6)]);
    }

    #[test]
    fn a_full_shard_takes_no_more_and_still_moves_on() {
        let mut shard = OffsetShard::default();
        let all: Vec<_> = (0..MAX_OFFSETS as u32).map(|p| (at(1, p), offset(1, 0))).collect();
        commit_of("g", &all).apply(&mut shard).unwrap();
        let refused = commit_of("g", &[(at(2, 0), offset(1, 0))]).apply(&mut shard).unwrap_err();
        assert!(refused.kind() == ErrorKind::InvalidInput && refused.message().contains("100000"), "{refused}");
        commit_of("g", &[(at(1, 7), offset(2, 0))]).apply(&mut shard).unwrap();
        assert_eq!(shard.groups["g"].topics[&topic(1)][&7].offset, 2);
    }
}
