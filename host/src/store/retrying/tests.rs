use std::collections::BTreeSet;

use bytes::Bytes;
use futures::future::join_all;

use super::*;
use crate::store::conformance::conformance;
use crate::store::{Fault, MemoryStore, Request};

struct Rig {
    memory: MemoryStore,
    store: Arc<Retrying>,
    metrics: Arc<Metrics>,
}

fn rig() -> Rig {
    let memory = MemoryStore::default();
    let metrics = Arc::new(Metrics::default());
    let store = Retrying::new(Arc::new(memory.clone()), RetryOptions::default(), Env::simulated(7, 0), metrics.clone());
    Rig { memory, store: Arc::new(store), metrics }
}

fn body(bytes: &'static [u8]) -> Body {
    Bytes::from_static(bytes).into()
}

/// The first tries of everything get these faults, later ones none.
fn script(faults: Vec<Fault>) -> impl FnMut(&Request<'_>) -> Fault + Send {
    move |request| faults.get(request.attempt as usize - 1).cloned().unwrap_or_else(Fault::none)
}

#[tokio::test(start_paused = true)]
async fn retrying_passes_the_conformance_suite() {
    conformance(rig().store, "suite").await;
}

#[tokio::test(start_paused = true)]
async fn passing_failures_are_retried_a_bounded_number_of_times() {
    let rig = rig();
    for kind in [StoreErrorKind::Unavailable, StoreErrorKind::Conflict] {
        rig.memory.reset_counters();
        rig.memory.set_script(script(vec![Fault::fail(kind); 4]));
        let key = format!("{kind:?}");
        rig.store.put(&key, body(b"x"), PutMode::Create).await.unwrap();
        assert_eq!(rig.memory.requests(Operation::Put), 5);
        rig.memory.set_script(move |_: &Request<'_>| Fault::fail(kind));
        assert_eq!(rig.store.get(&key, GetRange::Full).await.unwrap_err().kind, kind);
        assert_eq!(rig.memory.requests(Operation::Get), 5);
    }
}

#[tokio::test(start_paused = true)]
async fn what_retrying_cannot_mend_is_reported_at_once() {
    use StoreErrorKind as K;
    let rig = rig();
    for kind in [K::NotFound, K::AlreadyExists, K::VersionMismatch, K::Full, K::Unsupported, K::Refused, K::Corrupt] {
        rig.memory.reset_counters();
        rig.memory.set_script(move |_: &Request<'_>| Fault::fail(kind));
        assert_eq!(rig.store.put("k", body(b"x"), PutMode::Create).await.unwrap_err().kind, kind);
        assert_eq!(rig.memory.total_requests(), 1, "{kind:?}");
    }
}

/// FAULTS.md D12.
#[tokio::test(start_paused = true)]
async fn a_conflict_on_a_free_key_is_not_taken_for_already_exists() {
    let rig = rig();
    rig.memory.set_script(script(vec![Fault::fail(StoreErrorKind::Conflict)]));
    rig.store.put("k", body(b"mine"), PutMode::Create).await.unwrap();
    assert_eq!(&rig.memory.snapshot()["k"][..], b"mine");
}

/// FAULTS.md D18: the first try times out, arrives all the same, and the second finds the key taken by its own bytes.
#[tokio::test(start_paused = true)]
async fn a_try_that_times_out_but_goes_on_changes_no_byte() {
    let rig = rig();
    rig.memory.set_script(script(vec![Fault::none().before(Duration::from_secs(11)).detached()]));
    let result = rig.store.put("late", body(b"same"), PutMode::Create).await;
    assert!(result.is_ok(), "the second try came first: {result:?}");
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(&rig.memory.snapshot()["late"][..], b"same");

    rig.memory.set_script(script(vec![Fault::hang_after_effect()]));
    let result = rig.store.put("early", body(b"same"), PutMode::Create).await;
    assert_eq!(result.unwrap_err().kind, StoreErrorKind::AlreadyExists, "the caller reads whose bytes are there");
    assert_eq!(&rig.memory.snapshot()["early"][..], b"same");
}

#[tokio::test(start_paused = true)]
async fn a_put_in_doubt_never_ends_as_not_written() {
    for last in [StoreErrorKind::Unavailable, StoreErrorKind::Refused, StoreErrorKind::Full] {
        let rig = rig();
        let mut faults = vec![Fault::late(Duration::from_secs(3600))];
        faults.extend(vec![Fault::fail(last); 9]);
        rig.memory.set_script(script(faults));
        let error = rig.store.put("k", body(b"x"), PutMode::Create).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::OutcomeUnknown, "{error}");
        assert!(rig.memory.snapshot().is_empty());
        tokio::time::sleep(Duration::from_secs(3601)).await;
        assert_eq!(&rig.memory.snapshot()["k"][..], b"x", "and so it was right to say so");
    }
}

/// FAULTS.md D20, the store's side.
#[tokio::test(start_paused = true)]
async fn an_upload_that_never_resolves_frees_its_permit() {
    let rig = rig();
    rig.memory.set_script(|r: &Request<'_>| if r.key == "stuck" { Fault::hang() } else { Fault::none() });
    let stuck = (0..200).map(|_| rig.store.put("stuck", body(b"x"), PutMode::Create));
    let stuck = join_all(stuck);
    let fine = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        rig.store.put("fine", body(b"x"), PutMode::Create).await
    };
    let (stuck, fine) = tokio::join!(stuck, fine);
    assert!(stuck.iter().all(|r| r.as_ref().is_err_and(|e| e.kind == StoreErrorKind::OutcomeUnknown)));
    fine.expect("others get through while 200 uploads hang");
    assert_eq!(rig.metrics.store.in_flight.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn large_uploads_get_more_time() {
    let rig = rig();
    rig.memory.set_script(|_: &Request<'_>| Fault::none().before(Duration::from_secs(25)));
    rig.store.put("large", Bytes::from(vec![0; 20 << 20]).into(), PutMode::Create).await.unwrap();
    assert_eq!(rig.memory.requests(Operation::Put), 1);
}

/// FAULTS.md D14.
#[tokio::test(start_paused = true)]
async fn thirty_seconds_of_slow_down_are_waited_out_with_few_requests() {
    let rig = rig();
    for i in 0..200 {
        rig.memory.insert(&format!("p/{i}"), Bytes::from_static(b"manifest"));
    }
    let end = env::now() + Duration::from_secs(30);
    let latency = Duration::from_millis(20);
    rig.memory.set_script(move |_: &Request<'_>| {
        let fault = if env::now() < end { Fault::fail(StoreErrorKind::Throttled) } else { Fault::none() };
        fault.before(latency)
    });
    let opened = join_all((0..200).map(|i| {
        let (store, key) = (rig.store.clone(), format!("p/{i}"));
        async move { store.get(&key, GetRange::Full).await.map(|object| object.bytes) }
    }));
    let smallest = async {
        tokio::time::sleep(Duration::from_secs(29)).await;
        rig.metrics.store.concurrency.get()
    };
    let (opened, smallest) = tokio::join!(opened, smallest);
    for result in opened {
        assert_eq!(&result.expect("opening succeeds later")[..], b"manifest");
    }
    let requests = rig.memory.total_requests();
    assert!(requests < 200 + 128 + 64 + 30, "{requests} requests for 200 objects");
    assert_eq!(smallest, 1, "the budget shrinks");
    assert!(rig.metrics.store.concurrency.get() > 1, "and grows back");
    assert!(rig.metrics.store.errors("get", "throttled") > 0);
}

#[tokio::test(start_paused = true)]
async fn throttling_without_end_is_reported_after_a_minute() {
    let rig = rig();
    rig.memory.set_script(|_: &Request<'_>| Fault::fail(StoreErrorKind::Throttled));
    let start = env::now();
    assert_eq!(rig.store.head("k").await.unwrap_err().kind, StoreErrorKind::Throttled);
    assert!(env::now() - start <= PATIENCE + LONGEST_BACKOFF);
    assert!(rig.memory.total_requests() < 40);
    assert_eq!(rig.metrics.store.recent.stats().throttled_permille, 1_000);
}

/// FAULTS.md D16.
#[tokio::test(start_paused = true)]
async fn a_failing_page_is_asked_for_again() {
    let rig = rig();
    for i in 0..2_350 {
        rig.memory.insert(&format!("log/{i:06}"), Bytes::new());
    }
    rig.memory.set_script(|r: &Request<'_>| if r.attempt == 2 { Fault::fail(StoreErrorKind::Unavailable) } else { Fault::none() });
    let keys: Vec<_> = rig.store.list("log/", None, usize::MAX).await.unwrap().into_iter().map(|m| m.key).collect();
    let expected: Vec<_> = (0..2_350).map(|i| format!("log/{i:06}")).collect();
    assert_eq!(keys, expected);
    assert_eq!(rig.memory.requests(Operation::List), 4, "three pages, one of them twice");
}

/// FAULTS.md D15, for a store that answers for a batch as a whole; S3 does better (see there).
#[tokio::test(start_paused = true)]
async fn deletes_go_in_batches_and_are_repeated() {
    let rig = rig();
    let keys: Vec<_> = (0..2_500).map(|i| format!("k/{i}")).collect();
    for key in &keys {
        rig.memory.insert(key, Bytes::new());
    }
    let mut odd = BTreeSet::new();
    rig.memory.set_script(move |r: &Request<'_>| {
        let number: u32 = r.key[2..].parse().unwrap();
        let first = number % 2 == 1 && odd.insert(number);
        if first { Fault::fail(StoreErrorKind::Unavailable) } else { Fault::none() }
    });
    rig.store.delete(&keys).await.unwrap();
    assert!(rig.memory.snapshot().is_empty());
    assert_eq!(rig.memory.requests(Operation::Delete), 6);
}

#[tokio::test(start_paused = true)]
async fn recent_figures_reach_whoever_asks() {
    let rig = rig();
    rig.memory.set_script(|_: &Request<'_>| Fault::none().before(Duration::from_millis(30)));
    rig.store.put("k", Bytes::from(vec![0; 300_000]).into(), PutMode::Create).await.unwrap();
    rig.store.get("k", GetRange::Full).await.unwrap();
    let stats = rig.metrics.store.recent.stats();
    assert_eq!((stats.upload_p50_us, stats.first_byte_us, stats.bytes_per_s), (30_000, 30_000, 10_000_000));
    assert!(rig.metrics.encode().contains("tidegate_store_upload_bytes_total 300000"));
}
