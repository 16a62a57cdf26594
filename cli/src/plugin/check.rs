//! `tidegate plugin check`: what a host does before it binds a component, up to the trial with a config.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::Value;
use tidegate::policy::wasm::Inspection;
use tidegate::policy::{ActiveBinding, Context, Kind, PolicyHost, PolicySource};

use super::component::{self, ComponentArgs};
use crate::config::ConfigArgs;

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    component: ComponentArgs,
    #[command(flatten)]
    config: ConfigArgs,
    /// Digest that it must have
    #[arg(long, value_name = "sha256:HEX")]
    digest: Option<String>,
}

/// Checks a component, and tries it out on everyday views with its config, as a host does before it binds it.
pub(super) fn run(args: &CheckArgs) -> Result<Inspection> {
    let file = &args.component.file;
    let bytes = component::read(file)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build().context("no runtime")?;
    let refused = || format!("{} is refused", file.display());
    let host = PolicyHost::new(args.component.limits.settings()?, Arc::default(), Arc::new(|_| {}));
    let loaded = runtime.block_on(host.check_and_load_pinned(bytes.into(), args.digest.as_deref()));
    let plugin = loaded.with_context(refused)?;
    let config = args.config.typed(plugin.config_schema())?;
    let source: Arc<dyn PolicySource> = plugin.clone();
    for kind in plugin.kinds() {
        let binding = binding(kind, source.clone(), Value::Object(config.clone()));
        runtime.block_on(host.try_binding(&binding, &Context::default())).with_context(refused)?;
    }
    Ok(plugin.inspection().clone())
}

fn binding(kind: Kind, plugin: Arc<dyn PolicySource>, config: Value) -> ActiveBinding {
    ActiveBinding { pattern: "*".to_owned(), kind, plugin: Ok(plugin), config, source: String::new() }
}
