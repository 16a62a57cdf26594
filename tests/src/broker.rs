//! The real binary as a process: started on free ports, stopped by signals, killed when dropped.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;
use tidegate::Settings;
use tidegate::config::StoreSettings;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// How long a start, a stop or a command may take before the test gives up: no measure of anything.
const PATIENCE: Duration = Duration::from_secs(120);

/// The binary under test: `TIDEGATE_BIN`, or the one built beside this test.
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("TIDEGATE_BIN") {
        return path.into();
    }
    let test = std::env::current_exe().expect("a test runs from a file");
    let beside = test.parent().and_then(Path::parent).map(|profile| profile.join("tidegate"));
    beside.filter(|path| path.exists()).expect("set TIDEGATE_BIN to the tidegate binary, or build it first: cargo build -p tidegate-cli")
}

/// A component built by `make plugins`, by the name of its crate.
pub fn plugin(name: &str) -> PathBuf {
    let directory = std::env::var_os("TIDEGATE_PLUGINS").expect("set TIDEGATE_PLUGINS to the folder that `make plugins` filled");
    let path = Path::new(&directory).join(format!("{name}.wasm"));
    assert!(path.exists(), "{} is missing: run `make plugins`", path.display());
    path
}

/// Settings on disk, and the processes that are started from them, one after the other.
pub struct Cluster {
    directory: TempDir,
}

impl Cluster {
    /// On a local directory.
    pub fn local() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("objects");
        Self::with_store(directory, StoreSettings::Local { path }, |_| {})
    }

    /// On a local directory, with other settings.
    pub fn local_with(change: impl FnOnce(&mut Settings)) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("objects");
        Self::with_store(directory, StoreSettings::Local { path }, change)
    }

    /// On another store.
    pub fn on(store: StoreSettings) -> Result<Self> {
        Self::with_store(tempfile::tempdir()?, store, |_| {})
    }

    fn with_store(directory: TempDir, store: StoreSettings, change: impl FnOnce(&mut Settings)) -> Result<Self> {
        let mut settings = Settings { store, ..Settings::default() };
        settings.topic_defaults.max_age_ms = 100;
        settings.admin.listen = ([127, 0, 0, 1], 0).into();
        settings.policy.compile_cache = Some(directory.path().join("compiled"));
        change(&mut settings);
        let text = toml::to_string(&settings)? + "\n[[broker.listener]]\nlisten = \"127.0.0.1:0\"\n";
        std::fs::write(directory.path().join("tidegate.toml"), text)?;
        Ok(Self { directory })
    }

    /// The same, with brokers that all listen at one address: what a client needs that outlives them.
    pub fn at_one_address(self) -> Result<Self> {
        let free = std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
        let text = std::fs::read_to_string(self.settings_file())?;
        let any = "[[broker.listener]]\nlisten = \"127.0.0.1:0\"";
        ensure!(text.contains(any), "the settings have no listener to change");
        std::fs::write(self.settings_file(), text.replace(any, &any.replace("127.0.0.1:0", &free.to_string())))?;
        Ok(self)
    }

    /// The same with other settings of the broker in place of its plain listener, as TOML; relative paths are the test's.
    pub fn broker(self, settings: &str) -> Result<Self> {
        let text = std::fs::read_to_string(self.settings_file())?;
        let any = "[[broker.listener]]\nlisten = \"127.0.0.1:0\"";
        ensure!(text.contains(any), "the settings have no listener to change");
        std::fs::write(self.settings_file(), text.replace(any, settings))?;
        Ok(self)
    }

    /// Its settings file.
    pub fn settings_file(&self) -> PathBuf {
        self.directory.path().join("tidegate.toml")
    }

    /// Starts a broker and waits until it is ready.
    pub async fn start(&self) -> Result<BrokerProcess> {
        let log = self.directory.path().join("log");
        let to = std::fs::OpenOptions::new().create(true).append(true).open(&log)?;
        let mut command = Command::new(binary());
        command.args(["serve", "--json", "--config"]).arg(self.settings_file());
        command.env_remove("TIDEGATE_PLUGINS").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(to).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| format!("{} does not start", binary().display()))?;
        let mut lines = BufReader::new(child.stdout.take().context("standard output is piped")?).lines();
        let last_words = || std::fs::read_to_string(&log).unwrap_or_default();
        match timeout(PATIENCE, lines.next_line()).await {
            Ok(Ok(Some(line))) => BrokerProcess::ready(child, &line),
            Ok(ended) => bail!("the broker ended before it was ready ({ended:?}):\n{}", last_words()),
            Err(_) => bail!("the broker was not ready within {} s:\n{}", PATIENCE.as_secs(), last_words()),
        }
    }

    /// Everything that its processes logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }
}

