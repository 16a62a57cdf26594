//! One client's way to a name: SASL, as Kafka frames it.
//!
//! A connection's requests are accepted one after the other, so one step follows the other. A name is given once: a client that
//! authenticates again keeps the name it has. Until it has one, the connection is on probation: its requests are small, it has little
//! time, and such connections are few.

use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::ApiKey;
use parking_lot::Mutex;
use tidegate::env::{Instant, now};

use super::probation::Probationer;
use super::scram::{Challenge, First, Hash};
use super::users::random;
use super::{ANONYMOUS, Security};
use crate::config::Mechanism;

/// What a client that is not known yet is bound to.
#[derive(Clone, Debug)]
pub(crate) struct Probation {
    /// How long its requests may be, in bytes.
    pub(crate) frame: RangeInclusive<usize>,
    /// When it ends.
    pub(crate) until: Instant,
}

/// What is known of a client.
pub(crate) struct Login {
    /// What its listener takes; nothing: nobody is asked.
    mechanisms: Vec<Mechanism>,
    principal: OnceLock<Arc<str>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    step: Step,
    /// The client sends bare tokens, as before Kafka 1.0.
    raw: bool,
    /// When a known client has to authenticate again.
    until: Option<Instant>,
    probation: Option<(Probation, Probationer)>,
}

#[derive(Default)]
enum Step {
    #[default]
    Idle,
    Chosen(Mechanism),
    Challenged(Mechanism, Box<Challenge>),
}

/// How it goes on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The client is to answer this.
    More(Vec<u8>),
    /// The client is known, for so long if not for ever.
    Known(Vec<u8>, Option<Duration>),
}

/// Why a client does not get a name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) mechanism: Option<Mechanism>,
    /// Its class, for those who operate the broker; clients are not told.
    pub(crate) reason: &'static str,
}

impl Login {
    /// Of a client that nobody asks.
    pub(crate) fn anonymous() -> Self {
        Self { mechanisms: Vec::new(), principal: OnceLock::from(Arc::from(ANONYMOUS)), state: Mutex::default() }
    }

    /// Of a client that has to say who it is.
    pub(crate) fn asked(mechanisms: Vec<Mechanism>, probation: Probation, slot: Probationer) -> Self {
        let state = State { probation: Some((probation, slot)), ..State::default() };
        Self { mechanisms, principal: OnceLock::new(), state: Mutex::new(state) }
    }

    /// `User:name`, once it is known.
    pub(crate) fn principal(&self) -> Option<&str> {
        self.principal.get().map(|name| &**name)
    }

    /// What its listener takes.
    pub(crate) fn mechanisms(&self) -> &[Mechanism] {
        &self.mechanisms
    }

    /// The bounds of a client that is not known yet.
    pub(crate) fn probation(&self) -> Option<Probation> {
        if self.principal.get().is_some() && self.mechanisms.is_empty() {
            return None;
        }
        let state = self.state.lock();
        let (probation, _) = state.probation.as_ref()?;
        let shortest = if state.raw { 0 } else { *probation.frame.start() };
        Some(Probation { frame: shortest..=*probation.frame.end(), until: probation.until })
    }

    /// Whether the next frame is a bare token.
    pub(crate) fn is_raw(&self) -> bool {
        !self.mechanisms.is_empty() && self.state.lock().raw
    }

    /// Why a request of this kind is not taken now, if it is not.
    pub(crate) fn refuses(&self, api: ApiKey) -> Option<&'static str> {
        if self.mechanisms.is_empty() || matches!(api, ApiKey::ApiVersions | ApiKey::SaslHandshake | ApiKey::SaslAuthenticate) {
            return None;
        }
        if self.principal.get().is_none() {
            return Some("unauthenticated");
        }
        self.state.lock().until.filter(|until| now() >= *until).map(|_| "session_expired")
    }

    /// Chooses a mechanism.
    pub(crate) fn handshake(&self, mechanism: &str, raw: bool, again: bool) -> Result<(), ResponseError> {
        let mut state = self.state.lock();
        let late = self.principal.get().is_some() && !again;
        if self.mechanisms.is_empty() || late || !matches!(state.step, Step::Idle) {
            return Err(ResponseError::IllegalSaslState);
        }
        let chosen = self.mechanisms.iter().find(|known| known.name() == mechanism);
        state.step = Step::Chosen(*chosen.ok_or(ResponseError::UnsupportedSaslMechanism)?);
        state.raw = raw;
        Ok(())
    }

    fn take_step(&self) -> Step {
        std::mem::take(&mut self.state.lock().step)
    }

    /// Gives the client its name, unless it has another one.
    fn known_as(&self, user: &str, until: Option<Instant>) -> Result<(), &'static str> {
        let principal = format!("User:{user}");
        if **self.principal.get_or_init(|| Arc::from(&*principal)) != *principal {
            return Err("other_user");
        }
        let mut state = self.state.lock();
        state.until = until;
        state.raw = false;
        state.probation = None;
        Ok(())
    }
}

