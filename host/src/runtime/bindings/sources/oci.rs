//! A component from a registry, by the OCI distribution protocol: the manifest by tag or digest, then its one layer.
//!
//! Everything is checked against the digest that it was asked for by: what a registry, a cache or a network in between made of it is not taken.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::reference::{Reference, is_digest};
use super::{Sources, unavailable};
use crate::config::RegistrySettings;
use crate::policy::FaultClass;
use crate::policy::wasm::{LoadError, digest, verify_digest};
use crate::runtime::api::Component;
use crate::store::{HttpAnswer, HttpClient, HttpGet};

/// What is understood; and, so that a registry says that there is one, what is refused: an index of several images.
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json";
/// Annotation of the layer, or of the manifest, that holds a signature.
const SIGNATURE: &str = "dev.tidegate.signature";
/// Longest manifest or answer about a token, in bytes.
const MANIFEST_BYTES: u64 = 1 << 20;

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    layers: Vec<Layer>,
    /// Of an index: the images.
    manifests: Option<Vec<serde::de::IgnoredAny>>,
    #[serde(default)]
    annotations: std::collections::BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Layer {
    digest: String,
    size: u64,
    #[serde(default)]
    annotations: std::collections::BTreeMap<String, String>,
}

impl Sources {
    pub(super) async fn in_registry(&self, reference: Reference) -> Result<Component, LoadError> {
        let mut registry = Registry::new(self, &reference).await?;
        let manifest = registry.get("manifests", reference.wanted(), MANIFEST_BYTES).await?;
        if let Some(pinned) = &reference.digest {
            same_digest(&manifest, pinned, &reference)?;
        }
        let (layer, signature) = one_layer(&manifest, &reference)?;
        if layer.size > self.limit {
            let problem = format!("{reference} has {} bytes, at most {} are allowed", layer.size, self.limit);
            return Err(LoadError::new(
                FaultClass::TooLarge,
                problem,
                "build it with the profile `plugin`, or raise policy.component_bytes",
            ));
        }
        let bytes = registry.get("blobs", &layer.digest, self.limit).await?;
        same_digest(&bytes, &layer.digest, &reference)?;
        same_size(&bytes, &layer, &reference)?;
        let pinned = format!("{}/{}@{}", reference.registry, reference.name, digest(&manifest));
        Ok(Component { bytes, source: format!("oci://{pinned}"), signature })
    }
}

/// A registry, and who this host is there.
struct Registry<'a> {
    sources: &'a Sources,
    reference: &'a Reference,
    settings: RegistrySettings,
    /// The one client that trusts the registry's own authority.
    trusting: Option<HttpClient>,
    authorization: String,
}

impl<'a> Registry<'a> {
    /// The authority is read anew each time: it may have been renewed.
    async fn new(sources: &'a Sources, reference: &'a Reference) -> Result<Self, LoadError> {
        let settings = sources.plugins.registry.get(&reference.registry).cloned().unwrap_or_default();
        let trusting = match &settings.ca {
            Some(file) => {
                let unread = |problem: String| {
                    let problem = format!("{reference}: {}: {problem}", file.display());
                    unavailable(problem, "let ca under plugins.registry name a file of certificates in PEM")
                };
                let authorities = tokio::fs::read(file).await.map_err(|e| unread(e.to_string()))?;
                Some(HttpClient::trusting(&authorities).map_err(unread)?)
            }
            None => None,
        };
        Ok(Self { sources, reference, settings, trusting, authorization: String::new() })
    }

    fn http(&self) -> &HttpClient {
        self.trusting.as_ref().unwrap_or(&self.sources.http)
    }

