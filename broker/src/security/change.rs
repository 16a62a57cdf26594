//! Changes of users and rules: stored first, then in force here; other brokers see them at their next look.

use std::collections::BTreeSet;
use std::sync::Arc;

use tidegate::Result;

use super::acl::Acl;
use super::filter::Filter;
use super::users::{self, Users};
use super::{ACLS, Rules, Security};

/// Rules at most: they are read and written as a whole.
pub(crate) const MAX_ACLS: usize = 20_000;

impl Security {
    /// The rules that a filter means, in order.
    pub(crate) fn find(&self, filter: &Filter) -> Vec<Acl> {
        self.rules.load().all.iter().filter(|acl| filter.matches(acl)).cloned().collect()
    }

    /// Adds rules, all or none: false if there would be more than [`MAX_ACLS`].
    pub(crate) async fn add(&self, acls: Vec<Acl>) -> Result<bool> {
        self.change_rules(|all| {
            let new = acls.iter().filter(|acl| !all.contains(acl)).collect::<BTreeSet<_>>().len();
            let room = all.len() + new <= MAX_ACLS;
            if room {
                all.extend(acls.iter().cloned());
            }
            room
        })
        .await
    }

    /// Removes the rules that any of the filters means; gives those of each.
    pub(crate) async fn remove(&self, filters: &[Filter]) -> Result<Vec<Vec<Acl>>> {
        self.change_rules(|all| {
            let found: Vec<Vec<Acl>> =
                filters.iter().map(|filter| all.iter().filter(|acl| filter.matches(acl)).cloned().collect()).collect();
            found.iter().flatten().for_each(|acl| {
                all.remove(acl);
            });
            found
        })
        .await
    }

    async fn change_rules<R: Send>(&self, mut change: impl FnMut(&mut BTreeSet<Acl>) -> R + Send) -> Result<R> {
        let _turn = self.turn.lock().await;
        let (stored, outcome) = self.documents.change(ACLS, |all: &mut BTreeSet<Acl>| Ok(change(all))).await?;
        self.rules.store(Arc::new(Rules::new(stored.value)));
        Ok(outcome)
    }

    /// All users, as stored now.
    pub(crate) async fn users(&self) -> Result<Users> {
        Ok(self.documents.read(users::DOCUMENT).await?.value)
    }

    /// Changes users.
    pub(crate) async fn change_users<R: Send>(&self, mut change: impl FnMut(&mut Users) -> R + Send) -> Result<R> {
        let _turn = self.turn.lock().await;
        let (stored, outcome) = self.documents.change(users::DOCUMENT, |users: &mut Users| Ok(change(users))).await?;
        self.users.store(Arc::new(stored.value));
        Ok(outcome)
    }

    /// A secret for users that have none yet.
    pub(crate) fn fresh_secret(&self) -> Vec<u8> {
        users::random(&self.env)
    }
}
