//! The S3 store against a real S3 server.

use std::sync::Arc;

use bytes::Bytes;
use tidegate::config::StoreSettings;
use tidegate::env::Env;
use tidegate::metadata::ObjectMetadata;
use tidegate::metrics::Metrics;
use tidegate::store::conformance::conformance;
use tidegate::store::{self, Body, GetRange, ObjectStore, PutMode, S3Store, StoreErrorKind};
use tidegate_tests::servers::SeaweedFs;

fn raw(settings: &tidegate::config::S3Settings) -> S3Store {
    S3Store::connect(settings, Env::system(), Arc::new(Metrics::default())).expect("the settings are good")
}

/// One server for all of it: starting one takes longer than the checks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s3_keeps_what_the_trait_promises() {
    let server = SeaweedFs::start().await.expect("SeaweedFS starts");
    conformance(Arc::new(raw(&server.settings("raw"))), "suite").await;
    let metadata = ObjectMetadata::new(server.connect("metadata").await.expect("connect"), Env::system());
    tidegate::metadata::conformance::conformance(Arc::new(metadata)).await;
    opening_probes_the_server(&server).await;
    prefixes_keep_clusters_apart(&server).await;
    a_damaged_body_is_not_stored(&server).await;
    what_a_person_must_mend_is_refused(&server).await;
    long_listings_are_complete(&server).await;
}

async fn opening_probes_the_server(server: &SeaweedFs) {
    let metrics = Arc::new(Metrics::default());
    let store = store::open(&StoreSettings::S3(server.settings("opened")), &Env::system(), &metrics).await.expect("the server is safe");
    assert!(store.list("", None, 10).await.expect("list").is_empty(), "the probe cleans up");
    assert!(metrics.store.tries("put") >= 6);
}

async fn prefixes_keep_clusters_apart(server: &SeaweedFs) {
    let (a, b, all) = (raw(&server.settings("a")), raw(&server.settings("a/b")), raw(&server.settings("")));
    b.put("k", Bytes::from_static(b"b").into(), PutMode::Create).await.expect("put");
    assert_eq!(a.head("k").await.expect_err("another prefix").kind, StoreErrorKind::NotFound);
    assert_eq!(all.get("a/b/k", GetRange::Full).await.expect("the whole key").bytes, "b");
}

/// The checksum header is what guards the way there: a body that does not match it must not become an object.
async fn a_damaged_body_is_not_stored(server: &SeaweedFs) {
    let store = raw(&server.settings("damage"));
    let bytes = Bytes::from_static(b"as sent");
    let wrong = Body::with_crc32(vec![bytes.clone()], crc32fast::hash(b"as it was laid out"));
    let error = store.put("k", wrong, PutMode::Create).await.expect_err("the checksum is wrong");
    assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
    assert_eq!(store.head("k").await.expect_err("nothing is there").kind, StoreErrorKind::NotFound);
    store.put("k", bytes.into(), PutMode::Create).await.expect("put with the right checksum");
}

async fn what_a_person_must_mend_is_refused(server: &SeaweedFs) {
    let mut settings = server.settings("x");
    settings.secret_key = Some("wrong".to_owned());
    let error = raw(&settings).list("", None, 1).await.expect_err("the key is wrong");
    assert_eq!(error.kind, StoreErrorKind::Refused, "{error}");
    let mut settings = server.settings("x");
    settings.bucket = "no-such-bucket".to_owned();
    let error = raw(&settings).get("k", GetRange::Full).await.expect_err("no such bucket");
    assert_eq!(error.kind, StoreErrorKind::Refused, "{error}");
}

async fn long_listings_are_complete(server: &SeaweedFs) {
    let store = server.connect("long").await.expect("connect");
    let keys: Vec<_> = (0..1_050).map(|i| format!("log/{i:06}")).collect();
    let puts = keys.iter().map(|key| store.put(key, Bytes::from_static(b"x").into(), PutMode::Create));
    for put in futures::future::join_all(puts).await {
        put.expect("put");
    }
    let found: Vec<_> = store.list("log/", None, usize::MAX).await.expect("list").into_iter().map(|m| m.key).collect();
    assert_eq!(found, keys);
    store.delete(&keys).await.expect("delete");
    assert!(store.list("log/", None, usize::MAX).await.expect("list").is_empty());
}
