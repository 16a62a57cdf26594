//! Nobody is served before it is known who they are, and nobody learns more from failing than that it failed.

use std::time::Duration;

use anyhow::Result;
use bytes::Buf;
use kafka_protocol::messages::{ApiKey, ApiVersionsRequest, MetadataRequest, SaslAuthenticateRequest};
use kafka_protocol::protocol::StrBytes;
use tidegate::Settings;
use tidegate::store::MemoryStore;
use tidegate_broker::{BrokerSettings, Mechanism};
use tidegate_tests::security::{add_users, asking, authenticate, handshake, logged_in, plain};
use tidegate_tests::wire::{Client, Running};

/// Errors of the protocol.
const UNSUPPORTED_MECHANISM: i16 = 33;
const ILLEGAL_STATE: i16 = 34;
const FAILED: i16 = 58;

async fn start(broker: BrokerSettings) -> Result<Running> {
    let store = MemoryStore::default();
    add_users(&store, &["alice", "bob"]).await?;
    Running::on(store, Settings::default(), broker).await
}

async fn metadata(client: &mut Client) -> Result<()> {
    client.call(9, &MetadataRequest::default().with_topics(Some(Vec::new()))).await.map(drop)
}

#[tokio::test]
async fn before_a_client_is_known_only_the_way_to_a_name_is_answered() -> Result<()> {
    let broker = start(asking(&Mechanism::ALL)).await?;
    let mut client = broker.client().await?;
    let listed = client.call(0, &ApiVersionsRequest::default()).await?;
    for api in [ApiKey::SaslHandshake, ApiKey::SaslAuthenticate] {
        assert!(listed.api_keys.iter().any(|listed| listed.api_key == api as i16), "{api:?} is not listed");
    }
    assert_eq!(handshake(&mut client, 1, "GSSAPI").await?, UNSUPPORTED_MECHANISM);
    assert_eq!(handshake(&mut client, 1, "PLAIN").await?, 0, "another may be chosen then");
    assert_eq!(handshake(&mut client, 1, "PLAIN").await?, ILLEGAL_STATE, "once");
    metadata(&mut client).await.unwrap_err();
    assert!(client.is_closed().await);
    let mut client = broker.client().await?;
    assert_eq!(authenticate(&mut client, 1, &plain("alice", "alice")).await?.error_code, ILLEGAL_STATE, "no mechanism was chosen");
    assert!(client.is_closed().await);
    broker.stop().await
}

#[tokio::test]
async fn a_password_opens_the_broker_and_a_wrong_one_closes_the_connection() -> Result<()> {
    let broker = start(asking(&[Mechanism::Plain])).await?;
    for version in [0, 1, 2] {
        let mut client = broker.client().await?;
        assert_eq!(handshake(&mut client, 1, "PLAIN").await?, 0);
        let answer = authenticate(&mut client, version, &plain("alice", "alice")).await?;
        assert_eq!((answer.error_code, answer.session_lifetime_ms, answer.auth_bytes.len()), (0, 0, 0));
        metadata(&mut client).await?;
        assert_eq!(handshake(&mut client, 1, "PLAIN").await?, ILLEGAL_STATE, "nobody has to log in again here");
    }
    for token in [plain("alice", "bob"), plain("nobody", "alice"), b"alice".to_vec(), b"bob\0alice\0alice".to_vec(), Vec::new()] {
        let mut client = broker.client().await?;
        handshake(&mut client, 1, "PLAIN").await?;
        let answer = authenticate(&mut client, 1, &token).await?;
        let message = answer.error_message.as_deref();
        assert_eq!((answer.error_code, message), (FAILED, Some("Authentication failed: Invalid username or password")));
        assert!(client.is_closed().await);
    }
    let text = broker.storage.metrics().encode();
    for line in [
        "security_authentications_total{mechanism=\"PLAIN\"} 3",
        "security_authentication_failures_total{mechanism=\"PLAIN\",reason=\"wrong_password\"} 1",
        "security_authentication_failures_total{mechanism=\"PLAIN\",reason=\"unknown_user\"} 1",
        "security_authentication_failures_total{mechanism=\"PLAIN\",reason=\"malformed\"} 3",
    ] {
        assert!(text.contains(line), "{line} is missing:\n{text}");
    }
    broker.stop().await
}

