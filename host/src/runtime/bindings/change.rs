//! Changes of a binding set: pure. Each gives the next set, with the entry of its history.

use crate::error::{Error, ErrorKind, Result};
use crate::metadata::{Action, Binding, BindingSet, Change, Place, Placed};
use crate::policy::FaultClass;
use crate::types::TimestampMs;

/// Who changes something, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Author<'a> {
    pub(super) by: &'a str,
    pub(super) at_ms: TimestampMs,
}

/// The set with `binding` in place of any of the same pattern and kind, last and so winning over all before it.
/// `None`: it is there already, and wins already.
pub(super) fn with(set: &BindingSet, binding: &Binding) -> Option<BindingSet> {
    let place = place_of(binding);
    let last_of_kind = set.bindings.iter().rfind(|b| b.kind == binding.kind);
    let same = |b: &&Binding| b.pattern == binding.pattern && b.digest == binding.digest && b.config == binding.config;
    if last_of_kind.filter(same).is_some() {
        return None;
    }
    let author = Author { by: &binding.by, at_ms: binding.at_ms };
    let last = Placed { position: usize::MAX, binding: binding.clone() };
    Some(next(set, &place, Some(last), Action::Set, author))
}

/// The set without the binding of exactly this pattern and kind.
pub(super) fn without(set: &BindingSet, place: &Place, author: Author<'_>) -> Result<BindingSet> {
    if set.at(place).is_none() {
        let Place { pattern, kind } = place;
        return Err(Error::new(ErrorKind::NotFound, format!("no {kind} policy is bound to exactly {pattern:?}")));
    }
    Ok(next(set, place, None, Action::Unset, author))
}

/// What a place held before its last change, or when the set had generation `to`. `None`: nothing was bound.
pub(super) fn earlier(set: &BindingSet, place: &Place, to: Option<u64>) -> Result<Option<Placed>> {
    match to {
        Some(generation) => set.as_of(place, generation),
        None => set.before(place),
    }
}

/// The set with what a place held earlier. `None`: it holds that already.
pub(super) fn back_to(set: &BindingSet, place: &Place, earlier: Option<&Placed>, author: Author<'_>) -> Option<BindingSet> {
    let now = set.at(place);
    if same(now.as_ref(), earlier) {
        return None;
    }
    Some(next(set, place, earlier.cloned(), Action::Rollback, author))
}

/// The set, whose last entry says how instances take over from those before them.
pub(super) fn noting(mut set: BindingSet, state: &str) -> BindingSet {
    if let Some(change) = set.history.last_mut() {
        state.clone_into(&mut change.state);
    }
    set
}

/// Whether two states of a place decide the same: whoever bound them, and when.
pub(super) fn same(a: Option<&Placed>, b: Option<&Placed>) -> bool {
    let key = |placed: &Placed| (placed.position, placed.binding.digest.clone(), placed.binding.config.clone());
    a.map(key) == b.map(key)
}

fn place_of(binding: &Binding) -> Place {
    Place { pattern: binding.pattern.clone(), kind: binding.kind }
}

/// The next set, in which a place holds `after` at its position, or behind all others.
fn next(set: &BindingSet, place: &Place, after: Option<Placed>, action: Action, author: Author<'_>) -> BindingSet {
    let mut next = BindingSet { generation: set.generation + 1, ..set.clone() };
    let before = next.at(place);
    if let Some(before) = &before {
        next.bindings.remove(before.position);
    }
    let bound = after.map(|Placed { position, binding }| {
        let Author { by, at_ms } = author;
        let binding = Binding { by: by.to_owned(), at_ms, generation: next.generation, ..binding };
        next.bindings.insert(position.min(next.bindings.len()), binding.clone());
        binding
    });
    next.record(entry(next.generation, place, bound, before, action, author));
    next
}

fn entry(generation: u64, place: &Place, bound: Option<Binding>, before: Option<Placed>, action: Action, author: Author<'_>) -> Change {
    let (plugin, digest, config, source) = bound.map_or_else(Default::default, |b| (b.plugin, b.digest, b.config, b.source));
    let class = if action == Action::Rollback { FaultClass::RolledBack.as_str() } else { "" };
    Change {
        generation,
        at_ms: author.at_ms,
        by: author.by.to_owned(),
        action,
        pattern: place.pattern.clone(),
        kind: place.kind,
        plugin,
        digest,
        config,
        source,
        message: replaced(before.as_ref()),
        before,
        state: String::new(),
        class: class.to_owned(),
    }
}

