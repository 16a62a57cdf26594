//! Changes of a binding set: pure.

use crate::error::{Error, ErrorKind, Result};
use crate::metadata::{Binding, BindingSet};
use crate::policy::Kind;

/// The set with `binding` in place of any of the same pattern and kind, last and so winning over all before it.
/// `None`: it is there already, and wins already.
pub(super) fn with(set: &BindingSet, binding: &Binding) -> Option<BindingSet> {
    let same_place = |b: &&Binding| b.pattern == binding.pattern && b.kind == binding.kind;
    let last_of_kind = set.bindings.iter().rfind(|b| b.kind == binding.kind);
    if last_of_kind.filter(same_place).is_some_and(|b| b.digest == binding.digest && b.config == binding.config) {
        return None;
    }
    let mut bindings: Vec<Binding> = set.bindings.iter().filter(|b| !same_place(b)).cloned().collect();
    bindings.push(binding.clone());
    Some(BindingSet { generation: set.generation + 1, bindings })
}

/// The set without the binding of exactly this pattern and kind.
pub(super) fn without(set: &BindingSet, pattern: &str, kind: Kind) -> Result<BindingSet> {
    let stays = |b: &&Binding| b.pattern != pattern || b.kind != kind;
    let bindings: Vec<Binding> = set.bindings.iter().filter(stays).cloned().collect();
    if bindings.len() == set.bindings.len() {
        return Err(Error::new(ErrorKind::NotFound, format!("no {kind} policy is bound to exactly {pattern:?}")));
    }
    Ok(BindingSet { generation: set.generation + 1, bindings })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding(pattern: &str, digest: &str) -> Binding {
        Binding {
            pattern: pattern.into(),
            kind: Kind::Flush,
            digest: digest.into(),
            source: "test".into(),
            config: serde_json::Value::Null,
            by: "test".into(),
            at_ms: 0,
        }
    }

    #[test]
    fn the_last_one_bound_wins_and_binding_the_same_again_changes_nothing() {
        let set = with(&BindingSet::default(), &binding("*", "a")).unwrap();
        let set = with(&set, &binding("logs-*", "b")).unwrap();
        assert_eq!(with(&set, &binding("logs-*", "b")), None);
        let set = with(&set, &binding("*", "a")).unwrap();
        let patterns: Vec<_> = set.bindings.iter().map(|b| b.pattern.as_str()).collect();
        assert_eq!(patterns, ["logs-*", "*"]);
        assert_eq!(set.generation, 3);
    }

    #[test]
    fn only_the_exact_pattern_and_kind_is_unbound() {
        let set = with(&BindingSet::default(), &binding("*", "a")).unwrap();
        assert_eq!(without(&set, "logs-*", Kind::Flush).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(without(&set, "*", Kind::Index).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(without(&set, "*", Kind::Flush).unwrap(), BindingSet { generation: 2, bindings: vec![] });
    }
}