/// Runs `tidegate ... --json` with this standard input; the answer, or the exit code and what was said.
pub async fn tidegate(args: &[&str], input: &str) -> Result<std::result::Result<Value, (Option<i32>, String)>> {
    let mut command = Command::new(binary());
    command.args(args).arg("--json").env_remove("TIDEGATE_CONFIG").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn()?;
    let mut stdin = child.stdin.take().context("standard input is piped")?;
    tokio::io::AsyncWriteExt::write_all(&mut stdin, input.as_bytes()).await?;
    drop(stdin);
    let output = timeout(PATIENCE, child.wait_with_output()).await.context("the command does not end")??;
    if output.status.success() {
        return Ok(Ok(serde_json::from_slice(&output.stdout)?));
    }
    Ok(Err((output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())))
}

/// A running broker.
pub struct BrokerProcess {
    child: Child,
    kafka: String,
    admin: String,
}

impl BrokerProcess {
    fn ready(child: Child, line: &str) -> Result<Self> {
        let ready: Value = serde_json::from_str(line).with_context(|| format!("the ready line is no JSON: {line}"))?;
        ensure!(ready["event"] == "ready", "not a ready line: {line}");
        let text = |value: &Value| value.as_str().map(str::to_owned).with_context(|| format!("the ready line lacks an address: {line}"));
        Ok(Self { child, kafka: text(&ready["kafka"][0])?, admin: text(&ready["admin"])? })
    }

    /// Where Kafka clients connect to.
    pub fn kafka(&self) -> &str {
        &self.kafka
    }

    /// Base URL of its admin API.
    pub fn admin(&self) -> &str {
        &self.admin
    }

    /// Its metrics as they are now.
    pub async fn metrics(&self) -> Result<String> {
        let url = format!("{}/metrics", self.admin);
        tokio::task::spawn_blocking(move || Ok(ureq::get(&url).call()?.body_mut().read_to_string()?)).await?
    }

    /// Runs `tidegate ... --admin URL --json` against it and returns the answer.
    pub async fn tidegate(&self, args: &[&str]) -> Result<Value> {
        let mut command = Command::new(binary());
        command.args(args).args(["--json", "--admin", &self.admin]).stdin(Stdio::null()).kill_on_drop(true);
        let output = timeout(PATIENCE, command.output()).await.context("the command does not end")??;
        ensure!(output.status.success(), "tidegate {args:?} failed: {}", String::from_utf8_lossy(&output.stderr));
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Sends SIGTERM and waits for the end.
    pub async fn terminate(self) -> Result<ExitStatus> {
        self.end_by("-TERM").await
    }

    /// Sends SIGKILL: what a crash leaves.
    pub async fn kill(self) -> Result<ExitStatus> {
        self.end_by("-KILL").await
    }

    /// Sends a signal, such as `-STOP`.
    pub async fn signal(&self, signal: &str) -> Result<()> {
        let pid = self.child.id().context("the broker has ended by itself")?;
        let sent = Command::new("kill").args([signal, &pid.to_string()]).status().await?;
        ensure!(sent.success(), "kill {signal} {pid} failed");
        Ok(())
    }

    async fn end_by(mut self, signal: &str) -> Result<ExitStatus> {
        self.signal(signal).await?;
        Ok(timeout(PATIENCE, self.child.wait()).await.context("the broker does not end")??)
    }
}