fn replaced(before: Option<&Placed>) -> String {
    match before {
        None => "nothing was bound there".to_owned(),
        Some(Placed { binding, .. }) if binding.plugin.is_empty() => format!("in place of {}", binding.digest),
        Some(Placed { binding, .. }) => format!("in place of {}, {}", binding.plugin, binding.digest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Kind;

    const ME: Author<'static> = Author { by: "me", at_ms: 9 };

    fn place(pattern: &str) -> Place {
        Place { pattern: pattern.into(), kind: Kind::Flush }
    }

    fn binding(pattern: &str, digest: &str) -> Binding {
        Binding {
            pattern: pattern.into(),
            kind: Kind::Flush,
            digest: digest.into(),
            source: "test".into(),
            config: serde_json::Value::Null,
            by: "test".into(),
            at_ms: 0,
            plugin: format!("plugin-{digest}"),
            generation: 0,
            signature: String::new(),
            signed_by: String::new(),
        }
    }

    fn bound(set: &BindingSet) -> Vec<(&str, &str)> {
        set.bindings.iter().map(|b| (b.pattern.as_str(), b.digest.as_str())).collect()
    }

    /// The set after these were bound one after the other.
    fn after(bindings: &[(&str, &str)]) -> BindingSet {
        let bind = |set, (pattern, digest): &(&str, &str)| with(&set, &binding(pattern, digest)).unwrap();
        bindings.iter().fold(BindingSet::default(), bind)
    }

    fn roll_back(set: &BindingSet, pattern: &str, to: Option<u64>) -> Option<BindingSet> {
        let target = earlier(set, &place(pattern), to).unwrap();
        back_to(set, &place(pattern), target.as_ref(), ME)
    }

    #[test]
    fn the_last_one_bound_wins_and_binding_the_same_again_changes_nothing() {
        let set = after(&[("*", "a"), ("logs-*", "b")]);
        assert_eq!(with(&set, &binding("logs-*", "b")), None);
        let set = with(&set, &binding("*", "a")).unwrap();
        assert_eq!(bound(&set), [("logs-*", "b"), ("*", "a")]);
        assert_eq!((set.generation, set.bindings[1].generation), (3, 3));
    }

    #[test]
    fn only_the_exact_pattern_and_kind_is_unbound() {
        let set = after(&[("*", "a")]);
        assert_eq!(without(&set, &place("logs-*"), ME).unwrap_err().kind(), ErrorKind::NotFound);
        let other_kind = Place { kind: Kind::Index, ..place("*") };
        assert_eq!(without(&set, &other_kind, ME).unwrap_err().kind(), ErrorKind::NotFound);
        let set = without(&set, &place("*"), ME).unwrap();
        assert_eq!((set.generation, set.bindings.len()), (2, 0));
    }

    #[test]
    fn each_change_has_its_entry() {
        let set = without(&after(&[("*", "a"), ("*", "b")]), &place("*"), ME).unwrap();
        let told: Vec<_> = set.history.iter().map(|c| (c.generation, c.action, c.plugin.as_str(), c.message.as_str())).collect();
        let expected = [
            (1, Action::Set, "plugin-a", "nothing was bound there"),
            (2, Action::Set, "plugin-b", "in place of plugin-a, a"),
            (3, Action::Unset, "", "in place of plugin-b, b"),
        ];
        assert_eq!(told, expected);
        assert_eq!((set.history[2].by.as_str(), set.history[2].at_ms), ("me", 9));
    }

    #[test]
    fn a_rollback_undoes_the_last_change_of_its_place_and_precedence_with_it() {
        let set = after(&[("*", "a"), ("logs-*", "l"), ("*", "b")]);
        assert_eq!(bound(&set), [("logs-*", "l"), ("*", "b")]);
        let back = roll_back(&set, "*", None).unwrap();
        assert_eq!(bound(&back), [("*", "a"), ("logs-*", "l")]);
        assert_eq!((back.generation, back.bindings[0].by.as_str(), back.bindings[0].generation), (4, "me", 4));
        assert_eq!(back.history.last().map(|c| (c.action, c.class.as_str())), Some((Action::Rollback, "swap.rolled_back")));
        assert_eq!(bound(&roll_back(&back, "*", None).unwrap()), bound(&set), "a rollback is a change: it can be taken back");
    }

    #[test]
    fn what_was_not_bound_before_is_unbound_by_a_rollback_and_an_unset_is_taken_back() {
        let set = roll_back(&after(&[("*", "a")]), "*", None).unwrap();
        assert_eq!(bound(&set), []);
        let unset = without(&after(&[("*", "a")]), &place("*"), ME).unwrap();
        assert_eq!(bound(&roll_back(&unset, "*", None).unwrap()), [("*", "a")]);
    }

    #[test]
    fn any_known_generation_can_be_gone_back_to() {
        let set = after(&[("*", "a"), ("*", "b"), ("x", "c"), ("*", "d")]);
        for (to, expected) in [(0, None), (1, Some("a")), (2, Some("b")), (3, Some("b"))] {
            let back = roll_back(&set, "*", Some(to)).unwrap();
            assert_eq!(back.at(&place("*")).map(|placed| placed.binding.digest).as_deref(), expected, "generation {to}");
            assert_eq!(back.at(&place("x")).map(|placed| placed.binding.digest).as_deref(), Some("c"));
        }
        assert_eq!(roll_back(&set, "*", Some(4)), None, "it is there already");
    }
}