    /// A manifest or a blob; a challenge is met once.
    async fn get(&mut self, what: &str, wanted: &str, limit: u64) -> Result<bytes::Bytes, LoadError> {
        let scheme = if self.settings.plain_http { "http" } else { "https" };
        let Reference { registry, name, .. } = self.reference;
        let url = format!("{scheme}://{registry}/v2/{name}/{what}/{wanted}");
        let mut answer = self.ask(&url, limit).await?;
        if answer.status == 401 && self.meet(answer.challenge.as_deref().unwrap_or_default()).await? {
            answer = self.ask(&url, limit).await?;
        }
        match answer.status {
            200 => Ok(answer.body),
            401 | 403 => Err(self.refuse(&url, answer.status, "set username and password of the registry under plugins.registry")),
            404 => Err(self.refuse(&url, 404, "check name and tag; what is pinned may have been deleted")),
            status => Err(self.refuse(&url, status, "try again, or look at the registry's log")),
        }
    }

    async fn ask(&self, url: &str, limit: u64) -> Result<HttpAnswer, LoadError> {
        let get = HttpGet { url: url.to_owned(), accept: MANIFEST.to_owned(), authorization: self.authorization.clone(), limit };
        let failed = |e: crate::Error| {
            let remedy = "is the registry's name right? under plugins.registry, one without TLS needs plain_http, one with an authority of its own ca";
            unavailable(format!("{}: {e}", self.reference), remedy)
        };
        self.http().get(get).await.map_err(failed)
    }

    /// Says who this host is, in the way that the registry wants; false: it does not say how.
    async fn meet(&mut self, challenge: &str) -> Result<bool, LoadError> {
        let RegistrySettings { username, password, .. } = &self.settings;
        let basic =
            if username.is_empty() { String::new() } else { format!("Basic {}", STANDARD.encode(format!("{username}:{password}"))) };
        if challenge.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("basic ")) {
            self.authorization = basic;
            return Ok(!self.authorization.is_empty());
        }
        let Some(url) = token_url(challenge) else { return Ok(false) };
        if !may_be_told(&url, self.settings.plain_http) {
            let problem = format!("{}: it wants to be told who asks at {url}, without TLS", self.reference);
            return Err(unavailable(problem, "whoever runs the registry must mend that; nothing was sent there"));
        }
        let get = HttpGet { url: url.clone(), accept: String::new(), authorization: basic, limit: MANIFEST_BYTES };
        let answer = self.http().get(get).await.map_err(|e| unavailable(format!("{}: {e}", self.reference), "try again"))?;
        if answer.status != 200 {
            return Err(self.refuse(&url, answer.status, "set username and password of the registry under plugins.registry"));
        }
        let token: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let token = token["token"].as_str().or(token["access_token"].as_str()).unwrap_or_default();
        self.authorization = format!("Bearer {token}");
        Ok(!token.is_empty())
    }

    fn refuse(&self, url: &str, status: u16, remedy: &str) -> LoadError {
        unavailable(format!("{}: {url} answered {status}", self.reference), remedy)
    }
}

/// The component's layer, and its signature if there is one.
fn one_layer(manifest: &[u8], reference: &Reference) -> Result<(Layer, Option<String>), LoadError> {
    let refuse =
        |problem: String| unavailable(format!("{reference}: {problem}"), "push the component as one layer, for example with `oras push`");
    let manifest: Manifest = serde_json::from_slice(manifest).map_err(|e| refuse(format!("its manifest is not understood: {e}")))?;
    if let Some(manifests) = manifest.manifests {
        let problem = format!("{reference} is an index of several images, {} of them: name one manifest by its digest", manifests.len());
        return Err(unavailable(problem, "write oci://registry/name@sha256:HEX, or push the component as one layer"));
    }
    let count = manifest.layers.len();
    let [layer] = <[Layer; 1]>::try_from(manifest.layers).map_err(|_| refuse(format!("its manifest has {count} layers, expected one")))?;
    if !is_digest(&layer.digest) {
        return Err(refuse(format!("its layer's digest is {:?}, expected sha256", layer.digest)));
    }
    let signature = layer.annotations.get(SIGNATURE).or(manifest.annotations.get(SIGNATURE)).cloned();
    Ok((layer, signature))
}

