//! Patterns over topic names: one meaning for topic rules and for policy bindings.
//!
//! A pattern matches a whole name, and case counts. `*` matches any run of characters, none too; `?` exactly
//! one; `[ab]`, `[a-z]` one of these and `[!ab]` one of all others; `{orders,payments}` either word. All else
//! stands for itself. Where several patterns match a topic, the *last* in its list wins: so general ones come
//! first.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};

use crate::error::{Error, ErrorKind, Result};

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    matcher: GlobMatcher,
}

impl Pattern {
    /// Longest pattern, in bytes.
    pub const MAX_LEN: usize = 512;

    /// Compiles a pattern; [`ErrorKind::InvalidInput`] says what is wrong with it.
    pub fn new(pattern: &str) -> Result<Self> {
        if let Some(problem) = refuse(pattern) {
            return Err(invalid(pattern, problem));
        }
        let glob = GlobBuilder::new(pattern).literal_separator(false).backslash_escape(false).empty_alternates(true).build();
        let glob = glob.map_err(|e| invalid(pattern, e.kind()))?;
        Ok(Self { matcher: glob.compile_matcher() })
    }

    /// Whether a topic's name matches.
    pub fn matches(&self, topic: &str) -> bool {
        self.matcher.is_match(topic)
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        self.matcher.glob().glob()
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn refuse(pattern: &str) -> Option<String> {
    if pattern.is_empty() {
        return Some("it is empty; `*` matches every topic".to_owned());
    }
    if pattern.len() > Pattern::MAX_LEN {
        return Some(format!("it has {} bytes, at most {} are allowed", pattern.len(), Pattern::MAX_LEN));
    }
    let foreign = |c: &char| !(c.is_ascii_alphanumeric() || "._-*?[]{},!".contains(*c));
    pattern.chars().find(foreign).map(|c| format!("{c:?} is part of no topic's name"))
}

fn invalid(pattern: &str, problem: impl fmt::Display) -> Error {
    let shown: String = pattern.chars().take(64).collect();
    Error::new(ErrorKind::InvalidInput, format!("invalid pattern {shown:?}: {problem}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_mean_what_their_page_says() {
        let cases = [
            ("*", "a.b-c_d", true),
            ("logs-*", "logs-", true),
            ("logs-*", "logs", false),
            ("logs-*", "Logs-a", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("t[0-9]", "t7", true),
            ("t[!0-9]", "t7", false),
            ("{orders,payments}.*", "payments.eu", true),
            ("{orders,payments}.*", "refunds.eu", false),
            ("a.c", "abc", false),
        ];
        for (pattern, topic, expected) in cases {
            assert_eq!(Pattern::new(pattern).unwrap().matches(topic), expected, "{pattern} on {topic}");
        }
    }

    #[test]
    fn a_broken_pattern_is_refused_by_name() {
        for pattern in ["", "[a", "{a", "a/b", "a\\*", "a b", &"a".repeat(513)] {
            let error = Pattern::new(pattern).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.message().starts_with("invalid pattern"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_pattern_or_refused(text in "\\PC{0,40}", topic in "[a-z._-]{1,20}") {
            if let Ok(pattern) = Pattern::new(&text) {
                pattern.matches(&topic);
            }
        }

        #[test]
        fn a_name_matches_itself(topic in "[A-Za-z0-9._-]{1,60}") {
            prop_assert!(Pattern::new(&topic).unwrap().matches(&topic));
        }
    }
}
