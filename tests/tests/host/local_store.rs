//! The same promises on a directory, in real time.

use std::path::Path;

use tidegate::config::StoreSettings;
use tidegate::{ErrorKind, Settings, Storage};
use tidegate_tests::records::one;
use tidegate_tests::world::{at, commit, create, read_values, topic_name, value};

async fn open(path: &Path) -> Storage {
    let settings = Settings { store: StoreSettings::Local { path: path.to_owned() }, ..Settings::default() };
    Storage::builder(settings).open().await.expect("the host opens")
}

fn files(path: &Path, accept: impl Fn(&str) -> bool) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if accept(path.to_str().unwrap()) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_after_the_ack_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let host = open(dir.path()).await;
    let topic = create(&host, "orders", 4, 2).await;
    let mut acked = Vec::new();
    for i in 0..40_u32 {
        let partition = at(&topic, i % 4);
        acked.push((partition, commit(&host, partition, one(value(i))).await.unwrap(), value(i)));
    }
    host.abort();
    let host = open(dir.path()).await;
    for (partition, offset, value) in &acked {
        let read = read_values(&host, *partition).await.unwrap();
        assert_eq!(read.get(offset), Some(value));
    }
    assert_eq!(commit(&host, at(&topic, 0), one(value("next"))).await.unwrap(), 10);
    host.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_or_zero_filled_object_is_named_and_stops_the_opening() {
    for zero in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let host = open(dir.path()).await;
        let topic = create(&host, "orders", 1, 1).await;
        for i in 0..3 {
            commit(&host, at(&topic, 0), one(value(i))).await.unwrap();
        }
        host.abort();
        let slots = files(dir.path(), |path| path.contains("/log/"));
        let victim = slots.iter().rfind(|path| std::fs::metadata(path).unwrap().len() > 200).unwrap();
        let bytes = std::fs::read(victim).unwrap();
        let damaged = if zero { vec![0; bytes.len()] } else { bytes[..bytes.len() - 9].to_vec() };
        std::fs::write(victim, damaged).unwrap();

        let host = open(dir.path()).await;
        let error = host.offsets(at(&topic, 0)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        let name = victim.file_name().unwrap().to_str().unwrap();
        assert!(error.to_string().contains(name), "{error} does not name {name}");
        assert_eq!(files(dir.path(), |path| path.contains("/log/")), slots, "a fence was written");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hosts_on_one_directory_have_one_leader() {
    let dir = tempfile::tempdir().unwrap();
    let a = open(dir.path()).await;
    let topic = create(&a, "orders", 1, 1).await;
    let partition = at(&topic, 0);
    commit(&a, partition, one(value("a"))).await.unwrap();
    let b = open(dir.path()).await;
    assert_eq!(commit(&b, partition, one(value("b"))).await.unwrap(), 1);
    assert_eq!(commit(&a, partition, one(value("lost"))).await.unwrap_err().kind(), ErrorKind::NotLeader);
    a.take_lead(&topic_name("orders"), 0).await.unwrap();
    assert_eq!(commit(&a, partition, one(value("a again"))).await.unwrap(), 2);
    let values: Vec<_> = read_values(&a, partition).await.unwrap().into_values().collect();
    assert_eq!(values, [value("a"), value("b"), value("a again")]);
    a.close().await.unwrap();
}
