//! What the settings file binds: components from files, S3 or registries, fetched at start and tried out like what is bound at run time.
//!
//! A component that cannot be loaded, or a policy that refuses its config, does not stop the host: the built-in decides, the log and the status say
//! so, in the words in which a request would have been refused. What was merely not to be had is tried again ([`awaited`](super::awaited)).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::awaited::{Awaited, may_pass};
use super::sources::Sources;
use crate::config::BindingRule;
use crate::metrics::Metrics;
use crate::policy::signature::Trust;
use crate::policy::wasm::{LoadError, digest};
use crate::policy::{ActiveBinding, Context, FaultClass, PolicyHost, PolicySource};

/// What loading takes.
pub(super) struct Loading<'a> {
    pub(super) sources: &'a Sources,
    pub(super) trust: &'a Trust,
    pub(super) policies: &'a PolicyHost,
    pub(super) context: &'a Context,
    pub(super) metrics: &'a Metrics,
}

/// What a rule came to.
pub(super) struct Outcome {
    /// With its problem in place of its plugin, if there is one.
    pub(super) binding: ActiveBinding,
    /// Class of the problem.
    pub(super) class: Option<FaultClass>,
}

impl Loading<'_> {
    /// All rules in the order of the file, and which of them are to be tried again; `before` stand below them.
    pub(super) async fn load(&self, rules: &[BindingRule], before: usize) -> (Vec<ActiveBinding>, Vec<Awaited>) {
        let (mut active, mut awaited) = (Vec::with_capacity(rules.len()), Vec::new());
        for (at, rule) in rules.iter().enumerate() {
            let Outcome { binding, class } = self.load_rule(rule).await;
            active.push(binding);
            if class.is_some_and(may_pass) {
                awaited.push(Awaited { at: before + at, rule: rule.clone() });
            }
        }
        (active, awaited)
    }

    /// Fetches, checks and tries out what a rule names.
    pub(super) async fn load_rule(&self, rule: &BindingRule) -> Outcome {
        let (source, plugin) = match self.load_one(rule).await {
            Ok((source, plugin)) => (source, Ok(plugin)),
            Err(refusal) => (rule.plugin.clone(), Err(refusal)),
        };
        let config = serde_json::to_value(&rule.config).unwrap_or_default();
        let mut class = plugin.as_ref().err().map(LoadError::class);
        let plugin = plugin.map_err(|refusal| refusal.to_string());
        let mut binding = ActiveBinding { pattern: rule.pattern.clone(), kind: rule.kind, plugin, config, source };
        if binding.plugin.is_ok()
            && let Err(refusal) = self.policies.trial(&binding, self.context).await
        {
            class = Some(refusal.class());
            binding.plugin = Err(refusal.to_string());
        }
        self.told(&mut binding, class.is_some_and(may_pass));
        Outcome { binding, class }
    }

    /// Counts and logs a problem; one that may pass says that it is tried again.
    fn told(&self, binding: &mut ActiveBinding, again: bool) {
        let ActiveBinding { pattern, kind, source, plugin, .. } = binding;
        let Err(problem) = plugin else { return };
        self.metrics.runtime.binding_failures.inc();
        if again {
            problem.push_str("; it is tried again in the background");
        }
        tracing::error!(pattern, %kind, source, problem, "a policy of the settings is not in force; the built-in decides");
    }

    async fn load_one(&self, rule: &BindingRule) -> Result<(String, Arc<dyn PolicySource>), LoadError> {
        let component = self.sources.fetch(&rule.plugin, rule.digest.as_deref()).await?;
        self.trust.check(&digest(&component.bytes), component.signature.as_deref())?;
        let plugin = self.policies.check_and_load(component.bytes).await?;
        if plugin.kinds().contains(&rule.kind) {
            return Ok((component.source, plugin));
        }
        let problem = format!("{} decides no {}", plugin.name(), rule.kind);
        Err(LoadError::new(FaultClass::MissingExport, problem, "bind it to what it decides"))
    }
}

/// A path as it is; a bare name in the directory, its ending left out or not.
pub(super) fn locate(plugin: &str, directory: Option<&Path>) -> PathBuf {
    let path = PathBuf::from(plugin);
    let bare = path.components().count() == 1 && !path.exists();
    match directory {
        Some(directory) if bare => in_directory(plugin, directory),
        _ => path,
    }
}

/// A bare name in a directory, its ending left out or not.
pub(super) fn in_directory(name: &str, directory: &Path) -> PathBuf {
    if name.ends_with(".wasm") { directory.join(name) } else { directory.join(format!("{name}.wasm")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_names_lie_in_the_directory() {
        let directory = Some(Path::new("/plugins"));
        assert_eq!(locate("adaptive", directory), Path::new("/plugins/adaptive.wasm"));
        assert_eq!(locate("adaptive.wasm", directory), Path::new("/plugins/adaptive.wasm"));
        assert_eq!(locate("./adaptive.wasm", directory), Path::new("./adaptive.wasm"));
        assert_eq!(locate("adaptive.wasm", None), Path::new("adaptive.wasm"));
    }
}