impl Security {
    /// Takes the next token of a client.
    pub(crate) async fn authenticate(&self, login: &Login, token: &[u8]) -> Result<Progress, Failure> {
        let (mechanism, outcome) = match login.take_step() {
            Step::Idle => return Err(Failure { mechanism: None, reason: "no_handshake" }),
            Step::Chosen(mechanism @ Mechanism::Plain) => (mechanism, self.plain(login, token).await),
            Step::Chosen(mechanism @ Mechanism::ScramSha256) => (mechanism, self.challenge(login, mechanism, Hash::Sha256, token)),
            Step::Chosen(mechanism @ Mechanism::ScramSha512) => (mechanism, self.challenge(login, mechanism, Hash::Sha512, token)),
            Step::Challenged(mechanism, challenge) => (mechanism, self.proof(login, &challenge, token)),
        };
        match &outcome {
            Ok(Progress::Known(..)) => self.metrics.security.authenticated(mechanism.name()),
            Ok(Progress::More(_)) => {}
            Err(reason) => self.metrics.security.authentication_failed(mechanism.name(), reason),
        }
        outcome.map_err(|reason| Failure { mechanism: Some(mechanism), reason })
    }

    fn challenge(&self, login: &Login, mechanism: Mechanism, hash: Hash, token: &[u8]) -> Result<Progress, &'static str> {
        let first = First::read(token).map_err(|_| "malformed")?;
        let (credential, _) = self.users.load().credential(hash, &first.user, self.iterations(), &self.fallback_secret);
        let nonce = self.env.uuid().simple().to_string();
        let challenge = Challenge::new(hash, first, credential, &nonce);
        let message = challenge.message().as_bytes().to_vec();
        login.state.lock().step = Step::Challenged(mechanism, Box::new(challenge));
        Ok(Progress::More(message))
    }

    fn proof(&self, login: &Login, challenge: &Challenge, token: &[u8]) -> Result<Progress, &'static str> {
        let user = challenge.user();
        match challenge.finish(token) {
            Ok(Some(answer)) => self.known(login, user, answer.into_bytes()),
            Ok(None) if self.users.load().users.contains_key(user) => Err("wrong_password"),
            Ok(None) => Err("unknown_user"),
            Err(_) => Err("malformed"),
        }
    }

    /// `[authzid] NUL name NUL password`. Hashing takes milliseconds: elsewhere, and not for many clients at once.
    async fn plain(&self, login: &Login, token: &[u8]) -> Result<Progress, &'static str> {
        let (user, password) = plain_parts(token).ok_or("malformed")?;
        let users = self.users.load_full();
        let hash = users.strongest(user);
        let (credential, known) = users.credential(hash, user, self.iterations(), &self.fallback_secret);
        let password = password.as_bytes().to_vec();
        let permit = self.hashing.clone().acquire_owned().await.map_err(|_| "stopped")?;
        let checked = tokio::task::spawn_blocking(move || {
            let fits = credential.fits(hash, &password);
            drop(permit);
            fits
        });
        match checked.await {
            Ok(true) if known => self.known(login, user, Vec::new()),
            _ if known => Err("wrong_password"),
            _ => Err("unknown_user"),
        }
    }

    fn known(&self, login: &Login, user: &str, answer: Vec<u8>) -> Result<Progress, &'static str> {
        let session = self.session();
        login.known_as(user, session.map(|session| now() + session))?;
        Ok(Progress::Known(answer, session))
    }

    /// How long a client is known.
    fn session(&self) -> Option<Duration> {
        Some(self.settings.session_ms).filter(|ms| *ms > 0).map(Duration::from_millis)
    }

    /// Whether clients may authenticate again.
    pub(crate) fn asks_again(&self) -> bool {
        self.settings.session_ms > 0
    }
}

fn plain_parts(token: &[u8]) -> Option<(&str, &str)> {
    let text = std::str::from_utf8(token).ok()?;
    let mut parts = text.split('\0');
    let (other, user, password) = (parts.next()?, parts.next()?, parts.next()?);
    let good = parts.next().is_none() && !user.is_empty() && !password.is_empty() && (other.is_empty() || other == user);
    good.then_some((user, password))
}

/// A secret for credentials of nobody's while no user was ever stored.
pub(super) fn fallback_secret(env: &tidegate::env::Env) -> Vec<u8> {
    random(env)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_token_names_one_user() {
        assert_eq!(plain_parts(b"\0u\0p"), Some(("u", "p")));
        assert_eq!(plain_parts(b"u\0u\0p"), Some(("u", "p")));
        for wrong in [&b""[..], b"u\0p", b"\0\0p", b"\0u\0", b"v\0u\0p", b"\0u\0p\0", b"\0\xff\0p"] {
            assert_eq!(plain_parts(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn who_is_not_asked_cannot_log_in() {
        let login = Login::anonymous();
        assert_eq!(login.principal(), Some(ANONYMOUS));
        assert_eq!(login.handshake("PLAIN", false, false), Err(ResponseError::IllegalSaslState));
        assert!(login.refuses(ApiKey::Produce).is_none() && login.probation().is_none());
    }
}
