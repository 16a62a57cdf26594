//! A real registry (CNCF distribution, as `docker-registry`) on a free port of 127.0.0.1, killed when dropped.

use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tidegate::config::RegistrySettings;
use tidegate::policy::wasm::digest;

use self::token::TokenServer;
use crate::security::pem;
use crate::servers::free_ports;

mod token;

/// Names the binary.
const BINARY: &str = "TIDEGATE_REGISTRY";
const READY: Duration = Duration::from_secs(60);
const USER: &str = "tester";
const PASSWORD: &str = "test-secret";
/// Of the password, as `htpasswd -B` makes it.
const HASH: &str = "$2y$04$abcdefghijklmnopqrstuuJWEtnDvZqoBF8SQxzfeB.9m.INtpuwK";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// Who is let in, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anybody.
    Open,
    /// Whoever knows the password.
    Password,
    /// Whoever has a token, of a server beside it that wants the password.
    Token,
    /// Whoever knows the password, over TLS with a certificate of the tests' own authority.
    Tls,
}

/// See the module.
pub struct Registry {
    child: Option<Child>,
    port: u16,
    access: Access,
    tokens: Option<TokenServer>,
    agent: ureq::Agent,
    directory: tempfile::TempDir,
}

impl Registry {
    /// Starts one.
    pub async fn start(access: Access) -> Result<Self> {
        let config = ureq::Agent::config_builder().http_status_as_error(false).build();
        let (directory, port) = (tempfile::tempdir()?, free_ports(1)?[0]);
        std::fs::write(directory.path().join("htpasswd"), format!("{USER}:{HASH}\n"))?;
        let mut registry = Self { child: None, port, access, tokens: None, agent: config.into(), directory };
        registry.begin(access).await?;
        Ok(registry)
    }

    /// Starts it (again), at the same address and with what it held.
    pub async fn begin(&mut self, access: Access) -> Result<()> {
        self.stop();
        let binary = std::env::var_os(BINARY)
            .with_context(|| format!("{BINARY} is not set: it names docker-registry; `make test` sets it, `make tools` gets it"))?;
        self.access = access;
        self.tokens = if access == Access::Token { Some(TokenServer::start(USER, PASSWORD).await?) } else { None };
        // JSON is YAML.
        let file = self.directory.path().join("config.yml");
        std::fs::write(&file, self.config().to_string())?;
        let log = File::create(self.directory.path().join("log"))?;
        let mut command = Command::new(&binary);
        command.arg("serve").arg(&file).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.child = Some(command.spawn().with_context(|| format!("{} does not start", binary.display()))?);
        self.ready().await
    }

    /// Ends it; what it holds stays.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself; then there is nothing to kill.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn config(&self) -> Value {
        let data = self.directory.path().join("data");
        let mut config = json!({
            "version": "0.1", "log": { "level": "warn" }, "http": { "addr": self.name() },
            "storage": { "filesystem": { "rootdirectory": data } },
        });
        if matches!(self.access, Access::Password | Access::Tls) {
            config["auth"] = json!({ "htpasswd": { "realm": "tests", "path": self.directory.path().join("htpasswd") } });
        }
        if let Some(tokens) = &self.tokens {
            config["auth"] = json!({ "token": tokens.settings() });
        }
        if self.access == Access::Tls {
            config["http"]["tls"] = json!({ "certificate": pem("broker.pem"), "key": pem("broker.key") });
        }
        config
    }

    async fn ready(&self) -> Result<()> {
        let answers = async {
            while tokio::net::TcpStream::connect(self.name()).await.is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let last_words = || std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        tokio::time::timeout(READY, answers).await.with_context(|| format!("the registry does not answer: {}", last_words()))
    }

    /// Host and port.
    pub fn name(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// How a host speaks to it.
    pub fn settings(&self) -> RegistrySettings {
        let (username, password) = if self.access == Access::Open { ("", "") } else { (USER, PASSWORD) };
        let tls = self.access == Access::Tls;
        let ca = tls.then(|| pem("ca.pem"));
        RegistrySettings { plain_http: !tls, username: username.to_owned(), password: password.to_owned(), ca }
    }

    /// What tokens were asked for.
    pub fn scopes(&self) -> Vec<String> {
        self.tokens.as_ref().map(TokenServer::scopes).unwrap_or_default()
    }

    fn base(&self) -> String {
        format!("http://{}", self.name())
    }

    /// Stores, in one that is open or wants the password, a component as the one layer of a manifest, with a signature if there is one; the manifest's digest.
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
        if self.access == Access::Password { request.header("authorization", format!("Basic {who}")) } else { request }
    }

    /// Where a blob lies on disk, for those who would change it.
    pub fn blob(&self, digest: &str) -> std::path::PathBuf {
        let hex = digest.trim_start_matches("sha256:");
        self.directory.path().join("data/docker/registry/v2/blobs/sha256").join(&hex[..2]).join(hex).join("data")
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop();
    }
}
