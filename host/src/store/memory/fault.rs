//! What can go wrong with a request, as a script says it.
//!
//! A request travels: it waits at a *gate*, takes `before` to reach the store, has its *effect* there, and its
//! *reply* takes `after` to come back. Each of these can be set by itself, so a lost reply, a late arrival or
//! a hang are combinations and not special cases.

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;

use crate::store::{GetRange, Operation, PutMode, StoreErrorKind};

/// A request as a script sees it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Which request.
    pub operation: Operation,
    /// Key, or prefix of a listing. A delete is shown key by key.
    pub key: &'a str,
    /// How often this operation was tried on this key, this time included.
    pub attempt: u32,
    /// Precondition of a put.
    pub mode: Option<&'a PutMode>,
    /// Range of a get.
    pub range: Option<&'a GetRange>,
    /// Bytes of a put's body.
    pub size: u64,
}

/// Decides what becomes of each request. Any closure of that shape is one.
pub trait Script: Send {
    /// Asked once for each request, in the order of their arrival.
    fn fault(&mut self, request: &Request<'_>) -> Fault;
}

impl<F: FnMut(&Request<'_>) -> Fault + Send> Script for F {
    fn fault(&mut self, request: &Request<'_>) -> Fault {
        self(request)
    }
}

/// What happens to the request at the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It takes effect; a caller that is cancelled before takes the request with it.
    Apply,
    /// It takes effect whether or not the caller is still there: the request was sent.
    Detached,
    /// It takes effect so much later, under its precondition as of then, caller or no caller. The reply does not wait for it.
    Late(Duration),
    /// Nothing happens.
    Skip,
}

/// What the caller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// What the store did; [`StoreErrorKind::OutcomeUnknown`] if nothing was done yet.
    Truth,
    /// This error, whatever the store did.
    Fail(StoreErrorKind),
    /// Nothing, ever.
    Hang,
}

/// Damage to the bytes that a get answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The last so many bytes are missing.
    Truncate(usize),
    /// The lowest bit of the byte at this index (modulo the length) is flipped.
    Flip(usize),
}

/// The fate of one request.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Holds the request back until it opens.
    pub gate: Option<Gate>,
    /// Time to reach the store.
    pub before: Duration,
    /// What happens there.
    pub effect: Effect,
    /// Time for the reply.
    pub after: Duration,
    /// The reply.
    pub reply: Reply,
    /// Damage to it.
    pub damage: Option<Damage>,
}

impl Fault {
    /// Everything goes well, at once.
    pub fn none() -> Self {
        Self { gate: None, before: Duration::ZERO, effect: Effect::Apply, after: Duration::ZERO, reply: Reply::Truth, damage: None }
    }

    /// Fails before it has any effect.
    pub fn fail(kind: StoreErrorKind) -> Self {
        Self { effect: Effect::Skip, reply: Reply::Fail(kind), ..Self::none() }
    }

    /// Takes effect; the caller is told that the outcome is unknown.
    pub fn lost_reply() -> Self {
        Self { reply: Reply::Fail(StoreErrorKind::OutcomeUnknown), ..Self::none() }
    }

    /// The caller is told now that the outcome is unknown; the effect comes so much later, if its precondition still holds.
    pub fn late(delay: Duration) -> Self {
        Self { effect: Effect::Late(delay), ..Self::lost_reply() }
    }

    /// No effect and no reply.
    pub fn hang() -> Self {
        Self { effect: Effect::Skip, reply: Reply::Hang, ..Self::none() }
    }

    /// Takes effect, and no reply comes.
    pub fn hang_after_effect() -> Self {
        Self { reply: Reply::Hang, ..Self::none() }
    }

    /// A get answers damaged bytes.
    pub fn damaged(damage: Damage) -> Self {
        Self { damage: Some(damage), ..Self::none() }
    }

    /// The same, so much later at the store.
    pub fn before(mut self, delay: Duration) -> Self {
        self.before = delay;
        self
    }

    /// The same, with so much more time until the reply.
    pub fn after(mut self, delay: Duration) -> Self {
        self.after = delay;
        self
    }

    /// The same, and the effect comes even if the caller is gone.
    pub fn detached(mut self) -> Self {
        if self.effect == Effect::Apply {
            self.effect = Effect::Detached;
        }
        self
    }

    /// The same, once the gate opens.
    pub fn held(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }
}

/// Holds requests back until a test opens it; stays open then.
#[derive(Clone)]
pub struct Gate(watch::Sender<bool>);

impl Default for Gate {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self.0.borrow() { "Gate(open)" } else { "Gate(shut)" })
    }
}

impl Gate {
    /// A shut gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets everything through from now on.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    pub(super) async fn passed(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|open| *open).await;
    }
}
