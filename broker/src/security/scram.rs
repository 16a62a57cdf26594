//! SCRAM, the server's side: RFC 5802 with the hashes of RFC 7677 and SHA-512, as Kafka speaks it (no channel binding).
//!
//! What is stored of a password cannot be used to log in. All comparisons of secrets take the same time whatever they find, and a
//! user who does not exist is answered with a salt of its own and refused at the end, as one who gives a wrong password.

use std::fmt;
use std::num::NonZeroU32;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac, pbkdf2};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use subtle::ConstantTimeEq;

/// Longest name of a user, in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 255;
/// Longest nonce of a client, in bytes.
const MAX_NONCE_BYTES: usize = 1_024;

/// Which hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum Hash {
    #[serde(rename = "SCRAM-SHA-256")]
    Sha256,
    #[serde(rename = "SCRAM-SHA-512")]
    Sha512,
}

impl Hash {
    pub(crate) const ALL: [Self; 2] = [Self::Sha256, Self::Sha512];

    /// Its registered name, as a mechanism.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "SCRAM-SHA-256",
            Self::Sha512 => "SCRAM-SHA-512",
        }
    }

    /// Its number in the protocol.
    pub(crate) fn code(self) -> i8 {
        match self {
            Self::Sha256 => 1,
            Self::Sha512 => 2,
        }
    }

    /// The one of a number.
    pub(crate) fn of_code(code: i8) -> Option<Self> {
        Self::ALL.into_iter().find(|hash| hash.code() == code)
    }

    fn hmac(self) -> hmac::Algorithm {
        match self {
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha512 => hmac::HMAC_SHA512,
        }
    }

    fn digest(self) -> &'static digest::Algorithm {
        match self {
            Self::Sha256 => &digest::SHA256,
            Self::Sha512 => &digest::SHA512,
        }
    }

    fn pbkdf2(self) -> pbkdf2::Algorithm {
        match self {
            Self::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            Self::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        }
    }

    /// Length of its output, in bytes.
    pub(crate) fn len(self) -> usize {
        self.digest().output_len()
    }

    /// `Hi` of RFC 5802. Takes milliseconds.
    fn salted(self, password: &[u8], salt: &[u8], iterations: NonZeroU32) -> Secret {
        let mut salted = vec![0; self.len()];
        pbkdf2::derive(self.pbkdf2(), iterations, salt, password, &mut salted);
        Secret(salted)
    }

    fn keyed(self, key: &[u8], message: &[u8]) -> Vec<u8> {
        hmac::sign(&hmac::Key::new(self.hmac(), key), message).as_ref().to_vec()
    }

    fn of(self, message: &[u8]) -> Vec<u8> {
        digest::digest(self.digest(), message).as_ref().to_vec()
    }
}

/// Bytes that are not shown, in base64 where they are stored.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) Vec<u8>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Self).map_err(|_| de::Error::custom("expected base64"))
    }
}

/// What is stored of a password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Credential {
    pub(crate) iterations: NonZeroU32,
    salt: Secret,
    stored_key: Secret,
    server_key: Secret,
}

impl Credential {
    /// Of a password. Takes milliseconds.
    pub(crate) fn of_password(hash: Hash, password: &[u8], salt: Vec<u8>, iterations: NonZeroU32) -> Self {
        let salted = hash.salted(password, &salt, iterations);
        Self::of_salted(hash, &salted.0, salt, iterations)
    }

    /// Of a password that was salted and hashed elsewhere.
    pub(crate) fn of_salted(hash: Hash, salted: &[u8], salt: Vec<u8>, iterations: NonZeroU32) -> Self {
        let stored_key = Secret(hash.of(&hash.keyed(salted, b"Client Key")));
        let server_key = Secret(hash.keyed(salted, b"Server Key"));
        Self { iterations, salt: Secret(salt), stored_key, server_key }
    }

    /// Of nobody: looks like a stored one, the same for each name as long as `secret` is, and no password fits.
    pub(crate) fn of_nobody(hash: Hash, secret: &[u8], name: &str, iterations: NonZeroU32) -> Self {
        let mut salt = hash.keyed(secret, name.as_bytes());
        salt.truncate(SALT_BYTES);
        let (stored_key, server_key) = (hash.keyed(secret, b"nobody"), hash.keyed(secret, b"no server"));
        Self { iterations, salt: Secret(salt), stored_key: Secret(stored_key), server_key: Secret(server_key) }
    }

    /// Whether it is of this password. Takes milliseconds.
    pub(crate) fn fits(&self, hash: Hash, password: &[u8]) -> bool {
        let other = Self::of_password(hash, password, self.salt.0.clone(), self.iterations);
        other.stored_key.0.ct_eq(&self.stored_key.0).into()
    }
}

/// Length of the salts that are made here.
pub(crate) const SALT_BYTES: usize = 32;

/// What is wrong with a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

/// The first message of a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct First {
    /// Before the names: what is said of channel binding.
    gs2: String,
    /// What is signed of the message.
    bare: String,
    pub(crate) user: String,
    nonce: String,
}

