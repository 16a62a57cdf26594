//! Consumer groups: who is in a group, who leads it, and which generation it is in.
//!
//! ```text
//! state        a group: its states, and what leads from one to the next
//! member       one member of it
//! join, sync, heartbeat, leave     the requests of members
//! timers       what time brings
//! summary      what others are told of a group
//! coordinator  all groups: locks, tickets, one timer for all
//! upkeep       expiry of offsets
//! ```
//!
//! A [`Group`](state::Group) is pure and synchronous: requests and the time go in, answers come out, some of them
//! later, each by its *ticket*. The coordinator around it only locks, hands out answers and wakes it when it asked to be.
//! How partitions are shared out, eagerly or cooperatively, is the members' own affair: what they subscribe to and
//! what their leader assigns are bytes that pass through.
//!
//! Membership lives in memory: after a restart members are unknown and join again, as clients do by themselves.
//! Offsets are the host's and survive.
//!
//! Invariants, checked over random interleavings: a generation never goes back; a member's id and a static member's
//! instance are in a group once; every ticket is answered, once; only a group that is preparing has members that
//! wait to join, only one that is completing has members that wait for their assignment.

mod coordinator;
mod heartbeat;
mod join;
mod leave;
mod member;
mod state;
mod summary;
mod sync;
#[cfg(test)]
mod tests;
mod timers;
mod upkeep;

pub(crate) use coordinator::{Groups, JoinAnswer, SyncAnswer, of_commit, of_read};
pub(crate) use heartbeat::Who;
pub(crate) use join::{Join, JoinRefused, Joined};
pub(crate) use leave::Leaving;
pub(crate) use member::{Client, Protocol};
pub(crate) use summary::{MemberSummary, Summary};
pub(crate) use sync::{Sync, Synced};