#[tokio::test]
async fn a_listener_that_does_not_ask_takes_no_passwords() -> Result<()> {
    let broker = Running::start().await?;
    let mut client = broker.client().await?;
    assert_eq!(handshake(&mut client, 1, "PLAIN").await?, ILLEGAL_STATE);
    broker.stop().await
}

/// Salt and iterations of a first answer, after checking that it repeats the client's nonce.
async fn challenge(broker: &Running, mechanism: &'static str, user: &str) -> Result<(Client, String, String)> {
    let mut client = broker.client().await?;
    handshake(&mut client, 1, mechanism).await?;
    let answer = authenticate(&mut client, 1, format!("n,,n={user},r=clients").as_bytes()).await?;
    assert_eq!(answer.error_code, 0, "{answer:?}");
    let text = String::from_utf8(answer.auth_bytes.to_vec())?;
    let (nonce, rest) = text.split_once(",s=").expect("a salt");
    assert!(nonce.starts_with("r=clients") && nonce.len() > 30, "{nonce}");
    Ok((client, nonce[2..].to_owned(), rest.to_owned()))
}

#[tokio::test]
async fn who_does_not_exist_is_told_the_same_as_who_is_wrong() -> Result<()> {
    let broker = start(asking(&[Mechanism::ScramSha256, Mechanism::ScramSha512])).await?;
    for (mechanism, proof) in [("SCRAM-SHA-256", 32), ("SCRAM-SHA-512", 64)] {
        let mut told = Vec::new();
        for user in ["alice", "nobody"] {
            let (mut client, nonce, salt) = challenge(&broker, mechanism, user).await?;
            assert_eq!(challenge(&broker, mechanism, user).await?.2, salt, "the same each time");
            let salted = salt.split_once(",i=").expect("iterations");
            assert_eq!((salted.0.len(), salted.1), (44, "4096"));
            use base64::Engine;
            let proof = base64::engine::general_purpose::STANDARD.encode(vec![7; proof]);
            let answer = authenticate(&mut client, 1, format!("c=biws,r={nonce},p={proof}").as_bytes()).await?;
            told.push((answer.error_code, answer.error_message));
            assert!(client.is_closed().await);
        }
        assert_eq!(told[0], told[1]);
        assert_eq!(told[0].0, FAILED);
    }
    broker.stop().await
}

async fn bare(client: &mut Client, token: &[u8]) -> Result<Vec<u8>> {
    client.send_raw(&(token.len() as u32).to_be_bytes()).await?;
    client.send_raw(token).await?;
    Ok(client.receive_raw().await?.to_vec())
}

#[tokio::test]
async fn clients_from_before_kafka_1_0_send_bare_tokens() -> Result<()> {
    let broker = start(asking(&Mechanism::ALL)).await?;
    let mut client = broker.client().await?;
    assert_eq!(handshake(&mut client, 0, "PLAIN").await?, 0);
    assert!(bare(&mut client, &plain("bob", "bob")).await?.is_empty());
    metadata(&mut client).await?;
    let mut client = broker.client().await?;
    handshake(&mut client, 0, "SCRAM-SHA-256").await?;
    assert!(bare(&mut client, b"n,,n=bob,r=x").await?.starts_with(b"r=x"));
    let mut client = broker.client().await?;
    handshake(&mut client, 0, "PLAIN").await?;
    bare(&mut client, &plain("bob", "alice")).await.unwrap_err();
    broker.stop().await
}

