//! Which rules are meant: the filters that rules are listed and deleted by. As Kafka's `AclBindingFilter`.

use super::acl::{ANY, Acl, Operation, Pattern, Permission, ResourceKind};

/// In place of a word: every one.
const EVERY: i8 = 1;
/// In place of a pattern: whatever is about the resource of the name.
const ABOUT: i8 = 2;

/// A filter as it comes: the protocol's numbers, and texts of which a missing one is every one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) kind: i8,
    pub(crate) name: Option<&'a str>,
    pub(crate) pattern: i8,
    pub(crate) principal: Option<&'a str>,
    pub(crate) host: Option<&'a str>,
    pub(crate) operation: i8,
    pub(crate) permission: i8,
}

/// A filter.
#[derive(Debug)]
pub(crate) struct Filter {
    kind: Option<ResourceKind>,
    named: Named,
    principal: Option<String>,
    host: Option<String>,
    operation: Option<Operation>,
    permission: Option<Permission>,
}

#[derive(Debug)]
enum Named {
    /// By a pattern, if one is said, of exactly this name, if one is said.
    As(Option<Pattern>, Option<String>),
    /// By whatever pattern it takes to be about this.
    About(String),
}

impl Filter {
    /// `None`: it has a word that nobody knows.
    pub(crate) fn read(asked: Asked<'_>) -> Option<Self> {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let named = match (asked.pattern, asked.name) {
            (ABOUT, Some(name)) => Named::About(name.to_owned()),
            (EVERY | ABOUT, name) => Named::As(None, text(name)),
            (code, name) => Named::As(Some(Pattern::of_code(code)?), text(name)),
        };
        Some(Self {
            kind: every(asked.kind, ResourceKind::of_code)?,
            named,
            principal: text(asked.principal),
            host: text(asked.host),
            operation: every(asked.operation, Operation::of_code)?,
            permission: every(asked.permission, Permission::of_code)?,
        })
    }

    pub(crate) fn matches(&self, acl: &Acl) -> bool {
        let text = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
        self.kind.is_none_or(|kind| kind == acl.kind)
            && self.named.matches(acl)
            && text(&self.principal, &acl.principal)
            && text(&self.host, &acl.host)
            && self.operation.is_none_or(|operation| operation == acl.operation)
            && self.permission.is_none_or(|permission| permission == acl.permission)
    }
}

/// A word, or none for every one; nothing if it is neither.
fn every<T>(code: i8, of_code: fn(i8) -> Option<T>) -> Option<Option<T>> {
    if code == EVERY { Some(None) } else { of_code(code).map(Some) }
}

impl Named {
    fn matches(&self, acl: &Acl) -> bool {
        match self {
            Self::As(pattern, name) => {
                pattern.is_none_or(|pattern| pattern == acl.pattern) && name.as_ref().is_none_or(|name| *name == acl.name)
            }
            Self::About(name) => match acl.pattern {
                Pattern::Literal => acl.name == *name || acl.name == ANY,
                Pattern::Prefixed => name.starts_with(&acl.name),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Asked<'static> =
        Asked { kind: EVERY, name: None, pattern: EVERY, principal: None, host: None, operation: EVERY, permission: EVERY };

    fn acl(pattern: Pattern, name: &str) -> Acl {
        let (principal, host) = ("User:a".to_owned(), "*".to_owned());
        let (operation, permission) = (Operation::Read, Permission::Allow);
        Acl { kind: ResourceKind::Topic, pattern, name: name.to_owned(), principal, host, operation, permission }
    }

    #[test]
    fn a_filter_finds_what_it_says_and_no_more() {
        let rules = [acl(Pattern::Literal, "*"), acl(Pattern::Literal, "ab"), acl(Pattern::Prefixed, "a"), acl(Pattern::Prefixed, "ab")];
        let found = |asked: Asked<'_>| -> Vec<usize> {
            let filter = Filter::read(asked).unwrap();
            rules.iter().enumerate().filter(|(_, acl)| filter.matches(acl)).map(|(at, _)| at).collect()
        };
        assert_eq!(found(ALL), [0, 1, 2, 3]);
        assert_eq!(found(Asked { name: Some("ab"), ..ALL }), [1, 3]);
        assert_eq!(found(Asked { name: Some("ab"), pattern: 3, ..ALL }), [1]);
        assert_eq!(found(Asked { name: Some("ab"), pattern: 4, ..ALL }), [3]);
        assert_eq!(found(Asked { name: Some("ab"), pattern: ABOUT, ..ALL }), [0, 1, 2, 3]);
        assert_eq!(found(Asked { name: Some("ac"), pattern: ABOUT, ..ALL }), [0, 2]);
        assert_eq!(found(Asked { pattern: 4, ..ALL }), [2, 3]);
        for none in [
            Asked { kind: 3, ..ALL },
            Asked { principal: Some("User:b"), ..ALL },
            Asked { host: Some("1.1.1.1"), ..ALL },
            Asked { operation: 4, ..ALL },
            Asked { permission: 2, ..ALL },
        ] {
            assert!(found(none).is_empty(), "{none:?}");
        }
    }

    #[test]
    fn words_that_nobody_knows_find_nothing() {
        for asked in
            [Asked { kind: 0, ..ALL }, Asked { pattern: 9, ..ALL }, Asked { operation: 77, ..ALL }, Asked { permission: -1, ..ALL }]
        {
            assert!(Filter::read(asked).is_none(), "{asked:?}");
        }
    }
}
