//! Requests for the same pattern and kind that race: the later one wins, whichever is ready first, and the earlier one is told.
//!
//! One is held while its component is on the way to the store, so that the order is the test's and no accident.

use tidegate::policy::Kind;
use tidegate::policy::wasm::digest;
use tidegate::runtime::{Bind, BindingChange};
use tidegate::store::{Fault, Gate, Operation, Request, StoreErrorKind};
use tidegate::{Error, ErrorKind, Storage};
use tidegate_tests::plugins::{binding, fixed_index};
use tidegate_tests::world::{World, until};
use tokio::task::JoinHandle;

fn key_of(spacing_bytes: u64) -> String {
    format!("plugins/{}.wasm", &digest(&fixed_index(spacing_bytes))["sha256:".len()..])
}

fn is_put(request: &Request<'_>, key: &str) -> bool {
    request.operation == Operation::Put && request.key == key
}

/// Starts a request and waits until its component is on the way to the store: it has arrived, and passed its checks.
async fn started(world: &World, host: &Storage, bind: Bind, spacing_bytes: u64) -> JoinHandle<Result<BindingChange, Error>> {
    let host = host.clone();
    let task = tokio::spawn(async move { host.bind(bind).await });
    until("its component is on the way", || world.count(Operation::Put, |key| key == key_of(spacing_bytes)) > 0).await;
    task
}

fn bound_by(host: &Storage) -> Vec<String> {
    host.bindings().bindings.into_iter().map(|binding| binding.by).collect()
}

fn actions(host: &Storage) -> Vec<(String, &'static str)> {
    host.policy_history().iter().map(|change| (change.by.clone(), change.action.as_str())).collect()
}

#[track_caller]
fn assert_superseded(outcome: Result<BindingChange, Error>, by: &str) {
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("swap.superseded") && error.to_string().contains(by), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_earlier_request_that_is_ready_last_is_superseded() {
    let world = World::default();
    let host = world.open().await;
    let (gate, held) = (Gate::new(), key_of(8_192));
    let shut = gate.clone();
    world.store.set_script(move |r: &Request<'_>| if is_put(r, &held) { Fault::none().held(&shut) } else { Fault::none() });
    let earlier = started(&world, &host, binding("ann", "*", 8_192), 8_192).await;
    host.bind(binding("bob", "*", 16_384)).await.unwrap();
    host.bind(binding("cyd", "logs-*", 4_096)).await.unwrap();
    gate.open();
    assert_superseded(earlier.await.unwrap(), "bob");
    assert_eq!(bound_by(&host), ["bob", "cyd"]);
    assert_eq!(actions(&host), [("bob".into(), "set"), ("cyd".into(), "set"), ("ann".into(), "superseded")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_earlier_request_that_is_ready_first_waits_for_the_later_one_and_is_superseded() {
    let world = World::default();
    let host = world.open().await;
    let (gate, held) = (Gate::new(), key_of(16_384));
    let (shut, first_gate, first_held) = (gate.clone(), Gate::new(), key_of(8_192));
    let first_shut = first_gate.clone();
    world.store.set_script(move |r: &Request<'_>| match r {
        r if is_put(r, &held) => Fault::none().held(&shut),
        r if is_put(r, &first_held) => Fault::none().held(&first_shut),
        _ => Fault::none(),
    });
    let earlier = started(&world, &host, binding("ann", "*", 8_192), 8_192).await;
    let later = started(&world, &host, binding("bob", "*", 16_384), 16_384).await;
    first_gate.open();
    until("the earlier one's component is stored", || world.store.snapshot().contains_key(&key_of(8_192))).await;
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert!(!earlier.is_finished() && bound_by(&host).is_empty(), "it waits for what the later one comes to");
    gate.open();
    assert_superseded(earlier.await.unwrap(), "bob");
    assert!(later.await.unwrap().unwrap().changed);
    assert_eq!(bound_by(&host), ["bob"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_request_that_fails_lets_the_earlier_one_win() {
    let world = World::default();
    let host = world.open().await;
    let (gate, held) = (Gate::new(), key_of(8_192));
    let (shut, failing) = (gate.clone(), key_of(16_384));
    world.store.set_script(move |r: &Request<'_>| match r {
        r if is_put(r, &held) => Fault::none().held(&shut),
        r if is_put(r, &failing) => Fault::fail(StoreErrorKind::Refused),
        _ => Fault::none(),
    });
    let earlier = started(&world, &host, binding("ann", "*", 8_192), 8_192).await;
    host.bind(binding("bob", "*", 16_384)).await.unwrap_err();
    host.bind(Bind { component: bytes::Bytes::from_static(b"{}"), ..binding("cyd", "*", 0) }).await.unwrap_err();
    gate.open();
    assert!(earlier.await.unwrap().unwrap().changed);
    assert_eq!(bound_by(&host), ["ann"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unset_supersedes_what_is_still_being_checked() {
    let world = World::default();
    let host = world.open().await;
    let (gate, held) = (Gate::new(), key_of(8_192));
    let shut = gate.clone();
    world.store.set_script(move |r: &Request<'_>| if is_put(r, &held) { Fault::none().held(&shut) } else { Fault::none() });
    let earlier = started(&world, &host, binding("ann", "*", 8_192), 8_192).await;
    assert!(!host.unbind("*", Kind::Index, "bob").await.unwrap().changed);
    gate.open();
    assert_superseded(earlier.await.unwrap(), "bob");
    assert!(bound_by(&host).is_empty());
}
