//! A component in a registry: `oci://registry[:port]/name[:tag][@sha256:...]`.

use super::unavailable;
use crate::policy::wasm::LoadError;

pub(super) const SCHEME: &str = "oci://";
/// Longest part of a reference, in bytes.
const MAX_PART: usize = 255;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    /// Host, and port if it is not the usual one.
    pub(super) registry: String,
    /// Name of the repository.
    pub(super) name: String,
    /// Tag; of one that is pinned only for people.
    pub(super) tag: String,
    /// Digest of the manifest, if it is pinned.
    pub(super) digest: Option<String>,
}

impl Reference {
    pub(super) fn parse(text: &str) -> Result<Self, LoadError> {
        let refuse = || {
            let problem = format!("{:?} names nothing in a registry", text.chars().take(MAX_PART).collect::<String>());
            unavailable(problem, "expected oci://registry/name:tag or oci://registry/name@sha256:HEX")
        };
        let rest = text.strip_prefix(SCHEME).ok_or_else(refuse)?;
        let (registry, rest) = rest.split_once('/').ok_or_else(refuse)?;
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (rest, None),
        };
        let (name, tag) = rest.rsplit_once(':').unwrap_or((rest, "latest"));
        let parsed = Self { registry: registry.to_owned(), name: name.to_owned(), tag: tag.to_owned(), digest: digest.map(str::to_owned) };
        if parsed.is_valid() { Ok(parsed) } else { Err(refuse()) }
    }

    /// What the manifest is asked for by.
    pub(super) fn wanted(&self) -> &str {
        self.digest.as_deref().unwrap_or(&self.tag)
    }

    fn is_valid(&self) -> bool {
        let made_of = |text: &str, others: &str| {
            (1..=MAX_PART).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || others.as_bytes().contains(&b))
        };
        let segments = self.name.split('/').all(|segment| made_of(segment, "._-") && !segment.starts_with('.'));
        let digest = self.digest.as_ref().is_none_or(|digest| is_digest(digest));
        made_of(&self.registry, ".-:[]") && self.name.len() <= MAX_PART && segments && made_of(&self.tag, "._-") && digest
    }
}

/// Whether a text is `sha256:` and 64 hex digits, in lower case as registries write them.
pub(super) fn is_digest(text: &str) -> bool {
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    text.strip_prefix("sha256:").is_some_and(|digits| digits.len() == 64 && digits.bytes().all(hex))
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{SCHEME}{}/{}:{}", self.registry, self.name, self.tag)?;
        self.digest.as_ref().map_or(Ok(()), |digest| write!(f, "@{digest}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_have_a_registry_a_name_and_a_tag_or_a_digest() {
        let digest = format!("sha256:{}", "a1".repeat(32));
        let parts = |text: &str| {
            let parsed = Reference::parse(text).unwrap();
            (parsed.registry.clone(), parsed.name.clone(), parsed.tag.clone(), parsed.wanted().to_owned())
        };
        let texts = |parts: [&str; 4]| parts.map(str::to_owned).into();
        assert_eq!(parts("oci://ghcr.io/me/flush:1.2"), texts(["ghcr.io", "me/flush", "1.2", "1.2"]));
        assert_eq!(parts("oci://127.0.0.1:5000/flush"), texts(["127.0.0.1:5000", "flush", "latest", "latest"]));
        assert_eq!(parts(&format!("oci://r/flush:2@{digest}")), texts(["r", "flush", "2", &digest]));
        assert_eq!(parts(&format!("oci://r/flush@{digest}")), texts(["r", "flush", "latest", &digest]));
        let pinned = format!("oci://r/flush:2@{digest}");
        assert_eq!(Reference::parse(&pinned).unwrap().to_string(), pinned);
    }

    #[test]
    fn what_could_lead_elsewhere_is_no_reference() {
        let wrong = [
            "oci://",
            "oci://r",
            "oci://r/",
            "oci:///x",
            "oci://r/x:",
            "oci://r/../x",
            "oci://r/x?y",
            "oci://r/x:a/b",
            "oci://u@r/x",
            "oci://r/x@sha256:1",
            "oci://r/x@md5:aa",
            "http://r/x",
            "oci://r/x y",
        ];
        for text in wrong {
            assert!(Reference::parse(text).is_err(), "{text:?}");
        }
    }
}
