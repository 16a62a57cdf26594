//! All groups of this broker: a lock and the waiting requests of each, and one timer for all.
//!
//! Every call locks one group, lets it decide, hands out the answers and notes when it wants to be woken. Nothing
//! waits under a lock. The timer is lazy: a group is woken at the earliest time that it ever asked for, and asks anew
//! then; the heartbeats between do not touch the timer.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::ResponseError;
use parking_lot::Mutex;
use tidegate::env::{Instant, now};
use tidegate::metrics::GroupMetrics;
use tidegate::{Error, Storage};
use tokio::sync::{Notify, oneshot};
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;

use super::heartbeat::Who;
use super::join::{Join, JoinRefused, Joined};
use super::leave::Leaving;
use super::member::Ticket;
use super::state::{Effect, Group, Rules, State};
use super::summary::Summary;
use super::sync::{Sync, Synced};
use crate::config::GroupSettings;

/// The answer to a join, when it comes.
pub(crate) type JoinAnswer = oneshot::Receiver<Result<Joined, JoinRefused>>;
/// The answer to a sync, when it comes.
pub(crate) type SyncAnswer = oneshot::Receiver<Result<Synced, ResponseError>>;

/// The groups that this broker coordinates.
pub(crate) struct Groups {
    pub(super) storage: Storage,
    pub(super) settings: GroupSettings,
    pub(super) entries: Mutex<BTreeMap<Arc<str>, Arc<Entry>>>,
    timer: Timer,
}

/// A group and who waits for its answers.
pub(super) struct Entry {
    id: Arc<str>,
    slot: Mutex<Slot>,
}

struct Slot {
    group: Group,
    tickets: Ticket,
    joins: HashMap<Ticket, oneshot::Sender<Result<Joined, JoinRefused>>>,
    syncs: HashMap<Ticket, oneshot::Sender<Result<Synced, ResponseError>>>,
    /// When the timer wakes it.
    armed: Option<Instant>,
    /// Members as last counted.
    counted: usize,
    /// It has had members since somebody asked.
    lived: bool,
}

#[derive(Default)]
struct Timer {
    due: Mutex<BTreeSet<(Instant, Arc<str>)>>,
    earlier: Notify,
}

impl Slot {
    fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        self.tickets
    }
}

impl Groups {
    pub(crate) fn new(storage: Storage, settings: GroupSettings) -> Self {
        Self { storage, settings, entries: Mutex::default(), timer: Timer::default() }
    }

