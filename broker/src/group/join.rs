//! Joining: new members, members that join again, and static members that come back under another id.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use tidegate::env::Instant;

use super::heartbeat::Who;
use super::member::{Client, Member, Protocol, Ticket};
use super::state::{Effect, Group, MemberId, State};

/// A request to join.
#[derive(Clone, Debug)]
pub(crate) struct Join {
    pub(crate) ticket: Ticket,
    /// Empty for one that has no id yet.
    pub(crate) member: MemberId,
    /// The id that it gets if it has none.
    pub(crate) fresh: MemberId,
    pub(crate) instance: Option<Arc<str>>,
    pub(crate) client: Client,
    pub(crate) session: Duration,
    pub(crate) rebalance: Duration,
    pub(crate) protocol_type: Arc<str>,
    pub(crate) protocols: Vec<Protocol>,
    /// The client can come again with the id that it is told, so that one that never gets its answer is no member.
    pub(crate) comes_again: bool,
    /// The client knows that a leader may be told not to assign.
    pub(crate) can_skip: bool,
}

/// What a member is told of the generation that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Joined {
    pub(crate) generation: i32,
    pub(crate) protocol_type: Arc<str>,
    pub(crate) protocol: Arc<str>,
    pub(crate) leader: MemberId,
    pub(crate) member: MemberId,
    /// For the leader: all members.
    pub(crate) members: Vec<JoinedMember>,
    pub(crate) skip_assignment: bool,
}

/// A member as its leader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JoinedMember {
    pub(crate) member: MemberId,
    pub(crate) instance: Option<Arc<str>>,
    pub(crate) metadata: Bytes,
}

/// Why one cannot join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JoinRefused {
    pub(crate) error: ResponseError,
    /// The id to come again with, or the one that was given.
    pub(crate) member: MemberId,
}

impl Group {
    /// Takes a request to join; its ticket is answered at once or when the next generation begins.
    pub(crate) fn join(&mut self, now: Instant, join: Join) {
        let (ticket, member) = (join.ticket, join.member.clone());
        if let Err(error) = self.try_join(now, join) {
            self.effects.push(Effect::Joined(ticket, Err(JoinRefused { error, member })));
        }
    }

    fn try_join(&mut self, now: Instant, join: Join) -> Result<(), ResponseError> {
        if self.state == State::Dead {
            return Err(ResponseError::CoordinatorNotAvailable);
        }
        self.make_room(&join)?;
        let known = join.instance.as_ref().and_then(|instance| self.instances.get(instance)).cloned();
        match (join.member.is_empty(), known) {
            (true, Some(old)) => self.come_back(now, &old, join),
            (true, None) if join.comes_again && join.instance.is_none() => self.promise(now, join),
            (true, None) => self.enter(now, join.fresh.clone(), join),
            (false, _) if join.instance.is_none() && self.promised.contains_key(&join.member) => self.enter(now, join.member.clone(), join),
            (false, _) => self.join_again(now, join),
        }
    }

    /// Refuses who does not fit in.
    fn make_room(&self, join: &Join) -> Result<(), ResponseError> {
        let replaced = join.instance.as_ref().filter(|_| join.member.is_empty()).and_then(|instance| self.instances.get(instance));
        let myself = replaced.unwrap_or(&join.member);
        if !self.fits(myself, &join.protocol_type, &join.protocols) {
            return Err(ResponseError::InconsistentGroupProtocol);
        }
        let others = self.members.keys().chain(self.promised.keys()).filter(|id| *id != myself).count();
        let bytes: usize = join.protocols.iter().map(|protocol| protocol.metadata.len()).sum();
        if others >= self.rules.members || self.bytes() + bytes > self.rules.bytes {
            return Err(ResponseError::GroupMaxSizeReached);
        }
        Ok(())
    }

    /// Gives an id to come again with.
    fn promise(&mut self, now: Instant, join: Join) -> Result<(), ResponseError> {
        self.promised.insert(join.fresh.clone(), now + join.session);
        let refused = JoinRefused { error: ResponseError::MemberIdRequired, member: join.fresh };
        self.effects.push(Effect::Joined(join.ticket, Err(refused)));
        Ok(())
    }

