//! Clients that say who they are, and listeners that ask.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kafka_protocol::messages::{SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest};
use kafka_protocol::protocol::StrBytes;
use tidegate::Storage;
use tidegate::store::MemoryStore;
use tidegate_broker::{BrokerSettings, ListenerSettings, Mechanism, SecuritySettings, TlsSettings, UserStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::wire::{Client, listener};

/// A certificate or key that the tests bring.
pub fn pem(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/tls").join(name)
}

/// The files of a broker.
pub fn broker_tls() -> TlsSettings {
    TlsSettings { certificate: pem("broker.pem"), key: pem("broker.key"), client_ca: None }
}

/// One listener that takes these mechanisms.
pub fn asking(sasl: &[Mechanism]) -> BrokerSettings {
    let listeners = vec![ListenerSettings { sasl: sasl.to_vec(), ..listener() }];
    BrokerSettings { listeners, ..BrokerSettings::default() }
}

/// The same with access rules that are looked at often; `admin` may do everything.
pub fn guarded(sasl: &[Mechanism]) -> BrokerSettings {
    let super_users = vec!["User:admin".to_owned()];
    let security = SecuritySettings { acls: true, super_users, refresh_ms: 50, ..SecuritySettings::default() };
    BrokerSettings { security, ..asking(sasl) }
}

/// Puts users into a store, each with its own name for a password.
pub async fn add_users(store: &MemoryStore, names: &[&str]) -> Result<()> {
    let storage = Storage::builder(tidegate::Settings::default()).store(Arc::new(store.clone())).open().await?;
    let users = UserStore::new(storage.documents(), storage.env().clone());
    for name in names {
        users.add(name, name.as_bytes(), 4_096).await?;
    }
    storage.close().await?;
    Ok(())
}

/// What a client sends by PLAIN.
pub fn plain(user: &str, password: &str) -> Vec<u8> {
    format!("\0{user}\0{password}").into_bytes()
}

/// Chooses a mechanism; the error code.
pub async fn handshake(client: &mut Client, version: i16, mechanism: &'static str) -> Result<i16> {
    let request = SaslHandshakeRequest::default().with_mechanism(StrBytes::from_static_str(mechanism));
    Ok(client.call(version, &request).await?.error_code)
}

/// Sends a token.
pub async fn authenticate(client: &mut Client, version: i16, token: &[u8]) -> Result<SaslAuthenticateResponse> {
    client.call(version, &SaslAuthenticateRequest::default().with_auth_bytes(token.to_vec().into())).await
}

/// A client that has logged in by PLAIN.
pub async fn logged_in(address: SocketAddr, user: &str) -> Result<Client> {
    let mut client = Client::connect(address).await?;
    ensure!(handshake(&mut client, 1, "PLAIN").await? == 0, "the broker does not take PLAIN");
    let answer = authenticate(&mut client, 2, &plain(user, user)).await?;
    ensure!(answer.error_code == 0, "{user} did not get in: {answer:?}");
    Ok(client)
}

/// An encrypted connection to `localhost`; shows a certificate, if one is named, by the stem of its files.
pub async fn encrypted(address: SocketAddr, shows: Option<&str>) -> Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(pem("ca.pem"))? {
        roots.add(certificate?)?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions()?;
    let builder = builder.with_root_certificates(roots);
    let config = match shows {
        None => builder.with_no_client_auth(),
        Some(stem) => {
            let chain = CertificateDer::pem_file_iter(pem(&format!("{stem}.pem")))?.collect::<Result<Vec<_>, _>>()?;
            builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_file(pem(&format!("{stem}.key")))?)?
        }
    };
    let socket = TcpStream::connect(address).await?;
    Ok(TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("localhost")?, socket).await?)
}

/// The certificate that a broker shows.
pub fn shown(stream: &TlsStream<TcpStream>) -> Result<Vec<u8>> {
    let chain = stream.get_ref().1.peer_certificates().context("no certificate")?;
    Ok(chain.first().context("an empty chain")?.to_vec())
}

/// The first certificate of a file.
pub fn certificate(path: &Path) -> Result<Vec<u8>> {
    Ok(CertificateDer::pem_file_iter(path)?.next().context("no certificate")??.to_vec())
}
