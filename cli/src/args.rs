//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tidegate::policy::Kind;

use crate::config::ConfigArgs;

const EXIT_CODES: &str = "Exit codes: 0 done, 1 it failed, 2 the command line is wrong.";

/// A storage runtime for Kafka-style logs on S3.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, after_help = EXIT_CODES, propagate_version = true)]
pub(crate) struct Cli {
    /// Answer in JSON, one document a line, errors too.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// What to log to standard error: a level, or levels by module (`info,tidegate::log=debug`).
    #[arg(long, global = true, env = "TIDEGATE_LOG", value_name = "FILTER")]
    pub(crate) log: Option<String>,
    /// How log lines look.
    #[arg(long, global = true, value_enum, default_value_t, env = "TIDEGATE_LOG_FORMAT")]
    pub(crate) log_format: LogFormat,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON document a line.
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve Kafka clients until SIGTERM or SIGINT.
    Serve(Box<ServeArgs>),
    /// Create, list, describe and delete topics of a running broker.
    Topic(TopicArgs),
    /// List, bind and unbind policies of a running broker.
    Policy(PolicyArgs),
    /// Build, check and inspect policies without a broker.
    Plugin(crate::plugin::PluginArgs),
    /// Look into stored objects and check them.
    Segment(SegmentArgs),
    /// Replay a trace in virtual time: what policies will cost and gain.
    Simulate(crate::simulate::SimulateArgs),
    /// Make traces for `simulate`.
    Trace(crate::trace::TraceArgs),
    /// Add, list and remove users, in the store itself.
    User(crate::user::UserArgs),
    /// Print a script by which a shell completes this command.
    #[command(after_help = COMPLETIONS_HELP)]
    Completions(crate::completions::CompletionsArgs),
}

const COMPLETIONS_HELP: &str = "\
In bash, zsh and fish the keys of a policy's config are completed too, once its component is on the line.

Examples:
  source <(tidegate completions bash)
  tidegate completions zsh > ~/.zfunc/_tidegate
  tidegate completions fish > ~/.config/fish/completions/tidegate.fish";

const SERVE_HELP: &str = "\
The first SIGTERM or SIGINT drains: no new requests, what is buffered is committed, then the process ends. A
second one ends it at once.

Examples:
  tidegate serve --data-dir ./data
  tidegate serve --config tidegate.toml
  tidegate serve --data-dir ./data --plugins ./plugins --bind flush=flush-adaptive --bind 'logs-*:index=index-spacing'";

#[derive(Debug, Args)]
#[command(after_help = SERVE_HELP)]
pub(crate) struct ServeArgs {
    /// Settings file (TOML); the flags below win over it.
    #[arg(long, value_name = "FILE", env = "TIDEGATE_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Keep everything in this local directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Address for Kafka clients; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// Address for the admin API; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) admin_listen: Option<SocketAddr>,
    /// Directory where `--bind` and bindings of the settings file find components by name.
    #[arg(long, value_name = "DIR", env = "TIDEGATE_PLUGINS")]
    pub(crate) plugins: Option<PathBuf>,
    /// Bind a component, by name or path, below all that is bound at run time; may be repeated. Without a pattern it is for every topic.
    #[arg(long, value_name = "[PATTERN:]KIND=PLUGIN")]
    pub(crate) bind: Vec<String>,
    /// Refuse every component that no key of the settings (`plugins.trust`) has signed.
    #[arg(long)]
    pub(crate) require_signed: bool,
    /// Token of the admin API, needed where it listens beyond loopback.
    #[arg(long, value_name = "TOKEN", env = "TIDEGATE_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
}

/// How to reach a running broker.
#[derive(Debug, Args)]
pub(crate) struct AdminArgs {
    /// Base URL of the admin API.
    #[arg(long, global = true, value_name = "URL", env = "TIDEGATE_ADMIN", default_value = "http://127.0.0.1:9644")]
    pub(crate) admin: String,
    /// Token of the admin API; better given in the environment, where no other user sees it.
    #[arg(long, global = true, value_name = "TOKEN", env = "TIDEGATE_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
}

const TOPIC_HELP: &str = "\
Examples:
  tidegate topic create orders --partitions 8
  tidegate topic create audit --partitions 64 --lanes 2 --set retention_ms=-1 --set max_age_ms=250
  tidegate topic describe orders --json";

