use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

use parking_lot::Mutex;

use super::*;
use crate::policy::guard::{BreakerState, Fault, PolicyFault};
use crate::policy::kinds::{Policy, PolicySource};
use crate::policy::types::{FlushBounds, FlushDecision, FlushView};

/// A native policy that flushes at so many bytes, and fails while it is told to.
struct Scripted {
    digest: String,
    bytes: u64,
    failing: Arc<AtomicBool>,
    refusing: bool,
    made: Arc<AtomicU32>,
    fails_for: Option<&'static str>,
}

impl Scripted {
    fn new(bytes: u64) -> Self {
        Self { digest: format!("sha256:{bytes}"), bytes, failing: Arc::default(), refusing: false, made: Arc::default(), fails_for: None }
    }
}

struct ScriptedInstance {
    bytes: u64,
    failing: Arc<AtomicBool>,
}

impl Policy<Flush> for ScriptedInstance {
    fn decide(&mut self, _: &FlushView) -> Result<FlushDecision, Fault> {
        if self.failing.load(SeqCst) {
            return Err(Fault::new(FaultClass::Trap, "told to fail"));
        }
        Ok(FlushDecision::Wait(FlushBounds { bytes: self.bytes, ..FlushBounds::NONE }))
    }
}

impl PolicySource for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }
    fn version(&self) -> &str {
        "1"
    }
    fn digest(&self) -> &str {
        &self.digest
    }
    fn kinds(&self) -> Vec<Kind> {
        vec![Kind::Flush]
    }
    fn flush(&self, request: &InitRequest<'_>) -> Result<Box<dyn Policy<Flush>>, Fault> {
        self.made.fetch_add(1, SeqCst);
        if self.refusing {
            return Err(Fault::new(FaultClass::ConfigRejected, format!("no such key in {}", request.config)));
        }
        let failing = match self.fails_for {
            Some(topic) => Arc::new(AtomicBool::new(topic == request.topic)),
            None => self.failing.clone(),
        };
        Ok(Box::new(ScriptedInstance { bytes: self.bytes, failing }))
    }
}

fn host() -> (PolicyHost, Arc<Mutex<Vec<PolicyFault>>>) {
    let faults = Arc::new(Mutex::new(Vec::new()));
    let seen = faults.clone();
    let sink: FaultSink = Arc::new(move |fault: &PolicyFault| seen.lock().push(fault.clone()));
    (PolicyHost::inline(PolicySettings::default(), Arc::default(), sink), faults)
}

fn bind(pattern: &str, plugin: Scripted) -> ActiveBinding {
    let config = serde_json::json!({"bytes": plugin.bytes});
    ActiveBinding { pattern: pattern.into(), kind: Kind::Flush, plugin: Ok(Arc::new(plugin)), config, source: "test".into() }
}

/// The size that a decision waits for; the built-in's is 8 MiB.
fn bytes(policy: &mut Box<dyn FlushPolicy>) -> u64 {
    match policy.decide(&FlushView::default()) {
        FlushDecision::Wait(bounds) => bounds.bytes,
        FlushDecision::Now => panic!("an empty buffer is not flushed"),
    }
}

const BUILT_IN: u64 = 8 << 20;

#[test]
fn the_last_binding_that_matches_wins_and_the_built_in_has_the_rest() {
    let (host, _) = host();
    host.set_bindings(vec![bind("logs-*", Scripted::new(10_000)), bind("logs-a*", Scripted::new(20_000))]).unwrap();
    let decided = |topic: &str| bytes(&mut host.flush(topic, &Context::default()));
    assert_eq!((decided("logs-b"), decided("logs-a"), decided("orders")), (10_000, 20_000, BUILT_IN));
    assert_eq!(host.in_force(Kind::Flush, "logs-a"), Some(1));
    assert_eq!(host.in_force(Kind::Index, "logs-a"), None);
}

#[test]
fn an_instance_follows_rebinding_between_two_calls() {
    let (host, _) = host();
    let mut policy = host.flush("t", &Context::default());
    assert_eq!(bytes(&mut policy), BUILT_IN);
    for size in [10_000, 20_000] {
        host.set_bindings(vec![bind("t", Scripted::new(size))]).unwrap();
        assert_eq!(bytes(&mut policy), size);
    }
    host.set_bindings(Vec::new()).unwrap();
    assert_eq!(bytes(&mut policy), BUILT_IN);
}

#[test]
fn the_same_digest_and_config_keeps_its_instances_and_figures() {
    let (host, _) = host();
    let first = Scripted::new(10_000);
    let made = first.made.clone();
    host.set_bindings(vec![bind("t", first)]).unwrap();
    let mut policy = host.flush("t", &Context::default());
    bytes(&mut policy);
    host.set_bindings(vec![bind("other", Scripted::new(1)), bind("t", Scripted::new(10_000))]).unwrap();
    bytes(&mut policy);
    assert_eq!(made.load(SeqCst), 1);
    let status = host.status();
    assert_eq!((status[1].total.calls, status[1].generation, status[0].generation), (2, 1, 2));
}

#[test]
fn a_policy_that_cannot_be_made_leaves_the_old_one_in_place() {
    let (host, faults) = host();
    host.set_bindings(vec![bind("t", Scripted::new(10_000))]).unwrap();
    let mut policy = host.flush("t", &Context::default());
    assert_eq!(bytes(&mut policy), 10_000);
    host.set_bindings(vec![bind("t", Scripted { refusing: true, ..Scripted::new(20_000) })]).unwrap();
    assert_eq!(bytes(&mut policy), 10_000);
    assert_eq!(faults.lock()[0].class, FaultClass::ConfigRejected);
}

