//! What a candidate that runs beside the flush policy costs the lane: appends at full speed, and the ack latency of a producer while the
//! candidate loops until its breaker drops it.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use tidegate::policy::Kind;
use tidegate::runtime::Bind;
use tidegate::types::TopicPartition;
use tidegate::{Storage, env};
use tokio::runtime::Runtime;

use crate::batches::{copies, of_size};
use crate::host::{Plugins, at, create, memory, open, runtime};
use crate::measure::{Rounds, seconds};
use crate::report::Report;

/// Pairs of hosts, and rounds of each pair. In a round each side has two turns, in the order of a, b, b, a: a machine that grows slower or
/// faster meanwhile does so for both. A store in memory grows by 100 MB with every round.
const HOSTS: usize = 40;
const ROUNDS: usize = 10;
const APPENDS: usize = 50_000;
/// Rounds of a looping candidate, and acks of each. Each of its instances is good for 30 decisions, and its breaker drops it at the fifth fault: if
/// that takes longer, the round goes on.
const LOOPS: usize = 11;
const ACKS: usize = 2_000;
const LONGEST: usize = 20 * ACKS;

pub(crate) fn run(report: &Report, plugins: &Plugins) -> Result<()> {
    let runtime = runtime()?;
    let (mut rounds, mut dropped) = (Rounds::default(), 0);
    for pair in 0..HOSTS {
        let open = || runtime.block_on(Side::open(plugins));
        let (first, second) = (open()?, open()?);
        let (shadowed, plain) = if pair % 2 == 0 { (first, second) } else { (second, first) };
        runtime.block_on(shadowed.shadow(plugins.read("flush-adaptive")?, "{}"))?;
        for round in 0..=ROUNDS {
            let (begins, other) = if round % 2 == 0 { (&shadowed, &plain) } else { (&plain, &shadowed) };
            let [first, second, third, fourth] = [begins, other, other, begins].map(|side| side.appends(&runtime));
            let per_s = |taken: f64| 2.0 * APPENDS as f64 / taken;
            let (begins, other) = (per_s(first + fourth), per_s(second + third));
            match round {
                // To warm up.
                0 => {}
                _ if round % 2 == 0 => rounds.add(begins, other),
                _ => rounds.add(other, begins),
            }
        }
        let status = shadowed.host.policy_shadows().pop().context("a shadow runs")?;
        ensure!(status.calls > 0 && status.faults == 0 && status.dropped.is_empty(), "{status:?}");
        dropped += status.dropped_events;
        runtime.block_on(async { shadowed.host.close().await.and(plain.host.close().await) })?;
    }
    report.compared("append", rounds.pair(), "appends/s", "the same without a shadow");
    report.value("dropped-events", dropped as f64, "events");
    looping(report, plugins, &runtime)
}

/// Pairs of rounds on hosts of their own: a breaker opens once.
fn looping(report: &Report, plugins: &Plugins, runtime: &Runtime) -> Result<()> {
    let component = plugins.read("evil-guest")?;
    let mut rounds = Rounds::default();
    for round in 0..LOOPS {
        let p99 = |shadowed: bool| {
            let component = component.clone();
            runtime.block_on(async move {
                let side = Side::open(plugins).await?;
                side.acks(100).await?;
                if shadowed {
                    side.shadow(component, r#"{"mode": "loop", "at": {"from": 30}}"#).await?;
                }
                let mut waits = side.acks(ACKS).await?;
                while let Some(status) = side.host.policy_shadows().pop().filter(|status| status.dropped.is_empty()) {
                    ensure!(waits.len() < LONGEST, "its breaker has not dropped it: {status:?}");
                    waits.extend(side.acks(ACKS).await?);
                }
                let classes: Vec<_> = side.host.policy_shadows().into_iter().map(|status| status.last_class).collect();
                ensure!(classes == vec!["call.timeout"; usize::from(shadowed)], "it was dropped for another reason: {classes:?}");
                side.host.close().await?;
                waits.sort_unstable();
                anyhow::Ok(waits[waits.len() * 99 / 100].as_secs_f64() * 1e6)
            })
        };
        let (a, b) = if round % 2 == 0 {
            (p99(true)?, p99(false)?)
        } else {
            let b = p99(false)?;
            (p99(true)?, b)
        };
        rounds.add(a, b);
    }
    report.compared("looping", rounds.pair(), "us of ack p99", "the same without a shadow");
    Ok(())
}

struct Side {
    host: Storage,
    partition: TopicPartition,
}

impl Side {
    async fn open(plugins: &Plugins) -> Result<Self> {
        let host = open(&memory(), |settings| settings.host.cache_bytes = 16 << 20).await?;
        plugins.bind(&host, Kind::Flush, "flush-adaptive").await?;
        let topic = create(&host, "bench", 1, 1).await?;
        Ok(Self { partition: at(&topic, 0), host })
    }

    async fn shadow(&self, component: Bytes, config: &str) -> Result<()> {
        let bind = Bind {
            pattern: "*".to_owned(),
            kind: Kind::Flush,
            component,
            source: "bench".to_owned(),
            config: serde_json::from_str(config)?,
            by: "bench".to_owned(),
            digest: None,
            signature: None,
        };
        self.host.shadow(bind).await?;
        Ok(())
    }

    /// Seconds until all are committed: whether the last segment is uploaded within a turn or after it would make a difference of its own.
    fn appends(&self, runtime: &Runtime) -> f64 {
        let batches = copies(&of_size(1 << 10), APPENDS);
        let append = async {
            for batch in batches {
                drop(self.host.append(self.partition, batch).await.expect("there is room"));
            }
            self.host.flush(self.partition).await.expect("a store in memory takes it");
        };
        seconds(|| runtime.block_on(append))
    }

    /// What one producer that waits for each ack has waited.
    async fn acks(&self, acks: usize) -> Result<Vec<Duration>> {
        let batch = of_size(1 << 10);
        let mut waits = Vec::with_capacity(acks);
        for _ in 0..acks {
            let (copy, start) = (batch.clone(), env::now());
            self.host.append(self.partition, copy).await?.committed.wait().await?;
            waits.push(start.elapsed());
        }
        Ok(waits)
    }
}
