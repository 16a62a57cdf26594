//! A broker author's first sixty lines: a log in a directory, written, read and trimmed.
//!
//! `cargo run -p embed [directory]`

use std::time::Duration;

use anyhow::{Context, Result};
use tidegate::config::StoreSettings;
use tidegate::record::testing::batch;
use tidegate::runtime::{FetchPartition, FetchRequest, OffsetSpec, TopicSpec};
use tidegate::types::{TopicName, TopicPartition};
use tidegate::{Settings, Storage};

#[tokio::main]
async fn main() -> Result<()> {
    let directory = std::env::args_os().nth(1).map_or_else(|| std::env::temp_dir().join("tidegate-embed"), Into::into);
    let store = StoreSettings::Local { path: directory.clone() };
    let storage = Storage::builder(Settings { store, ..Settings::default() }).open().await?;
    tokio::io::AsyncWriteExt::write_all(&mut tokio::io::stdout(), run(&storage).await?.as_bytes()).await?;
    // Flushes, commits and checkpoints: the next opening takes a few requests.
    storage.close().await?;
    Ok(())
}

async fn run(storage: &Storage) -> Result<String> {
    let name = TopicName::new("greetings")?;
    let topic = match storage.topic(&name).await? {
        Some(topic) => topic,
        None => storage.create_topic(TopicSpec { partitions: Some(4), ..TopicSpec::named(name) }).await?,
    };
    let partition = TopicPartition { topic: topic.id, partition: 0 };

    // A broker passes on the record set of a produce request; here three records are encoded for the purpose.
    let appended = storage.append(partition, batch(3, 100).build()).await?;
    // It is in memory and has its offsets; wait for the commit before acknowledging it.
    appended.committed.wait().await?;

    let wanted = FetchPartition { partition, offset: appended.base_offset, max_bytes: 1 << 20 };
    let request = FetchRequest { partitions: vec![wanted], max_bytes: 1 << 20, min_bytes: 1, max_wait: Duration::from_millis(500) };
    let fetched = storage.fetch(request).await.pop().context("one answer for each partition asked")??;

    // Records below the log start are deleted, with the objects that hold nothing else.
    let log_start = storage.trim(partition, appended.base_offset).await?;
    let latest = storage.list_offset(partition, OffsetSpec::Latest).await?.context("a partition has an end")?;
    Ok(format!(
        "appended 3 records at offset {}, fetched {} bytes up to offset {}, log start {log_start}, end {}\n",
        appended.base_offset, fetched.len, fetched.next_offset, latest.0
    ))
}
