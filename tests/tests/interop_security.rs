//! kcat against the real binary, encrypted and with passwords; users made by the command line.

use anyhow::Result;
use serde_json::json;
use tidegate_tests::broker::{Cluster, tidegate};
use tidegate_tests::kcat::Secured;
use tidegate_tests::security::pem;

fn cluster(security: &str) -> Result<Cluster> {
    let (certificate, key) = (pem("broker.pem"), pem("broker.key"));
    let settings = format!(
        "[broker.security]\n{security}\n[[broker.listener]]\nlisten = \"127.0.0.1:0\"\nadvertised_host = \"localhost\"\n\
         sasl = [\"PLAIN\", \"SCRAM-SHA-256\", \"SCRAM-SHA-512\"]\ntls = {{ certificate = {certificate:?}, key = {key:?} }}\n"
    );
    Cluster::local()?.broker(&settings)
}

fn with(mechanism: &str, user: &str, password: &str) -> Secured {
    Secured::encrypted(&pem("ca.pem"), mechanism, user, password)
}

#[tokio::test]
async fn kcat_logs_in_by_every_mechanism_and_not_with_a_wrong_password() -> Result<()> {
    let cluster = cluster("")?;
    let settings = cluster.settings_file().display().to_string();
    let user = async |args: &[&str], input: &str| tidegate(&[&["user"], args, &["--config", &settings]].concat(), input).await;
    assert_eq!(user(&["add", "alice"], "wonderland\n").await?.unwrap(), json!({ "user": "alice", "created": true }));
    let broker = cluster.start().await?;
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("lines");
    for mechanism in ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] {
        let client = with(mechanism, "alice", "wonderland");
        std::fs::write(&file, format!("one by {mechanism}\ntwo by {mechanism}\n"))?;
        client.produce(broker.kafka(), mechanism, &file).await.unwrap();
        let read = client.consume(broker.kafka(), mechanism).await.unwrap();
        assert_eq!(read, [format!("one by {mechanism}"), format!("two by {mechanism}")]);
        for stranger in [with(mechanism, "alice", "wonder"), with(mechanism, "bob", "wonderland")] {
            stranger.list(broker.kafka()).await.expect_err("a stranger got in");
        }
    }
    assert!(!cluster.log().contains("wonderland"), "a password was logged");
    let metrics = broker.metrics().await?;
    for mechanism in ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] {
        for reason in ["wrong_password", "unknown_user"] {
            let counted = format!("security_authentication_failures_total{{mechanism=\"{mechanism}\",reason=\"{reason}\"}}");
            assert!(metrics.contains(&counted), "{counted} is missing:\n{metrics}");
        }
    }
    broker.terminate().await?;
    Ok(())
}

#[tokio::test]
async fn the_command_line_makes_lists_and_removes_users_and_says_how_it_went() -> Result<()> {
    let cluster = cluster("iterations = 8192")?;
    let settings = cluster.settings_file().display().to_string();
    let user = async |args: &[&str], input: &str| tidegate(&[&["user"], args, &["--config", &settings]].concat(), input).await;
    user(&["add", "alice"], "one").await?.unwrap();
    assert_eq!(user(&["add", "alice", "--iterations", "4096"], "two\r\n").await?.unwrap()["created"], false);
    user(&["add", "bob"], "three").await?.unwrap();
    let listed = user(&["list"], "").await?.unwrap();
    assert_eq!(listed["users"][0], json!({ "name": "alice", "mechanisms": { "SCRAM-SHA-256": 4096, "SCRAM-SHA-512": 4096 } }));
    assert_eq!(listed["users"][1]["mechanisms"]["SCRAM-SHA-512"], 8192);
    assert_eq!(user(&["remove", "bob"], "").await?.unwrap(), json!({ "removed": "bob" }));
    for (args, input, code, said) in [
        (&["remove", "bob"][..], "", 1, "no user"),
        (&["add", "carol"], "", 1, "password"),
        (&["add", ""], "x", 1, "name"),
        (&["add", "carol", "--iterations", "1"], "x", 1, "Too few"),
        (&["add", "carol", "--password", "x"], "", 2, "unexpected argument"),
    ] {
        let (found, message) = user(args, input).await?.unwrap_err();
        assert!(found == Some(code) && message.contains(said), "{args:?}: {found:?} {message}");
    }
    let (code, _) = tidegate(&["user", "list"], "").await?.unwrap_err();
    assert_eq!(code, Some(2));
    Ok(())
}

#[tokio::test]
async fn a_user_without_a_right_reads_nothing() -> Result<()> {
    let cluster = cluster("acls = true\nsuper_users = [\"User:admin\"]")?;
    let settings = cluster.settings_file().display().to_string();
    for name in ["admin", "alice"] {
        tidegate(&["user", "add", name, "--config", &settings], name).await?.unwrap();
    }
    let broker = cluster.start().await?;
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("lines");
    std::fs::write(&file, "a secret\n")?;
    let (admin, alice) = (with("SCRAM-SHA-512", "admin", "admin"), with("SCRAM-SHA-512", "alice", "alice"));
    admin.produce(broker.kafka(), "secrets", &file).await.unwrap();
    assert!(admin.list(broker.kafka()).await.unwrap().contains("secrets"));
    assert!(!alice.list(broker.kafka()).await.unwrap().contains("secrets"));
    alice.consume(broker.kafka(), "secrets").await.expect_err("she read a secret");
    alice.produce(broker.kafka(), "secrets", &file).await.expect_err("she wrote where she may not");
    let metrics = broker.metrics().await?;
    assert!(metrics.contains("security_denials_total{operation=\"describe\"}"), "{metrics}");
    broker.terminate().await?;
    Ok(())
}
