use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use crate::config::PolicySettings;
use crate::policy::guard::{Fault, FaultClass, FaultSink, PolicyFault};
use crate::policy::kinds::{Flush, InitRequest, Policy, PolicySource};
use crate::policy::types::{Context, FlushBounds, FlushDecision, FlushView};
use crate::policy::{ActiveBinding, Kind, Policies, PolicyHost};

/// Fails on views with so many bytes, the first few times.
struct Allergic {
    bytes: u64,
    class: FaultClass,
    times: Arc<AtomicU32>,
}

impl Policy<Flush> for Allergic {
    fn decide(&mut self, view: &FlushView) -> Result<FlushDecision, Fault> {
        if view.buffered_bytes == self.bytes && self.times.load(SeqCst) > 0 {
            self.times.fetch_sub(1, SeqCst);
            return Err(Fault::new(self.class, "told to fail"));
        }
        Ok(FlushDecision::Wait(FlushBounds::NONE))
    }
}

impl PolicySource for Allergic {
    fn name(&self) -> &str {
        "allergic"
    }
    fn version(&self) -> &str {
        "1"
    }
    fn digest(&self) -> &str {
        "sha256:allergic"
    }
    fn kinds(&self) -> Vec<Kind> {
        vec![Kind::Flush]
    }
    fn flush(&self, _: &InitRequest<'_>) -> Result<Box<dyn Policy<Flush>>, Fault> {
        Ok(Box::new(Allergic { bytes: self.bytes, class: self.class, times: self.times.clone() }))
    }
}

const LIVE: u64 = 777_777;

fn host() -> PolicyHost {
    let sink: FaultSink = Arc::new(|_: &PolicyFault| {});
    PolicyHost::inline(PolicySettings::default(), Arc::default(), sink)
}

fn binding(pattern: &str, bytes: u64, class: FaultClass, times: u32) -> ActiveBinding {
    let plugin: Arc<dyn PolicySource> = Arc::new(Allergic { bytes, class, times: Arc::new(AtomicU32::new(times)) });
    let config = serde_json::Value::Null;
    ActiveBinding { pattern: pattern.into(), kind: Kind::Flush, plugin: Ok(plugin), config, source: "test".into() }
}

/// A host whose topic `orders` showed a view of [`LIVE`] bytes to a healthy policy.
fn with_a_live_view() -> PolicyHost {
    let host = host();
    host.set_bindings(vec![binding("*", 0, FaultClass::Trap, 0)]).unwrap();
    host.flush("orders", &Context::default()).decide(&FlushView { buffered_bytes: LIVE, ..FlushView::default() });
    host
}

#[tokio::test]
async fn what_fails_on_a_recent_view_of_its_topics_is_refused() {
    let host = with_a_live_view();
    let error = host.trial(&binding("ord*", LIVE, FaultClass::Trap, 1), &Context::default()).await.unwrap_err();
    assert_eq!(error.class(), FaultClass::CanaryFailed);
    assert!(error.problem().contains("topic orders") && error.problem().contains("call.trap: told to fail"), "{error}");
    assert_eq!(host.status()[0].total.faults, 0, "what is tried out is not held against what is bound");
}

#[tokio::test]
async fn views_of_other_topics_do_not_matter() {
    let host = with_a_live_view();
    host.trial(&binding("logs-*", LIVE, FaultClass::Trap, 1), &Context::default()).await.unwrap();
}

#[tokio::test]
async fn where_nothing_was_seen_everyday_views_are_shown() {
    let first = 1_000;
    let error = host().trial(&binding("*", first, FaultClass::Trap, 1), &Context::default()).await.unwrap_err();
    assert_eq!(error.class(), FaultClass::CanaryFailed);
    assert!(error.problem().contains("an everyday view"), "{error}");
}

#[tokio::test]
async fn a_stalled_machine_refuses_no_policy_and_a_slow_policy_is_refused() {
    let host = with_a_live_view();
    host.trial(&binding("*", LIVE, FaultClass::Timeout, 2), &Context::default()).await.unwrap();
    let error = host.trial(&binding("*", LIVE, FaultClass::Timeout, 3), &Context::default()).await.unwrap_err();
    assert_eq!(error.class(), FaultClass::CanaryFailed);
}

#[tokio::test]
async fn a_policy_is_tried_on_what_it_decides_only() {
    let wrong = ActiveBinding { kind: Kind::Index, ..binding("*", 0, FaultClass::Trap, 0) };
    let error = host().trial(&wrong, &Context::default()).await.unwrap_err();
    assert_eq!(error.class(), FaultClass::MissingExport);
    assert!(error.problem().contains("decides flush, not index"), "{error}");
}
