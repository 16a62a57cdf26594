//! From settings to a client. What is wrong is an error that names the setting; nothing is guessed.

use std::time::Duration;

use aws_credential_types::Credentials;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{
    BehaviorVersion, Config, Region, RequestChecksumCalculation, ResponseChecksumValidation, SharedHttpClient,
    StalledStreamProtectionConfig,
};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

use crate::config::S3Settings;
use crate::error::{Error, ErrorKind, Result};
use crate::store::Operation;
use crate::store::key::check_key;

/// Connections kept for the next request: as many as may be in flight, so that a burst does not connect anew.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

fn invalid(key: &str, problem: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("store.{key}: {problem}"))
}

/// Checks everything that can be wrong without asking the store.
pub(super) fn check(s3: &S3Settings) -> Result<()> {
    if s3.bucket.is_empty() {
        return Err(invalid("bucket", "is missing: name a bucket that exists"));
    }
    if s3.bucket.contains(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c))) {
        return Err(invalid("bucket", format!("{:?} is not a bucket name", s3.bucket)));
    }
    if !s3.prefix.is_empty() {
        check_key(Operation::Put, &s3.prefix).map_err(|e| invalid("prefix", e.message))?;
    }
    if s3.region.is_empty() {
        return Err(invalid("region", "is empty: AWS needs its own, other servers take any, such as us-east-1"));
    }
    if let Some(endpoint) = &s3.endpoint {
        check_endpoint(endpoint)?;
    }
    for (key, number) in [("timeout_ms", s3.timeout_ms), ("tries", s3.tries.into()), ("concurrency", s3.concurrency.into())] {
        if number == 0 {
            return Err(invalid(key, "is 0, must be at least 1"));
        }
    }
    Ok(())
}

fn check_endpoint(endpoint: &str) -> Result<()> {
    let rest = endpoint.strip_prefix("http://").or_else(|| endpoint.strip_prefix("https://"));
    match rest {
        Some(rest) if !rest.is_empty() && !rest.contains(|c: char| c.is_whitespace() || c.is_control()) => Ok(()),
        _ => Err(invalid("endpoint", format!("{endpoint:?} is no http:// or https:// address"))),
    }
}

fn credentials(s3: &S3Settings) -> Result<Credentials> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (access, secret, token) = match (&s3.access_key, &s3.secret_key) {
        (Some(access), Some(secret)) => (access.clone(), secret.clone(), None),
        (Some(_), None) => return Err(invalid("secret_key", "is missing, though access_key is given")),
        (None, Some(_)) => return Err(invalid("access_key", "is missing, though secret_key is given")),
        (None, None) => match (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
            (Some(access), Some(secret)) => (access, secret, variable("AWS_SESSION_TOKEN")),
            _ => {
                return Err(invalid("access_key", "is missing, and so are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment"));
            }
        },
    };
    Ok(Credentials::new(access, secret, token, None, "tidegate"))
}

/// One pool of connections; TLS only where the address asks for it.
pub(super) fn http_client(s3: &S3Settings) -> SharedHttpClient {
    let builder = Builder::new().pool_idle_timeout(IDLE_TIMEOUT).pool_max_idle_per_host(s3.concurrency as usize);
    match &s3.endpoint {
        Some(endpoint) if endpoint.starts_with("http://") => builder.build_http(),
        _ => builder.tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https(),
    }
}

pub(super) fn client(s3: &S3Settings, http: SharedHttpClient) -> Result<Config> {
    let timeouts = TimeoutConfig::builder().connect_timeout(Duration::from_millis(s3.timeout_ms)).build();
    let mut config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(s3.region.clone()))
        .credentials_provider(credentials(s3)?)
        .force_path_style(s3.path_style)
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts)
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
        .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
        .http_client(http);
    if let Some(endpoint) = &s3.endpoint {
        config = config.endpoint_url(endpoint);
    }
    Ok(config.build())
}