    /// Wakes groups when they are due, and tidies offsets now and then, until `stop`.
    pub(crate) async fn run(&self, stop: &CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.wake() => {}
            () = self.tidy_again_and_again() => {}
        }
    }

    /// Joins; `fresh` is the id for a member without one. The group is made if need be.
    pub(crate) fn join(&self, group: &str, join: Join) -> Result<JoinAnswer, ResponseError> {
        let entry = match join.member.is_empty() {
            true => self.entry_or_new(group)?,
            false => self.entry(group).ok_or(ResponseError::UnknownMemberId)?,
        };
        Ok(self.with(&entry, |slot, now| {
            let (answer, receiver) = oneshot::channel();
            let ticket = slot.ticket();
            slot.joins.insert(ticket, answer);
            slot.group.join(now, Join { ticket, ..join });
            receiver
        }))
    }

    pub(crate) fn sync(&self, group: &str, sync: Sync<'_>) -> Result<SyncAnswer, ResponseError> {
        let entry = self.entry(group).ok_or(ResponseError::UnknownMemberId)?;
        Ok(self.with(&entry, |slot, now| {
            let (answer, receiver) = oneshot::channel();
            let ticket = slot.ticket();
            slot.syncs.insert(ticket, answer);
            slot.group.sync(now, Sync { ticket, ..sync });
            receiver
        }))
    }

    pub(crate) fn heartbeat(&self, group: &str, who: &Who<'_>, generation: i32) -> Result<(), ResponseError> {
        let entry = self.entry(group).ok_or(ResponseError::UnknownMemberId)?;
        self.with(&entry, |slot, now| slot.group.heartbeat(now, who, generation))
    }

    /// Takes members out; says of each how it went.
    pub(crate) fn leave(&self, group: &str, leaving: &[Leaving<'_>]) -> Result<Vec<Result<(), ResponseError>>, ResponseError> {
        match self.entry(group) {
            Some(entry) => self.with(&entry, |slot, now| slot.group.leave(now, leaving)),
            None => Ok(leaving.iter().map(|_| Err(ResponseError::UnknownMemberId)).collect()),
        }
    }

    /// Calls `commit` with the group's protocol type if offsets may be committed in this name; the group does not
    /// change meanwhile. Without a generation it is from outside of the group.
    pub(crate) fn commit<T>(
        &self,
        group: &str,
        who: &Who<'_>,
        generation: i32,
        commit: impl FnOnce(&str) -> T,
    ) -> Result<T, ResponseError> {
        let Some(entry) = self.entry(group) else {
            return if generation < 0 { Ok(commit("")) } else { Err(ResponseError::IllegalGeneration) };
        };
        self.with(&entry, |slot, now| {
            slot.group.may_commit(now, who, generation)?;
            let protocol_type = if who.member.is_empty() { "" } else { slot.group.protocol_type() };
            Ok(commit(protocol_type))
        })
    }

    /// Describes a group that has, or had, members here.
    pub(crate) fn summary(&self, group: &str) -> Option<Summary> {
        let entry = self.entry(group)?;
        self.with(&entry, |slot, _| slot.group.has_history().then(|| slot.group.summary()))
    }

    /// All groups that have, or had, members here, with protocol type and state.
    pub(crate) fn list(&self) -> Vec<(Arc<str>, String, State)> {
        let entries: Vec<_> = self.entries.lock().values().cloned().collect();
        let listed = entries.iter().filter_map(|entry| {
            let slot = entry.slot.lock();
            let group = &slot.group;
            group.has_history().then(|| (entry.id.clone(), group.protocol_type().to_owned(), group.state()))
        });
        listed.collect()
    }

    /// The topics that members of a group may read: empty without members, `None` if that cannot be told.
    pub(crate) fn subscribed(&self, group: &str) -> Option<BTreeSet<String>> {
        self.entry(group).map_or_else(|| Some(BTreeSet::new()), |entry| entry.slot.lock().group.subscribed())
    }

    /// Forgets a group without members. Says whether there was one.
    pub(crate) fn delete(&self, group: &str) -> Result<bool, ResponseError> {
        let mut entries = self.entries.lock();
        let Some(entry) = entries.get(group).cloned() else { return Ok(false) };
        let mut slot = entry.slot.lock();
        if !slot.group.is_idle() {
            return Err(ResponseError::NonEmptyGroup);
        }
        slot.group.die();
        entries.remove(group);
        self.metrics().groups.dec();
        Ok(slot.group.has_history())
    }

    /// Forgets the groups that nobody is in; what they committed is the host's.
    pub(super) fn forget_idle(&self) {
        let mut entries = self.entries.lock();
        self.forget_idle_of(&mut entries);
    }

    fn forget_idle_of(&self, entries: &mut BTreeMap<Arc<str>, Arc<Entry>>) {
        entries.retain(|_, entry| {
            let Some(mut slot) = entry.slot.try_lock() else { return true };
            let idle = slot.group.is_idle();
            if idle {
                slot.group.die();
                self.metrics().groups.dec();
            }
            !idle
        });
    }

    /// Groups that have members, or have had some since this was asked last.
    pub(super) fn active(&self) -> BTreeSet<String> {
        let entries: Vec<_> = self.entries.lock().values().cloned().collect();
        let active = entries.iter().filter(|entry| {
            let mut slot = entry.slot.lock();
            std::mem::take(&mut slot.lived) || slot.group.member_count() > 0
        });
        active.map(|entry| entry.id.to_string()).collect()
    }

    fn metrics(&self) -> &GroupMetrics {
        &self.storage.metrics().group
    }

    fn entry(&self, group: &str) -> Option<Arc<Entry>> {
        self.entries.lock().get(group).cloned()
    }

    fn entry_or_new(&self, group: &str) -> Result<Arc<Entry>, ResponseError> {
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.get(group) {
            return Ok(entry.clone());
        }
        if entries.len() >= self.settings.groups as usize {
            self.forget_idle_of(&mut entries);
        }
        if entries.len() >= self.settings.groups as usize {
            tracing::warn!(group, limit = self.settings.groups, "group refused: broker.groups.groups have members");
            return Err(ResponseError::GroupMaxSizeReached);
        }
        let entry = Arc::new(Entry { id: group.into(), slot: Mutex::new(self.new_slot()) });
        entries.insert(entry.id.clone(), entry.clone());
        self.metrics().groups.inc();
        Ok(entry)
    }

    fn new_slot(&self) -> Slot {
        let rules = Rules {
            initial_delay: Duration::from_millis(self.settings.initial_rebalance_delay_ms.into()),
            members: self.settings.members_per_group as usize,
            bytes: self.settings.bytes_per_group as usize,
        };
        let (joins, syncs) = (HashMap::new(), HashMap::new());
        Slot { group: Group::new(rules), tickets: 0, joins, syncs, armed: None, counted: 0, lived: false }
    }

    /// Lets a group decide, and does what follows from it.
    fn with<T>(&self, entry: &Entry, decide: impl FnOnce(&mut Slot, Instant) -> T) -> T {
        let mut slot = entry.slot.lock();
        let now = now();
        slot.group.tick(now);
        let decided = decide(&mut slot, now);
        slot.group.tick(now);
        self.follow_up(&entry.id, &mut slot);
        decided
    }

    fn follow_up(&self, id: &Arc<str>, slot: &mut Slot) {
        for effect in slot.group.take_effects() {
            self.hand_out(slot, effect);
        }
        let members = slot.group.member_count();
        self.metrics().members.inc_by(members as i64 - slot.counted as i64);
        slot.counted = members;
        slot.lived |= members > 0;
        if let Some(due) = slot.group.next_deadline()
            && slot.armed.is_none_or(|armed| due < armed)
        {
            self.timer.move_to(id, slot.armed.replace(due), due);
        }
    }

    /// Whoever waited may have gone: then nobody hears.
    fn hand_out(&self, slot: &mut Slot, effect: Effect) {
        match effect {
            Effect::Joined(ticket, answer) => {
                let _ = slot.joins.remove(&ticket).map(|waiting| waiting.send(answer));
            }
            Effect::Synced(ticket, answer) => {
                let _ = slot.syncs.remove(&ticket).map(|waiting| waiting.send(answer));
            }
            Effect::GenerationBegan => {
                self.metrics().rebalances.inc();
            }
            Effect::MemberExpired => {
                self.metrics().expired_members.inc();
            }
        }
    }

    async fn wake(&self) {
        loop {
            tokio::select! {
                () = self.timer.wait() => self.wake_due(now()),
                () = self.timer.earlier.notified() => {}
            }
        }
    }

    fn wake_due(&self, now: Instant) {
        while let Some(group) = self.timer.take_due(now) {
            let Some(entry) = self.entry(&group) else { continue };
            entry.slot.lock().armed = None;
            self.with(&entry, |_, _| ());
        }
    }
}

