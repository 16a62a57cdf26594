//! A component in a file, and the limits under which it is tried.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use tidegate::Settings;
use tidegate::config::{MAX_COMPONENT_BYTES, PolicySettings};
use tidegate::policy::ConfigSchema;
use tidegate::policy::wasm::{Inspection, check};

use crate::input::Input;

/// No more is read than any host may be told to take.
const COMPONENT: Input =
    Input { what: "component", most_bytes: MAX_COMPONENT_BYTES, remedy: "no host takes more, build it with the profile `plugin`" };

/// Which component, and what it may take.
#[derive(Debug, Args)]
pub(crate) struct ComponentArgs {
    /// A component
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// Limits of a host that an author may want to try others of.
#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
    /// Largest component that is taken, in bytes
    #[arg(long, default_value_t = PolicySettings::default().component_bytes)]
    component_bytes: u64,
    /// Linear memory of an instance at most, in bytes
    #[arg(long, default_value_t = PolicySettings::default().memory_bytes)]
    memory_bytes: u64,
    /// Longest decision, in milliseconds
    #[arg(long, default_value_t = PolicySettings::default().decision_deadline_ms)]
    decision_deadline_ms: u64,
    /// Longest instantiation, `describe` or `init`, in milliseconds
    #[arg(long, default_value_t = PolicySettings::default().init_deadline_ms)]
    init_deadline_ms: u64,
    /// Longest compilation, in milliseconds
    #[arg(long, default_value_t = PolicySettings::default().compile_timeout_ms)]
    compile_timeout_ms: u64,
}

impl LimitArgs {
    /// As settings of a host, which must be some that a host takes.
    pub(crate) fn settings(&self) -> Result<PolicySettings> {
        let policy = PolicySettings {
            component_bytes: self.component_bytes,
            memory_bytes: self.memory_bytes,
            decision_deadline_ms: self.decision_deadline_ms,
            init_deadline_ms: self.init_deadline_ms,
            compile_timeout_ms: self.compile_timeout_ms,
            ..PolicySettings::default()
        };
        let settings = Settings { policy, ..Settings::default() };
        settings.validate()?;
        Ok(settings.policy)
    }
}

/// The bytes of a component, or of what claims to be one.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>> {
    COMPONENT.bytes(file)
}

/// What is found in a component, after all checks; and its schema.
pub(crate) fn inspect(file: &Path, bytes: &[u8], limits: &PolicySettings) -> Result<(Inspection, ConfigSchema)> {
    let found = check(bytes, limits).with_context(|| format!("{} is refused", file.display()))?;
    let schema = ConfigSchema::read(&found.config_schema).map_err(anyhow::Error::msg)?;
    Ok((found, schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_end_is_refused() {
        let refused = read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(refused.starts_with("component /dev/zero has more than 268435456 bytes"), "{refused}");
    }

    #[test]
    fn limits_are_those_that_a_host_takes() {
        #[derive(clap::Parser)]
        struct Limits {
            #[command(flatten)]
            limits: LimitArgs,
        }
        let settings = |args: &[&str]| <Limits as clap::Parser>::parse_from([&["test"], args].concat()).limits.settings();
        assert_eq!(settings(&[]).unwrap(), PolicySettings::default());
        assert_eq!(settings(&["--init-deadline-ms", "60000"]).unwrap().init_deadline_ms, 60_000);
        for (flag, key) in [
            ("--init-deadline-ms", "policy.init_deadline_ms"),
            ("--decision-deadline-ms", "policy.decision_deadline_ms"),
            ("--compile-timeout-ms", "policy.compile_timeout_ms"),
            ("--memory-bytes", "policy.memory_bytes"),
            ("--component-bytes", "policy.component_bytes"),
        ] {
            for value in ["0", "18446744073709551615"] {
                let refused = settings(&[flag, value]).unwrap_err().to_string();
                assert!(refused.contains(key), "{flag} {value}: {refused}");
            }
        }
    }
}
