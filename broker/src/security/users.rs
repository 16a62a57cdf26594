//! Users: a name, and what is stored of its password, by hash. One document in the metadata store.
//!
//! A user who does not exist gets a credential of nobody's from a secret that is stored with the users: every broker answers for
//! them alike, before and after a restart.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use tidegate::env::Env;
use tidegate::metadata::Documents;
use tidegate::{Error, ErrorKind, Result};

use super::scram::{Credential, Hash, MAX_NAME_BYTES, SALT_BYTES, Secret};
use crate::config::ITERATIONS;

/// Where users are stored.
pub(super) const DOCUMENT: &str = "users";
/// Users at most.
pub(crate) const MAX_USERS: usize = 10_000;

/// All users.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Users {
    pub(crate) users: BTreeMap<String, BTreeMap<Hash, Credential>>,
    /// What credentials of nobody's are made from.
    #[serde(default)]
    secret: Secret,
}

/// Why a user is not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unacceptable {
    Name,
    TooFewIterations,
    TooManyIterations,
    Lengths,
    TooManyUsers,
}

impl Unacceptable {
    /// What is wrong, for people.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Name => format!(
                "a user's name has 1 to {MAX_NAME_BYTES} bytes, no control characters and no blanks around it, is not \"*\", and begins without \
                 \"User:\": leave that to access rules"
            ),
            Self::TooFewIterations => "Too few iterations".to_owned(),
            Self::TooManyIterations => "Too many iterations".to_owned(),
            Self::Lengths => "the salt has 1 to 1024 bytes, the salted password as many as its hash gives".to_owned(),
            Self::TooManyUsers => format!("there are {MAX_USERS} users, and no more are kept"),
        }
    }
}

impl Users {
    /// What a user proves its password against; one that nobody knows if there is no such user. Says whether there is.
    pub(crate) fn credential(&self, hash: Hash, name: &str, iterations: NonZeroU32, fallback: &[u8]) -> (Credential, bool) {
        if let Some(credential) = self.users.get(name).and_then(|user| user.get(&hash)) {
            return (credential.clone(), true);
        }
        let secret = if self.secret.0.is_empty() { fallback } else { &self.secret.0 };
        (Credential::of_nobody(hash, secret, name, iterations), false)
    }

    /// The stronger of the hashes that a user has; the strongest for nobody.
    pub(crate) fn strongest(&self, name: &str) -> Hash {
        let known = self.users.get(name).and_then(|user| user.keys().max());
        known.copied().unwrap_or(Hash::Sha512)
    }

    /// Sets what a user has for one hash.
    pub(crate) fn set(&mut self, name: &str, hash: Hash, credential: Credential, fresh_secret: &[u8]) -> Result<(), Unacceptable> {
        if !self.users.contains_key(name) && self.users.len() >= MAX_USERS {
            return Err(Unacceptable::TooManyUsers);
        }
        if self.secret.0.is_empty() {
            self.secret = Secret(fresh_secret.to_vec());
        }
        self.users.entry(name.to_owned()).or_default().insert(hash, credential);
        Ok(())
    }

    /// Removes what a user has for one hash; says whether there was anything.
    pub(crate) fn remove(&mut self, name: &str, hash: Hash) -> bool {
        let Some(user) = self.users.get_mut(name) else { return false };
        let removed = user.remove(&hash).is_some();
        if user.is_empty() {
            self.users.remove(name);
        }
        removed
    }
}

/// Checks what a client gives for a user: all but whether there is room.
pub(crate) fn check(name: &str, hash: Hash, iterations: i32, salt: &[u8], salted: &[u8]) -> Result<NonZeroU32, Unacceptable> {
    if !is_name(name) {
        return Err(Unacceptable::Name);
    }
    match u32::try_from(iterations) {
        Ok(many) if many > *ITERATIONS.end() => return Err(Unacceptable::TooManyIterations),
        Ok(enough) if ITERATIONS.contains(&enough) => {}
        _ => return Err(Unacceptable::TooFewIterations),
    }
    if !(1..=1_024).contains(&salt.len()) || salted.len() != hash.len() {
        return Err(Unacceptable::Lengths);
    }
    NonZeroU32::new(iterations as u32).ok_or(Unacceptable::TooFewIterations)
}

/// Whether access rules and people can tell a user by this name: `User:*` is everybody, and `User:User:ann` is not `User:ann`.
fn is_name(name: &str) -> bool {
    let tellable = name.trim() == name && name != "*" && !name.starts_with("User:");
    (1..=MAX_NAME_BYTES).contains(&name.len()) && !name.chars().any(char::is_control) && tellable
}

/// 32 bytes by chance.
pub(crate) fn random(env: &Env) -> Vec<u8> {
    [env.nonce().0.to_be_bytes(), env.nonce().0.to_be_bytes()].concat()
}

/// The users in a metadata store, for who is no broker: the command line.
#[derive(Clone)]
pub struct UserStore {
    documents: Documents,
    env: Env,
}

impl std::fmt::Debug for UserStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserStore").field("documents", &self.documents).finish_non_exhaustive()
    }
}

