//! The history of bindings tells the whole story, to every host and after a restart; and what it tells can be brought back.

use bytes::Bytes;
use tidegate::metadata::{Action, Change};
use tidegate::policy::Kind;
use tidegate::policy::wasm::digest;
use tidegate::runtime::{Bind, RollBack};
use tidegate::store::{Fault, Operation, Request, StoreErrorKind};
use tidegate::{ErrorKind, Storage};
use tidegate_tests::plugins::{binding, fixed_index, index_with_limit};
use tidegate_tests::records::one;
use tidegate_tests::world::{World, at, commit, create, until};

fn bind(by: &str, spacing_bytes: u64) -> Bind {
    binding(by, "*", spacing_bytes)
}

fn back(to: Option<u64>) -> RollBack {
    RollBack { pattern: "*".to_owned(), kind: Kind::Index, to, by: "rolf".to_owned() }
}

fn digest_of(spacing_bytes: u64) -> String {
    digest(&fixed_index(spacing_bytes))
}

/// Digest of what is in force, and whether it decides.
fn in_force(host: &Storage) -> Option<(String, bool)> {
    let status = host.policy_status();
    assert!(status.len() < 2, "one binding at most: {status:?}");
    status.first().map(|status| (status.digest.clone(), status.degraded.is_empty()))
}

fn story(history: &[Change]) -> Vec<(u64, &str, &str, &str)> {
    history.iter().map(|c| (c.generation, c.by.as_str(), c.action.as_str(), c.class.as_str())).collect()
}

fn is_component(key: &str) -> bool {
    key.starts_with("plugins/")
}

