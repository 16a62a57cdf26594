//! What the command line answers where nothing can be done.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tidegate_tests::broker::{binary, tidegate};

#[tokio::test]
async fn a_wrong_command_line_is_one_json_document_under_json() -> Result<()> {
    for (args, said) in [
        (&["topic", "create"][..], "required arguments"),
        (&["topic", "list", "--wrong"], "--wrong"),
        (&["policy", "unset", "*", "flash"], "flash"),
        (&[], "subcommand"),
    ] {
        let (code, text) = tidegate(args, "").await?.err().context("it is taken")?;
        let error: Value = serde_json::from_str(&text).with_context(|| format!("{args:?}: {text}"))?;
        let message = error["error"]["message"].as_str().context("no message")?;
        ensure!(code == Some(2) && message.contains(said) && !message.starts_with("error"), "{args:?}: {code:?} {message}");
    }
    Ok(())
}

#[tokio::test]
async fn help_versions_and_errors_for_people_stay_text() -> Result<()> {
    let run = async |args: &[&str]| tokio::process::Command::new(binary()).args(args).output().await;
    for args in [["--json", "--help"], ["--json", "--version"]] {
        let output = run(&args).await?;
        ensure!(output.status.success() && output.stdout.starts_with(b"tidegate") | args.contains(&"--help"), "{args:?}: {output:?}");
        ensure!(output.stderr.is_empty() && !output.stdout.starts_with(b"{"), "{args:?}: {output:?}");
    }
    for args in [&["topic", "create"][..], &["topic", "delete", "a", "--", "--json"]] {
        let output = run(args).await?;
        ensure!(output.status.code() == Some(2) && output.stderr.starts_with(b"error: "), "{args:?}: {output:?}");
    }
    Ok(())
}

async fn user(directory: &Path, args: &[&str], input: &str) -> Result<std::result::Result<Value, (Option<i32>, String)>> {
    let directory = directory.to_str().context("a path in UTF-8")?;
    tidegate(&[&["user"], args, &["--data-dir", directory]].concat(), input).await
}

#[tokio::test]
async fn users_are_looked_for_in_a_store_and_not_in_a_new_one() -> Result<()> {
    let parent = tempfile::tempdir()?;
    let directory = parent.path().join("mistyped");
    for args in [&["list"][..], &["remove", "ann"]] {
        let (code, said) = user(&directory, args, "").await?.err().context("it finds users")?;
        ensure!(code == Some(1) && said.contains("mistyped") && said.contains("check --data-dir"), "{args:?}: {code:?} {said}");
        ensure!(!directory.exists(), "{args:?} makes a store");
    }
    let mut add = tokio::process::Command::new(binary());
    let password = parent.path().join("password");
    std::fs::write(&password, "secret")?;
    add.args(["user", "add", "ann", "--data-dir"]).arg(&directory).arg("--password-file").arg(&password);
    let (first, again) = (add.output().await?, add.output().await?);
    ensure!(first.status.success() && String::from_utf8_lossy(&first.stderr).contains("a new one is made"), "{first:?}");
    ensure!(again.status.success() && again.stderr.is_empty(), "{again:?}");
    let listed = user(&directory, &["list"], "").await?.map_err(|refusal| anyhow::anyhow!("{refusal:?}"))?;
    ensure!(listed["users"][0]["name"] == "ann", "{listed}");
    for name in ["*", "User:ann", " ann", "   "] {
        let (code, said) = user(&directory, &["add", name], "secret").await?.err().context("it is added")?;
        ensure!(code == Some(1) && said.contains("a user's name"), "{name:?}: {code:?} {said}");
    }
    Ok(())
}

#[tokio::test]
async fn a_token_that_no_request_can_carry_is_named() -> Result<()> {
    for token in ["0123456789abcdef\n", "0123 456789abcdef", "0123456789abcdeé"] {
        let (code, said) = tidegate(&["topic", "list", "--token", token], "").await?.err().context("it is taken")?;
        ensure!(code == Some(2) && said.contains("TIDEGATE_TOKEN") && !said.contains("0123"), "{code:?} {said}");
    }
    Ok(())
}

#[tokio::test]
async fn an_address_that_is_taken_is_told_once() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?.to_string();
    for (kafka, admin) in [(address.as_str(), "127.0.0.1:0"), ("127.0.0.1:0", address.as_str())] {
        let mut serve = tokio::process::Command::new(binary());
        serve.args(["serve", "--listen", kafka, "--admin-listen", admin, "--data-dir"]).arg(directory.path());
        let output = serve.kill_on_drop(true).output().await?;
        let said = String::from_utf8(output.stderr)?;
        ensure!(output.status.code() == Some(1) && said.contains(&address), "{:?} {said}", output.status);
        ensure!(said.to_lowercase().matches("address already in use").count() == 1, "{said}");
    }
    Ok(())
}
