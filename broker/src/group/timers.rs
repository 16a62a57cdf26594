//! What time brings: sessions end, promises lapse, rebalances go on without the late.

use tidegate::env::Instant;

use super::member::Member;
use super::state::{Effect, Group, MemberId, State};

impl Group {
    /// When [`tick`](Self::tick) is due, if nothing happens before.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let preparing = match self.state {
            State::Preparing { deadline, .. } => Some(deadline),
            _ => None,
        };
        let members = self.members.values().filter_map(|member| member.expires_at());
        members.chain(self.promised.values().copied()).chain(preparing).chain(self.sync_deadline).min()
    }

    /// Does what is due by now.
    pub(crate) fn tick(&mut self, now: Instant) {
        if self.next_deadline().is_none_or(|due| due > now) {
            return;
        }
        let promised = self.promised.len();
        self.promised.retain(|_, until| *until > now);
        let silent = self.silent(now);
        for id in &silent {
            self.forget(id);
            self.effects.push(Effect::MemberExpired);
        }
        if !silent.is_empty() || self.promised.len() < promised {
            self.thinned_out(now);
        }
        self.begin_if_ready(now);
    }

    /// Members that were silent for too long, or never asked for their assignment.
    fn silent(&mut self, now: Instant) -> Vec<MemberId> {
        let late = self.sync_deadline.is_some_and(|deadline| deadline <= now);
        if late {
            self.sync_deadline = None;
        }
        let gone = |member: &Member| member.expires_at().is_some_and(|at| at <= now) || (late && member.owes_sync);
        self.members.iter().filter(|(_, member)| gone(member)).map(|(id, _)| id.clone()).collect()
    }
}
