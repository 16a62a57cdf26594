//! What is done again and again in the background: retention of each lane, looking for what other hosts
//! changed, and taking back what idle owners hold. Intervals of what asks the store are jittered, so that hosts started together do not ask
//! together.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::bindings::FIRST_PAUSE;
use super::host::Host;
use crate::log::Shared;
use crate::log::lane::Lane;

/// Retention of one lane, until it is dropped or leads no more.
pub(super) async fn of_lane(lane: Weak<Lane>, shared: Shared) {
    let interval = Duration::from_millis(shared.settings.retention_interval_ms.max(1));
    loop {
        tokio::time::sleep(shared.env.jittered(interval)).await;
        let Some(lane) = lane.upgrade().filter(|lane| lane.leads()) else { return };
        if let Err(error) = lane.maintain().await {
            shared.metrics.runtime.upkeep_failures.inc();
            tracing::warn!(lane = %lane.id(), %error, "a round of retention of {} failed; the next one tries again", lane.name());
        }
    }
}

/// Topics, bindings, group offsets and deletions, until the host is dropped.
pub(super) async fn of_metadata(host: Weak<Host>, env: crate::env::Env, interval: Duration) {
    loop {
        tokio::time::sleep(env.jittered(interval.max(Duration::from_millis(1)))).await;
        let Some(host) = host.upgrade() else { return };
        round(&host).await;
    }
}

/// Policies of the settings whose component was not to be had, until none is awaited or the host is dropped.
pub(super) async fn of_awaited(host: Weak<Host>, env: crate::env::Env, longest: Duration) {
    let mut pause = FIRST_PAUSE.min(longest);
    loop {
        tokio::time::sleep(env.jittered(pause)).await;
        let Some(host) = host.upgrade() else { return };
        match host.bindings.try_awaited().await {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "a policy of the settings cannot be put in force; it is tried again"),
        }
        pause = (pause * 2).min(longest);
    }
}

/// Instances of policies that nobody has asked for a while, until the host is dropped. Three looks without a decision make an owner idle.
pub(super) async fn of_idle_owners(host: Weak<Host>, idle: Duration) {
    loop {
        tokio::time::sleep((idle / 2).max(Duration::from_millis(1))).await;
        let Some(host) = host.upgrade() else { return };
        host.lanes.opened().iter().for_each(|lane| lane.rest());
    }
}

async fn round(host: &Arc<Host>) {
    let outcomes = [
        ("topics", host.topics.refresh().await),
        ("policy bindings", host.bindings.refresh().await),
        ("group offsets", host.group_offsets.refresh().await),
        ("deletions", host.deletions.resume(&host.lanes).await),
    ];
    for (what, outcome) in outcomes {
        if let Err(error) = outcome {
            host.shared.metrics.runtime.upkeep_failures.inc();
            tracing::warn!(%error, "looking for changes of {what} failed; what is known stays in force");
        }
    }
}
