//! What kind of bytes was handed in, before anything parses them; and their digest.

use sha2::{Digest, Sha256};

use super::LoadError;
use super::guest_log::escape;
use crate::policy::guard::FaultClass;

const MAGIC: &[u8] = b"\0asm";
const CORE: &[u8] = &[1, 0, 0, 0];
const COMPONENT: &[u8] = &[0x0d, 0, 1, 0];
const BUILD: &str = "build a component with `tidegate plugin build`";

/// `sha256:` and 64 hex digits.
pub fn digest(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().fold(String::from("sha256:"), |text, byte| text + &format!("{byte:02x}"))
}

/// Refuses bytes that are not those of a pinned digest.
pub fn verify_digest(bytes: &[u8], pinned: &str) -> Result<(), LoadError> {
    let found = digest(bytes);
    if found.eq_ignore_ascii_case(pinned) {
        return Ok(());
    }
    let refuse = |problem, remedy| Err(LoadError::new(FaultClass::DigestMismatch, problem, remedy));
    let hex = pinned.strip_prefix("sha256:").unwrap_or_default();
    if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let problem = format!("the pinned digest {:?} is none: expected `sha256:` and 64 hex digits", escape(pinned, 128));
        return refuse(problem, "copy it from `tidegate plugin inspect`");
    }
    let problem = format!("the component's digest is {found}, expected {pinned}");
    refuse(problem, "fetch it again, or pin the new digest if the change is meant")
}

/// Refuses what is larger than `limit` bytes, and everything that is no component of this format's version.
pub(super) fn require_component(bytes: &[u8], limit: u64) -> Result<(), LoadError> {
    let refuse = |class, problem: String, remedy: &str| Err(LoadError::new(class, problem, remedy));
    if bytes.len() as u64 > limit {
        let problem = format!("the component has {} bytes, at most {limit} are allowed", bytes.len());
        return refuse(FaultClass::TooLarge, problem, "build it with the profile `plugin`, or raise policy.component_bytes");
    }
    if bytes.is_empty() {
        return refuse(FaultClass::NotWasm, "the file is empty".into(), "check how it was written or copied");
    }
    match bytes.strip_prefix(MAGIC) {
        Some(rest) if rest.starts_with(COMPONENT) => Ok(()),
        Some(rest) if rest.starts_with(CORE) => refuse(
            FaultClass::CoreModule,
            "this is a core WebAssembly module, expected a component".into(),
            "build it with `tidegate plugin build`, or make a component of it with `tidegate plugin wrap`",
        ),
        Some(rest) if rest.len() < 4 => {
            refuse(FaultClass::Truncated, format!("the file ends after {} bytes", bytes.len()), "copy it again")
        }
        Some(rest) => refuse(FaultClass::NotWasm, format!("unknown WebAssembly version {:02x?}", &rest[..4]), BUILD),
        None => not_wasm(bytes),
    }
}

fn not_wasm(bytes: &[u8]) -> Result<(), LoadError> {
    if wasmtime::Engine::detect_precompiled(bytes).is_some() || bytes.starts_with(b"\x7fELF") {
        let problem = "this is compiled code, which a host takes from nobody".to_owned();
        return Err(LoadError::new(FaultClass::Precompiled, problem, "hand in the component itself; the host compiles it"));
    }
    let head = bytes.trim_ascii_start();
    if head.starts_with(b"(") || head.starts_with(b";;") {
        let problem = "this is WebAssembly text, expected a binary component".to_owned();
        return Err(LoadError::new(FaultClass::Text, problem, "assemble it first, for example with `wasm-tools parse`"));
    }
    let found = if head.starts_with(b"{") || head.starts_with(b"[") {
        "this looks like JSON".to_owned()
    } else {
        format!("the file starts with {:02x?}", &bytes[..bytes.len().min(4)])
    };
    Err(LoadError::new(FaultClass::NotWasm, format!("{found}, expected a WebAssembly component"), BUILD))
}
