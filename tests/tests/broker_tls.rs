//! Connections are encrypted with the certificate of the files as they are now.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use kafka_protocol::messages::{ApiVersionsRequest, MetadataRequest};
use tidegate::Settings;
use tidegate::store::MemoryStore;
use tidegate_broker::{BrokerSettings, ListenerSettings, Mechanism, TlsSettings};
use tidegate_tests::security::{add_users, authenticate, broker_tls, certificate, encrypted, handshake, pem, plain, shown};
use tidegate_tests::wire::{Client, Running, batch, listener};

fn settings(tls: TlsSettings) -> BrokerSettings {
    let mut settings = BrokerSettings { listeners: vec![ListenerSettings { tls: Some(tls), ..listener() }], ..BrokerSettings::default() };
    settings.security.certificate_check_ms = 20;
    settings
}

async fn start(settings: BrokerSettings) -> Result<Running> {
    let store = MemoryStore::default();
    add_users(&store, &["alice"]).await?;
    Running::on(store, Settings::default(), settings).await
}

/// Files of a broker that can be replaced.
fn copied(directory: &Path) -> Result<TlsSettings> {
    let tls = TlsSettings { certificate: directory.join("c.pem"), key: directory.join("k.pem"), client_ca: None };
    std::fs::copy(pem("broker.pem"), &tls.certificate)?;
    std::fs::copy(pem("broker.key"), &tls.key)?;
    Ok(tls)
}

#[tokio::test]
async fn records_go_encrypted_both_ways_and_plain_listeners_stay_plain() -> Result<()> {
    let mut settings = settings(broker_tls());
    settings.listeners.push(listener());
    let broker = start(settings).await?;
    let stream = encrypted(broker.address, None).await?;
    assert_eq!(shown(&stream)?, certificate(&pem("broker.pem"))?);
    let mut client = Client::over(stream);
    client.create("topic", 1).await?;
    let large = vec![7; 600_000];
    assert_eq!(client.produce("topic", 0, batch(&[&large])).await?.base_offset, 0);
    assert!(client.fetch("topic", 0, 0, 1 << 20).await?.records.is_some_and(|records| records.len() > large.len()));
    let mut plain = Client::connect(broker.addresses[1]).await?;
    assert!(plain.fetch("topic", 0, 0, 1 << 20).await?.records.is_some_and(|records| records.len() > large.len()));
    let metadata = client.call(9, &MetadataRequest::default()).await?;
    assert_eq!(metadata.brokers[0].port, i32::from(broker.address.port()), "clients are sent where they came from");
    broker.stop().await
}

#[tokio::test]
async fn who_does_not_speak_tls_gets_nothing() -> Result<()> {
    let broker = start(settings(broker_tls())).await?;
    let mut client = broker.client().await?;
    client.call(0, &ApiVersionsRequest::default()).await.unwrap_err();
    while !broker.storage.metrics().encode().contains("security_refused_connections_total{reason=\"tls\"} 1") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(broker.storage.metrics().security.unauthenticated_connections.get(), 0);
    broker.stop().await
}

#[tokio::test]
async fn a_stranger_who_never_ends_the_handshake_is_cut_off() -> Result<()> {
    let mut settings = settings(broker_tls());
    settings.limits.authentication_ms = 100;
    let broker = start(settings).await?;
    let mut silent = broker.client().await?;
    let mut half = broker.client().await?;
    half.send_raw(&[22, 3, 1, 2, 0, 1]).await?;
    assert!(silent.is_closed().await && half.is_closed().await);
    let mut client = Client::over(encrypted(broker.address, None).await?);
    tokio::time::sleep(Duration::from_millis(200)).await;
    client.call(0, &ApiVersionsRequest::default()).await?;
    broker.stop().await
}

#[tokio::test]
async fn a_renewed_certificate_is_taken_into_use_and_a_bad_one_is_not() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let tls = copied(directory.path())?;
    let broker = start(settings(tls.clone())).await?;
    let mut before = Client::over(encrypted(broker.address, None).await?);
    let failures = || broker.storage.metrics().security.certificate_failures.get();
    for (n, bad) in [&b"no certificate"[..], &std::fs::read(pem("stranger.pem"))?].iter().enumerate() {
        std::fs::write(&tls.certificate, bad)?;
        while failures() == n as u64 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(shown(&encrypted(broker.address, None).await?)?, certificate(&pem("broker.pem"))?, "the old one stays");
    }
    std::fs::copy(pem("renewed.key"), &tls.key)?;
    std::fs::copy(pem("renewed.pem"), &tls.certificate)?;
    while broker.storage.metrics().security.certificate_reloads.get() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(shown(&encrypted(broker.address, None).await?)?, certificate(&pem("renewed.pem"))?);
    before.call(0, &ApiVersionsRequest::default()).await?;
    broker.stop().await
}

#[tokio::test]
async fn files_that_are_no_certificate_are_named_at_the_start() -> Result<()> {
    let wrong = |certificate: &str, key: &str| TlsSettings { certificate: pem(certificate), key: pem(key), client_ca: None };
    for (tls, named) in [
        (wrong("missing.pem", "broker.key"), "missing.pem cannot be read"),
        (wrong("broker.key", "broker.key"), "broker.key holds no certificate"),
        (wrong("broker.pem", "broker.pem"), "broker.pem holds no private key"),
        (wrong("broker.pem", "renewed.key"), "cannot be used with key"),
    ] {
        let error = start(settings(tls)).await.err().expect("it does not start").to_string();
        assert!(error.contains(named), "{error}");
    }
    Ok(())
}

#[tokio::test]
async fn a_listener_can_ask_for_certificates_of_its_clients() -> Result<()> {
    let broker = start(settings(TlsSettings { client_ca: Some(pem("ca.pem")), ..broker_tls() })).await?;
    let mut client = Client::over(encrypted(broker.address, Some("client")).await?);
    client.call(0, &ApiVersionsRequest::default()).await?;
    for shows in [None, Some("stranger")] {
        // In TLS 1.3 a client learns that it was refused when it reads.
        let refused = match encrypted(broker.address, shows).await {
            Ok(stream) => Client::over(stream).call(0, &ApiVersionsRequest::default()).await.is_err(),
            Err(_) => true,
        };
        assert!(refused, "{shows:?}");
    }
    broker.stop().await
}

#[tokio::test]
async fn passwords_go_over_encrypted_connections() -> Result<()> {
    let mut settings = settings(broker_tls());
    settings.listeners[0].sasl = vec![Mechanism::Plain];
    let broker = start(settings).await?;
    let mut client = Client::over(encrypted(broker.address, None).await?);
    client.call(9, &MetadataRequest::default()).await.unwrap_err();
    let mut client = Client::over(encrypted(broker.address, None).await?);
    assert_eq!(handshake(&mut client, 1, "PLAIN").await?, 0);
    assert_eq!(authenticate(&mut client, 2, &plain("alice", "alice")).await?.error_code, 0);
    client.call(9, &MetadataRequest::default()).await?;
    broker.stop().await
}
