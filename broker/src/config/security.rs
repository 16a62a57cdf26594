//! Who clients are and what they may do: the `[broker.security]` table, and `tls` and `sasl` of a listener.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ListenerSettings;

/// What holds for all listeners.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SecuritySettings {
    /// Lets clients do only what access rules allow them. Without it every client may do everything.
    pub acls: bool,
    /// Principals (`User:admin`) who may do everything, whatever the rules say.
    pub super_users: Vec<String>,
    /// Iterations of new passwords that this broker or its command line hashes, 4096 to 16384. More: a stolen hash is
    /// harder to guess from, and each login by PLAIN costs more.
    pub iterations: u32,
    /// A client that authenticated has to do so again within so long, in milliseconds; 0: never.
    pub session_ms: u64,
    /// Takes passwords by PLAIN over connections that are not encrypted and not of this machine alone.
    pub plain_without_tls: bool,
    /// How old what this broker knows of users and access rules may be, in milliseconds: so long may another broker's change take.
    pub refresh_ms: u64,
    /// How often certificate files are looked at, in milliseconds.
    pub certificate_check_ms: u64,
}

impl Default for SecuritySettings {
    fn default() -> Self {
        Self {
            acls: false,
            super_users: Vec::new(),
            iterations: 4_096,
            session_ms: 0,
            plain_without_tls: false,
            refresh_ms: 5_000,
            certificate_check_ms: 5_000,
        }
    }
}

/// What a listener shows to its clients, and asks from them. Files in PEM format, read again when they change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSettings {
    /// The certificate, followed by those between it and its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Authorities one of which must have signed a certificate that every client has to show; without it, none is asked for.
    #[serde(default)]
    pub client_ca: Option<PathBuf>,
}

/// A way to say who one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Mechanism {
    /// Name and password as they are.
    #[serde(rename = "PLAIN")]
    Plain,
    /// A proof that the password is known, with SHA-256.
    #[serde(rename = "SCRAM-SHA-256")]
    ScramSha256,
    /// The same with SHA-512.
    #[serde(rename = "SCRAM-SHA-512")]
    ScramSha512,
}

impl Mechanism {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plain, Self::ScramSha256, Self::ScramSha512];

    /// Its registered name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Iterations that are accepted, as Kafka does.
pub(crate) const ITERATIONS: std::ops::RangeInclusive<u32> = 4_096..=16_384;

impl SecuritySettings {
    /// Says what contradicts itself.
    pub(super) fn check(&self, listeners: &[ListenerSettings]) -> Result<(), String> {
        if !ITERATIONS.contains(&self.iterations) {
            let (found, min, max) = (self.iterations, ITERATIONS.start(), ITERATIONS.end());
            return Err(format!("broker.security.iterations is {found}, expected {min} to {max}"));
        }
        for (name, value) in [("refresh_ms", self.refresh_ms), ("certificate_check_ms", self.certificate_check_ms)] {
            if value == 0 {
                return Err(format!("broker.security.{name} is 0, expected at least 1"));
            }
        }
        if let Some(user) = self.super_users.iter().find(|user| user.strip_prefix("User:").is_none_or(str::is_empty)) {
            return Err(format!("broker.security.super_users has {user:?}, expected User:NAME"));
        }
        listeners.iter().try_for_each(|listener| self.check_plain(listener))
    }

    fn check_plain(&self, listener: &ListenerSettings) -> Result<(), String> {
        let private = listener.tls.is_some() || listener.listen.ip().is_loopback() || self.plain_without_tls;
        if private || !listener.sasl.contains(&Mechanism::Plain) {
            return Ok(());
        }
        let at = listener.listen;
        Err(format!(
            "broker.listener at {at} takes passwords by PLAIN without tls, where all on the way can read them: give it a certificate, \
             leave PLAIN out, or state broker.security.plain_without_tls"
        ))
    }
}
