//! Bounded GETs over HTTP, for what is no object store: a registry of components. The client is the one that the S3 store uses.
//!
//! A body is read up to a limit and not beyond, whatever its headers promise. Redirects are followed a few times, to another host without the
//! caller's credentials.

use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::HttpConnector;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::byte_stream::ByteStream;
use bytes::{Bytes, BytesMut};
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use crate::error::{Error, ErrorKind, Result};

const MOST_REDIRECTS: usize = 5;
const AUTHORIZATION: &str = "authorization";

/// See the module.
#[derive(Debug)]
pub struct HttpClient {
    plain: Connector,
    tls: Connector,
}

/// What a server answered.
#[derive(Debug)]
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// The challenge of a 401, if there is one.
    pub challenge: Option<String>,
    /// The body.
    pub body: Bytes,
}

/// A GET.
#[derive(Clone, Debug, Default)]
pub struct HttpGet {
    /// Address.
    pub url: String,
    /// What is taken as an answer; empty: anything.
    pub accept: String,
    /// Value of the header `Authorization`; empty: none.
    pub authorization: String,
    /// Bytes of a body at most; a longer one is an error.
    pub limit: u64,
}

impl Default for HttpClient {
    fn default() -> Self {
        let builder = Connector::builder;
        Self { plain: builder().build_http(), tls: builder().tls_provider(Provider::Rustls(CryptoMode::Ring)).build() }
    }
}

impl HttpClient {
    /// One that trusts these authorities, certificates in PEM, beside those of the machine. The problem is for people.
    pub fn trusting(authorities: &[u8]) -> std::result::Result<Self, String> {
        check_authorities(authorities)?;
        let trust = TrustStore::default().with_pem_certificate(authorities);
        let context = TlsContext::builder().with_trust_store(trust).build().map_err(|e| describe(&e))?;
        let tls = Connector::builder().tls_provider(Provider::Rustls(CryptoMode::Ring)).tls_context(context).build();
        Ok(Self { tls, ..Self::default() })
    }

    /// Asks, and follows where it is sent. [`Unavailable`](ErrorKind::Unavailable) if nobody answers; the caller sets the deadline.
    pub async fn get(&self, mut get: HttpGet) -> Result<HttpAnswer> {
        for _ in 0..=MOST_REDIRECTS {
            let response = self.once(&get).await?;
            let status = response.status().as_u16();
            let location = response.headers().get("location").filter(|_| (300..400).contains(&status));
            match location.map(|to| resolve(&get.url, to)) {
                Some(to) => {
                    if origin(&to) != origin(&get.url) {
                        get.authorization.clear();
                    }
                    get.url = to;
                }
                None => return answer(&get, response).await,
            }
        }
        Err(unavailable(&get.url, format!("it redirects more than {MOST_REDIRECTS} times")))
    }

    async fn once(&self, get: &HttpGet) -> Result<HttpResponse> {
        let invalid = |e: &dyn std::fmt::Display| Error::new(ErrorKind::InvalidInput, format!("{:?} is no address: {e}", get.url));
        let mut request = HttpRequest::get(&get.url).map_err(|e| invalid(&e))?;
        let headers = [("accept", &get.accept), (AUTHORIZATION, &get.authorization)];
        for (name, value) in headers.into_iter().filter(|(_, value)| !value.is_empty()) {
            request.headers_mut().try_insert(name, value.clone()).map_err(|e| invalid(&e))?;
        }
        let connector = if get.url.starts_with("http://") { &self.plain } else { &self.tls };
        connector.call(request).await.map_err(|e| unavailable(&get.url, describe(&e)))
    }
}

/// The connector takes what it is given for good.
fn check_authorities(pem: &[u8]) -> std::result::Result<(), String> {
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|e| format!("it is no PEM: {e}"))?;
        store.add(certificate).map_err(|e| format!("one of its certificates is none of an authority: {e}"))?;
    }
    if store.is_empty() { Err("it holds no certificate".to_owned()) } else { Ok(()) }
}

async fn answer(get: &HttpGet, response: HttpResponse) -> Result<HttpAnswer> {
    let status = response.status().as_u16();
    let challenge = response.headers().get("www-authenticate").map(str::to_owned);
    let mut stream = ByteStream::new(response.into_body());
    let mut body = BytesMut::new();
    while let Some(part) = stream.try_next().await.map_err(|e| unavailable(&get.url, describe(&e)))? {
        if (body.len() + part.len()) as u64 > get.limit {
            let message = format!("{} has more than {} bytes", get.url, get.limit);
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        body.extend_from_slice(&part);
    }
    Ok(HttpAnswer { status, challenge, body: body.freeze() })
}

fn unavailable(url: &str, problem: String) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{url}: {problem}"))
}

/// An error with its causes.
fn describe(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// `https://host:port` of an address.
fn origin(url: &str) -> &str {
    let from = url.find("://").map_or(0, |at| at + 3);
    url[from..].find('/').map_or(url, |end| &url[..from + end])
}

/// Where a redirect leads: an address, or a path of the same server.
fn resolve(url: &str, location: &str) -> String {
    if location.starts_with('/') { format!("{}{location}", origin(url)) } else { location.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_authority_is_refused_rather_than_trusted() {
        let damaged = "-----BEGIN CERTIFICATE-----\nbm90aGluZw==\n-----END CERTIFICATE-----\n";
        for (pem, problem) in [("", "no certificate"), ("text", "no certificate"), (damaged, "none of an authority")] {
            let refusal = HttpClient::trusting(pem.as_bytes()).unwrap_err();
            assert!(refusal.contains(problem), "{pem:?}: {refusal}");
        }
    }

    #[test]
    fn redirects_lead_to_addresses_or_paths() {
        assert_eq!(resolve("https://a:5000/v2/x", "/y?z=1"), "https://a:5000/y?z=1");
        assert_eq!(resolve("https://a/v2/x", "http://b/y"), "http://b/y");
        assert_eq!((origin("https://a"), origin("http://a:1/b/c")), ("https://a", "http://a:1"));
    }
}
