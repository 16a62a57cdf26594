//! Who gives out tokens for a registry: the token specification of the distribution project, as far as a pull needs it.
//!
//! A token is a JWT signed with ES256, with the chain of the signer's certificate in its header, which the registry traces to its root.

use std::sync::Arc;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};
use tidegate::env::Env;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::security::pem;

const ISSUER: &str = "tidegate-tests";
const SERVICE: &str = "registry of the tests";
const LIFETIME_S: i64 = 600;

/// A server on a free port of 127.0.0.1, stopped when dropped.
pub(super) struct TokenServer {
    address: std::net::SocketAddr,
    scopes: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

/// What answering takes.
struct Issuer {
    /// Value of the header that lets somebody in.
    expected: String,
    key: EcdsaKeyPair,
    certificate: String,
    scopes: Arc<Mutex<Vec<String>>>,
}

impl TokenServer {
    pub(super) async fn start(user: &str, password: &str) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let (address, scopes) = (listener.local_addr()?, Arc::default());
        let issuer = Arc::new(Issuer::new(user, password, Arc::clone(&scopes))?);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let issuer = issuer.clone();
                tokio::spawn(async move { issuer.serve(stream).await });
            }
        });
        Ok(Self { address, scopes, task })
    }

    /// The registry's side.
    pub(super) fn settings(&self) -> Value {
        json!({ "realm": format!("http://{}/token", self.address), "service": SERVICE, "issuer": ISSUER, "rootcertbundle": pem("ca.pem") })
    }

    pub(super) fn scopes(&self) -> Vec<String> {
        self.scopes.lock().clone()
    }
}

impl Drop for TokenServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Issuer {
    fn new(user: &str, password: &str, scopes: Arc<Mutex<Vec<String>>>) -> Result<Self> {
        let key = PrivateKeyDer::from_pem_file(pem("broker.key"))?;
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.secret_der(), &SystemRandom::new());
        let key = key.map_err(|e| anyhow::anyhow!("the key does not sign: {e}"))?;
        let certificate = STANDARD.encode(CertificateDer::from_pem_file(pem("broker.pem"))?);
        Ok(Self { expected: format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))), key, certificate, scopes })
    }

    /// Answers one request and hangs up.
    async fn serve(&self, stream: TcpStream) -> Result<()> {
        let mut stream = BufReader::new(stream);
        let (mut asked, mut authorization) = (String::new(), String::new());
        stream.read_line(&mut asked).await?;
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await?;
            match line.trim_end().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("authorization") => value.clone_into(&mut authorization),
                Some(_) => {}
                None => break,
            }
        }
        let (status, body) = if authorization == self.expected {
            ("200 OK", json!({ "token": self.token(&asked)? }))
        } else {
            ("401 Unauthorized", json!({ "details": "incorrect username or password" }))
        };
        let body = body.to_string();
        let head =
            format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes()).await?;
        Ok(())
    }

    /// For what a request like `GET /token?service=...&scope=repository:NAME:pull HTTP/1.1` asks.
    fn token(&self, asked: &str) -> Result<String> {
        let path = asked.split(' ').nth(1).context("a path")?;
        let scope = path.split(['?', '&']).find_map(|part| part.strip_prefix("scope=")).context("a scope")?;
        self.scopes.lock().push(scope.to_owned());
        let [kind, name, actions] = scope.split(':').collect::<Vec<_>>().try_into().map_err(|_| anyhow::anyhow!("scope {scope:?}"))?;
        let now = Env::system().unix_ms() / 1_000;
        let header = json!({ "typ": "JWT", "alg": "ES256", "x5c": [self.certificate] });
        let claims = json!({
            "iss": ISSUER, "aud": SERVICE, "sub": "tester", "nbf": now - 10, "iat": now, "exp": now + LIFETIME_S, "jti": "1",
            "access": [{ "type": kind, "name": name, "actions": actions.split(',').collect::<Vec<_>>() }],
        });
        let signed = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes());
        let signature = signature.map_err(|e| anyhow::anyhow!("no signature: {e}"))?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}