/// A user as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UserSummary {
    /// Its name.
    pub name: String,
    /// How it may log in by SCRAM (`SCRAM-SHA-512`), and the iterations of each.
    pub mechanisms: BTreeMap<String, u32>,
}

impl UserStore {
    /// The users in these documents.
    pub fn new(documents: Documents, env: Env) -> Self {
        Self { documents, env }
    }

    /// Adds a user, or gives it another password, for SCRAM with SHA-256 and SHA-512 (and so for PLAIN). Says whether it is new.
    ///
    /// [`InvalidInput`](ErrorKind::InvalidInput) for a name, a password or iterations out of range.
    pub async fn add(&self, name: &str, password: &[u8], iterations: u32) -> Result<bool> {
        let refuse = |problem: Unacceptable| Error::new(ErrorKind::InvalidInput, problem.message());
        if password.is_empty() {
            return Err(Error::new(ErrorKind::InvalidInput, "the password is empty"));
        }
        let iterations = i32::try_from(iterations).unwrap_or(i32::MAX);
        let salt = || random(&self.env)[..SALT_BYTES].to_vec();
        let mut credentials = Vec::new();
        for hash in Hash::ALL {
            let iterations = check(name, hash, iterations, &[0], &vec![0; hash.len()]).map_err(refuse)?;
            credentials.push((hash, Credential::of_password(hash, password, salt(), iterations)));
        }
        let secret = random(&self.env);
        let add = |users: &mut Users| {
            let new = !users.users.contains_key(name);
            for (hash, credential) in &credentials {
                users.set(name, *hash, credential.clone(), &secret).map_err(refuse)?;
            }
            Ok(new)
        };
        Ok(self.documents.change(DOCUMENT, add).await?.1)
    }

    /// All users, by name.
    pub async fn list(&self) -> Result<Vec<UserSummary>> {
        let users = self.documents.read::<Users>(DOCUMENT).await?.value;
        let mechanisms = |user: &BTreeMap<Hash, Credential>| user.iter().map(|(h, c)| (h.name().to_owned(), c.iterations.get())).collect();
        Ok(users.users.iter().map(|(name, user)| UserSummary { name: name.clone(), mechanisms: mechanisms(user) }).collect())
    }

    /// Removes a user; says whether there was one.
    pub async fn remove(&self, name: &str) -> Result<bool> {
        Ok(self.documents.change(DOCUMENT, |users: &mut Users| Ok(users.users.remove(name).is_some())).await?.1)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tidegate::metadata::ObjectMetadata;
    use tidegate::store::MemoryStore;

    use super::*;

    fn iterations() -> NonZeroU32 {
        NonZeroU32::new(4_096).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_is_stored_without_its_password_and_can_be_told_from_others() {
        let store = MemoryStore::default();
        let env = Env::simulated(1, 0);
        let documents = Documents::new(Arc::new(ObjectMetadata::new(Arc::new(store.clone()), env.clone())), env.clone());
        let users = UserStore::new(documents.clone(), env);
        assert!(users.add("alice", b"hunter2-secret", 4_096).await.unwrap());
        assert!(!users.add("alice", b"hunter3-secret", 8_192).await.unwrap(), "she exists");
        for (_, stored) in store.snapshot() {
            assert!(!String::from_utf8_lossy(&stored).contains("hunter"));
        }
        let known = documents.read::<Users>(DOCUMENT).await.unwrap().value;
        let (credential, exists) = known.credential(Hash::Sha256, "alice", iterations(), b"");
        assert!(exists && credential.fits(Hash::Sha256, b"hunter3-secret") && !credential.fits(Hash::Sha256, b"hunter2-secret"));
        let listed = users.list().await.unwrap();
        assert_eq!(listed[0].mechanisms.values().collect::<Vec<_>>(), [&8_192, &8_192]);
        assert!(users.remove("alice").await.unwrap() && !users.remove("alice").await.unwrap());
        assert!(!known.credential(Hash::Sha256, "bob", iterations(), b"").1);
    }

    #[test]
    fn what_cannot_be_a_credential_is_refused_by_its_reason() {
        let of = |name: &str, iterations, salt: &[u8], salted| check(name, Hash::Sha256, iterations, salt, &vec![0; salted]);
        assert_eq!(of("u", 4_096, b"s", 32).map(NonZeroU32::get), Ok(4_096));
        for name in ["", " ", " u", "u ", "a\n", "*", "User:u", "User:"] {
            assert_eq!(of(name, 4_096, b"s", 32), Err(Unacceptable::Name), "{name:?}");
        }
        assert!(of("a b*:User:", 4_096, b"s", 32).is_ok());
        assert_eq!(of("u", 4_095, b"s", 32), Err(Unacceptable::TooFewIterations));
        assert_eq!(of("u", -1, b"s", 32), Err(Unacceptable::TooFewIterations));
        assert_eq!(of("u", 16_385, b"s", 32), Err(Unacceptable::TooManyIterations));
        assert_eq!(of("u", 4_096, b"", 32), Err(Unacceptable::Lengths));
        assert_eq!(of("u", 4_096, b"s", 64), Err(Unacceptable::Lengths));
    }
}
