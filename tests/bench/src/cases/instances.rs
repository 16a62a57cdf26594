//! Resident memory of a partition in use, with three policies as components: 100 topics of 100 partitions, each read sequentially.
//!
//! Each name runs in a process of its own, so that no memory is left over from another.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use tidegate::config::StoreSettings;
use tidegate::runtime::FetchPartition;
use tidegate::{Settings, Storage};

use crate::batches::of_size;
use crate::host::{Plugins, at, commit_all, create, runtime};
use crate::report::Report;

/// Tells a child which run it is.
const CHILD: &str = "TIDEGATE_BENCH_INSTANCES";
const TOPICS: u32 = 100;
const PARTITIONS: u32 = 100;
const LANES: u32 = 4;
const FETCHES: i64 = 4;

pub(crate) fn run(report: &Report, plugins: &Plugins) -> Result<()> {
    if let Ok(lanes) = std::env::var(CHILD) {
        let lanes = lanes.parse().context("the number of lanes")?;
        let growth = runtime()?.block_on(growth(plugins, lanes))?;
        crate::report::text(&growth.to_string());
        return Ok(());
    }
    report.value("resident", in_child(plugins, LANES)?, "bytes/partition");
    report.value("classic", in_child(plugins, PARTITIONS)?, "bytes/partition");
    Ok(())
}

fn in_child(plugins: &Plugins, lanes: u32) -> Result<f64> {
    let mut child = Command::new(std::env::current_exe()?);
    child.arg("instances").arg("--plugins").arg(plugins.directory()).env(CHILD, lanes.to_string());
    let output = child.output().context("the benchmark cannot run itself")?;
    if !output.status.success() {
        bail!("a run with {lanes} lanes a topic failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// Bytes of resident memory that one partition adds.
async fn growth(plugins: &Plugins, lanes: u32) -> Result<f64> {
    let directory = scratch()?;
    let mut settings = Settings { store: StoreSettings::Local { path: directory.path().to_owned() }, ..Settings::default() };
    settings.topic_defaults.retention_ms = -1;
    let host = Storage::builder(settings).open().await?;
    plugins.bind_defaults(&host).await?;
    use_topic(&host, "warm-up", 4).await?;
    let before = resident_bytes()?;
    for n in 0..TOPICS {
        use_topic(&host, &format!("topic-{n}"), lanes).await?;
    }
    let growth = resident_bytes()? - before;
    host.close().await?;
    Ok(growth / f64::from(TOPICS * PARTITIONS))
}

/// In memory where the machine has such a folder: ten thousand lanes sync many files, and what is measured is not the disk.
fn scratch() -> Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    Ok(if memory.is_dir() { tempfile::tempdir_in(memory)? } else { tempfile::tempdir()? })
}

/// A record or two for each partition, and a reader that comes back until it counts as sequential.
async fn use_topic(host: &Storage, name: &str, lanes: u32) -> Result<()> {
    let topic = create(host, name, PARTITIONS, lanes).await?;
    let batch = of_size(1 << 10);
    for _ in 0..FETCHES {
        commit_all(host, (0..PARTITIONS).map(|p| (at(&topic, p), batch.clone()))).await?;
    }
    for partition in 0..PARTITIONS {
        for offset in 0..FETCHES {
            let fetch = FetchPartition { partition: at(&topic, partition), offset, max_bytes: 1 };
            let fetched = host.fetch_one(fetch, true).await?;
            anyhow::ensure!(fetched.next_offset == offset + 1, "{fetched:?}");
        }
    }
    Ok(())
}

fn resident_bytes() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("resident memory is read from /proc")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("a line of VmRSS")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kib * 1_024.0)
}