#[tokio::test(start_paused = true)]
async fn history_tells_of_changes_and_refusals_to_every_host_and_after_a_restart() {
    let world = World::with(|s| s.host.metadata_interval_ms = 1_000);
    let (host, other) = (world.open().await, world.open().await);
    host.bind(bind("ann", 8_192)).await.unwrap();
    host.bind(Bind { component: Bytes::from_static(b"{}"), ..bind("bob", 0) }).await.unwrap_err();
    host.bind(bind("ann", 16_384)).await.unwrap();
    host.roll_back(back(None)).await.unwrap();
    host.unbind("*", Kind::Index, "ann").await.unwrap();
    let history = host.policy_history();
    let expected = [
        (1, "ann", "set", ""),
        (1, "bob", "refused", "load.not_wasm"),
        (2, "ann", "set", ""),
        (3, "rolf", "rollback", "swap.rolled_back"),
        (4, "ann", "unset", ""),
    ];
    assert_eq!(story(&history), expected);
    assert_eq!((history[2].plugin.as_str(), &history[2].digest), ("fixed-index", &digest_of(16_384)));
    assert!(history[1].message.contains("JSON"), "{}", history[1].message);
    until("the other host hears of it", || other.policy_history() == history).await;
    host.close().await.unwrap();
    assert_eq!(world.open().await.policy_history(), history);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_told_also_when_the_store_was_away() {
    let world = World::default();
    let host = world.open().await;
    world.store.set_script(|r: &Request<'_>| if r.key == "meta/bindings" { Fault::fail(StoreErrorKind::Refused) } else { Fault::none() });
    let refused = host.bind(Bind { component: Bytes::from_static(b"{}"), ..bind("bob", 0) }).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{refused}");
    assert_eq!(story(&host.policy_history()), [(0, "bob", "refused", "load.not_wasm")]);
    world.store.clear_script();
    host.bind(bind("ann", 8_192)).await.unwrap();
    let mut actions: Vec<Action> = world.open().await.policy_history().iter().map(|c| c.action).collect();
    actions.sort_by_key(|action| action.as_str());
    assert_eq!(actions, [Action::Refused, Action::Set]);
}

#[tokio::test(start_paused = true)]
async fn a_rollback_on_the_same_process_reads_no_component() {
    let world = World::default();
    let host = world.open().await;
    host.bind(bind("ann", 8_192)).await.unwrap();
    host.bind(bind("ann", 16_384)).await.unwrap();
    // There is no compile cache; and now neither store nor network has the component.
    let components: Vec<String> = world.store.snapshot().into_keys().filter(|key| is_component(key)).collect();
    assert_eq!(components.iter().filter(|key| world.store.remove(key)).count(), 2);
    world.store.reset_counters();
    host.roll_back(back(None)).await.unwrap();
    assert_eq!(in_force(&host), Some((digest_of(8_192), true)));
    host.roll_back(back(None)).await.unwrap();
    assert_eq!(in_force(&host), Some((digest_of(16_384), true)));
    host.unbind("*", Kind::Index, "ann").await.unwrap();
    host.roll_back(back(Some(1))).await.unwrap();
    assert_eq!(in_force(&host), Some((digest_of(8_192), true)));
    assert_eq!(world.count(Operation::Get, is_component) + world.count(Operation::Put, is_component), 0);
}

#[tokio::test(start_paused = true)]
async fn a_rollback_after_a_restart_loads_from_the_store() {
    let world = World::default();
    let host = world.open().await;
    host.bind(bind("ann", 8_192)).await.unwrap();
    host.bind(bind("ann", 16_384)).await.unwrap();
    host.close().await.unwrap();

    let host = world.open().await;
    assert_eq!(in_force(&host), Some((digest_of(16_384), true)));
    let change = host.roll_back(back(None)).await.unwrap();
    assert_eq!((change.changed, change.set.generation), (true, 3));
    assert_eq!(in_force(&host), Some((digest_of(8_192), true)));
    host.roll_back(back(Some(0))).await.unwrap();
    assert_eq!(in_force(&host), None, "nothing was bound at first");
    assert!(!host.roll_back(back(Some(4))).await.unwrap().changed, "it is there already");
    assert_eq!(host.roll_back(back(Some(9))).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test(start_paused = true)]
async fn a_rollback_to_what_is_lost_changes_nothing_and_says_so() {
    let world = World::default();
    let host = world.open().await;
    host.bind(bind("ann", 8_192)).await.unwrap();
    host.bind(bind("ann", 16_384)).await.unwrap();
    host.close().await.unwrap();
    let host = world.open().await;
    let lost = format!("plugins/{}.wasm", &digest_of(8_192)["sha256:".len()..]);
    assert!(world.store.remove(&lost));
    let error = host.roll_back(back(None)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains(&lost), "{error}");
    assert_eq!(in_force(&host), Some((digest_of(16_384), true)));
}

#[tokio::test(start_paused = true)]
async fn the_same_component_and_config_again_changes_nothing() {
    let world = World::default();
    let host = world.open().await;
    let first = host.bind(bind("ann", 8_192)).await.unwrap();
    let topic = create(&host, "orders", 1, 1).await;
    commit(&host, at(&topic, 0), one(vec![7; 1_000])).await.unwrap();
    let before = host.policy_status();
    let again = host.bind(bind("bob", 8_192)).await.unwrap();
    assert_eq!((first.changed, again.changed), (true, false));
    assert_eq!(again.set, first.set, "no generation, no entry");
    let after = host.policy_status();
    assert_eq!((after[0].generation, after[0].total.calls), (before[0].generation, before[0].total.calls), "its figures go on");
}

#[tokio::test(start_paused = true)]
async fn what_fails_on_a_recent_view_is_refused_and_the_old_policy_stays() {
    let world = World::default();
    let host = world.open().await;
    host.bind(bind("ann", 8_192)).await.unwrap();
    let topic = create(&host, "orders", 1, 1).await;
    // The first instance is made in the background, in real time: until it is there nothing was seen.
    while host.policy_status()[0].total.calls == 0 {
        commit(&host, at(&topic, 0), one(vec![7; 1_000])).await.unwrap();
    }
    let allergic = Bind { component: index_with_limit(16_384, 500).into(), ..bind("bob", 0) };
    let error = host.bind(allergic).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("swap.canary_failed") && error.to_string().contains("topic orders"), "{error}");
    assert_eq!(in_force(&host), Some((digest_of(8_192), true)));
    assert_eq!(host.policy_history()[1].class, "swap.canary_failed");
}

#[tokio::test(start_paused = true)]
async fn a_pinned_digest_is_checked_before_anything_else() {
    let world = World::default();
    let host = world.open().await;
    // Neither a component nor a pattern: the digest comes first.
    let broken = Bind { component: Bytes::from_static(b"{}"), pattern: "[".to_owned(), ..bind("ann", 0) };
    let error = host.bind(Bind { digest: Some(digest_of(8_192)), ..broken }).await.unwrap_err();
    assert!(error.to_string().contains("load.digest_mismatch"), "{error}");
    host.bind(Bind { digest: Some(digest_of(8_192)), ..bind("ann", 8_192) }).await.unwrap();
}
