//! Signatures of components: who vouches for these bytes.
//!
//! Ed25519 over a line that names the component's digest, so that whoever has the digest can check, and a signature of something else never fits. A
//! signature is one line of text beside the component (`flush.wasm.sig`) or in an annotation; keys are lines too. Nothing here is secret but a
//! [`SigningKey`].

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::guard::FaultClass;
use super::wasm::LoadError;
use crate::config::TrustedKey;

/// Begins a signature, and what is signed.
const SIGNATURE: &str = "tidegate-signature-1";
/// Begins a public key.
const KEY: &str = "ed25519:";
const PEM_BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const PEM_END: &str = "-----END PRIVATE KEY-----";

/// A public key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey([u8; 32]);

/// A key that signs.
pub struct SigningKey(Ed25519KeyPair);

/// One line: `tidegate-signature-1 KEY-ID BASE64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The id of the key.
    pub key_id: String,
    bytes: Vec<u8>,
}

/// Whether a component must be signed, and whose signatures count.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    required: bool,
    keys: Vec<(String, PublicKey)>,
}

/// Who vouches for a component; empty: nobody whom this host trusts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SignedBy(pub String);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{KEY}{}", STANDARD.encode(self.0))
    }
}

impl std::str::FromStr for PublicKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bytes = text.strip_prefix(KEY).and_then(|text| STANDARD.decode(text).ok());
        let key = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok()).map(Self);
        key.ok_or_else(|| {
            format!("{text:?} is no public key: expected `{KEY}` and 32 bytes in base64, as `tidegate plugin keygen` prints it")
        })
    }
}

impl PublicKey {
    /// Short name of the key: 16 hex digits.
    pub fn id(&self) -> String {
        Sha256::digest(self.0).iter().take(8).fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }
}

impl SigningKey {
    /// A new key, as PEM (PKCS#8).
    pub fn generate() -> Result<String, String> {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| "the system gives no random bytes".to_owned())?;
        Ok(format!("{PEM_BEGIN}\n{}\n{PEM_END}\n", STANDARD.encode(document.as_ref())))
    }

    /// Reads a key as [`generate`](Self::generate) or OpenSSL writes it.
    pub fn from_pem(pem: &str) -> Result<Self, String> {
        let wrong = |problem: &str| format!("this is no private key: {problem}");
        let inside = pem.split_once(PEM_BEGIN).and_then(|(_, rest)| rest.split_once(PEM_END));
        let (text, _) = inside.ok_or_else(|| wrong(&format!("expected {PEM_BEGIN} and {PEM_END}")))?;
        let text: String = text.split_whitespace().collect();
        let document = STANDARD.decode(text).map_err(|e| wrong(&format!("its text is no base64: {e}")))?;
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&document);
        pair.map(Self).map_err(|_| wrong("expected PKCS#8 with an Ed25519 key"))
    }

    /// The other half.
    pub fn public(&self) -> PublicKey {
        let mut key = [0; 32];
        key.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(key)
    }

    /// Vouches for a component by its digest (`sha256:` and 64 hex digits).
    pub fn sign(&self, digest: &str) -> Signature {
        Signature { key_id: self.public().id(), bytes: self.0.sign(&signed(digest)).as_ref().to_vec() }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SIGNATURE} {} {}", self.key_id, STANDARD.encode(&self.bytes))
    }
}

impl std::str::FromStr for Signature {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let words = (words.next(), words.next(), words.next(), words.next());
        if let (Some(SIGNATURE), Some(key_id), Some(bytes), None) = words
            && key_id.len() == 16
            && key_id.bytes().all(|b| b.is_ascii_hexdigit())
            && let Ok(bytes) = STANDARD.decode(bytes)
            && bytes.len() == 64
        {
            return Ok(Self { key_id: key_id.to_owned(), bytes });
        }
        Err(format!("this is no signature: expected one line `{SIGNATURE} KEY-ID BASE64`, as `tidegate plugin sign` writes it"))
    }
}

/// The bytes under a signature.
fn signed(digest: &str) -> Vec<u8> {
    format!("{SIGNATURE}\n{}\n", digest.to_ascii_lowercase()).into_bytes()
}

impl Trust {
    /// From settings that were checked; a key that is none is left out.
    pub fn new(required: bool, keys: &[TrustedKey]) -> Self {
        let keys = keys.iter().filter_map(|key| Some((key.name.clone(), key.key.parse().ok()?))).collect();
        Self { required, keys }
    }

    /// Who vouches for a component of this digest. Refused: a signature that is none or does not fit; and where signatures are required, none at
    /// all, and one of a stranger.
    pub fn check(&self, digest: &str, signature: Option<&str>) -> Result<SignedBy, LoadError> {
        let refuse = |class, problem: String, remedy: &str| Err(LoadError::new(class, problem, remedy));
        let Some(text) = signature else {
            return if self.required {
                let problem = format!("the component {digest} is not signed, and plugins.require_signed is set");
                refuse(FaultClass::Unsigned, problem, "sign it with `tidegate plugin sign`, with a key of plugins.trust")
            } else {
                Ok(SignedBy::default())
            };
        };
        let signature: Signature = match text.parse() {
            Ok(signature) => signature,
            Err(problem) => return refuse(FaultClass::BadSignature, problem, "sign the component again"),
        };
        let id = &signature.key_id;
        match self.keys.iter().find(|(_, key)| key.id() == *id) {
            Some((name, key)) if UnparsedPublicKey::new(&ED25519, key.0).verify(&signed(digest), &signature.bytes).is_ok() => {
                Ok(SignedBy(name.clone()))
            }
            Some((name, _)) => {
                let problem = format!("the signature by key {id} ({name}) does not fit the component {digest}");
                refuse(FaultClass::BadSignature, problem, "the component or its signature was changed: fetch both again, or sign it again")
            }
            None if self.required => {
                let problem = format!("the component {digest} is signed by key {id}, which is not trusted here");
                let trusted: Vec<String> = self.keys.iter().map(|(name, key)| format!("{} ({name})", key.id())).collect();
                let remedy = format!(
                    "have it signed by one of: {}; or add the key's `ed25519:` line to plugins.trust",
                    if trusted.is_empty() { "none yet".to_owned() } else { trusted.join(", ") }
                );
                refuse(FaultClass::Untrusted, problem, &remedy)
            }
            None => Ok(SignedBy::default()),
        }
    }
}

#[cfg(test)]
mod tests;
