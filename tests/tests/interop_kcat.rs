//! kcat against the real binary: what it wrote it reads back, also after a stop and a start.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Result, ensure};
use tidegate::config::StoreSettings;
use tidegate_tests::broker::{BrokerProcess, Cluster};
use tidegate_tests::kcat;
use tidegate_tests::servers::SeaweedFs;

/// Bytes of log lines.
const FILE_BYTES: usize = 200 << 20;
const KEYS: u64 = 997;
const TOPIC: &str = "lines";

/// Number of the lines of one key, and a digest over them in their order.
#[derive(Debug, Default, PartialEq)]
struct Lines {
    count: u64,
    digest: u64,
}

/// The lines of every key.
#[derive(Debug, Default, PartialEq)]
struct ByKey(BTreeMap<Vec<u8>, Lines>);

impl ByKey {
    /// Takes `key <tab> line`.
    fn take(&mut self, record: &[u8]) {
        let tab = record.iter().position(|b| *b == b'\t').unwrap_or(record.len());
        let (key, line) = record.split_at(tab);
        let lines = match self.0.get_mut(key) {
            Some(lines) => lines,
            None => self.0.entry(key.to_vec()).or_default(),
        };
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(lines.digest);
        hasher.write(line);
        lines.digest = hasher.finish();
        lines.count += 1;
    }
}

/// Writes log lines with keys, of lengths between 40 and 400, the same at each run.
fn write_lines(path: &Path) -> Result<ByKey> {
    let mut file = BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    let (mut written, mut line, mut expected, mut state) = (0, Vec::new(), ByKey::default(), 0x9e37_79b9_7f4a_7c15u64);
    for number in 0u64.. {
        if written >= FILE_BYTES {
            break;
        }
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        line.clear();
        write!(line, "host-{:03}\t{number:09} level=info path=/v1/items/{:016x} ", state % KEYS, state)?;
        let padding = (state >> 33) as usize % 360;
        line.extend((0..padding).map(|i| b'a' + ((i as u64 * 7 + state) % 26) as u8));
        expected.take(&line);
        line.push(b'\n');
        file.write_all(&line)?;
        written += line.len();
    }
    file.flush()?;
    Ok(expected)
}

async fn read_back(broker: &BrokerProcess) -> Result<ByKey> {
    let mut found = ByKey::default();
    kcat::consume(broker.kafka(), TOPIC, "%k\t%s\n", |record| found.take(record)).await?;
    Ok(found)
}

/// Not `assert_eq`: nobody reads a thousand keys.
fn check(expected: &ByKey, found: &ByKey, when: &str) -> Result<()> {
    ensure!(expected.0.len() == found.0.len(), "{when}: {} keys were written, {} are read", expected.0.len(), found.0.len());
    for (key, lines) in &expected.0 {
        let found = found.0.get(key);
        ensure!(found == Some(lines), "{when}: key {} has {lines:?} written and {found:?} read", key.escape_ascii());
    }
    Ok(())
}

async fn written_lines_are_read_back(cluster: &Cluster) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("lines");
    let expected = write_lines(&file)?;

    let broker = cluster.start().await?;
    broker.tidegate(&["topic", "create", TOPIC, "--partitions", "8"]).await?;
    kcat::produce_file(broker.kafka(), TOPIC, &file).await?;
    check(&expected, &read_back(&broker).await?, "at once")?;
    let detail = broker.tidegate(&["topic", "describe", TOPIC]).await?;
    ensure!(detail["open_partitions"].as_array().is_some_and(|open| open.len() == 8), "not all 8 partitions were used: {detail}");

    let status = broker.terminate().await?;
    ensure!(status.success(), "SIGTERM ended the broker with {status}: {}", cluster.log());
    let broker = cluster.start().await?;
    check(&expected, &read_back(&broker).await?, "after a stop and a start")?;
    ensure!(broker.terminate().await?.success(), "the second stop failed");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn kcat_reads_back_what_it_wrote_to_a_local_directory() -> Result<()> {
    written_lines_are_read_back(&Cluster::local()?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn kcat_reads_back_what_it_wrote_to_s3() -> Result<()> {
    let server = SeaweedFs::start().await?;
    written_lines_are_read_back(&Cluster::on(StoreSettings::S3(server.settings("kcat")))?).await
}
