//! Policies as configs of a topic: `tidegate.policy.flush` names one, `tidegate.policy.flush.config` is its config.
//!
//! Nothing of it is kept with the topic: the set of bindings is the one truth, with its history and its way back. A topic's own policy is the
//! binding whose pattern is exactly the topic's name.

use kafka_protocol::ResponseError;
use serde_json::Value;
use tidegate::config::{BindingRule, Pattern};
use tidegate::metadata::{Binding, BindingSet};
use tidegate::policy::config_or_empty;
use tidegate::types::{Kind, TopicName};

use super::edit::{Change, Op};
use super::{Meaning, Source};
use crate::topics::Refusal;

/// Stands for what decides where nothing is bound.
pub(crate) const BUILT_IN: &str = "builtin";
/// Bindings by clients' configs are marked so.
const AUTHOR: &str = "topic config";

/// What is asked of a topic's policy of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyChange {
    pub(crate) kind: Kind,
    policy: Option<Op>,
    config: Option<Op>,
}

/// What that comes to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Nothing is to be done.
    Nothing,
    /// The topic's own policy goes.
    Unbind,
    /// This policy, by name or digest, with this config.
    Bind(String, Value),
}

impl PolicyChange {
    /// What `changes` ask of a kind; `None`: nothing.
    pub(super) fn of(kind: Kind, changes: &[Change]) -> Option<Self> {
        let op = |meaning| changes.iter().find(|change| change.config.meaning == meaning).map(|change| change.op.clone());
        let (policy, config) = (op(Meaning::Policy(kind)), op(Meaning::PolicyConfig(kind)));
        (policy.is_some() || config.is_some()).then_some(Self { kind, policy, config })
    }

    /// What to do where `own` is bound. A policy that is swapped keeps the config, unless that is changed with it.
    pub(crate) fn step(&self, own: Option<&Binding>) -> Result<Step, Refusal> {
        let name = match (&self.policy, own) {
            (Some(Op::Set(name)), _) if name == BUILT_IN => {
                return Err(self.refused("", "names what decides where nothing is bound: delete it"));
            }
            (Some(Op::Set(name)), _) => name.clone(),
            (Some(_), _) if matches!(self.config, Some(Op::Set(_))) => {
                return Err(self.refused(".config", "is set without a policy to go to"));
            }
            (Some(_), Some(_)) => return Ok(Step::Unbind),
            (None, Some(own)) => own.digest.clone(),
            (None, None) if matches!(self.config, Some(Op::Set(_))) => {
                let problem = format!("has no policy to go to: set tidegate.policy.{} of this topic with it", self.kind);
                return Err(self.refused(".config", &problem));
            }
            (_, None) => return Ok(Step::Nothing),
        };
        Ok(Step::Bind(name, self.config_for(own)?))
    }

    fn config_for(&self, own: Option<&Binding>) -> Result<Value, Refusal> {
        match (&self.config, own) {
            (Some(Op::Set(text)), _) => match serde_json::from_str(text).map(config_or_empty) {
                Ok(config @ Value::Object(_)) => Ok(config),
                Ok(_) => Err(self.refused(".config", "is JSON and no object, expected `{\"key\": value, ...}`")),
                Err(e) => Err(self.refused(".config", &format!("is no JSON ({e}), expected `{{\"key\": value, ...}}`"))),
            },
            (None, Some(own)) => Ok(own.config.clone()),
            _ => Ok(Value::Object(serde_json::Map::new())),
        }
    }

    fn refused(&self, which: &str, problem: &str) -> Refusal {
        Refusal::new(ResponseError::InvalidConfig, format!("tidegate.policy.{}{which} {problem}", self.kind))
    }
}

/// Who binds, as the history shows it.
pub(crate) fn author(client: &str) -> String {
    format!("{AUTHOR}, {client}")
}

/// The topic's own binding of a kind.
pub(crate) fn own<'a>(set: &'a BindingSet, topic: &TopicName, kind: Kind) -> Option<&'a Binding> {
    set.bindings.iter().find(|b| b.kind == kind && b.pattern == topic.as_str())
}

/// Whether a binding came from a topic's configs, and so goes with the topic.
pub(crate) fn goes_with_its_topic(binding: &Binding) -> bool {
    binding.by.starts_with(AUTHOR)
}

/// A policy and its config as texts, and where they come from.
pub(crate) struct Bound {
    pub(crate) policy: String,
    pub(crate) config: String,
    pub(crate) source: Source,
}