#[tokio::test]
async fn a_refused_config_reaches_whoever_binds() {
    let (host, _) = host();
    let refusing = bind("t", Scripted { refusing: true, ..Scripted::new(1) });
    let error = host.try_binding(&refusing, &Context::default()).await.unwrap_err();
    assert_eq!(error.class(), FaultClass::ConfigRejected);
    assert!(error.problem().contains("no such key"), "{error}");
    host.try_binding(&bind("t", Scripted::new(1)), &Context::default()).await.unwrap();
}

#[test]
fn a_wrong_binding_changes_nothing() {
    let (host, _) = host();
    host.set_bindings(vec![bind("t", Scripted::new(10_000))]).unwrap();
    assert_eq!(host.set_bindings(vec![bind("[", Scripted::new(1))]).unwrap_err().kind(), ErrorKind::InvalidInput);
    let wrong_kind = ActiveBinding { kind: Kind::Index, ..bind("t", Scripted::new(1)) };
    assert!(host.set_bindings(vec![wrong_kind]).unwrap_err().message().contains("decides flush, not index"));
    assert_eq!(bytes(&mut host.flush("t", &Context::default())), 10_000);
}

#[tokio::test(start_paused = true)]
async fn a_failing_policy_is_answered_for_in_the_same_call_and_quarantined() {
    let (host, faults) = host();
    let plugin = Scripted::new(10_000);
    let (failing, made) = (plugin.failing.clone(), plugin.made.clone());
    host.set_bindings(vec![bind("t", plugin)]).unwrap();
    let mut policy = host.flush("t", &Context::default());
    assert_eq!(bytes(&mut policy), 10_000);
    failing.store(true, SeqCst);
    for _ in 0..20 {
        assert_eq!(bytes(&mut policy), BUILT_IN);
    }
    assert_eq!(faults.lock().len(), 3, "the breaker opens after three");
    let status = host.status().remove(0);
    assert_eq!((status.total.breaker, status.total.faults, status.total.fallbacks), (BreakerState::Open, 3, 20));
    assert!(status.degraded.contains("told to fail"), "{}", status.degraded);

    failing.store(false, SeqCst);
    let before = made.load(SeqCst);
    tokio::time::advance(std::time::Duration::from_secs(29)).await;
    assert_eq!((bytes(&mut policy), made.load(SeqCst)), (BUILT_IN, before));
    tokio::time::advance(std::time::Duration::from_secs(1)).await;
    assert_eq!(bytes(&mut policy), 10_000);
    assert_eq!(host.status()[0].total.breaker, BreakerState::Probing);
    tokio::time::advance(std::time::Duration::from_secs(600)).await;
    assert_eq!(host.status()[0].degraded, "");
}

#[test]
fn a_fault_in_one_topic_leaves_the_others_alone() {
    let (host, _) = host();
    host.set_bindings(vec![bind("*", Scripted { fails_for: Some("bad"), ..Scripted::new(10_000) })]).unwrap();
    let (mut bad, mut good) = (host.flush("bad", &Context::default()), host.flush("good", &Context::default()));
    for _ in 0..10 {
        assert_eq!((bytes(&mut bad), bytes(&mut good)), (BUILT_IN, 10_000));
    }
    let status = host.status().remove(0);
    let of = |topic: &str| status.topics.iter().find(|it| it.topic == topic).unwrap().faults;
    assert_eq!((of("bad"), of("good")), (3, 0));
}

#[test]
fn a_plugin_that_this_host_lacks_is_shown_and_answered_for() {
    let (host, _) = host();
    let lacking = ActiveBinding { plugin: Err("the component is gone from the store".into()), ..bind("t", Scripted::new(1)) };
    host.set_bindings(vec![lacking]).unwrap();
    assert_eq!(bytes(&mut host.flush("t", &Context::default())), BUILT_IN);
    assert!(host.status()[0].degraded.contains("gone from the store"));
}

#[test]
fn answers_are_clamped_and_counted() {
    let (host, _) = host();
    host.set_bindings(vec![bind("t", Scripted::new(0))]).unwrap();
    let mut policy = host.flush("t", &Context::default());
    assert_eq!(bytes(&mut policy), crate::policy::guard::clamp::MIN_FLUSH_BYTES);
    assert_eq!(host.status()[0].total.clamps, 1);
}

#[test]
fn instances_are_made_in_the_background() {
    let sink: FaultSink = Arc::new(|_: &PolicyFault| {});
    let host = PolicyHost::new(PolicySettings::default(), Arc::default(), sink);
    host.set_bindings(vec![bind("t", Scripted::new(10_000))]).unwrap();
    let mut policy = host.flush("t", &Context::default());
    let mut decided = bytes(&mut policy);
    while decided != 10_000 {
        assert_eq!(decided, BUILT_IN);
        std::thread::yield_now();
        decided = bytes(&mut policy);
    }
}

#[test]
fn beyond_the_instances_that_a_host_may_hold_the_built_in_decides() {
    let settings = PolicySettings { instances: 2, ..PolicySettings::default() };
    let host = PolicyHost::inline(settings, Arc::default(), Arc::new(|_: &PolicyFault| {}));
    host.set_bindings(vec![bind("t", Scripted::new(10_000))]).unwrap();
    let mut owners: Vec<_> = (0..3).map(|_| host.flush("t", &Context::default())).collect();
    assert_eq!(owners.iter_mut().map(bytes).collect::<Vec<_>>(), [10_000, 10_000, BUILT_IN]);
    let total = host.status()[0].total.clone();
    assert_eq!((total.instances, total.faults, total.fallbacks), (2, 0, 1));
    owners.remove(0);
    assert_eq!(owners.iter_mut().map(bytes).collect::<Vec<_>>(), [10_000, 10_000], "what was given back is there for others");
}
