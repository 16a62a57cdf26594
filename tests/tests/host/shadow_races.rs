//! Promotion of a candidate that races with other requests about it: every answer agrees with what is bound and what runs on.

use futures::FutureExt;
use tidegate::policy::Kind;
use tidegate::runtime::Bind;
use tidegate::{ErrorKind, Storage};
use tidegate_tests::plugins::binding;
use tidegate_tests::world::World;

fn candidate(by: &str, spacing_bytes: u64) -> Bind {
    binding(by, "*", spacing_bytes)
}

async fn shadowed() -> Storage {
    let host = World::default().open().await;
    host.shadow(candidate("ann", 8_192)).await.unwrap();
    host
}

fn bound(host: &Storage) -> usize {
    host.bindings().bindings.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_that_is_being_promoted_is_not_dropped() {
    let host = shadowed().await;
    let (promoted, dropped) = tokio::join!(host.promote_shadow("*", Kind::Index, "bob"), async { host.drop_shadow("*", Kind::Index) });
    promoted.unwrap();
    let refusal = dropped.unwrap_err();
    assert!(refusal.kind() == ErrorKind::Conflict && refusal.message().contains("is being promoted"), "{refusal}");
    assert_eq!((bound(&host), host.policy_shadows().len()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_is_promoted_once() {
    let host = shadowed().await;
    let (first, second) = tokio::join!(host.promote_shadow("*", Kind::Index, "bob"), host.promote_shadow("*", Kind::Index, "cyd"));
    first.unwrap();
    assert_eq!(second.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!((host.bindings().bindings[0].by.as_str(), host.policy_shadows().len()), ("bob", 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_whose_promotion_nobody_waits_for_can_be_dropped() {
    let host = shadowed().await;
    assert!(host.promote_shadow("*", Kind::Index, "bob").now_or_never().is_none(), "it is done at once");
    host.drop_shadow("*", Kind::Index).unwrap();
    assert_eq!((bound(&host), host.policy_shadows().len()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_that_comes_during_a_promotion_runs_on() {
    let host = shadowed().await;
    let mut promotion = Box::pin(host.promote_shadow("*", Kind::Index, "bob"));
    assert!(promotion.as_mut().now_or_never().is_none(), "it is done at once");
    host.shadow(candidate("cyd", 16_384)).await.unwrap();
    promotion.await.unwrap();
    assert_eq!((bound(&host), host.policy_shadows()[0].by.as_str()), (1, "cyd"));
    host.drop_shadow("*", Kind::Index).unwrap();
}
