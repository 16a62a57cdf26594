//! One member of a group.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tidegate::env::Instant;

/// Names a request that is answered later.
pub(crate) type Ticket = u64;

/// A protocol that a member can follow, with what it subscribes to in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Protocol {
    pub(crate) name: Arc<str>,
    pub(crate) metadata: Bytes,
}

/// Who a member says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) id: Arc<str>,
    pub(crate) host: Arc<str>,
}

/// A member.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Name that it keeps over restarts, if it is a static member.
    pub(super) instance: Option<Arc<str>>,
    pub(super) client: Client,
    /// It is gone when it is silent for so long.
    pub(super) session: Duration,
    /// So long others wait for it to join a generation.
    pub(super) rebalance: Duration,
    /// In its order of preference.
    pub(super) protocols: Vec<Protocol>,
    /// What the leader gave it in this generation.
    pub(super) assignment: Bytes,
    /// It waits for a generation to begin.
    pub(super) joining: Option<Ticket>,
    /// It waits for its assignment.
    pub(super) syncing: Option<Ticket>,
    /// It has joined this generation and not asked for its assignment yet.
    pub(super) owes_sync: bool,
    /// When its silence has lasted too long.
    pub(super) deadline: Instant,
}

impl Member {
    /// What it subscribes to in a protocol.
    pub(super) fn metadata(&self, protocol: &str) -> Option<&Bytes> {
        self.protocols.iter().find(|known| &*known.name == protocol).map(|known| &known.metadata)
    }

    /// It was heard of.
    pub(super) fn heard(&mut self, now: Instant) {
        self.deadline = now + self.session;
    }

    /// Whether its time is over: one that waits for an answer does not have to speak.
    pub(super) fn expires_at(&self) -> Option<Instant> {
        (self.joining.is_none() && self.syncing.is_none()).then_some(self.deadline)
    }

    /// Bytes that it holds, more or less.
    pub(super) fn bytes(&self) -> usize {
        let protocols = self.protocols.iter().map(|protocol| protocol.name.len() + protocol.metadata.len());
        let names = self.client.id.len() + self.client.host.len() + self.instance.as_ref().map_or(0, |instance| instance.len());
        size_of::<Self>() + protocols.sum::<usize>() + names + self.assignment.len()
    }
}
