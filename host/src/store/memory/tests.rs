use bytes::Bytes;

use super::*;
use crate::env;
use crate::store::conformance::{conformance, strict_order};

fn store() -> MemoryStore {
    MemoryStore::default()
}

async fn create(store: &MemoryStore, key: &str, bytes: &'static [u8]) -> Result<Version, StoreErrorKind> {
    store.put(key, Bytes::from_static(bytes).into(), PutMode::Create).await.map_err(|e| e.kind)
}

#[tokio::test]
async fn memory_passes_the_conformance_suite() {
    conformance(Arc::new(store()), "suite").await;
    strict_order(Arc::new(store()), "suite").await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_leaves_its_effect() {
    let store = store();
    store.set_script(|_: &Request<'_>| Fault::lost_reply());
    assert_eq!(create(&store, "k", b"1").await, Err(StoreErrorKind::OutcomeUnknown));
    assert_eq!(&store.snapshot()["k"][..], b"1");
}

#[tokio::test(start_paused = true)]
async fn a_late_effect_still_heeds_its_precondition() {
    let store = store();
    store.set_script(|r: &Request<'_>| if r.attempt == 1 { Fault::late(Duration::from_secs(9)) } else { Fault::none() });
    assert_eq!(create(&store, "free", b"late").await, Err(StoreErrorKind::OutcomeUnknown));
    assert_eq!(create(&store, "taken", b"late").await, Err(StoreErrorKind::OutcomeUnknown));
    create(&store, "taken", b"first").await.unwrap();
    assert!(!store.snapshot().contains_key("free"));
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(&store.snapshot()["free"][..], b"late");
    assert_eq!(&store.snapshot()["taken"][..], b"first");
}

#[tokio::test(start_paused = true)]
async fn a_sent_put_arrives_after_its_caller_is_gone() {
    let store = store();
    store.set_script(|r: &Request<'_>| {
        let slow = Fault::none().before(Duration::from_secs(5));
        if r.key == "sent" { slow.detached() } else { slow }
    });
    for key in ["sent", "unsent"] {
        let cancelled = tokio::time::timeout(Duration::from_secs(1), create(&store, key, b"x")).await;
        assert!(cancelled.is_err());
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(store.snapshot().keys().collect::<Vec<_>>(), ["sent"]);
}

#[tokio::test(start_paused = true)]
async fn a_hang_never_answers_but_may_have_an_effect() {
    let store = store();
    store.set_script(|r: &Request<'_>| if r.key == "with" { Fault::hang_after_effect() } else { Fault::hang() });
    for key in ["with", "without"] {
        assert!(tokio::time::timeout(Duration::from_secs(3600), create(&store, key, b"x")).await.is_err());
    }
    assert_eq!(store.snapshot().keys().collect::<Vec<_>>(), ["with"]);
}

#[tokio::test(start_paused = true)]
async fn a_gate_holds_until_it_opens() {
    let store = store();
    let gate = Gate::new();
    let held = gate.clone();
    store.set_script(move |_: &Request<'_>| Fault::none().held(&held));
    let put = tokio::spawn({
        let store = store.clone();
        async move { create(&store, "k", b"x").await }
    });
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(store.snapshot().is_empty());
    gate.open();
    put.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn damage_and_delays_are_as_scripted() {
    let store = store();
    create(&store, "k", b"abcd").await.unwrap();
    store.set_script(|r: &Request<'_>| match r.attempt {
        1 => Fault::damaged(Damage::Truncate(3)),
        2 => Fault::damaged(Damage::Flip(5)),
        3 => Fault::fail(StoreErrorKind::Conflict),
        _ => Fault::none().before(Duration::from_secs(1)).after(Duration::from_secs(2)),
    });
    assert_eq!(&store.get("k", GetRange::Full).await.unwrap().bytes[..], b"a");
    assert_eq!(&store.get("k", GetRange::Full).await.unwrap().bytes[..], b"accd");
    assert_eq!(store.get("k", GetRange::Full).await.unwrap_err().kind, StoreErrorKind::Conflict);
    let start = env::now();
    assert_eq!(&store.get("k", GetRange::Full).await.unwrap().bytes[..], b"abcd");
    assert_eq!(env::now() - start, Duration::from_secs(3));
    assert_eq!(store.bytes_down(), 1 + 4 + 4);
}

#[tokio::test]
async fn the_log_tells_operation_key_range_and_mode() {
    let store = store();
    create(&store, "a/b", b"xy").await.unwrap();
    store.get("a/b", GetRange::Tail(1)).await.unwrap();
    store.list("a/", None, 9).await.unwrap();
    store.delete(&["a/b".to_owned(), "a/c".to_owned()]).await.unwrap();
    let log = store.log();
    let told: Vec<_> = log.iter().map(|r| (r.operation, r.key.as_str())).collect();
    let expected =
        [(Operation::Put, "a/b"), (Operation::Get, "a/b"), (Operation::List, "a/"), (Operation::Delete, "a/b"), (Operation::Delete, "a/c")];
    assert_eq!(told, expected);
    assert_eq!((log[0].mode.clone(), log[0].size), (Some(PutMode::Create), 2));
    assert_eq!(log[1].range, Some(GetRange::Tail(1)));
    assert_eq!((store.requests(Operation::Delete), store.bytes_up()), (1, 2));
}
