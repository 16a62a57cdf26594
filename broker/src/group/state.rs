//! A group's states, and what leads from one to the next.
//!
//! ```text
//!            first join             all joined, or late        leader's assignment
//!   Empty ---------------> Preparing ---------------> Completing ---------------> Stable
//!     ^                      |    ^                      |                          |
//!     |  nobody is left      |    |  a member comes, goes or subscribes anew        |
//!     +----------------------+    +----------------------+--------------------------+
//! ```
//!
//! *Preparing* waits until every member has joined, for as long as the most patient of them allows; who has not
//! joined by then is out, unless it is a static member, whose place is kept until its session ends. A group that was
//! empty waits a little for more members instead, so that a fleet that starts together becomes one generation.
//! *Completing* waits for the leader's assignment. A *dead* group was deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use tidegate::env::Instant;

use super::join::{JoinRefused, Joined, JoinedMember};
use super::member::{Member, Protocol, Ticket};
use super::sync::Synced;

/// How often, at most, a group looks for a leader while all its members are away.
const LEADERLESS_PAUSE: Duration = Duration::from_secs(1);

/// A member's id: given by this broker, never to two members.
pub(crate) type MemberId = Arc<str>;

/// Bounds and pauses of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// How long an empty group waits for more members after the first.
    pub(crate) initial_delay: Duration,
    /// Members at most, those included that were only given an id.
    pub(crate) members: usize,
    /// Bytes of subscriptions and assignments at most.
    pub(crate) bytes: usize,
}

/// Where a group stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Empty,
    Preparing {
        /// When the generation begins without those who have not joined.
        deadline: Instant,
        /// For a group that was empty: the deadline moves with each new member, up to here.
        gathers_until: Option<Instant>,
    },
    Completing,
    Stable,
    Dead,
}

impl State {
    /// Kafka's name for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Preparing { .. } => "PreparingRebalance",
            Self::Completing => "CompletingRebalance",
            Self::Stable => "Stable",
            Self::Dead => "Dead",
        }
    }
}

/// An answer to a request that waited, or something to be counted.
#[derive(Debug)]
pub(crate) enum Effect {
    Joined(Ticket, Result<Joined, JoinRefused>),
    Synced(Ticket, Result<Synced, ResponseError>),
    GenerationBegan,
    MemberExpired,
}

/// A group.
#[derive(Debug)]
pub(crate) struct Group {
    pub(super) rules: Rules,
    pub(super) state: State,
    pub(super) generation: i32,
    /// What the members call their protocol; that of the last members while there are none.
    pub(super) protocol_type: Arc<str>,
    /// The protocol of this generation.
    pub(super) protocol: Option<Arc<str>>,
    pub(super) leader: Option<MemberId>,
    pub(super) members: BTreeMap<MemberId, Member>,
    /// Static members by their instance.
    pub(super) instances: BTreeMap<Arc<str>, MemberId>,
    /// Ids given to clients that have not joined with them yet, and until when they are kept.
    pub(super) promised: BTreeMap<MemberId, Instant>,
    /// When members that have not asked for their assignment are out.
    pub(super) sync_deadline: Option<Instant>,
    pub(super) effects: Vec<Effect>,
}

