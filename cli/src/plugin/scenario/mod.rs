//! Scenarios of a policy: a file of TOML with views, and what is to be decided on them.
//!
//! ```toml
//! config = { max_bytes = 1000 }           # of every scenario that has none of its own
//!
//! [[scenario]]
//! name = "a full buffer is flushed"
//! kind = "flush"                          # needed where the plugin decides several
//! step = [
//!     { view = { buffered_bytes = 999 }, expect = { wait = { bytes = 1000 } } },
//!     { view = { buffered_bytes = 1000 }, expect = "now" },
//! ]
//!
//! [[scenario]]
//! name = "nothing is no size"
//! config = { max_bytes = 0 }
//! refused = "max_bytes"                   # the message names it
//! ```
//!
//! A view's fields that a step leaves out are those of the step before; a scenario begins with an everyday view of its kind. Of an answer only what
//! is named counts. A scenario without a step that refuses nothing tests nothing, and is refused itself.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::{Map, Value};
use tidegate::policy::{Context, Kind};

use crate::input::Input;

mod expect;

pub(super) use expect::{differs, shown};

const SCENARIOS: Input = Input { what: "scenarios", most_bytes: 4 << 20, remedy: "split them, and run each file" };

/// A file of scenarios.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Scenarios {
    /// Of every scenario that has none of its own.
    config: Option<Map<String, Value>>,
    /// Fields that are not as in a topic of one partition with the default settings.
    context: Map<String, Value>,
    scenario: Vec<Scenario>,
}

/// One instance, and what it is asked one after the other.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    pub(super) name: String,
    kind: Option<Kind>,
    config: Option<Map<String, Value>>,
    #[serde(default)]
    context: Map<String, Value>,
    /// The config must be refused, and the message must contain this.
    pub(super) refused: Option<String>,
    #[serde(default)]
    pub(super) step: Vec<Step>,
}

/// One call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    #[serde(default)]
    pub(super) view: Map<String, Value>,
    /// Nothing: any answer will do.
    pub(super) expect: Option<Value>,
}

/// A scenario with all that the file says of it.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) kind: Kind,
    pub(super) config: Value,
    pub(super) context: Context,
    pub(super) scenario: Scenario,
}

impl Scenario {
    /// One that expects nothing but that it goes well.
    pub(super) fn of(name: &str, step: Vec<Step>) -> Self {
        Self { name: name.to_owned(), kind: None, config: None, context: Map::new(), refused: None, step }
    }
}

impl Scenarios {
    pub(super) fn read(file: &Path) -> Result<Self> {
        let text = SCENARIOS.text(file)?;
        toml::from_str(&text).with_context(|| format!("scenarios {} are not understood", file.display()))
    }

    /// The config of scenarios that have none of their own: `given`, or else what the file says.
    pub(super) fn config_or(&mut self, given: Option<Map<String, Value>>) -> Map<String, Value> {
        let config = given.or_else(|| self.config.take()).unwrap_or_default();
        self.config = Some(config.clone());
        config
    }

    /// The scenarios of a plugin that decides these kinds.
    pub(super) fn cases(self, kinds: &[Kind]) -> Result<Vec<Case>> {
        let Self { config, context, scenario } = self;
        let case = |scenario: Scenario| {
            let name = scenario.name.clone();
            Case::new(scenario, config.as_ref(), &context, kinds).with_context(|| format!("scenario {name:?}"))
        };
        scenario.into_iter().map(case).collect()
    }
}

impl Case {
    fn new(mut scenario: Scenario, config: Option<&Map<String, Value>>, context: &Map<String, Value>, kinds: &[Kind]) -> Result<Self> {
        if scenario.step.is_empty() && scenario.refused.is_none() {
            bail!(
                "it has no step and nothing that is `refused`, so it would test nothing: `step = [{{}}]` asks for a decision on an everyday view"
            );
        }
        let listed = || kinds.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ");
        let kind = match (scenario.kind, kinds) {
            (Some(kind), kinds) if !kinds.contains(&kind) => bail!("the plugin decides {}, not {kind}", listed()),
            (Some(kind), _) => kind,
            (None, [kind]) => *kind,
            (None, _) => bail!("the plugin decides {}: say which with `kind`", listed()),
        };
        let config = scenario.config.take().or_else(|| config.cloned()).unwrap_or_default();
        let context = context.clone().into_iter().chain(std::mem::take(&mut scenario.context)).collect();
        let context = serde_json::from_value(Value::Object(context)).context("its context")?;
        Ok(Self { kind, config: Value::Object(config), context, scenario })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(text: &str, kinds: &[Kind]) -> Result<Vec<Case>> {
        toml::from_str::<Scenarios>(text).unwrap().cases(kinds)
    }

    #[test]
    fn what_the_file_says_holds_for_scenarios_that_say_nothing_else() {
        let text = r#"
            config = { n = 1 }
            context = { lanes = 4, window = 8 }
            [[scenario]]
            name = "as the file says"
            step = [{}]
            [[scenario]]
            name = "otherwise"
            config = { n = 2 }
            context = { window = 9 }
            step = [{ view = { slice_bytes = 7 } }]
        "#;
        let cases = cases(text, &[Kind::Index]).unwrap();
        let told = |case: &Case| (case.config["n"].clone(), case.context.lanes, case.context.window, case.scenario.step.len());
        assert_eq!(told(&cases[0]), (1.into(), 4, 8, 1));
        assert_eq!(told(&cases[1]), (2.into(), 4, 9, 1));
    }

    #[test]
    fn a_kind_is_asked_for_where_it_is_not_clear() {
        let text = "[[scenario]]\nname = 'a'\nstep = [{}]";
        let told = |text: &str, kinds: &[Kind]| format!("{:#}", cases(text, kinds).unwrap_err());
        assert!(told(text, &[Kind::Flush, Kind::Index]).contains("flush, index: say which"));
        assert!(told("[[scenario]]\nname = 'a'\nkind = 'index'\nstep = [{}]", &[Kind::Flush]).contains("decides flush, not index"));
        assert!(told("[[scenario]]\nname = 'a'\nstep = [{}]\ncontext = { lane = 1 }", &[Kind::Flush]).contains("`lane`"));
    }

    #[test]
    fn a_scenario_that_tests_nothing_is_refused_by_its_name() {
        let told = |rest: &str| cases(&format!("[[scenario]]\nname = 'idle'\n{rest}"), &[Kind::Flush]).map_err(|e| format!("{e:#}"));
        for nothing in ["", "step = []", "config = { n = 1 }"] {
            let refused = told(nothing).unwrap_err();
            assert!(refused.starts_with("scenario \"idle\": it has no step and nothing that is `refused`"), "{nothing:?}: {refused}");
        }
        for something in ["step = [{}]", "refused = 'n'"] {
            assert_eq!(told(something).unwrap().len(), 1, "{something:?}");
        }
    }

    #[test]
    fn a_file_without_end_is_refused() {
        let refused = Scenarios::read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert_eq!(refused, "scenarios /dev/zero has more than 4194304 bytes: split them, and run each file");
    }
}
