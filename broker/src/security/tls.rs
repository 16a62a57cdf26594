//! Encryption of a listener: certificates from files, read again when they change.
//!
//! Files are compared by what they hold, not by their times: whatever renews them, it is seen. Connections keep what they began with; a
//! changed certificate that cannot be used leaves the old one in place, and the log says why.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tidegate::metrics::Metrics;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::config::TlsSettings;

/// Largest certificate file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// What a listener shows to its clients.
pub(crate) struct Tls {
    settings: TlsSettings,
    acceptor: ArcSwap<ServerConfig>,
}

/// The files of a listener.
#[derive(PartialEq, Eq)]
struct Files {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

impl Tls {
    /// Reads the files; says what is wrong with which.
    pub(crate) async fn open(settings: TlsSettings) -> Result<(Self, Seen), String> {
        let files = Files::read(&settings).await?;
        let acceptor = ArcSwap::new(Arc::new(files.server(&settings)?));
        Ok((Self { settings, acceptor }, Seen(files)))
    }

    /// Agrees with a client on encryption.
    pub(crate) async fn accept(&self, socket: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        TlsAcceptor::from(self.acceptor.load_full()).accept(socket).await
    }

    /// Looks at the files again and again, until `stop`.
    pub(crate) async fn follow(&self, mut seen: Seen, interval: Duration, metrics: &Metrics, stop: &CancellationToken) {
        let mut problem = None;
        while stop.run_until_cancelled(tokio::time::sleep(interval)).await.is_some() {
            match self.look(&mut seen).await {
                Ok(false) => {}
                Ok(true) => {
                    metrics.security.certificate_reloads.inc();
                    tracing::info!(certificate = %self.settings.certificate.display(), "a changed certificate is in use");
                    problem = None;
                }
                Err(new) if problem.as_ref() != Some(&new) => {
                    metrics.security.certificate_failures.inc();
                    tracing::warn!(problem = new, "a changed certificate cannot be used; the old one stays in use");
                    problem = Some(new);
                }
                Err(_) => {}
            }
        }
    }

    /// Takes changed files into use; says whether they have changed.
    async fn look(&self, seen: &mut Seen) -> Result<bool, String> {
        let files = Files::read(&self.settings).await?;
        if files == seen.0 {
            return Ok(false);
        }
        self.acceptor.store(Arc::new(files.server(&self.settings)?));
        seen.0 = files;
        Ok(true)
    }
}

/// The files that are in use.
pub(crate) struct Seen(Files);

impl Files {
    async fn read(settings: &TlsSettings) -> Result<Self, String> {
        let client_ca = match &settings.client_ca {
            Some(path) => Some(read(path).await?),
            None => None,
        };
        Ok(Self { certificate: read(&settings.certificate).await?, key: read(&settings.key).await?, client_ca })
    }

    fn server(&self, settings: &TlsSettings) -> Result<ServerConfig, String> {
        let chain = certificates(&self.certificate, &settings.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|error| format!("{} holds no private key: {error}", settings.key.display()))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| error.to_string())?;
        let builder = match (&self.client_ca, &settings.client_ca) {
            (Some(bytes), Some(path)) => builder.with_client_cert_verifier(self.verifier(bytes, path, provider)?),
            _ => builder.with_no_client_auth(),
        };
        builder.with_single_cert(chain, key).map_err(|error| {
            let (certificate, key) = (settings.certificate.display(), settings.key.display());
            format!("certificate {certificate} cannot be used with key {key}: {error}")
        })
    }

    fn verifier(
        &self,
        bytes: &[u8],
        path: &Path,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<dyn tokio_rustls::rustls::server::danger::ClientCertVerifier>, String> {
        let problem = |error: &dyn std::fmt::Display| format!("{} cannot be used as an authority: {error}", path.display());
        let mut roots = RootCertStore::empty();
        for certificate in certificates(bytes, path)? {
            roots.add(certificate).map_err(|error| problem(&error))?;
        }
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().map_err(|error| problem(&error))
    }
}

fn certificates(bytes: &[u8], path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(bytes).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err(format!("{} holds no certificate, expected PEM", path.display())),
        Ok(chain) => Ok(chain),
        Err(error) => Err(format!("{} cannot be read as PEM: {error}", path.display())),
    }
}

async fn read(path: &Path) -> Result<Vec<u8>, String> {
    let problem = |error: io::Error| format!("{} cannot be read: {error}", path.display());
    let size = tokio::fs::metadata(path).await.map_err(problem)?.len();
    if size > MAX_FILE_BYTES {
        return Err(format!("{} has {size} bytes, expected at most {MAX_FILE_BYTES}", path.display()));
    }
    tokio::fs::read(path).await.map_err(problem)
}
