//! Syncing: the leader brings the assignment, everybody gets a part of it.

use std::sync::Arc;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use tidegate::env::Instant;

use super::heartbeat::Who;
use super::member::Ticket;
use super::state::{Effect, Group, MemberId, State};

/// A request for the member's assignment.
#[derive(Clone, Debug)]
pub(crate) struct Sync<'a> {
    pub(crate) ticket: Ticket,
    pub(crate) who: Who<'a>,
    pub(crate) generation: i32,
    /// What the member believes that the group has, where it says so.
    pub(crate) protocol_type: Option<&'a str>,
    pub(crate) protocol: Option<&'a str>,
    /// From the leader: what each member gets.
    pub(crate) assignments: Vec<(MemberId, Bytes)>,
}

/// A member's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Synced {
    pub(crate) protocol_type: Arc<str>,
    pub(crate) protocol: Arc<str>,
    pub(crate) assignment: Bytes,
}

impl Group {
    /// Takes a request to sync; its ticket is answered at once or when the leader has assigned.
    pub(crate) fn sync(&mut self, now: Instant, sync: Sync<'_>) {
        let ticket = sync.ticket;
        if let Err(error) = self.try_sync(now, sync) {
            self.effects.push(Effect::Synced(ticket, Err(error)));
        }
    }

    fn try_sync(&mut self, now: Instant, sync: Sync<'_>) -> Result<(), ResponseError> {
        self.current(&sync.who, sync.generation)?;
        let differs = |said: Option<&str>, is: &str| said.is_some_and(|said| said != is);
        if differs(sync.protocol_type, &self.protocol_type) || differs(sync.protocol, self.protocol.as_deref().unwrap_or_default()) {
            return Err(ResponseError::InconsistentGroupProtocol);
        }
        let id = sync.who.member;
        match self.state {
            State::Empty | State::Dead => return Err(ResponseError::UnknownMemberId),
            State::Preparing { .. } => return Err(ResponseError::RebalanceInProgress),
            State::Stable => {
                self.wait_for_sync(now, id, sync.ticket);
                self.hand_out();
            }
            State::Completing if self.leader.as_deref() == Some(id) => {
                self.room_for(&sync.assignments)?;
                self.wait_for_sync(now, id, sync.ticket);
                self.assign(sync.assignments);
            }
            State::Completing => self.wait_for_sync(now, id, sync.ticket),
        }
        Ok(())
    }

    fn room_for(&self, assignments: &[(MemberId, Bytes)]) -> Result<(), ResponseError> {
        let bytes: usize = assignments.iter().map(|(_, assignment)| assignment.len()).sum();
        if self.bytes() + bytes > self.rules.bytes { Err(ResponseError::GroupMaxSizeReached) } else { Ok(()) }
    }

    fn wait_for_sync(&mut self, now: Instant, id: &str, ticket: Ticket) {
        let Some(member) = self.members.get_mut(id) else { return };
        member.heard(now);
        member.owes_sync = false;
        if let Some(earlier) = member.syncing.replace(ticket) {
            self.effects.push(Effect::Synced(earlier, Err(ResponseError::RebalanceInProgress)));
        }
        if self.members.values().all(|member| !member.owes_sync) {
            self.sync_deadline = None;
        }
    }

    /// The generation has its assignment; who is not in it gets nothing.
    fn assign(&mut self, assignments: Vec<(MemberId, Bytes)>) {
        for member in self.members.values_mut() {
            member.assignment = Bytes::new();
        }
        for (id, assignment) in assignments {
            if let Some(member) = self.members.get_mut(&id) {
                member.assignment = assignment;
            }
        }
        self.state = State::Stable;
        self.hand_out();
    }

    fn hand_out(&mut self) {
        let protocol = self.protocol.clone().unwrap_or_else(|| "".into());
        for member in self.members.values_mut() {
            if let Some(ticket) = member.syncing.take() {
                let (protocol_type, protocol) = (self.protocol_type.clone(), protocol.clone());
                let synced = Synced { protocol_type, protocol, assignment: member.assignment.clone() };
                self.effects.push(Effect::Synced(ticket, Ok(synced)));
            }
        }
    }
}
