//! Who clients are, and what they may do.
//!
//! ```text
//! acl      the words of access rules          decide   the decision, pure
//! scram    proofs of passwords, pure          users    who there is, and what is stored of their passwords
//! login    one client's way to a name         tls      certificates, read again when they change
//! filter   which rules are meant, pure     change   new rules and users
//! probation   how many clients may be unknown
//! ```
//!
//! Users and rules are documents in the metadata store, each read as a whole, kept here and looked at again on an interval: no request
//! waits for the store, and another broker's change is in force after one interval. While the store cannot be read, what is known
//! stays in force. A change that is made here is in force as it is answered.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use kafka_protocol::ResponseError;
use tidegate::env::Env;
use tidegate::metadata::Documents;
use tidegate::metrics::Metrics;
use tidegate::{Result, Storage};
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;

use self::acl::{Acl, Operation, Resource, ResourceKind};
use self::decide::{Acls, Asker};
use self::users::Users;
use crate::config::SecuritySettings;

pub(crate) mod acl;
pub(crate) mod change;
pub(crate) mod decide;
pub(crate) mod filter;
pub(crate) mod login;
pub(crate) mod probation;
pub(crate) mod scram;
pub(crate) mod tls;
pub(crate) mod users;

/// The name of whoever did not have to say one.
pub(crate) const ANONYMOUS: &str = "User:ANONYMOUS";
/// Where access rules are stored.
const ACLS: &str = "acls";
/// Passwords hashed at once: the rest of the machine is for those who have proved who they are.
const HASHES_AT_ONCE: usize = 2;

/// Rules as they are stored and listed, and as they are asked.
#[derive(Debug, Default)]
struct Rules {
    all: BTreeSet<Acl>,
    ready: Acls,
}

impl Rules {
    fn new(all: BTreeSet<Acl>) -> Self {
        Self { ready: Acls::new(&all), all }
    }
}

/// What this broker knows of users and rules.
pub(crate) struct Security {
    documents: Documents,
    metrics: Arc<Metrics>,
    settings: SecuritySettings,
    super_users: BTreeSet<String>,
    rules: ArcSwap<Rules>,
    users: ArcSwap<Users>,
    /// Whether any listener asks who its clients are.
    asks_names: bool,
    /// What is read or written is taken over in that order.
    turn: Mutex<()>,
    env: Env,
    fallback_secret: Vec<u8>,
    /// Passwords that are hashed at once.
    hashing: Arc<Semaphore>,
}

impl Security {
    pub(crate) fn new(storage: &Storage, settings: SecuritySettings, asks_names: bool) -> Self {
        Self {
            documents: storage.documents(),
            metrics: storage.metrics().clone(),
            super_users: settings.super_users.iter().cloned().collect(),
            settings,
            rules: ArcSwap::default(),
            users: ArcSwap::default(),
            asks_names,
            turn: Mutex::default(),
            env: storage.env().clone(),
            fallback_secret: login::fallback_secret(storage.env()),
            hashing: Arc::new(Semaphore::new(HASHES_AT_ONCE)),
        }
    }

    pub(crate) fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// How often certificate files are looked at.
    pub(crate) fn certificate_check(&self) -> Duration {
        Duration::from_millis(self.settings.certificate_check_ms)
    }

    fn iterations(&self) -> NonZeroU32 {
        NonZeroU32::new(self.settings.iterations).unwrap_or(NonZeroU32::MIN)
    }

    /// Reads what is in use. A broker must have done so once before it serves clients.
    pub(crate) async fn refresh(&self) -> Result<()> {
        let _turn = self.turn.lock().await;
        if self.settings.acls {
            let rules = self.documents.read::<BTreeSet<Acl>>(ACLS).await?.value;
            if rules != self.rules.load().all {
                self.rules.store(Arc::new(Rules::new(rules)));
            }
        }
        if self.asks_names {
            self.users.store(Arc::new(self.documents.read(users::DOCUMENT).await?.value));
        }
        Ok(())
    }

    /// Looks at the store again and again, until `stop`.
    pub(crate) async fn run(&self, stop: &CancellationToken) {
        if !self.settings.acls && !self.asks_names {
            return;
        }
        let interval = Duration::from_millis(self.settings.refresh_ms);
        while stop.run_until_cancelled(tokio::time::sleep(self.env.jittered(interval))).await.is_some() {
            if let Err(error) = self.refresh().await {
                self.metrics.security.refresh_failures.inc();
                tracing::warn!(%error, "looking at users and access rules failed; what is known stays in force");
            }
        }
    }

    /// Whether rules are asked at all.
    pub(crate) fn has_rules(&self) -> bool {
        self.settings.acls
    }

    /// Whether somebody may do something to a resource. Nothing is counted.
    pub(crate) fn allows(&self, asker: Asker<'_>, operation: Operation, resource: Resource<'_>) -> bool {
        !self.settings.acls || self.super_users.contains(asker.principal) || self.rules.load().ready.allows(asker, operation, resource)
    }

    /// Whether there may be a resource of a kind to which somebody may do something. Nothing is counted.
    pub(crate) fn allows_any(&self, asker: Asker<'_>, operation: Operation, kind: ResourceKind) -> bool {
        !self.settings.acls || self.super_users.contains(asker.principal) || self.rules.load().ready.allows_any(asker, operation, kind)
    }

    /// Counts a refusal, and gives what a client is told.
    pub(crate) fn refuse(&self, asker: Asker<'_>, operation: Operation, resource: Resource<'_>) -> ResponseError {
        self.metrics.security.denied(operation.word());
        let (principal, host) = (asker.principal, asker.host);
        tracing::debug!(principal, host, operation = operation.word(), kind = resource.kind.word(), name = resource.name, "refused");
        match resource.kind {
            ResourceKind::Topic => ResponseError::TopicAuthorizationFailed,
            ResourceKind::Group => ResponseError::GroupAuthorizationFailed,
            ResourceKind::TransactionalId => ResponseError::TransactionalIdAuthorizationFailed,
            ResourceKind::DelegationToken => ResponseError::DelegationTokenAuthorizationFailed,
            ResourceKind::Cluster | ResourceKind::User => ResponseError::ClusterAuthorizationFailed,
        }
    }
}