#[tokio::test]
async fn a_stranger_who_says_much_or_nothing_is_cut_off() -> Result<()> {
    let mut settings = asking(&[Mechanism::Plain]);
    settings.limits.authentication_ms = 200;
    settings.limits.unauthenticated_request_bytes = 1_000;
    let broker = start(settings).await?;
    let mut silent = broker.client().await?;
    let mut half = broker.client().await?;
    half.send_raw(&[0, 0, 0, 100, 0]).await?;
    let mut chatty = broker.client().await?;
    chatty.call(0, &ApiVersionsRequest::default()).await?;
    for stranger in [&mut silent, &mut half, &mut chatty] {
        assert!(stranger.is_closed().await);
    }
    let mut large = broker.client().await?;
    large.send_raw(&1_001u32.to_be_bytes()).await?;
    assert!(large.is_closed().await);
    let mut known = logged_in(broker.address, "alice").await?;
    tokio::time::sleep(Duration::from_millis(400)).await;
    known.call(2, &SaslAuthenticateRequest::default().with_auth_bytes(vec![0; 10].into())).await?;
    let mut known = logged_in(broker.address, "alice").await?;
    let many = (0..200).map(|_| kafka_protocol::messages::metadata_request::MetadataRequestTopic::default());
    let many = many.map(|topic| topic.with_name(Some(StrBytes::from_static_str("a-topic").into())));
    known.call(9, &MetadataRequest::default().with_topics(Some(many.collect()))).await?;
    assert!(broker.storage.metrics().encode().contains("security_refused_connections_total{reason=\"authentication_timeout\"} 3"));
    broker.stop().await
}

#[tokio::test]
async fn strangers_are_few_and_who_is_known_does_not_count() -> Result<()> {
    let mut settings = asking(&[Mechanism::Plain]);
    settings.limits.unauthenticated_connections = 1;
    let broker = start(settings).await?;
    let mut known = logged_in(broker.address, "alice").await?;
    let mut stranger = broker.client().await?;
    stranger.call(0, &ApiVersionsRequest::default()).await?;
    let mut one_more = broker.client().await?;
    assert!(one_more.is_closed().await);
    metadata(&mut known).await?;
    assert_eq!(broker.storage.metrics().security.unauthenticated_connections.get(), 1);
    broker.stop().await
}

#[tokio::test]
async fn one_address_gets_so_many_connections() -> Result<()> {
    let mut settings = BrokerSettings::default();
    settings.limits.connections_per_address = 2;
    let broker = Running::with(Settings::default(), settings).await?;
    let (mut one, mut two) = (broker.client().await?, broker.client().await?);
    metadata(&mut one).await?;
    metadata(&mut two).await?;
    assert!(broker.client().await?.is_closed().await);
    broker.stop().await
}

#[tokio::test]
async fn a_session_ends_unless_its_client_authenticates_again_as_itself() -> Result<()> {
    let mut settings = asking(&[Mechanism::Plain]);
    settings.security.session_ms = 400;
    let broker = start(settings).await?;
    let mut client = logged_in(broker.address, "alice").await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(handshake(&mut client, 1, "PLAIN").await?, 0);
    assert_eq!(authenticate(&mut client, 1, &plain("alice", "alice")).await?.session_lifetime_ms, 400);
    metadata(&mut client).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    metadata(&mut client).await.unwrap_err();
    let mut client = logged_in(broker.address, "alice").await?;
    handshake(&mut client, 1, "PLAIN").await?;
    assert_eq!(authenticate(&mut client, 1, &plain("bob", "bob")).await?.error_code, FAILED, "one connection, one name");
    assert!(client.is_closed().await);
    broker.stop().await
}

#[tokio::test]
async fn nonsense_in_place_of_a_token_never_stops_the_broker() -> Result<()> {
    let broker = start(asking(&Mechanism::ALL)).await?;
    for mechanism in ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] {
        for token in [&b""[..], b"\0", b"n,,", b"n,,n=,r=", &[0xff; 60_000], b"p=x,,n=alice,r=x", b"n,,n=alice,r=\xff"] {
            let mut client = broker.client().await?;
            handshake(&mut client, 1, mechanism).await?;
            assert_eq!(authenticate(&mut client, 2, token).await?.error_code, FAILED);
        }
    }
    let mut odd = broker.client().await?;
    odd.send_raw(&[0, 0, 0, 12, 0, 17, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0x7f, 0xff]).await?;
    let mut rest = odd.receive_raw().await.unwrap_or_default();
    assert!(!rest.has_remaining() || rest.get_i32() == 1);
    logged_in(broker.address, "alice").await?;
    broker.stop().await
}
