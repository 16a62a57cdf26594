//! Changes of a topic that exists: its own settings, what the broker keeps with it, more partitions.
//!
//! A change is an edit of the record, made again on the newer state where another writer came first. It is checked as a
//! creation is. The record alone is written: lanes are fixed, and a partition that a lane does not name yet begins at
//! offset 0 there, so that a topic may grow under hosts that do not know of it yet. Other hosts follow at their next look.

use super::host::Host;
use crate::config::{self, MAX_PARTITIONS};
use crate::error::{Error, ErrorKind, Result};
use crate::metadata::{TopicRecord, Versioned};
use crate::types::TopicName;

/// Attempts to replace the record while others change it too.
const ATTEMPTS: usize = 16;

/// Edits a topic, and stores it if `store`; gives the state that is, or would be, in force. An edit that changes nothing writes nothing.
pub(super) async fn alter<E: From<Error>>(
    host: &Host,
    name: &TopicName,
    store: bool,
    edit: impl Fn(&mut TopicRecord) -> Result<(), E>,
) -> Result<TopicRecord, E> {
    host.gate.writable()?;
    for _ in 0..ATTEMPTS {
        let Some(stored) = host.metadata.topic(name).await? else {
            return Err(Error::new(ErrorKind::NotFound, format!("there is no topic {name}")).into());
        };
        let mut next = stored.value.clone();
        edit(&mut next)?;
        let next = checked(host, &stored.value, next)?;
        if next == stored.value {
            host.topics.add(next.clone());
            return Ok(next);
        }
        if !store {
            return Ok(next);
        }
        match host.metadata.update_topic(Versioned { value: next.clone(), version: stored.version }).await {
            Ok(()) => {
                tracing::info!(topic = %name, partitions = next.partitions, config = ?next.config, "topic altered");
                host.topics.add(next.clone());
                return Ok(next);
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e.into()),
        }
    }
    Err(Error::new(ErrorKind::Busy, format!("topic {name} was changed {ATTEMPTS} times meanwhile; try again")).into())
}

/// The next state: what is fixed is as it was, and the rest holds together.
fn checked(host: &Host, old: &TopicRecord, edited: TopicRecord) -> Result<TopicRecord> {
    let fixed = TopicRecord { partitions: edited.partitions, config: edited.config, annotations: edited.annotations, ..old.clone() };
    if fixed == *old {
        return Ok(fixed);
    }
    if !(old.partitions..=MAX_PARTITIONS).contains(&fixed.partitions) {
        let message = format!(
            "topic {} has {} partitions and cannot have {}: it can grow, up to {MAX_PARTITIONS}",
            old.name, old.partitions, fixed.partitions
        );
        return Err(Error::new(ErrorKind::InvalidInput, message));
    }
    config::resolve(&host.settings, &fixed.name, &fixed.config)?;
    Ok(TopicRecord { revision: old.revision + 1, ..fixed })
}