impl Timer {
    /// Ends when the first group is due.
    async fn wait(&self) {
        let first = self.due.lock().first().map(|(at, _)| *at);
        match first {
            Some(at) => sleep_until(at).await,
            None => std::future::pending().await,
        }
    }

    fn move_to(&self, group: &Arc<str>, from: Option<Instant>, to: Instant) {
        let mut due = self.due.lock();
        if let Some(from) = from {
            due.remove(&(from, group.clone()));
        }
        let earlier = due.first().is_none_or(|(first, _)| to < *first);
        due.insert((to, group.clone()));
        drop(due);
        if earlier {
            self.earlier.notify_one();
        }
    }

    fn take_due(&self, now: Instant) -> Option<Arc<str>> {
        let mut due = self.due.lock();
        let first = due.first().filter(|(at, _)| *at <= now)?.clone();
        due.remove(&first);
        Some(first.1)
    }
}

/// What a failure of the host means to a member that commits.
pub(crate) fn of_commit(error: &Error) -> ResponseError {
    use tidegate::ErrorKind::*;
    match error.kind() {
        InvalidInput => ResponseError::InvalidCommitOffsetSize,
        Closed | NotLeader => ResponseError::NotCoordinator,
        Unavailable | Busy | OutcomeUnknown | AlreadyExists | Conflict => ResponseError::CoordinatorNotAvailable,
        NotFound | OffsetOutOfRange | Corrupt | Unsupported => ResponseError::UnknownServerError,
    }
}

/// What a failure of the host means to one who asks for offsets.
pub(crate) fn of_read(error: &Error) -> ResponseError {
    match of_commit(error) {
        ResponseError::CoordinatorNotAvailable => ResponseError::CoordinatorLoadInProgress,
        other => other,
    }
}