#[derive(Debug, Args)]
#[command(after_help = TOPIC_HELP)]
pub(crate) struct TopicArgs {
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
    #[command(subcommand)]
    pub(crate) command: TopicCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TopicCommand {
    /// Create a topic.
    Create {
        /// 1 to 249 of `a-z A-Z 0-9 . _ -`.
        name: String,
        /// Partitions; without it, as the broker's settings say.
        #[arg(long, short)]
        partitions: Option<u32>,
        /// Lanes, 1 to the number of partitions: PUTs follow lanes. Fixed for ever.
        #[arg(long)]
        lanes: Option<u32>,
        /// A setting of this topic alone, by its name in the settings file; may be repeated.
        #[arg(long = "set", value_name = "KEY=VALUE")]
        settings: Vec<String>,
    },
    /// List all topics.
    List,
    /// Show a topic, its settings, and the offsets of the partitions that the broker has open.
    Describe {
        /// Its name.
        name: String,
    },
    /// Delete a topic and everything in it.
    Delete {
        /// Its name.
        name: String,
    },
}

const POLICY_HELP: &str = "\
Of several bindings that match a topic, the last one wins. Running lanes follow at once; a component that does not
load, or fails on what its topics showed lately, leaves everything as it was, and the message says why.

Examples:
  tidegate policy config target/plugins/flush-adaptive.wasm
  tidegate policy set 'logs-*' flush target/plugins/flush-adaptive.wasm max_age_ms=50
  tidegate policy list
  tidegate policy history --pattern 'logs-*'
  tidegate policy rollback 'logs-*' flush
  tidegate policy unset 'logs-*' flush";

const SET_HELP: &str = "\
The same component with the same config again changes nothing. Of two that are set for the same pattern and kind at
the same time the later request wins, and the earlier one fails with `swap.superseded`.

Examples:
  tidegate policy set '*' flush flush-adaptive.wasm
  tidegate policy set 'logs-*' flush flush-adaptive.wasm max_age_ms=50 max_bytes=4194304
  tidegate policy set orders read-ahead read-ahead-adaptive.wasm --config @read-ahead.json
  tidegate policy set '*' flush s3://plugins/flush-adaptive.wasm
  tidegate policy set '*' flush oci://registry.example/flush-adaptive:1.2
  tidegate policy set '*' flush flush-adaptive.wasm --digest sha256:1b4f0e9851971998e732078544c96b36c3d01cedf7caa332359d6f1d83567014";

const SHADOW_HELP: &str = "\
The candidate is checked and tried out like what is bound, then shown what its topics' policies are shown: index and
read-ahead the same views; flush the same appends, in a buffer of counters of its own. Its answers are compared and
priced, nobody acts on them. One that fails too often is dropped by itself. It runs on this broker alone, until it is promoted
or dropped, or the broker stops.

Examples:
  tidegate policy shadow 'logs-*' flush flush-latency.wasm --config '{\"target_ms\": 100}'
  tidegate policy shadow status
  tidegate policy shadow promote 'logs-*' flush
  tidegate policy shadow drop 'logs-*' flush";

const HISTORY_HELP: &str = "\
Changes, and attempts that changed nothing: refused components, and requests that a later one superseded. The last 64
changes and the last 32 attempts are kept, across restarts.

Examples:
  tidegate policy history
  tidegate policy history --pattern 'logs-*' --kind flush --json";

const ROLLBACK_HELP: &str = "\
Without --to it undoes the last change of this pattern and kind, an earlier rollback too; with it, the binding is
again what it was when the set had that generation. Either may mean that nothing is bound.

Examples:
  tidegate policy rollback 'logs-*' flush
  tidegate policy rollback 'logs-*' flush --to 7";

#[derive(Debug, Args)]
#[command(after_help = POLICY_HELP)]
pub(crate) struct PolicyArgs {
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Show what is bound and how it does.
    List,
    /// Show how the bindings came about, oldest first.
    #[command(after_help = HISTORY_HELP)]
    History {
        /// Only of this pattern, to the letter.
        #[arg(long)]
        pattern: Option<String>,
        /// Only of this kind: flush, index or read-ahead.
        #[arg(long)]
        kind: Option<Kind>,
    },
    /// Bring back what was bound before.
    #[command(after_help = ROLLBACK_HELP)]
    Rollback {
        /// The binding's pattern, to the letter.
        pattern: String,
        /// flush, index or read-ahead.
        kind: Kind,
        /// The generation to go back to, as `history` shows it; without it, before the last change.
        #[arg(long, value_name = "GENERATION")]
        to: Option<u64>,
        /// Who takes it back; shown to others.
        #[arg(long, env = "USER", default_value = "")]
        by: String,
    },
    /// List the keys of a component's config: what each is for, its default and its range. Needs no broker.
    Config {
        /// The component.
        component: PathBuf,
        /// Only the keys, each as `KEY=`: for shells that complete them.
        #[arg(long)]
        names: bool,
    },
    /// Bind a component to the topics that match a pattern.
    #[command(after_help = SET_HELP)]
    Set {
        /// Glob over topic names.
        pattern: String,
        /// flush, index or read-ahead.
        kind: Kind,
        /// The component: a file, a directory with one, s3://bucket/key or oci://registry/name:tag, also with @sha256:HEX; the broker fetches the latter two.
        component: String,
        #[command(flatten)]
        config: ConfigArgs,
        /// Digest that the component must have; another is refused before anything else.
        #[arg(long, value_name = "sha256:HEX")]
        digest: Option<String>,
        /// Who binds it; shown to others.
        #[arg(long, env = "USER", default_value = "")]
        by: String,
    },
    /// Run a candidate beside what decides, without acting.
    #[command(after_help = SHADOW_HELP, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
    Shadow(ShadowArgs),
    /// Remove a binding; what it covered falls back to the binding below it, or to the built-in.
    Unset {
        /// The binding's pattern, to the letter.
        pattern: String,
        /// flush, index or read-ahead.
        kind: Kind,
        /// Who unbinds it.
        #[arg(long, env = "USER", default_value = "")]
        by: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ShadowArgs {
    /// Glob over topic names.
    #[arg(required = true)]
    pub(crate) pattern: Option<String>,
    /// flush, index or read-ahead.
    #[arg(required = true)]
    pub(crate) kind: Option<Kind>,
    /// The candidate: a file, a directory with one, s3://bucket/key or oci://registry/name:tag with or without @sha256:HEX.
    #[arg(required = true)]
    pub(crate) component: Option<String>,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Digest that the component must have; another is refused before anything else.
    #[arg(long, value_name = "sha256:HEX")]
    pub(crate) digest: Option<String>,
    /// Who runs it; shown to others.
    #[arg(long, env = "USER", default_value = "")]
    pub(crate) by: String,
    #[command(subcommand)]
    pub(crate) command: Option<ShadowCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ShadowCommand {
    /// Show all candidates and how they do.
    Status,
    /// Bind a candidate as it ran.
    Promote {
        /// The shadow's pattern, to the letter.
        pattern: String,
        /// flush, index or read-ahead.
        kind: Kind,
        /// Who binds it; shown to others.
        #[arg(long, env = "USER", default_value = "")]
        by: String,
    },
    /// End a candidate, and show what it came to.
    Drop {
        /// The shadow's pattern, to the letter.
        pattern: String,
        /// flush, index or read-ahead.
        kind: Kind,
    },
}

const SEGMENT_HELP: &str = "\
Understands segments and fences (version 2), segments of version 1, manifests, catalog pages and producer
snapshots, by their first bytes.

Examples:
  tidegate segment inspect ./data/objects/.../log/0000000000/00000000000000000007
  tidegate segment verify --config tidegate.toml KEY";

#[derive(Debug, Args)]
#[command(after_help = SEGMENT_HELP)]
pub(crate) struct SegmentArgs {
    #[command(subcommand)]
    pub(crate) command: SegmentCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SegmentCommand {
    /// Show what an object says of itself, after checking header and footer.
    Inspect(ObjectArgs),
    /// Check every checksum and every batch of an object.
    Verify(ObjectArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ObjectArgs {
    /// A file; with `--config`, a key in that store.
    pub(crate) object: String,
    /// Settings file that names the store.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}