impl Group {
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            rules,
            state: State::Empty,
            generation: 0,
            protocol_type: "".into(),
            protocol: None,
            leader: None,
            members: BTreeMap::new(),
            instances: BTreeMap::new(),
            promised: BTreeMap::new(),
            sync_deadline: None,
            effects: Vec::new(),
        }
    }

    /// What happened since it was last asked.
    pub(crate) fn take_effects(&mut self) -> Vec<Effect> {
        mem::take(&mut self.effects)
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn protocol_type(&self) -> &str {
        &self.protocol_type
    }

    pub(crate) fn member_count(&self) -> usize {
        self.members.len()
    }

    /// Whether it can be forgotten: nobody is in it or about to be.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.state, State::Empty | State::Dead) && self.promised.is_empty()
    }

    /// Whether it ever had a member.
    pub(crate) fn has_history(&self) -> bool {
        self.generation > 0 || !self.members.is_empty()
    }

    /// It is deleted; whoever still has it is sent to look for another.
    pub(crate) fn die(&mut self) {
        self.state = State::Dead;
    }

    /// Bytes that its members hold, more or less.
    pub(super) fn bytes(&self) -> usize {
        self.members.values().map(Member::bytes).sum()
    }

    /// So long a rebalance waits: as long as the most patient member.
    fn patience(&self) -> Duration {
        self.members.values().map(|member| member.rebalance).max().unwrap_or_default()
    }

    /// Begins a rebalance, unless one goes on already.
    pub(super) fn rebalance(&mut self, now: Instant) {
        let patience = self.patience();
        self.state = match self.state {
            State::Empty => {
                let deadline = now + self.rules.initial_delay.min(patience);
                State::Preparing { deadline, gathers_until: Some(now + patience) }
            }
            State::Completing | State::Stable => {
                self.refuse_syncs();
                State::Preparing { deadline: now + patience, gathers_until: None }
            }
            State::Preparing { .. } | State::Dead => self.state,
        };
        self.begin_if_ready(now);
    }

    /// Nobody gets an assignment of the generation that ends here.
    fn refuse_syncs(&mut self) {
        self.sync_deadline = None;
        for member in self.members.values_mut() {
            member.owes_sync = false;
            if let Some(ticket) = member.syncing.take() {
                self.effects.push(Effect::Synced(ticket, Err(ResponseError::RebalanceInProgress)));
            }
        }
    }

    /// Begins the next generation if nobody is waited for any more.
    pub(super) fn begin_if_ready(&mut self, now: Instant) {
        let State::Preparing { deadline, gathers_until } = self.state else { return };
        let all_here = self.promised.is_empty() && self.members.values().all(|member| member.joining.is_some());
        if now >= deadline || (all_here && gathers_until.is_none()) {
            self.begin(now);
        }
    }

    fn begin(&mut self, now: Instant) {
        let late = self.members.iter().filter(|(_, member)| member.joining.is_none() && member.instance.is_none());
        for id in late.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.forget(&id);
        }
        if self.members.is_empty() {
            self.generation += 1;
            (self.state, self.protocol, self.leader) = (State::Empty, None, None);
            return;
        }
        if !self.elect() {
            // Only static members are left, and none of them has joined: their sessions end, or they come.
            self.state = State::Preparing { deadline: now + self.patience().max(LEADERLESS_PAUSE), gathers_until: None };
            return;
        }
        self.generation += 1;
        self.protocol = self.choose_protocol();
        self.state = State::Completing;
        self.sync_deadline = Some(now + self.patience());
        self.effects.push(Effect::GenerationBegan);
        self.welcome(now);
    }

    /// The leader stays if it has joined; else one of those who have takes over. `false`: nobody has.
    fn elect(&mut self) -> bool {
        let joined = |id: &MemberId| self.members.get(id).is_some_and(|member| member.joining.is_some());
        let stays = self.leader.clone().filter(joined);
        let Some(leader) = stays.or_else(|| self.members.keys().find(|id| joined(id)).cloned()) else { return false };
        self.leader = Some(leader);
        true
    }

    /// The protocol that most members prefer among those that all can follow.
    fn choose_protocol(&self) -> Option<Arc<str>> {
        let common = self.common_protocols(None);
        let mut votes: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
        for member in self.members.values() {
            if let Some(vote) = member.protocols.iter().find(|protocol| common.contains(&protocol.name)) {
                *votes.entry(&vote.name).or_default() += 1;
            }
        }
        let most = votes.values().copied().max()?;
        votes.into_iter().find(|(_, count)| *count == most).map(|(name, _)| name.clone())
    }

    /// Whether the members would choose the protocol that they have.
    pub(super) fn choose_again(&self) -> bool {
        self.choose_protocol() == self.protocol
    }

    /// Protocols that all members but one can follow; empty if there are no others.
    pub(super) fn common_protocols(&self, except: Option<&str>) -> BTreeSet<Arc<str>> {
        let mut others = self.members.iter().filter(|(id, _)| Some(&***id) != except).map(|(_, member)| member);
        let names = |member: &Member| member.protocols.iter().map(|protocol| protocol.name.clone()).collect::<BTreeSet<_>>();
        let Some(first) = others.next() else { return BTreeSet::new() };
        others.fold(names(first), |mut common, member| {
            common.retain(|name| member.metadata(name).is_some());
            common
        })
    }

    /// Whether somebody with these protocols can be a member beside the others.
    pub(super) fn fits(&self, member: &str, protocol_type: &str, protocols: &[Protocol]) -> bool {
        if protocol_type.is_empty() || protocols.is_empty() {
            return false;
        }
        if self.members.keys().all(|id| &**id == member) {
            return true;
        }
        let common = self.common_protocols(Some(member));
        *self.protocol_type == *protocol_type && protocols.iter().any(|protocol| common.contains(&protocol.name))
    }

    /// Answers all who joined.
    fn welcome(&mut self, now: Instant) {
        let waiting: Vec<(MemberId, Ticket)> =
            self.members.iter_mut().filter_map(|(id, member)| Some((id.clone(), member.joining.take()?))).collect();
        for (id, ticket) in waiting {
            if let Some(member) = self.members.get_mut(&id) {
                member.owes_sync = true;
                member.assignment = Bytes::new();
                member.heard(now);
            }
            let joined = self.joined(&id);
            self.effects.push(Effect::Joined(ticket, Ok(joined)));
        }
    }

    /// What a member of this generation is told; its leader hears of all members.
    pub(super) fn joined(&self, id: &MemberId) -> Joined {
        let leads = self.leader.as_ref() == Some(id);
        Joined {
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone().unwrap_or_else(|| "".into()),
            leader: self.leader.clone().unwrap_or_else(|| "".into()),
            member: id.clone(),
            members: if leads { self.roster() } else { Vec::new() },
            skip_assignment: false,
        }
    }

    /// All members, with what they subscribe to in the protocol of this generation.
    pub(super) fn roster(&self) -> Vec<JoinedMember> {
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let entry = |(id, member): (&MemberId, &Member)| JoinedMember {
            member: id.clone(),
            instance: member.instance.clone(),
            metadata: member.metadata(protocol).cloned().unwrap_or_default(),
        };
        self.members.iter().map(entry).collect()
    }

    /// Removes a member; whoever waits in its name hears that it is unknown.
    pub(super) fn forget(&mut self, id: &MemberId) {
        let Some(member) = self.members.remove(id) else { return };
        if let Some(instance) = &member.instance {
            self.instances.remove(instance);
        }
        if self.leader.as_ref() == Some(id) {
            self.leader = self.members.keys().next().cloned();
        }
        self.refuse(id, &member, ResponseError::UnknownMemberId);
    }

    /// Answers what waits in a member's name.
    pub(super) fn refuse(&mut self, id: &MemberId, member: &Member, error: ResponseError) {
        if let Some(ticket) = member.joining {
            self.effects.push(Effect::Joined(ticket, Err(JoinRefused { error, member: id.clone() })));
        }
        if let Some(ticket) = member.syncing {
            self.effects.push(Effect::Synced(ticket, Err(error)));
        }
    }

    /// Members or promised ids have gone: the others share out anew, or go on without them.
    pub(super) fn thinned_out(&mut self, now: Instant) {
        match self.state {
            State::Completing | State::Stable => self.rebalance(now),
            State::Preparing { .. } => self.begin_if_ready(now),
            State::Empty | State::Dead => {}
        }
    }
}
