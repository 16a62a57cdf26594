//! Users come and go while clients are served.

use anyhow::Result;
use base64::Engine;
use bytes::Bytes;
use kafka_protocol::messages::alter_user_scram_credentials_request::{ScramCredentialDeletion, ScramCredentialUpsertion};
use kafka_protocol::messages::describe_user_scram_credentials_request::UserName;
use kafka_protocol::messages::{AlterUserScramCredentialsRequest, DescribeUserScramCredentialsRequest};
use kafka_protocol::protocol::StrBytes;
use tidegate::Settings;
use tidegate::store::MemoryStore;
use tidegate_broker::Mechanism;
use tidegate_tests::security::{add_users, guarded, logged_in};
use tidegate_tests::wire::{Client, Running};

const SHA_256: i8 = 1;
const SHA_512: i8 = 2;
const SALT: &[u8] = b"a salt of the client's";
/// What PBKDF2 makes of the password `new` with this salt, SHA-512 and 4096 rounds; as Python's `hashlib.pbkdf2_hmac` says.
const SALTED: &str = "1G10jZd2vkDc/16VqRq5pN1/WbmxKWNOMhc/qBaZS96UwSLCiJwysjnV0+UxL89EsZCfNdei2H91hUqYUupegg==";

async fn start() -> Result<(Running, Client)> {
    let store = MemoryStore::default();
    add_users(&store, &["admin", "alice"]).await?;
    let broker = Running::on(store, Settings::default(), guarded(&[Mechanism::Plain])).await?;
    let admin = logged_in(broker.address, "admin").await?;
    Ok((broker, admin))
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn setting(user: &str, mechanism: i8, iterations: i32, salted: Vec<u8>) -> ScramCredentialUpsertion {
    let setting = ScramCredentialUpsertion::default().with_name(text(user)).with_mechanism(mechanism).with_iterations(iterations);
    setting.with_salt(Bytes::from_static(SALT)).with_salted_password(salted.into())
}

fn deletion(user: &str, mechanism: i8) -> ScramCredentialDeletion {
    ScramCredentialDeletion::default().with_name(text(user)).with_mechanism(mechanism)
}

async fn alter(
    client: &mut Client,
    set: Vec<ScramCredentialUpsertion>,
    delete: Vec<ScramCredentialDeletion>,
) -> Result<Vec<(String, i16)>> {
    let request = AlterUserScramCredentialsRequest::default().with_upsertions(set).with_deletions(delete);
    let answer = client.call(0, &request).await?;
    Ok(answer.results.iter().map(|result| (result.user.to_string(), result.error_code)).collect())
}

async fn describe(client: &mut Client, users: Option<&[&str]>) -> Result<Vec<(String, i16, Vec<(i8, i32)>)>> {
    let users = users.map(|users| users.iter().map(|user| UserName::default().with_name(text(user))).collect());
    let answer = client.call(0, &DescribeUserScramCredentialsRequest::default().with_users(users)).await?;
    assert_eq!(answer.error_code, 0, "{answer:?}");
    let infos = |infos: &[kafka_protocol::messages::describe_user_scram_credentials_response::CredentialInfo]| {
        infos.iter().map(|info| (info.mechanism, info.iterations)).collect()
    };
    Ok(answer.results.iter().map(|result| (result.user.to_string(), result.error_code, infos(&result.credential_infos))).collect())
}

#[tokio::test]
async fn a_user_made_through_the_protocol_logs_in_with_the_password() -> Result<()> {
    let (broker, mut admin) = start().await?;
    let salted = base64::engine::general_purpose::STANDARD.decode(SALTED)?;
    assert_eq!(alter(&mut admin, vec![setting("new", SHA_512, 4_096, salted)], vec![]).await?, [("new".into(), 0)]);
    logged_in(broker.address, "new").await?;
    assert_eq!(describe(&mut admin, Some(&["new"])).await?, [("new".into(), 0, vec![(SHA_512, 4_096)])]);
    assert_eq!(alter(&mut admin, vec![], vec![deletion("new", SHA_512)]).await?, [("new".into(), 0)]);
    logged_in(broker.address, "new").await.err().expect("she is gone");
    broker.stop().await
}

#[tokio::test]
async fn what_cannot_be_done_to_a_user_is_told_by_its_code_and_leaves_it_as_it_was() -> Result<()> {
    let (broker, mut admin) = start().await?;
    let (ok, long) = (|| vec![1; 64], vec![1; 32]);
    let cases = [
        (vec![setting("", SHA_512, 4_096, ok())], vec![], 93),
        (vec![setting("*", SHA_512, 4_096, ok())], vec![], 93),
        (vec![setting("User:bob", SHA_512, 4_096, ok())], vec![], 93),
        (vec![setting(" bob", SHA_512, 4_096, ok())], vec![], 93),
        (vec![setting("alice", SHA_512, 4_095, ok())], vec![], 93),
        (vec![setting("alice", SHA_512, 16_385, ok())], vec![], 93),
        (vec![setting("alice", SHA_512, 4_096, long)], vec![], 93),
        (vec![setting("alice", 7, 4_096, ok())], vec![], 33),
        (vec![setting("alice", SHA_512, 4_096, ok())], vec![deletion("alice", SHA_512)], 92),
        (vec![setting("bob", SHA_512, 4_096, ok())], vec![deletion("bob", SHA_256)], 91),
        (vec![], vec![deletion("alice", 0)], 33),
    ];
    for (set, delete, expected) in cases {
        assert_eq!(alter(&mut admin, set, delete).await?[0].1, expected);
    }
    let all = describe(&mut admin, None).await?;
    assert_eq!(all.iter().map(|(user, ..)| user.as_str()).collect::<Vec<_>>(), ["admin", "alice"]);
    let told = describe(&mut admin, Some(&["alice", "bob", "bob", "carol"])).await?;
    assert_eq!(told.iter().map(|(user, code, _)| (user.as_str(), *code)).collect::<Vec<_>>(), [("alice", 0), ("bob", 92), ("carol", 91)]);
    logged_in(broker.address, "alice").await?;
    broker.stop().await
}

#[tokio::test]
async fn users_are_the_affair_of_those_who_may_alter_the_cluster() -> Result<()> {
    let (broker, _admin) = start().await?;
    let mut alice = logged_in(broker.address, "alice").await?;
    assert_eq!(alter(&mut alice, vec![setting("alice", SHA_512, 4_096, vec![1; 64])], vec![]).await?, [("alice".into(), 31)]);
    let answer = alice.call(0, &DescribeUserScramCredentialsRequest::default().with_users(None)).await?;
    assert_eq!((answer.error_code, answer.results.len()), (31, 0));
    logged_in(broker.address, "alice").await?;
    broker.stop().await
}