    /// A new member.
    fn enter(&mut self, now: Instant, id: MemberId, join: Join) -> Result<(), ResponseError> {
        self.promised.remove(&id);
        if self.members.is_empty() {
            self.protocol_type = join.protocol_type;
        }
        if let Some(instance) = &join.instance {
            self.instances.insert(instance.clone(), id.clone());
        }
        self.leader.get_or_insert_with(|| id.clone());
        let member = Member {
            instance: join.instance,
            client: join.client,
            session: join.session,
            rebalance: join.rebalance,
            protocols: join.protocols,
            assignment: Bytes::new(),
            joining: Some(join.ticket),
            syncing: None,
            owes_sync: false,
            deadline: now + join.session,
        };
        self.members.insert(id, member);
        if let State::Preparing { deadline, gathers_until: Some(until) } = &mut self.state {
            *deadline = (now + self.rules.initial_delay).min(*until);
        }
        self.rebalance(now);
        Ok(())
    }

    /// A member that is known joins again.
    fn join_again(&mut self, now: Instant, join: Join) -> Result<(), ResponseError> {
        self.known(&Who { member: &join.member, instance: join.instance.as_deref() })?;
        let id = join.member.clone();
        let same = self.members.get(&id).is_some_and(|member| member.protocols == join.protocols);
        let leads = self.leader.as_ref() == Some(&id);
        match self.state {
            // The answer to its last join may have been lost; a leader that joins again wants a rebalance.
            State::Completing if same => self.tell_again(now, &id, join.ticket),
            State::Stable if same && !leads => self.tell_again(now, &id, join.ticket),
            _ => self.rejoin(now, &id, join),
        }
        Ok(())
    }

    fn tell_again(&mut self, now: Instant, id: &MemberId, ticket: Ticket) {
        if let Some(member) = self.members.get_mut(id) {
            member.heard(now);
        }
        let joined = self.joined(id);
        self.effects.push(Effect::Joined(ticket, Ok(joined)));
    }

    fn rejoin(&mut self, now: Instant, id: &MemberId, join: Join) {
        self.update(now, id, join, true);
        self.rebalance(now);
    }

    /// Takes over what a member says of itself now. Whoever waited to join in its name before waits no more.
    fn update(&mut self, now: Instant, id: &MemberId, join: Join, waits: bool) {
        let Some(member) = self.members.get_mut(id) else { return };
        self.protocol_type = join.protocol_type;
        (member.client, member.protocols) = (join.client, join.protocols);
        (member.session, member.rebalance) = (join.session, join.rebalance);
        member.heard(now);
        let earlier = if waits { member.joining.replace(join.ticket) } else { None };
        if let Some(ticket) = earlier {
            let refused = JoinRefused { error: ResponseError::RebalanceInProgress, member: id.clone() };
            self.effects.push(Effect::Joined(ticket, Err(refused)));
        }
    }

    /// A static member has started again: it takes the place of the one it was, whose requests are fenced. While
    /// nothing changes by that, a stable group stays as it is.
    fn come_back(&mut self, now: Instant, old: &MemberId, join: Join) -> Result<(), ResponseError> {
        let (id, ticket, can_skip) = (join.fresh.clone(), join.ticket, join.can_skip);
        let subscription = |group: &Self, id: &MemberId| {
            let protocol = group.protocol.as_deref().unwrap_or_default();
            group.members.get(id).and_then(|member| member.metadata(protocol)).cloned()
        };
        let before = subscription(self, old);
        let Some(mut member) = self.members.remove(old) else { return Err(ResponseError::UnknownMemberId) };
        self.refuse(old, &member, ResponseError::FencedInstanceId);
        (member.joining, member.syncing) = (None, None);
        if let Some(instance) = &member.instance {
            self.instances.insert(instance.clone(), id.clone());
        }
        let led = self.leader.as_ref() == Some(old);
        if led {
            self.leader = Some(id.clone());
        }
        self.members.insert(id.clone(), member);
        self.update(now, &id, join, false);
        let same = subscription(self, &id) == before && self.choose_again();
        if self.state == State::Stable && same {
            let joined = self.unchanged(old, &id, led, can_skip);
            self.effects.push(Effect::Joined(ticket, Ok(joined)));
        } else {
            if let Some(member) = self.members.get_mut(&id) {
                member.joining = Some(ticket);
            }
            self.rebalance(now);
        }
        Ok(())
    }

    /// A leader that came back must not assign: in a stable group nobody would hear of it. Clients that cannot be
    /// told so are told the old leader's id, in which they do not recognise themselves.
    fn unchanged(&self, old: &MemberId, id: &MemberId, led: bool, can_skip: bool) -> Joined {
        let joined = self.joined(id);
        match (led, can_skip) {
            (true, true) => Joined { skip_assignment: true, ..joined },
            (true, false) => Joined { leader: old.clone(), members: Vec::new(), ..joined },
            (false, _) => joined,
        }
    }
}
