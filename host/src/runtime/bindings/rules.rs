//! What the settings file binds: components in files, read once at start and tried out like what is bound at run time.
//!
//! A file that cannot be loaded, or a policy that refuses its config, does not stop the host: the built-in decides, the log and the status say
//! so, in the words in which a request would have been refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::stable;
use crate::config::{BindingRule, PolicySettings, Settings};
use crate::metrics::Metrics;
use crate::policy::{ActiveBinding, Context, PolicyHost, PolicySource};

/// In the order of the file.
pub(super) async fn load(settings: &Settings, policies: &PolicyHost, context: &Context, metrics: &Metrics) -> Vec<ActiveBinding> {
    let mut active = Vec::with_capacity(settings.bindings.len());
    for rule in &settings.bindings {
        let path = locate(&rule.plugin, settings.policy.directory.as_deref());
        let plugin = load_one(rule, &path, &settings.policy, policies).await;
        let config = serde_json::to_value(&rule.config).unwrap_or_default();
        let loaded = ActiveBinding { pattern: rule.pattern.clone(), kind: rule.kind, plugin, config, source: path.display().to_string() };
        active.push(tried(loaded, policies, context, metrics).await);
    }
    active
}

/// The binding, or its problem in place of its plugin.
async fn tried(mut binding: ActiveBinding, policies: &PolicyHost, context: &Context, metrics: &Metrics) -> ActiveBinding {
    if binding.plugin.is_ok()
        && let Err(refusal) = policies.trial(&binding, context).await
    {
        binding.plugin = Err(refusal.to_string());
    }
    if let Err(problem) = &binding.plugin {
        metrics.runtime.binding_failures.inc();
        let ActiveBinding { pattern, kind, source, .. } = &binding;
        tracing::error!(pattern, %kind, path = source, problem, "a policy of the settings is not in force; the built-in decides");
    }
    binding
}

async fn load_one(
    rule: &BindingRule,
    path: &Path,
    limits: &PolicySettings,
    policies: &PolicyHost,
) -> Result<Arc<dyn PolicySource>, String> {
    let bytes = stable::read(path, limits.component_bytes).await?;
    let plugin = policies.check_and_load(bytes.into()).await.map_err(|e| e.to_string())?;
    if plugin.kinds().contains(&rule.kind) { Ok(plugin) } else { Err(format!("{} decides no {}", plugin.name(), rule.kind)) }
}

/// A path as it is; a bare name in the directory, its ending left out or not.
fn locate(plugin: &str, directory: Option<&Path>) -> PathBuf {
    let path = PathBuf::from(plugin);
    let bare = path.components().count() == 1 && !path.is_file();
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
