//! A group with a clock of its own.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use tidegate::env::{Instant, now};

use crate::group::heartbeat::Who;
use crate::group::join::{Join, JoinRefused, Joined};
use crate::group::member::{Client, Protocol, Ticket};
use crate::group::state::{Effect, Group, MemberId, Rules};
use crate::group::sync::{Sync, Synced};

pub(super) const DELAY: Duration = Duration::from_secs(1);
pub(super) const SESSION: Duration = Duration::from_secs(10);
pub(super) const REBALANCE: Duration = Duration::from_secs(60);

/// A group, the time, and the answers so far.
pub(super) struct World {
    pub(super) group: Group,
    pub(super) now: Instant,
    tickets: Ticket,
    pub(super) joins: BTreeMap<Ticket, Result<Joined, JoinRefused>>,
    pub(super) syncs: BTreeMap<Ticket, Result<Synced, ResponseError>>,
    pub(super) expired: usize,
}

/// A request to join that is changed as a test needs it.
pub(super) fn join(member: &str) -> Join {
    Join {
        ticket: 0,
        member: member.into(),
        fresh: "".into(),
        instance: None,
        client: Client { id: "client".into(), host: "/127.0.0.1".into() },
        session: SESSION,
        rebalance: REBALANCE,
        protocol_type: "consumer".into(),
        protocols: protocols(&["range"], "topic"),
        comes_again: false,
        can_skip: true,
    }
}

pub(super) fn static_join(instance: &str) -> Join {
    Join { instance: Some(instance.into()), ..join("") }
}

pub(super) fn protocols(names: &[&str], subscription: &str) -> Vec<Protocol> {
    let metadata = Bytes::copy_from_slice(subscription.as_bytes());
    names.iter().map(|name| Protocol { name: (*name).into(), metadata: metadata.clone() }).collect()
}

pub(super) fn who(member: &str) -> Who<'_> {
    Who { member, instance: None }
}

impl World {
    pub(super) fn new() -> Self {
        Self::with(Rules { initial_delay: DELAY, members: 5, bytes: 1 << 20 })
    }

    pub(super) fn with(rules: Rules) -> Self {
        let (joins, syncs) = (BTreeMap::new(), BTreeMap::new());
        Self { group: Group::new(rules), now: now(), tickets: 0, joins, syncs, expired: 0 }
    }

    fn collect(&mut self) {
        for effect in self.group.take_effects() {
            match effect {
                Effect::Joined(ticket, answer) => {
                    assert!(self.joins.insert(ticket, answer).is_none(), "join {ticket} was answered twice");
                }
                Effect::Synced(ticket, answer) => {
                    assert!(self.syncs.insert(ticket, answer).is_none(), "sync {ticket} was answered twice");
                }
                Effect::GenerationBegan => {}
                Effect::MemberExpired => self.expired += 1,
            }
        }
        self.check();
    }

    /// Time passes; the group is woken whenever it asked for it.
    pub(super) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(due) = self.group.next_deadline().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.group.tick(self.now);
            self.collect();
        }
        self.now = end;
    }

    pub(super) fn join(&mut self, join: Join) -> Ticket {
        self.tickets += 1;
        let ticket = self.tickets;
        let fresh = format!("{}-{ticket}", join.instance.as_deref().unwrap_or("m")).into();
        self.group.join(self.now, Join { ticket, fresh, ..join });
        self.collect();
        ticket
    }

    pub(super) fn sync(&mut self, who: Who<'_>, generation: i32, assignments: &[(&str, &str)]) -> Ticket {
        self.tickets += 1;
        let ticket = self.tickets;
        let part = |(id, part): &(&str, &str)| (MemberId::from(*id), Bytes::copy_from_slice(part.as_bytes()));
        let assignments = assignments.iter().map(part).collect();
        self.group.sync(self.now, Sync { ticket, who, generation, protocol_type: None, protocol: None, assignments });
        self.collect();
        ticket
    }

    pub(super) fn heartbeat(&mut self, member: &str, generation: i32) -> Result<(), ResponseError> {
        self.group.heartbeat(self.now, &who(member), generation)
    }

    pub(super) fn commit(&mut self, member: &str, generation: i32) -> Result<(), ResponseError> {
        self.group.may_commit(self.now, &who(member), generation)
    }

    pub(super) fn leave(&mut self, leaving: &[Who<'_>]) -> Vec<Result<(), ResponseError>> {
        let left = self.group.leave(self.now, leaving).unwrap();
        self.collect();
        left
    }

    /// Requests so far that are answered by ticket.
    pub(super) fn tickets(&self) -> u64 {
        self.tickets
    }

    #[track_caller]
    pub(super) fn joined(&self, ticket: Ticket) -> Joined {
        self.joins.get(&ticket).unwrap_or_else(|| panic!("join {ticket} is not answered")).clone().unwrap()
    }

    #[track_caller]
    pub(super) fn join_error(&self, ticket: Ticket) -> ResponseError {
        self.joins.get(&ticket).unwrap_or_else(|| panic!("join {ticket} is not answered")).clone().unwrap_err().error
    }

    #[track_caller]
    pub(super) fn synced(&self, ticket: Ticket) -> Result<String, ResponseError> {
        let answer = self.syncs.get(&ticket).unwrap_or_else(|| panic!("sync {ticket} is not answered")).clone();
        answer.map(|synced| String::from_utf8(synced.assignment.to_vec()).unwrap())
    }

    /// A stable group of these members; gives their ids, the leader's first.
    pub(super) fn stable(&mut self, joins: Vec<Join>) -> Vec<MemberId> {
        let tickets: Vec<_> = joins.into_iter().map(|join| self.join(join)).collect();
        self.pass(DELAY);
        let mut joined: Vec<_> = tickets.into_iter().map(|ticket| self.joined(ticket)).collect();
        joined.sort_by_key(|joined| joined.member != joined.leader);
        let ids: Vec<_> = joined.iter().map(|joined| joined.member.clone()).collect();
        for id in ids.iter().rev() {
            let parts: Vec<(&str, &str)> = ids.iter().map(|id| (&**id, &**id)).collect();
            let instance = self.group.members[id].instance.clone();
            let who = Who { member: id, instance: instance.as_deref() };
            self.sync(who, joined[0].generation, if *id == joined[0].leader { &parts } else { &[] });
        }
        assert_eq!(self.group.state().name(), "Stable");
        ids
    }

    /// What holds after every event.
    fn check(&self) {
        let group = &self.group;
        let state = group.state().name();
        if state == "Dead" {
            return;
        }
        assert_eq!(group.members.is_empty() && state != "PreparingRebalance", state == "Empty", "{state} has members");
        for (instance, id) in &group.instances {
            assert_eq!(group.members[id].instance.as_ref(), Some(instance), "an instance is its member's");
        }
        let instances = group.members.values().filter(|member| member.instance.is_some()).count();
        assert_eq!(instances, group.instances.len(), "each instance is in the group once");
        let joining = group.members.values().any(|member| member.joining.is_some());
        assert!(!joining || state == "PreparingRebalance", "{state} keeps joins waiting");
        let syncing = group.members.values().any(|member| member.syncing.is_some());
        assert!(!syncing || state == "CompletingRebalance", "{state} keeps syncs waiting");
        if !group.members.is_empty() {
            assert!(group.leader.as_ref().is_some_and(|leader| group.members.contains_key(leader)), "{state} has a leader");
        }
        assert!(group.members.keys().all(|id| !group.promised.contains_key(id)), "a promise is kept once");
    }
}