fn same_digest(bytes: &[u8], wanted: &str, reference: &Reference) -> Result<(), LoadError> {
    verify_digest(bytes, wanted).map_err(|_| {
        let problem = format!("{reference}: the registry sent bytes of digest {}, asked for {wanted}", digest(bytes));
        LoadError::new(FaultClass::DigestMismatch, problem, "do not use them; fetch it again, or ask whoever runs the registry")
    })
}

fn same_size(bytes: &[u8], layer: &Layer, reference: &Reference) -> Result<(), LoadError> {
    if bytes.len() as u64 == layer.size {
        return Ok(());
    }
    let problem = format!("{reference}: its manifest gives the layer {} bytes, the blob has {}", layer.size, bytes.len());
    Err(unavailable(problem, "push the component again: whatever wrote the manifest got it wrong"))
}

/// Whether a token server may be told a password: the registry speaks TLS, so it must too.
fn may_be_told(url: &str, plain_http: bool) -> bool {
    plain_http || url.starts_with("https://")
}

/// Where a token is had, from `Bearer realm="...",service="...",scope="..."`.
fn token_url(challenge: &str) -> Option<String> {
    let parameters = challenge.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("bearer ")).map(|_| &challenge[7..])?;
    let value = |name: &str| {
        let (_, rest) = parameters.split_once(&format!("{name}=\""))?;
        rest.split_once('"').map(|(value, _)| value.to_owned())
    };
    let realm = value("realm").filter(|realm| realm.starts_with("https://") || realm.starts_with("http://"))?;
    let query: Vec<String> = ["service", "scope"].iter().filter_map(|name| Some(format!("{name}={}", escaped(&value(name)?)))).collect();
    Some(format!("{realm}{}{}", if realm.contains('?') { '&' } else { '?' }, query.join("&")))
}

/// A value of a query.
fn escaped(value: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~:/,".contains(&b);
    value.bytes().fold(String::new(), |text, b| if plain(b) { text + &char::from(b).to_string() } else { text + &format!("%{b:02X}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference() -> Reference {
        Reference::parse("oci://registry.example/flush:1").unwrap()
    }

    #[test]
    fn an_index_of_images_is_told_as_such() {
        let index = br#"{"schemaVersion": 2, "manifests": [{"digest": "sha256:1"}, {"digest": "sha256:2"}]}"#;
        let problem = one_layer(index, &reference()).err().unwrap().to_string();
        assert!(problem.contains("an index of several images, 2 of them: name one manifest by its digest"), "{problem}");
    }

    #[test]
    fn a_layer_of_another_size_than_its_blob_is_refused_by_both_sizes() {
        let layer = |size| Layer { digest: String::new(), size, annotations: Default::default() };
        assert!(same_size(b"four", &layer(4), &reference()).is_ok());
        let problem = same_size(b"four", &layer(5), &reference()).err().unwrap().to_string();
        assert!(problem.contains("gives the layer 5 bytes, the blob has 4"), "{problem}");
    }

    #[test]
    fn a_registry_with_tls_sends_nobody_with_a_password_to_where_there_is_none() {
        assert!(!may_be_told("http://auth.example/token", false));
        assert!(may_be_told("https://auth.example/token", false) && may_be_told("http://127.0.0.1:1/token", true));
    }

    #[test]
    fn a_challenge_says_where_a_token_is_had() {
        let challenge = r#"Bearer realm="https://auth.example/token",service="registry example",scope="repository:me/flush:pull""#;
        let expected = "https://auth.example/token?service=registry%20example&scope=repository:me/flush:pull";
        assert_eq!(token_url(challenge).as_deref(), Some(expected));
        for none in ["", "Bearer", "Basic realm=\"x\"", "Bearer realm=\"file:///etc/passwd\"", "Bearer realm=\"https://x"] {
            assert_eq!(token_url(none), None, "{none:?}");
        }
    }
}
