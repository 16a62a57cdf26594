//! `tidegate user`: users in the store itself. No broker has to run, so the first user can be made before there is one; a broker that
//! runs knows of a change after `broker.security.refresh_ms`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde_json::json;
use tidegate::config::{SettingsFile, StoreSettings};
use tidegate::env::Env;
use tidegate::metadata::{Documents, ObjectMetadata};
use tidegate::metrics::Metrics;
use tidegate::store;
use tidegate_broker::{BrokerSettings, UserStore, UserSummary};

use crate::failure::Usage;
use crate::output::{Output, progress, table};

/// Longest password, in bytes.
const MAX_PASSWORD_BYTES: u64 = 1_024;

const USER_HELP: &str = "\
Passwords come from standard input or a file, never from the command line, where every other user sees them. What is
stored cannot be turned back into them.

Examples:
  tidegate user add admin --config tidegate.toml < password.txt
  tidegate user add orders --config tidegate.toml --password-file /run/secrets/orders
  tidegate user list --config tidegate.toml --json
  tidegate user remove orders --config tidegate.toml";

#[derive(Debug, Args)]
#[command(after_help = USER_HELP)]
pub(crate) struct UserArgs {
    /// Settings file that names the store.
    #[arg(long, global = true, value_name = "FILE", env = "TIDEGATE_CONFIG")]
    config: Option<PathBuf>,
    /// The broker's local directory, in place of a settings file.
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    #[command(subcommand)]
    command: UserCommand,
}

#[derive(Debug, Subcommand)]
enum UserCommand {
    /// Add a user, or give one another password; for SCRAM-SHA-256, SCRAM-SHA-512 and PLAIN.
    Add {
        /// 1 to 255 bytes, no control characters, no blanks around it; not `*`, and without the `User:` of access rules.
        name: String,
        /// File that holds the password; without it, standard input. A line end behind it does not count.
        #[arg(long, value_name = "FILE")]
        password_file: Option<PathBuf>,
        /// Rounds of hashing, 4096 to 16384; without it, as the settings say.
        #[arg(long)]
        iterations: Option<u32>,
    },
    /// List all users.
    List,
    /// Remove a user; its connections go on until they end or have to authenticate again.
    Remove {
        /// Its name.
        name: String,
    },
}

pub(crate) fn run(args: UserArgs, output: &Output) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (store, broker) = settings(&args)?;
    if let StoreSettings::Local { path } = &store
        && !path.exists()
    {
        absent(path, &args.command)?;
    }
    runtime.block_on(async {
        let users = open(&store).await?;
        match args.command {
            UserCommand::Add { name, password_file, iterations } => {
                let password = password(password_file.as_ref())?;
                let new = users.add(&name, &password, iterations.unwrap_or(broker.security.iterations)).await?;
                let answer = json!({ "user": name, "created": new });
                output.answer(&answer, |_| if new { format!("created {name}") } else { format!("changed the password of {name}") })
            }
            UserCommand::List => {
                let users = users.list().await?;
                output.answer(&json!({ "users": users }), |_| listing(&users))
            }
            UserCommand::Remove { name } => {
                if !users.remove(&name).await? {
                    bail!("there is no user {name:?}");
                }
                output.answer(&json!({ "removed": name }), |_| format!("removed {name}"))
            }
        }
    })
}

fn settings(args: &UserArgs) -> Result<(StoreSettings, BrokerSettings)> {
    let (mut store, mut broker) = (None, BrokerSettings::default());
    if let Some(path) = &args.config {
        let mut file = SettingsFile::read(path)?;
        broker = file.take("broker")?;
        store = Some(file.settings()?.store);
    }
    if let Some(directory) = &args.data_dir {
        store = Some(StoreSettings::Local { path: directory.join("objects") });
    }
    match store {
        None => Err(Usage("expected --config FILE or --data-dir DIR: where are the users?".to_owned()).into()),
        Some(StoreSettings::Memory) => {
            bail!("store.kind = \"memory\" is lost with its process: users in it cannot be changed from outside")
        }
        Some(store) => Ok((store, broker)),
    }
}

/// There is no store: who looks for users looks elsewhere; the first user may be made before the first broker.
fn absent(store: &Path, command: &UserCommand) -> Result<()> {
    let store = store.display();
    if !matches!(command, UserCommand::Add { .. }) {
        bail!("there is no store at {store}: check --data-dir or the settings' store.path; the first `user add` or `serve` makes one");
    }
    progress(&format!("there is no store at {store} yet: a new one is made"));
    Ok(())
}

async fn open(settings: &StoreSettings) -> Result<UserStore> {
    let env = Env::system();
    let store = store::connect(settings, &env, &Arc::new(Metrics::default())).await?;
    let metadata = Arc::new(ObjectMetadata::new(store, env.clone()));
    Ok(UserStore::new(Documents::new(metadata, env.clone()), env))
}

fn password(file: Option<&PathBuf>) -> Result<Vec<u8>> {
    let mut password = Vec::new();
    match file {
        Some(path) => {
            let file = std::fs::File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
            file.take(MAX_PASSWORD_BYTES + 2).read_to_end(&mut password)?
        }
        None => std::io::stdin().lock().take(MAX_PASSWORD_BYTES + 2).read_to_end(&mut password)?,
    };
    if password.ends_with(b"\n") {
        password.pop();
        if password.ends_with(b"\r") {
            password.pop();
        }
    }
    if password.is_empty() || password.len() as u64 > MAX_PASSWORD_BYTES {
        bail!("the password has {} bytes, expected 1 to {MAX_PASSWORD_BYTES} from standard input or --password-file", password.len());
    }
    if std::str::from_utf8(&password).is_err() {
        bail!("the password is not in utf-8, as clients send it");
    }
    Ok(password)
}

fn listing(users: &[UserSummary]) -> String {
    let mechanisms = |user: &UserSummary| user.mechanisms.iter().map(|(name, rounds)| format!("{name} ({rounds})")).collect::<Vec<_>>();
    let row = |user: &UserSummary| [user.name.clone(), mechanisms(user).join(", ")];
    table(["NAME", "MECHANISMS (ITERATIONS)"], &users.iter().map(row).collect::<Vec<_>>())
}
