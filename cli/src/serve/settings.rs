//! Settings of a server: the file's, and what the flags say over it.

use anyhow::{Result, anyhow};
use tidegate::Settings;
use tidegate::config::{BindingRule, SettingsFile, StoreSettings};
use tidegate_broker::BrokerSettings;

use crate::args::ServeArgs;
use crate::failure::Usage;

/// What a server is made from.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) settings: Settings,
    pub(super) broker: BrokerSettings,
}

impl Config {
    pub(super) fn from_args(args: &ServeArgs) -> Result<Self> {
        let mut config = match &args.config {
            Some(path) => Self::from_file(SettingsFile::read(path)?)?,
            None => Self { settings: Settings::default(), broker: BrokerSettings::default() },
        };
        config.apply(args)?;
        config.settings.validate()?;
        config.broker.check().map_err(|problem| anyhow!(problem))?;
        Ok(config)
    }

    fn from_file(mut file: SettingsFile) -> Result<Self> {
        let broker = file.take("broker")?;
        Ok(Self { settings: file.settings()?, broker })
    }

    fn apply(&mut self, args: &ServeArgs) -> Result<()> {
        if let Some(directory) = &args.data_dir {
            self.settings.store = StoreSettings::Local { path: directory.join("objects") };
            self.settings.policy.compile_cache.get_or_insert_with(|| directory.join("compiled"));
        }
        if let Some(listen) = args.listen {
            let mut first = self.broker.listeners.first().cloned().unwrap_or_default();
            first.listen = listen;
            self.broker.listeners = vec![first];
        }
        if let Some(listen) = args.admin_listen {
            self.settings.admin.listen = listen;
        }
        if let Some(directory) = &args.plugins {
            self.settings.policy.directory = Some(directory.clone());
        }
        if args.token.is_some() {
            self.settings.admin.token.clone_from(&args.token);
        }
        self.settings.plugins.require_signed |= args.require_signed;
        for bind in &args.bind {
            self.settings.bindings.push(binding(bind)?);
        }
        Ok(())
    }
}

/// `[PATTERN:]KIND=PLUGIN`.
fn binding(text: &str) -> Result<BindingRule> {
    let wrong = |problem: String| Usage(format!("--bind {text:?}: {problem}"));
    let (what, plugin) = text.split_once('=').ok_or_else(|| wrong("expected [PATTERN:]KIND=PLUGIN".to_owned()))?;
    let (pattern, kind) = what.rsplit_once(':').unwrap_or(("*", what));
    let kind = kind.parse().map_err(|e: tidegate::Error| wrong(e.to_string()))?;
    Ok(BindingRule { pattern: pattern.to_owned(), kind, plugin: plugin.to_owned(), digest: None, config: toml::Table::new() })
}

/// Names the store in the ready line.
pub(super) fn store_name(store: &StoreSettings) -> String {
    match store {
        StoreSettings::Local { path } => format!("local {}", path.display()),
        StoreSettings::S3(s3) if s3.prefix.is_empty() => format!("s3 {}", s3.bucket),
        StoreSettings::S3(s3) => format!("s3 {}/{}", s3.bucket, s3.prefix),
        StoreSettings::Memory => "memory".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tidegate::policy::Kind;

    use super::*;
    use crate::args::{Cli, Command};

    fn config(flags: &[&str]) -> Result<Config> {
        let cli = Cli::try_parse_from(["tidegate", "serve"].iter().chain(flags)).unwrap();
        let Command::Serve(args) = cli.command else { panic!("not serve") };
        Config::from_args(&args)
    }

    #[test]
    fn flags_win_over_the_file() {
        let directory = std::env::temp_dir().join(format!("tidegate-settings-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let file = directory.join("t.toml");
        std::fs::write(&file, "[broker]\nnode_id = 7\n[[broker.listener]]\nlisten = \"127.0.0.1:1\"\nadvertised_host = \"kafka\"\n")
            .unwrap();
        let config = config(&["--config", file.to_str().unwrap(), "--data-dir", "d", "--listen", "127.0.0.1:2"]).unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(config.broker.node_id, 7);
        let listener = &config.broker.listeners[0];
        assert_eq!((listener.listen.port(), listener.advertised_host.as_deref()), (2, Some("kafka")));
        assert_eq!(config.settings.store, StoreSettings::Local { path: "d/objects".into() });
    }

    #[test]
    fn bindings_are_read_from_flags() {
        let bound = |text: &str| binding(text).map(|b| (b.pattern, b.kind, b.plugin));
        assert_eq!(bound("flush=a").unwrap(), ("*".into(), Kind::Flush, "a".into()));
        assert_eq!(bound("logs-*:read-ahead=./b.wasm").unwrap(), ("logs-*".into(), Kind::ReadAhead, "./b.wasm".into()));
        for wrong in ["flush", "flash=a", "x:=a"] {
            assert!(binding(wrong).unwrap_err().is::<Usage>(), "{wrong:?}");
        }
    }

    #[test]
    fn what_the_flags_add_is_checked_too() {
        let error = config(&["--admin-listen", "0.0.0.0:1"]).unwrap_err();
        assert!(error.to_string().contains("admin.listen is 0.0.0.0:1"), "{error}");
    }
}