impl First {
    /// `n,[a=authzid],n=user,r=nonce[,extensions]`.
    pub(crate) fn read(message: &[u8]) -> Result<Self, Malformed> {
        let text = std::str::from_utf8(message).map_err(|_| Malformed("not in utf-8"))?;
        let (binding, rest) = text.split_once(',').ok_or(Malformed("no channel binding flag"))?;
        if binding != "n" && binding != "y" {
            return Err(Malformed("channel binding is not supported"));
        }
        let (authzid, bare) = rest.split_once(',').ok_or(Malformed("no authorization id"))?;
        let mut attributes = bare.split(',');
        let user = attributes.next().and_then(|part| part.strip_prefix("n=")).ok_or(Malformed("no user name"))?;
        let nonce = attributes.next().and_then(|part| part.strip_prefix("r=")).ok_or(Malformed("no nonce"))?;
        if attributes.any(|extension| extension == "tokenauth=true") {
            return Err(Malformed("delegation tokens are not supported"));
        }
        let user = unescaped(user)?;
        let other = if authzid.is_empty() { None } else { Some(authzid.strip_prefix("a=").ok_or(Malformed("no authorization id"))?) };
        if other.is_some_and(|other| unescaped(other).as_ref() != Ok(&user)) {
            return Err(Malformed("one user cannot act as another"));
        }
        let printable = |c: u8| (0x21..=0x7e).contains(&c);
        if nonce.is_empty() || nonce.len() > MAX_NONCE_BYTES || !nonce.bytes().all(printable) {
            return Err(Malformed("no usable nonce"));
        }
        Ok(Self { gs2: format!("{binding},{authzid},"), bare: bare.to_owned(), user, nonce: nonce.to_owned() })
    }
}

/// A name with `=2C` and `=3D` in place of `,` and `=`.
fn unescaped(name: &str) -> Result<String, Malformed> {
    let mut parts = name.split('=');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (escaped, rest) = match (part.strip_prefix("2C"), part.strip_prefix("3D")) {
            (Some(rest), _) => (',', rest),
            (_, Some(rest)) => ('=', rest),
            _ => return Err(Malformed("a user name with a bare '='")),
        };
        plain.push(escaped);
        plain.push_str(rest);
    }
    if plain.is_empty() || plain.len() > MAX_NAME_BYTES {
        return Err(Malformed("no usable user name"));
    }
    Ok(plain)
}

/// What a client has been asked to prove.
#[derive(Debug)]
pub(crate) struct Challenge {
    hash: Hash,
    credential: Credential,
    first: First,
    /// The nonces of both sides.
    nonce: String,
    message: String,
}

impl Challenge {
    /// Answers a first message.
    pub(crate) fn new(hash: Hash, first: First, credential: Credential, nonce: &str) -> Self {
        let nonce = format!("{}{nonce}", first.nonce);
        let message = format!("r={nonce},s={},i={}", STANDARD.encode(&credential.salt.0), credential.iterations);
        Self { hash, credential, first, nonce, message }
    }

    /// `r=nonce,s=salt,i=iterations`.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn user(&self) -> &str {
        &self.first.user
    }

    /// Takes `c=binding,r=nonce[,extensions],p=proof`: the last message to the client, or `None` if it does not know the password.
    pub(crate) fn finish(&self, last: &[u8]) -> Result<Option<String>, Malformed> {
        let text = std::str::from_utf8(last).map_err(|_| Malformed("not in utf-8"))?;
        let (unproven, proof) = text.rsplit_once(",p=").ok_or(Malformed("no proof"))?;
        let mut attributes = unproven.split(',');
        let binding = attributes.next().and_then(|part| part.strip_prefix("c=")).ok_or(Malformed("no channel binding"))?;
        if STANDARD.decode(binding).ok().as_deref() != Some(self.first.gs2.as_bytes()) {
            return Err(Malformed("another channel binding than at first"));
        }
        let nonce = attributes.next().and_then(|part| part.strip_prefix("r=")).ok_or(Malformed("no nonce"))?;
        // librdkafka before 2.6 puts its own nonce in front once more. All of it is signed, so that is as good; Kafka takes it too.
        if !nonce.ends_with(&self.nonce) {
            return Err(Malformed("another nonce than was given"));
        }
        let proof = STANDARD.decode(proof).map_err(|_| Malformed("the proof is not in base64"))?;
        Ok(self.check(unproven, &proof))
    }

    fn check(&self, unproven: &str, proof: &[u8]) -> Option<String> {
        let signed = format!("{},{},{unproven}", self.first.bare, self.message);
        let signature = self.hash.keyed(&self.credential.stored_key.0, signed.as_bytes());
        if proof.len() != signature.len() {
            return None;
        }
        let client_key: Vec<u8> = signature.iter().zip(proof).map(|(a, b)| a ^ b).collect();
        let known: bool = self.hash.of(&client_key).ct_eq(&self.credential.stored_key.0).into();
        let verifier = self.hash.keyed(&self.credential.server_key.0, signed.as_bytes());
        known.then(|| format!("v={}", STANDARD.encode(verifier)))
    }
}

#[cfg(test)]
mod tests;
