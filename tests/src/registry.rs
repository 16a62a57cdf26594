//! A real registry (CNCF distribution, as `docker-registry`) on a free port of 127.0.0.1, killed when dropped.

use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tidegate::config::RegistrySettings;
use tidegate::policy::wasm::digest;

use crate::servers::free_ports;

/// Names the binary.
const BINARY: &str = "TIDEGATE_REGISTRY";
const READY: Duration = Duration::from_secs(60);
const USER: &str = "tester";
const PASSWORD: &str = "test-secret";
/// Of the password, as `htpasswd -B` makes it.
const HASH: &str = "$2y$04$abcdefghijklmnopqrstuuJWEtnDvZqoBF8SQxzfeB.9m.INtpuwK";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// See the module.
pub struct Registry {
    child: Child,
    port: u16,
    locked: bool,
    agent: ureq::Agent,
    directory: tempfile::TempDir,
}

impl Registry {
    /// Starts one; `locked`: only for those who say who they are.
    pub async fn start(locked: bool) -> Result<Self> {
        let binary = std::env::var_os(BINARY)
            .with_context(|| format!("{BINARY} is not set: it names docker-registry; `make test` sets it, `make tools` gets it"))?;
        let (directory, port) = (tempfile::tempdir()?, free_ports(1)?[0]);
        let passwords = directory.path().join("htpasswd");
        std::fs::write(&passwords, format!("{USER}:{HASH}\n"))?;
        let data = directory.path().join("data");
        let mut config = json!({
            "version": "0.1", "log": { "level": "warn" }, "http": { "addr": format!("127.0.0.1:{port}") },
            "storage": { "filesystem": { "rootdirectory": data } },
        });
        if locked {
            config["auth"] = json!({ "htpasswd": { "realm": "tests", "path": passwords } });
        }
        // JSON is YAML.
        let file = directory.path().join("config.yml");
        std::fs::write(&file, config.to_string())?;
        let log = File::create(directory.path().join("log"))?;
        let mut command = Command::new(&binary);
        command.arg("serve").arg(&file).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("{} does not start", binary.display()))?;
        let config = ureq::Agent::config_builder().http_status_as_error(false).build();
        let registry = Self { child, port, locked, agent: config.into(), directory };
        registry.ready().await.map(|()| registry)
    }

    async fn ready(&self) -> Result<()> {
        let answers = async {
            while self.agent.get(format!("{}/v2/", self.base())).call().is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(READY, answers).await.context("the registry does not answer")
    }

    /// Host and port.
    pub fn name(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// How a host speaks to it.
    pub fn settings(&self) -> RegistrySettings {
        let (username, password) = if self.locked { (USER, PASSWORD) } else { ("", "") };
        RegistrySettings { plain_http: true, username: username.to_owned(), password: password.to_owned() }
    }

    fn base(&self) -> String {
        format!("http://{}", self.name())
    }

    /// Stores a component as the one layer of a manifest, with a signature if there is one; the manifest's digest.
    pub fn push(&self, name: &str, tag: &str, component: &[u8], signature: Option<&str>) -> Result<String> {
        let config = b"{}";
        self.push_blob(name, config)?;
        self.push_blob(name, component)?;
        let mut layer = json!({ "mediaType": "application/wasm", "digest": digest(component), "size": component.len() });
        if let Some(signature) = signature {
            layer["annotations"] = json!({ "dev.tidegate.signature": signature });
        }
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST,
            "config": { "mediaType": "application/vnd.wasm.config.v0+json", "digest": digest(config), "size": config.len() },
            "layers": [layer],
        });
        self.push_manifest(name, tag, &manifest)
    }

    /// Stores a manifest; its digest.
    pub fn push_manifest(&self, name: &str, tag: &str, manifest: &Value) -> Result<String> {
        let bytes = manifest.to_string();
        let put = self.agent.put(format!("{}/v2/{name}/manifests/{tag}", self.base())).header("content-type", MANIFEST);
        let answer = self.signed_in(put).send(bytes.as_bytes())?;
        ensure!(answer.status() == 201, "the manifest is refused: {answer:?}");
        Ok(digest(bytes.as_bytes()))
    }

    fn push_blob(&self, name: &str, blob: &[u8]) -> Result<()> {
        let begun = self.signed_in(self.agent.post(format!("{}/v2/{name}/blobs/uploads/", self.base()))).send_empty()?;
        let Some(to) = begun.headers().get("location").and_then(|to| to.to_str().ok()) else { bail!("no upload begins: {begun:?}") };
        let to = if to.starts_with('/') { format!("{}{to}", self.base()) } else { to.to_owned() };
        let put = self.agent.put(format!("{to}&digest={}", digest(blob))).header("content-type", "application/octet-stream");
        let answer = self.signed_in(put).send(blob)?;
        ensure!(answer.status() == 201, "the blob is refused: {answer:?}");
        Ok(())
    }

    fn signed_in<B>(&self, request: ureq::RequestBuilder<B>) -> ureq::RequestBuilder<B> {
        use base64::Engine;
        let who = base64::engine::general_purpose::STANDARD.encode(format!("{USER}:{PASSWORD}"));
        if self.locked { request.header("authorization", format!("Basic {who}")) } else { request }
    }

    /// Where a blob lies on disk, for those who would change it.
    pub fn blob(&self, digest: &str) -> std::path::PathBuf {
        let hex = digest.trim_start_matches("sha256:");
        self.directory.path().join("data/docker/registry/v2/blobs/sha256").join(&hex[..2]).join(hex).join("data")
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
