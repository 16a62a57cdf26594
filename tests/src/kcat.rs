//! kcat: a librdkafka client from the command line.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

/// How long one run may take before the test gives up: no measure of anything.
const PATIENCE: Duration = Duration::from_secs(900);

fn kcat(broker: &str, topic: &str) -> Command {
    let mut command = Command::new("kcat");
    command.args(["-b", broker, "-t", topic, "-q"]).stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Produces each line of a file, its key before the first tab, and waits for every ack.
pub async fn produce_file(broker: &str, topic: &str, file: &Path) -> Result<()> {
    let mut command = kcat(broker, topic);
    command.args(["-P", "-K", "\t", "-X", "acks=all", "-X", "linger.ms=20", "-l"]).arg(file);
    let output = timeout(PATIENCE, command.output()).await.context("kcat does not end")?.context("kcat is not installed")?;
    // kcat names each message that failed, and ends with 0 all the same.
    ensure!(output.status.success() && output.stderr.is_empty(), "kcat -P: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Produces each line of a file as an idempotent producer that outlives the deaths of its broker; returns once every line is acknowledged.
pub async fn produce_once(broker: &str, topic: &str, file: &Path) -> Result<()> {
    let mut command = kcat(broker, topic);
    // Small batches, so that there is always something in flight. -E: a broker that is down is no reason to end.
    let settings =
        ["enable.idempotence=true", "linger.ms=5", "batch.num.messages=200", "message.timeout.ms=600000", "reconnect.backoff.max.ms=500"];
    command.args(["-P", "-E"]).args(settings.iter().flat_map(|setting| ["-X", *setting])).arg("-l").arg(file);
    let output = timeout(PATIENCE, command.output()).await.context("kcat does not end")?.context("kcat is not installed")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && !said.contains("Delivery failed"), "kcat -P: {said}");
    Ok(())
}

/// Reads the records of a topic that its group has not read, until there are no more, as one more member of the group; gives the
/// lines, in kcat's format `format`, which ends a record with a newline.
pub async fn consume_as_group(broker: &str, topic: &str, group: &str, format: &str) -> Result<Vec<String>> {
    let mut command = Command::new("kcat");
    command.args(["-b", broker, "-q", "-e", "-X", "auto.offset.reset=earliest", "-f", format, "-G", group, topic]);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(PATIENCE, command.output()).await.context("kcat does not end")?.context("kcat is not installed")?;
    ensure!(output.status.success(), "kcat -G: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect())
}

/// Reads a topic from its start to its end; hands each record to `take` in kcat's format `format`, which ends a record with a newline.
pub async fn consume(broker: &str, topic: &str, format: &str, mut take: impl FnMut(&[u8])) -> Result<()> {
    let mut command = kcat(broker, topic);
    command.args(["-C", "-o", "beginning", "-e", "-X", "check.crcs=true", "-f", format]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("kcat is not installed")?;
    let mut lines = BufReader::with_capacity(1 << 20, child.stdout.take().context("standard output is piped")?);
    let read = async {
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).await? > 0 {
            take(line.strip_suffix(b"\n").unwrap_or(&line));
            line.clear();
        }
        anyhow::Ok(())
    };
    timeout(PATIENCE, read).await.context("kcat does not end")??;
    let output = timeout(PATIENCE, child.wait_with_output()).await.context("kcat does not end")??;
    ensure!(output.status.success(), "kcat -C: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// How a client says who it is, and to whom: librdkafka's settings.
#[derive(Clone, Debug)]
pub struct Secured {
    settings: Vec<String>,
}

impl Secured {
    /// With a user's password over an encrypted connection, by a mechanism.
    pub fn encrypted(authority: &Path, mechanism: &str, user: &str, password: &str) -> Self {
        let authority = format!("ssl.ca.location={}", authority.display());
        let who = [format!("sasl.mechanism={mechanism}"), format!("sasl.username={user}"), format!("sasl.password={password}")];
        Self { settings: ["security.protocol=SASL_SSL".to_owned(), authority].into_iter().chain(who).collect() }
    }

    fn kcat(&self, broker: &str, args: &[&str]) -> Command {
        let mut command = Command::new("kcat");
        command.args(["-b", broker, "-q", "-X", "socket.timeout.ms=20000"]).args(args).kill_on_drop(true);
        command.args(self.settings.iter().flat_map(|setting| ["-X", setting])).stdin(Stdio::null());
        command
    }

    /// Produces the lines of a file; what kcat says, if it fails.
    pub async fn produce(&self, broker: &str, topic: &str, file: &Path) -> Result<(), String> {
        let file = file.display().to_string();
        let args = ["-t", topic, "-P", "-X", "message.timeout.ms=10000", "-l", &file];
        self.run(broker, &args).await.map(drop)
    }

    /// Reads a topic from its start to its end, as lines; what kcat says, if it fails.
    pub async fn consume(&self, broker: &str, topic: &str) -> Result<Vec<String>, String> {
        let read = self.run(broker, &["-t", topic, "-C", "-o", "beginning", "-e"]).await?;
        Ok(read.lines().map(str::to_owned).collect())
    }

    /// Asks for the metadata of all topics; what kcat says, if it fails.
    pub async fn list(&self, broker: &str) -> Result<String, String> {
        self.run(broker, &["-L", "-m", "5"]).await
    }

    async fn run(&self, broker: &str, args: &[&str]) -> Result<String, String> {
        let output = timeout(PATIENCE, self.kcat(broker, args).output()).await.map_err(|_| "kcat does not end".to_owned())?;
        let output = output.map_err(|error| format!("kcat is not installed: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() && said.is_empty() { Ok(String::from_utf8_lossy(&output.stdout).into_owned()) } else { Err(said) }
    }
}
