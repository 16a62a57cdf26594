//! The decision against another one that is as plain as can be: all rules, one after the other.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::security::acl::Permission::{Allow, Deny};

const OPERATIONS: [Operation; 5] = [Operation::All, Operation::Read, Operation::Write, Operation::Describe, Operation::AlterConfigs];

fn acl() -> impl Strategy<Value = Acl> {
    let kind = select(vec![ResourceKind::Topic, ResourceKind::Group]);
    let pattern = select(vec![Pattern::Literal, Pattern::Prefixed]);
    let name = select(vec!["*", "a", "ab", "abc", "b", "\u{e4}b"]);
    let principal = select(vec!["User:*", "User:x", "User:y"]);
    let host = select(vec!["*", "1.1.1.1", "::1"]);
    let said = (select(OPERATIONS.to_vec()), select(vec![Allow, Deny]));
    (kind, pattern, name, principal, host, said).prop_map(|(kind, pattern, name, principal, host, (operation, permission))| Acl {
        kind,
        pattern,
        name: name.into(),
        principal: principal.into(),
        host: host.into(),
        operation,
        permission,
    })
}

fn matches(acl: &Acl, asker: Asker<'_>, resource: Resource<'_>) -> bool {
    let named = match acl.pattern {
        Pattern::Literal => acl.name == "*" || acl.name == resource.name,
        Pattern::Prefixed => resource.name.starts_with(&acl.name),
    };
    let who = acl.principal == "User:*" || acl.principal == asker.principal;
    acl.kind == resource.kind && named && who && (acl.host == "*" || acl.host == asker.host)
}

fn plainly(acls: &[Acl], asker: Asker<'_>, operation: Operation, resource: Resource<'_>) -> bool {
    let about: Vec<&Acl> = acls.iter().filter(|acl| matches(acl, asker, resource)).collect();
    let says = |acl: &Acl| acl.operation == operation || acl.operation == Operation::All;
    let implies = |acl: &Acl| operation == Operation::Describe && matches!(acl.operation, Operation::Read | Operation::Write);
    !about.iter().any(|acl| acl.permission == Deny && says(acl))
        && about.iter().any(|acl| acl.permission == Allow && (says(acl) || implies(acl)))
}

proptest! {
    #[test]
    fn a_decision_is_what_all_rules_say_together(
        acls in proptest::collection::vec(acl(), 0..12),
        principal in select(vec!["User:x", "User:y", "User:z"]),
        host in select(vec!["1.1.1.1", "::1", "2.2.2.2"]),
        operation in select(OPERATIONS.to_vec()),
        kind in select(vec![ResourceKind::Topic, ResourceKind::Group, ResourceKind::Cluster]),
        name in select(vec!["a", "ab", "abcd", "b", "\u{e4}bc", "\u{e4}", "zz"]),
    ) {
        let asker = Asker { principal, host };
        let resource = Resource { kind, name };
        let ready = Acls::new(&acls);
        prop_assert_eq!(ready.allows(asker, operation, resource), plainly(&acls, asker, operation, resource));
    }

    #[test]
    fn one_more_denial_never_allows_and_one_more_allowance_never_denies(
        acls in proptest::collection::vec(acl(), 0..8),
        more in acl(),
        name in select(vec!["a", "ab", "abcd", "b"]),
        operation in select(OPERATIONS.to_vec()),
    ) {
        let asker = Asker { principal: "User:x", host: "1.1.1.1" };
        let resource = Resource::topic(name);
        let before = Acls::new(&acls).allows(asker, operation, resource);
        let after = Acls::new(acls.iter().chain([&more])).allows(asker, operation, resource);
        match more.permission {
            Allow => prop_assert!(after || !before),
            Deny => prop_assert!(before || !after),
        }
    }

    /// Names longer than every rule's, with every beginning: one of them is the witness, if there is one.
    #[test]
    fn any_resource_is_allowed_if_there_is_one(acls in proptest::collection::vec(acl(), 0..8), operation in select(vec![Operation::Write, Operation::Read])) {
        let asker = Asker { principal: "User:x", host: "1.1.1.1" };
        let ready = Acls::new(&acls);
        let names = ["a", "ab", "abc", "b", "\u{e4}b", "a~", "ab~", "abc~", "b~", "\u{e4}b~", "*", "*~", "~"];
        let found = names.iter().any(|name| ready.allows(asker, operation, Resource::topic(name)));
        prop_assert_eq!(ready.allows_any(asker, operation, ResourceKind::Topic), found, "{:?}", acls);
    }
}

#[test]
fn without_rules_nothing_is_allowed() {
    let asker = Asker { principal: "User:x", host: "::1" };
    for operation in Operation::ALL {
        assert!(!Acls::default().allows(asker, *operation, Resource::CLUSTER));
    }
}