/// All that is bound to a topic, the topic's own first, then what lies below it; the built-in last.
pub(crate) fn bound(set: &BindingSet, rules: &[BindingRule], topic: &TopicName, kind: Kind) -> Vec<Bound> {
    let matches = |pattern: &str| Pattern::new(pattern).is_ok_and(|pattern| pattern.matches(topic.as_str()));
    let own = own(set, topic, kind).map(|b| of_binding(b, Source::Topic));
    let patterns = set.bindings.iter().rev().filter(|b| b.kind == kind && b.pattern != topic.as_str() && matches(&b.pattern));
    let rules = rules.iter().rev().filter(|rule| rule.kind == kind && matches(&rule.pattern));
    let mut all: Vec<Bound> = own.into_iter().chain(patterns.map(|b| of_binding(b, Source::Pattern))).collect();
    all.extend(rules.map(of_rule));
    all.push(Bound { policy: BUILT_IN.to_owned(), config: "{}".to_owned(), source: Source::Default });
    all
}

fn of_binding(binding: &Binding, source: Source) -> Bound {
    let config = config_or_empty(binding.config.clone()).to_string();
    Bound { policy: name_of(binding).to_owned(), config, source }
}

/// As it was named by whoever bound it through a config; else the policy's own name.
fn name_of(binding: &Binding) -> &str {
    match (goes_with_its_topic(binding), binding.plugin.is_empty()) {
        (true, _) => &binding.source,
        (false, false) => &binding.plugin,
        (false, true) => &binding.digest,
    }
}

fn of_rule(rule: &BindingRule) -> Bound {
    let config = serde_json::to_string(&rule.config).unwrap_or_default();
    Bound { policy: rule.plugin.clone(), config, source: Source::SettingsFile }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::edit::Changes;
    use super::*;

    fn binding() -> Binding {
        Binding {
            pattern: "t".into(),
            kind: Kind::Flush,
            digest: "sha256:00".into(),
            source: "flush-threshold".into(),
            config: json!({ "bytes": 1 }),
            by: author("1.2.3.4"),
            at_ms: 0,
            plugin: "flush-threshold".into(),
            generation: 1,
            signature: String::new(),
            signed_by: String::new(),
        }
    }

    fn step(asked: &[(&str, Op)], own: Option<&Binding>) -> Result<Step, Refusal> {
        let changes = Changes::checked(asked.iter().map(|(name, op)| ((*name).to_owned(), op.clone())))?;
        changes.policies().first().map_or(Ok(Step::Nothing), |change| change.step(own))
    }

    fn set(value: &str) -> Op {
        Op::Set(value.to_owned())
    }

    #[test]
    fn a_policy_and_its_config_change_together_or_alone() {
        let (policy, config, own) = ("tidegate.policy.flush", "tidegate.policy.flush.config", binding());
        let bind = |name: &str, config| Ok(Step::Bind(name.to_owned(), config));
        assert_eq!(step(&[(policy, set("a"))], None), bind("a", json!({})));
        assert_eq!(step(&[(policy, set("a"))], Some(&own)), bind("a", json!({ "bytes": 1 })));
        assert_eq!(step(&[(policy, set("a")), (config, set(r#"{"x":2}"#))], Some(&own)), bind("a", json!({ "x": 2 })));
        assert_eq!(step(&[(policy, set("a")), (config, Op::Delete)], Some(&own)), bind("a", json!({})));
        assert_eq!(step(&[(config, set(r#"{"x":2}"#))], Some(&own)), bind("sha256:00", json!({ "x": 2 })));
        assert_eq!(step(&[(policy, Op::Delete)], Some(&own)), Ok(Step::Unbind));
        assert_eq!(step(&[(policy, Op::Delete), (config, Op::Delete)], None), Ok(Step::Nothing));
    }

    #[test]
    fn what_makes_no_policy_is_refused_by_name() {
        let (policy, config) = ("tidegate.policy.flush", "tidegate.policy.flush.config");
        for asked in [
            vec![(policy, set(BUILT_IN))],
            vec![(config, set("{}"))],
            vec![(policy, Op::Delete), (config, set("{}"))],
            vec![(policy, set("a")), (config, set("[1]"))],
            vec![(policy, set("a")), (config, set("bytes=1"))],
        ] {
            let refusal = step(&asked, None).unwrap_err();
            assert_eq!(refusal.code, ResponseError::InvalidConfig);
            assert!(refusal.message.starts_with("tidegate.policy.flush"), "{}", refusal.message);
        }
    }

    #[test]
    fn what_is_bound_is_shown_from_the_topics_own_down_to_the_built_in() {
        let topic = TopicName::new("t").unwrap();
        let wide = Binding { pattern: "*".into(), by: "ann".into(), plugin: "wide".into(), ..binding() };
        let other = Binding { pattern: "u".into(), ..wide.clone() };
        let set = BindingSet { generation: 3, bindings: vec![wide, binding(), other], history: Vec::new() };
        let all = bound(&set, &[], &topic, Kind::Flush);
        let shown: Vec<(&str, Source)> = all.iter().map(|bound| (bound.policy.as_str(), bound.source)).collect();
        assert_eq!(shown, [("flush-threshold", Source::Topic), ("wide", Source::Pattern), (BUILT_IN, Source::Default)]);
        assert_eq!(bound(&set, &[], &topic, Kind::Index).len(), 1);
    }
}
