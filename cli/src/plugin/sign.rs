//! Keys and signatures: `tidegate plugin keygen` and `tidegate plugin sign`.

use std::fmt;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use serde::Serialize;
use tidegate::policy::signature::SigningKey;
use tidegate::policy::wasm::digest;

use super::component;
use crate::input::Input;

const KEY: Input =
    Input { what: "key", most_bytes: 64 << 10, remedy: "expected an Ed25519 key in PEM, as `tidegate plugin keygen` makes it" };

#[derive(Debug, Args)]
pub(super) struct KeygenArgs {
    /// Where the private key goes; an existing file is not replaced
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct SignArgs {
    /// Private key, of `keygen` or OpenSSL (PEM, Ed25519)
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Components; the signature of each goes beside it, as FILE.sig
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// A new key, as far as others may know it.
#[derive(Serialize)]
pub(super) struct Key {
    file: PathBuf,
    id: String,
    public: String,
}

impl Key {
    pub(super) fn describe(&self) -> String {
        format!("private key {} of {}\n\n[[plugins.trust]]\nname = \"...\"\nkey = \"{}\"\n", self.id, self.file.display(), self.public)
    }
}

/// A signed component.
#[derive(Debug, Serialize)]
pub(super) struct Signed {
    file: PathBuf,
    digest: String,
    key_id: String,
    signature: String,
}

impl fmt::Display for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} by key {}", self.file.display(), self.digest, self.key_id)
    }
}

pub(super) fn keygen(args: &KeygenArgs) -> Result<Key> {
    let pem = SigningKey::generate().map_err(|problem| anyhow!(problem))?;
    let public = SigningKey::from_pem(&pem).map_err(|problem| anyhow!(problem))?.public();
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&args.out);
    let mut file = file.with_context(|| format!("cannot make {}", args.out.display()))?;
    file.write_all(pem.as_bytes()).with_context(|| format!("cannot write {}", args.out.display()))?;
    Ok(Key { file: args.out.clone(), id: public.id(), public: public.to_string() })
}

pub(super) fn sign(args: &SignArgs) -> Result<Vec<Signed>> {
    let pem = KEY.text(&args.key)?;
    let key = SigningKey::from_pem(&pem).map_err(|problem| anyhow!("{}: {problem}", args.key.display()))?;
    args.files.iter().map(|file| sign_one(&key, file)).collect()
}

fn sign_one(key: &SigningKey, file: &Path) -> Result<Signed> {
    let bytes = component::read(file)?;
    let (digest, mut beside) = (digest(&bytes), file.as_os_str().to_owned());
    beside.push(".sig");
    let signature = key.sign(&digest);
    std::fs::write(&beside, format!("{signature}\n")).with_context(|| format!("cannot write {}", Path::new(&beside).display()))?;
    Ok(Signed { file: file.to_owned(), digest, key_id: signature.key_id.clone(), signature: signature.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_without_end_is_refused() {
        let refused = sign(&SignArgs { key: PathBuf::from("/dev/zero"), files: vec![] }).unwrap_err().to_string();
        assert!(refused.starts_with("key /dev/zero has more than 65536 bytes: expected an Ed25519 key in PEM"), "{refused}");
    }
}
