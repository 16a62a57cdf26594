//! Leaving: a member by itself, or an operator for it, by its id or its instance.

use kafka_protocol::ResponseError;
use tidegate::env::Instant;

use super::heartbeat::Who;
use super::state::{Group, MemberId, State};

/// A member that is to leave; without an id it is known by its instance.
pub(crate) type Leaving<'a> = Who<'a>;

impl Group {
    /// Takes members out, and says of each whether it went.
    pub(crate) fn leave(&mut self, now: Instant, leaving: &[Leaving<'_>]) -> Result<Vec<Result<(), ResponseError>>, ResponseError> {
        if self.state == State::Dead {
            return Err(ResponseError::CoordinatorNotAvailable);
        }
        let left: Vec<_> = leaving.iter().map(|who| self.leave_one(who)).collect();
        if left.iter().any(Result::is_ok) {
            self.thinned_out(now);
        }
        Ok(left)
    }

    fn leave_one(&mut self, who: &Leaving<'_>) -> Result<(), ResponseError> {
        if who.instance.is_none() && self.promised.remove(who.member).is_some() {
            return Ok(());
        }
        let id = self.leaver(who)?;
        self.forget(&id);
        Ok(())
    }

    fn leaver(&self, who: &Leaving<'_>) -> Result<MemberId, ResponseError> {
        let by_instance = who.instance.filter(|_| who.member.is_empty());
        let id = by_instance.map_or(Some(who.member), |instance| self.instances.get(instance).map(|id| &**id));
        let id = id.ok_or(ResponseError::UnknownMemberId)?;
        self.known(&Who { member: id, instance: who.instance })?;
        Ok(id.into())
    }
}
