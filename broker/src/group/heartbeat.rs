//! Signs of life, and whether a request comes from a member of the present generation.

use kafka_protocol::ResponseError;
use tidegate::env::Instant;

use super::state::{Group, State};

/// Who says that it is a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Who<'a> {
    pub(crate) member: &'a str,
    pub(crate) instance: Option<&'a str>,
}

impl Group {
    /// Whether it is a member, and the one that has the instance now.
    pub(super) fn known(&self, who: &Who<'_>) -> Result<(), ResponseError> {
        if self.state == State::Dead {
            return Err(ResponseError::CoordinatorNotAvailable);
        }
        if let Some(instance) = who.instance {
            let owner = self.instances.get(instance).ok_or(ResponseError::UnknownMemberId)?;
            if **owner != *who.member {
                return Err(ResponseError::FencedInstanceId);
            }
        }
        if self.members.contains_key(who.member) { Ok(()) } else { Err(ResponseError::UnknownMemberId) }
    }

    /// Whether it is a member and knows the present generation.
    pub(super) fn current(&self, who: &Who<'_>, generation: i32) -> Result<(), ResponseError> {
        self.known(who)?;
        if generation == self.generation { Ok(()) } else { Err(ResponseError::IllegalGeneration) }
    }

    /// A sign of life. [`RebalanceInProgress`](ResponseError::RebalanceInProgress) tells the member to join again.
    pub(crate) fn heartbeat(&mut self, now: Instant, who: &Who<'_>, generation: i32) -> Result<(), ResponseError> {
        self.current(who, generation)?;
        self.heard(now, who);
        match self.state {
            State::Preparing { .. } => Err(ResponseError::RebalanceInProgress),
            _ => Ok(()),
        }
    }

    /// Whether offsets may be committed in this name. While a rebalance is prepared they may: members give up
    /// partitions just then. Before a new generation has its assignment they may not.
    pub(crate) fn may_commit(&mut self, now: Instant, who: &Who<'_>, generation: i32) -> Result<(), ResponseError> {
        if self.state == State::Dead {
            return Err(ResponseError::CoordinatorNotAvailable);
        }
        let from_outside = generation < 0;
        if from_outside && self.members.is_empty() {
            return Ok(());
        }
        self.current(who, generation)?;
        self.heard(now, who);
        match self.state {
            State::Completing => Err(ResponseError::RebalanceInProgress),
            _ => Ok(()),
        }
    }

    fn heard(&mut self, now: Instant, who: &Who<'_>) {
        if let Some(member) = self.members.get_mut(who.member) {
            member.heard(now);
        }
    }
}
