//! Who may do what: the decision, and nothing else. No I/O, no clock.
//!
//! As Kafka decides: a rule that denies beats every rule that allows, whichever is more exact; what no rule is about is denied. Who
//! may read, write, delete or alter a thing may see that it exists; who may alter its settings may read them. Denials imply nothing.
//!
//! Rules are found by name: one look for the name itself, one for `*`, and one for each length that a prefix has. So a decision takes
//! as long as few rules match, however many there are.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::acl::{ANY, Acl, EVERYBODY, Operation, Pattern, Permission, Resource, ResourceKind};

/// Rules, ready to be asked.
#[derive(Debug, Default)]
pub(crate) struct Acls {
    kinds: BTreeMap<ResourceKind, Rules>,
}

/// The rules about one kind of resource.
#[derive(Debug, Default)]
struct Rules {
    literal: HashMap<String, Vec<Rule>>,
    prefixed: HashMap<String, Vec<Rule>>,
    /// How long prefixes are, in bytes.
    lengths: BTreeSet<usize>,
}

#[derive(Debug)]
struct Rule {
    principal: String,
    host: String,
    operation: Operation,
    permission: Permission,
}

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker<'a> {
    /// `User:name`.
    pub(crate) principal: &'a str,
    /// The address that it comes from.
    pub(crate) host: &'a str,
}

impl Acls {
    /// Makes rules ready.
    pub(crate) fn new<'a>(acls: impl IntoIterator<Item = &'a Acl>) -> Self {
        let mut kinds: BTreeMap<ResourceKind, Rules> = BTreeMap::new();
        for acl in acls {
            kinds.entry(acl.kind).or_default().add(acl);
        }
        Self { kinds }
    }

    /// Whether somebody may do something to a resource.
    pub(crate) fn allows(&self, asker: Asker<'_>, operation: Operation, resource: Resource<'_>) -> bool {
        let Some(rules) = self.kinds.get(&resource.kind) else { return false };
        let mut allowed = false;
        for rule in rules.about(resource.name).filter(|rule| rule.is_about(asker)) {
            match rule.permission {
                Permission::Deny if rule.covers(operation) => return false,
                Permission::Allow => allowed |= rule.covers(operation) || rule.operation.implies(operation),
                Permission::Deny => {}
            }
        }
        allowed
    }

    /// Whether there may be any resource of a kind to which somebody may do something.
    pub(crate) fn allows_any(&self, asker: Asker<'_>, operation: Operation, kind: ResourceKind) -> bool {
        let Some(rules) = self.kinds.get(&kind) else { return false };
        let says = |rules: &[Rule], permission: Permission| {
            rules.iter().any(|rule| rule.permission == permission && rule.is_about(asker) && rule.covers(operation))
        };
        let denied = |at: Option<&Vec<Rule>>| at.is_some_and(|rules| says(rules, Permission::Deny));
        if denied(rules.literal.get(ANY)) {
            return false;
        }
        let free = |name: &str| !rules.prefixes_of(name).any(|rules| says(rules, Permission::Deny));
        let by_name = rules.literal.iter().any(|(name, list)| {
            let denied = says(list, Permission::Deny);
            says(list, Permission::Allow) && !denied && (name == ANY || free(name))
        });
        by_name || rules.prefixed.iter().any(|(prefix, list)| says(list, Permission::Allow) && free(prefix))
    }
}

impl Rules {
    fn add(&mut self, acl: &Acl) {
        let rule = Rule { principal: acl.principal.clone(), host: acl.host.clone(), operation: acl.operation, permission: acl.permission };
        let by_name = match acl.pattern {
            Pattern::Literal => &mut self.literal,
            Pattern::Prefixed => {
                self.lengths.insert(acl.name.len());
                &mut self.prefixed
            }
        };
        by_name.entry(acl.name.clone()).or_default().push(rule);
    }

    /// The rules whose prefix a name begins with.
    fn prefixes_of(&self, name: &str) -> impl Iterator<Item = &Vec<Rule>> {
        let lengths = self.lengths.range(..=name.len());
        lengths.filter_map(move |length| self.prefixed.get(name.get(..*length)?))
    }

    fn about(&self, name: &str) -> impl Iterator<Item = &Rule> {
        let every = if name == ANY { None } else { self.literal.get(ANY) };
        let literal = self.literal.get(name).into_iter().chain(every);
        literal.chain(self.prefixes_of(name)).flatten()
    }
}

impl Rule {
    fn is_about(&self, asker: Asker<'_>) -> bool {
        let everybody = self.principal == EVERYBODY && asker.principal.starts_with("User:");
        (everybody || self.principal == asker.principal) && (self.host == ANY || self.host == asker.host)
    }

    fn covers(&self, operation: Operation) -> bool {
        self.operation == operation || self.operation == Operation::All
    }
}

#[cfg(test)]
mod tests;
