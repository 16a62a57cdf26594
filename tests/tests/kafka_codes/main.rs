//! Error for error: odd requests get from Tidegate the codes that they get from Apache Kafka, or the difference is in
//! a table with its reason.
//!
//! What Kafka answers is recorded in `tests/fixtures/kafka/codes.txt` (`scripts/kafka-broker.sh record` writes it), so that
//! Tidegate is compared without Kafka at hand; where `TIDEGATE_KAFKA_BROKER` is HOST:PORT of a broker, the record is compared with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tidegate::Settings;
use tidegate_broker::{BrokerSettings, GroupSettings};
use tidegate_tests::wire::Running;

use self::differences::DIFFERENCES;
use self::seen::Seen;

mod admin;
mod differences;
mod fetch;
mod groups;
mod members;
mod offsets;
mod produce;
mod producers;
mod protocol;
mod seen;
mod topics;

type Outcomes = BTreeMap<String, String>;

fn record() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/kafka/codes.txt")
}

fn recorded() -> anyhow::Result<Outcomes> {
    let text = std::fs::read_to_string(record()).context("the record is missing: run scripts/kafka-broker.sh record")?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once('\t').map(|(case, outcome)| (case.into(), outcome.into())).context("a line has no tab")).collect()
}

/// Everything that is put to a broker.
async fn outcomes(seen: &mut Seen) -> anyhow::Result<()> {
    produce::cases(seen).await?;
    producers::cases(seen).await?;
    fetch::cases(seen).await?;
    offsets::cases(seen).await?;
    topics::cases(seen).await?;
    admin::cases(seen).await?;
    groups::cases(seen).await?;
    members::cases(seen).await?;
    protocol::cases(seen).await
}

#[tokio::test]
async fn every_code_is_that_of_kafka_or_has_a_reason() -> anyhow::Result<()> {
    let groups = GroupSettings { initial_rebalance_delay_ms: 0, ..GroupSettings::default() };
    let broker = Running::with(Settings::default(), BrokerSettings { groups, ..BrokerSettings::default() }).await?;
    let mut seen = Seen::at(broker.address).await?;
    outcomes(&mut seen).await?;
    broker.stop().await?;
    let (kafka, mut wrong) = (recorded()?, Vec::new());
    let listed: BTreeMap<&str, &str> = DIFFERENCES.iter().map(|(case, ours, _)| (*case, *ours)).collect();
    assert_eq!(listed.len(), DIFFERENCES.len(), "a difference is listed twice");
    for (case, ours) in &seen.outcomes {
        let theirs = kafka.get(case).map_or("not recorded", |outcome| outcome);
        match listed.get(case.as_str()) {
            Some(expected) if ours == expected && ours != theirs => {}
            None if ours == theirs => {}
            listed => wrong.push(format!("{case}: tidegate {ours}, kafka {theirs}, listed as {listed:?}")),
        }
    }
    let known: Vec<&str> = seen.outcomes.iter().map(|(case, _)| case.as_str()).collect();
    wrong.extend(
        kafka
            .keys()
            .map(String::as_str)
            .chain(listed.keys().copied())
            .filter(|case| !known.contains(case))
            .map(|case| format!("{case}: no such case")),
    );
    assert!(wrong.is_empty(), "of {} cases:\n{}", known.len(), wrong.join("\n"));
    Ok(())
}

/// Needs a broker of Apache Kafka, and passes without one.
#[tokio::test]
async fn the_record_is_what_kafka_answers() -> anyhow::Result<()> {
    let Ok(address) = std::env::var("TIDEGATE_KAFKA_BROKER") else { return Ok(()) };
    let mut seen = Seen::at(address.parse().context("TIDEGATE_KAFKA_BROKER is HOST:PORT, with an address for a host")?).await?;
    outcomes(&mut seen).await?;
    if std::env::var_os("TIDEGATE_KAFKA_RECORD").is_some() {
        let lines: String = seen.outcomes.iter().map(|(case, outcome)| format!("{case}\t{outcome}\n")).collect();
        std::fs::write(
            record(),
            format!(
                "# What Apache Kafka answers to the cases of tests/tests/kafka_codes; scripts/kafka-broker.sh record writes it.\n{lines}"
            ),
        )?;
        return Ok(());
    }
    let live: Outcomes = seen.outcomes.into_iter().collect();
    assert_eq!(live, recorded()?);
    Ok(())
}
