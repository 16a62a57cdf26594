//! Policies bound at run time: they outlive the host, reach other hosts, and fail softly.

use tidegate::ErrorKind;
use tidegate::config::BindingRule;
use tidegate::policy::Kind;
use tidegate::runtime::Bind;
use tidegate_tests::plugins::{fixed_index, index_with_limit};
use tidegate_tests::records::one;
use tidegate_tests::world::{World, at, commit, create, until, value};

fn bind(pattern: &str, component: Vec<u8>) -> Bind {
    Bind {
        pattern: pattern.to_owned(),
        kind: Kind::Index,
        component: component.into(),
        source: "a test".to_owned(),
        config: serde_json::json!({}),
        by: "tester".to_owned(),
        digest: None,
        signature: None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_binding_outlives_its_host_and_reaches_others() {
    let world = World::with(|s| s.host.metadata_interval_ms = 1_000);
    let host = world.open().await;
    let other = world.open().await;
    let set = host.bind(bind("orders*", fixed_index(8_192))).await.unwrap().set;
    assert_eq!((set.generation, set.bindings.len()), (1, 1));
    assert_eq!(set.bindings[0].by, "tester");
    // Components are compiled on a thread of their own, in real time.
    until("the other host follows", || other.bindings() == set).await;
    assert_eq!(other.policy_status()[0].plugin, "fixed-index");
    host.close().await.unwrap();

    let next = world.open().await;
    assert_eq!(next.bindings(), set);
    let status = next.policy_status();
    assert_eq!((status[0].plugin.as_str(), status[0].degraded.as_str()), ("fixed-index", ""));

    let topic = create(&next, "orders-eu", 1, 1).await;
    for i in 0..20 {
        commit(&next, at(&topic, 0), one(value(i))).await.unwrap();
    }
    assert_eq!(next.policy_status()[0].total.faults, 0);
    let set = next.unbind("orders*", Kind::Index, "tester").await.unwrap().set;
    assert_eq!((set.generation, set.bindings.len()), (2, 0));
    assert!(next.policy_status().is_empty());
    assert_eq!(next.unbind("orders*", Kind::Index, "tester").await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_bound_leaves_everything_as_it_was() {
    let world = World::default();
    let host = world.open().await;
    let set = host.bind(bind("*", fixed_index(8_192))).await.unwrap().set;
    let components = || world.store.snapshot().into_keys().filter(|key| key.starts_with("plugins/")).count();
    let stored = components();
    let bad =
        [bind("*", b"no component".to_vec()), bind("[", fixed_index(4_096)), Bind { kind: Kind::Flush, ..bind("*", fixed_index(4_096)) }];
    for bind in bad {
        assert_eq!(host.bind(bind).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    let after = host.bindings();
    assert_eq!((after.generation, &after.bindings), (set.generation, &set.bindings));
    assert_eq!((components(), host.policy_status().len()), (stored, 1));
}

#[tokio::test(start_paused = true)]
async fn two_hosts_that_bind_at_once_lose_neither() {
    let world = World::default();
    let (a, b) = (world.open().await, world.open().await);
    let (left, right) = tokio::join!(a.bind(bind("a*", fixed_index(8_192))), b.bind(bind("b*", fixed_index(16_384))));
    left.unwrap();
    right.unwrap();
    let both = world.open().await.bindings();
    let mut patterns: Vec<_> = both.bindings.iter().map(|b| b.pattern.as_str()).collect();
    patterns.sort_unstable();
    assert_eq!((both.generation, patterns), (2, vec!["a*", "b*"]));
}

#[tokio::test(start_paused = true)]
async fn what_the_settings_bind_is_tried_out_too() {
    let directory = tempfile::tempdir().unwrap();
    let rule = |name: &str, component: Vec<u8>| {
        let path = directory.path().join(name);
        std::fs::write(&path, component).unwrap();
        BindingRule {
            pattern: "*".to_owned(),
            kind: Kind::Index,
            plugin: path.display().to_string(),
            digest: None,
            config: toml::Table::new(),
        }
    };
    let rules = vec![rule("good.wasm", fixed_index(8_192)), rule("bad.wasm", index_with_limit(16_384, 500))];
    let world = World::with(|s| s.bindings = rules);
    let host = world.open().await;
    let status = host.policy_status();
    assert_eq!((status[0].degraded.as_str(), status[0].generation), ("", 0));
    assert!(status[1].degraded.contains("swap.canary_failed"), "{}", status[1].degraded);
    let topic = create(&host, "orders", 1, 1).await;
    commit(&host, at(&topic, 0), one(value("the built-in decides"))).await.unwrap();
    assert_eq!(host.policy_status()[1].total.faults, 0, "what was refused is never asked");
}

#[tokio::test(start_paused = true)]
async fn a_lost_component_falls_back_loudly_and_heals() {
    let world = World::with(|s| s.host.metadata_interval_ms = 1_000);
    let host = world.open().await;
    host.bind(bind("*", fixed_index(8_192))).await.unwrap();
    host.close().await.unwrap();
    let (key, bytes) = world.store.snapshot().into_iter().find(|(key, _)| key.starts_with("plugins/")).unwrap();
    world.store.remove(&key);

    let host = world.open().await;
    let status = host.policy_status();
    assert!(status[0].degraded.contains(&key), "{:?} does not name {key}", status[0].degraded);
    let topic = create(&host, "orders", 1, 1).await;
    commit(&host, at(&topic, 0), one(value("the built-in decides"))).await.unwrap();
    world.store.insert(&key, bytes);
    until("the component is loaded", || host.policy_status()[0].degraded.is_empty()).await;
}
