//! Static members: they keep their place while they are away for less than a session.

use kafka_protocol::ResponseError::*;

use super::kit::{REBALANCE, SESSION, World, join, protocols, static_join};
use crate::group::heartbeat::Who;
use crate::group::join::Join;

fn named<'a>(member: &'a str, instance: &'a str) -> Who<'a> {
    Who { member, instance: Some(instance) }
}

#[test]
fn a_static_member_that_comes_back_changes_nothing() {
    let mut world = World::new();
    let ids = world.stable(vec![static_join("a"), static_join("b")]);
    let back = world.join(static_join("b"));
    let joined = world.joined(back);
    assert_eq!((joined.generation, &joined.leader), (1, &ids[0]));
    assert_ne!(joined.member, ids[1]);
    assert_eq!(world.heartbeat(&ids[0], 1), Ok(()), "the other one does not notice");
    let sync = world.sync(named(&joined.member, "b"), 1, &[]);
    assert_eq!(world.synced(sync).unwrap(), &*ids[1], "it has the assignment that it had");
}

#[test]
fn the_one_that_it_was_is_fenced() {
    let mut world = World::new();
    let ids = world.stable(vec![static_join("a"), static_join("b")]);
    world.join(static_join("b"));
    let now = world.now;
    let old = named(&ids[1], "b");
    assert_eq!(world.group.heartbeat(now, &old, 1), Err(FencedInstanceId));
    assert_eq!(world.group.may_commit(now, &old, 1), Err(FencedInstanceId));
    let sync = world.sync(old, 1, &[]);
    assert_eq!(world.synced(sync), Err(FencedInstanceId));
    let join = world.join(Join { member: ids[1].clone(), ..static_join("b") });
    assert_eq!(world.join_error(join), FencedInstanceId);
    assert_eq!(world.leave(&[old]), [Err(FencedInstanceId)]);
    assert_eq!(world.heartbeat(&ids[1], 1), Err(UnknownMemberId), "without its instance it is nobody");
}

#[test]
fn a_leader_that_comes_back_does_not_assign() {
    let mut world = World::new();
    let ids = world.stable(vec![static_join("a"), static_join("b")]);
    let back = world.join(static_join("a"));
    let back = world.joined(back);
    assert!(back.skip_assignment && back.leader == back.member && back.members.len() == 2);
    let old_client = world.join(Join { can_skip: false, ..static_join("a") });
    let joined = world.joined(old_client);
    assert_eq!((&joined.leader, joined.skip_assignment), (&back.member, false), "it does not recognise itself");
    assert_eq!(world.heartbeat(&ids[1], 1), Ok(()));
}

#[test]
fn one_that_comes_back_with_another_subscription_is_shared_out_anew() {
    let mut world = World::new();
    let ids = world.stable(vec![static_join("a"), static_join("b")]);
    let back = world.join(Join { protocols: protocols(&["range"], "other topics"), ..static_join("b") });
    assert_eq!(world.heartbeat(&ids[0], 1), Err(RebalanceInProgress));
    let leader = world.join(Join { member: ids[0].clone(), ..static_join("a") });
    assert_eq!((world.joined(back).generation, world.joined(leader).generation), (2, 2));
}

#[test]
fn one_that_comes_back_during_a_rebalance_is_waited_for_no_more() {
    let mut world = World::new();
    let ids = world.stable(vec![static_join("a"), static_join("b")]);
    let third = world.join(join(""));
    let first = world.join(Join { member: ids[0].clone(), ..static_join("a") });
    let second = world.join(static_join("b"));
    for ticket in [first, second, third] {
        assert_eq!(world.joined(ticket).generation, 2);
    }
}

#[test]
fn one_that_comes_back_before_the_assignment_is_in_the_next() {
    let mut world = World::new();
    let (a, b) = (world.join(static_join("a")), world.join(static_join("b")));
    world.pass(super::kit::DELAY);
    let (a, b) = (world.joined(a).member, world.joined(b).member);
    let waiting = world.sync(named(&b, "b"), 1, &[]);
    let back = world.join(static_join("b"));
    assert_eq!(world.synced(waiting), Err(FencedInstanceId));
    let leader = world.sync(named(&a, "a"), 1, &[(&a, "x"), (&b, "y")]);
    assert_eq!(world.synced(leader), Err(RebalanceInProgress), "it assigned to one that is no more");
    world.join(Join { member: a, ..static_join("a") });
    assert_eq!(world.joined(back).generation, 2);
}

#[test]
fn an_absent_static_member_keeps_its_place_until_its_session_ends() {
    let mut world = World::new();
    let long = Join { session: 20 * SESSION, ..static_join("b") };
    let ids = world.stable(vec![static_join("a"), long]);
    let third = world.join(join(""));
    let first = world.join(Join { member: ids[0].clone(), ..static_join("a") });
    world.pass(REBALANCE);
    assert_eq!(world.joined(third).generation, 2);
    let leader = world.joined(first);
    let roster: Vec<_> = leader.members.iter().filter_map(|member| member.instance.as_deref()).collect();
    assert_eq!((roster, leader.members.len()), (vec!["a", "b"], 3), "the absent one is assigned to as well");
    world.pass(20 * SESSION);
    assert_eq!(world.group.member_count(), 0);
}

#[test]
fn an_operator_takes_a_static_member_out_by_its_instance() {
    let mut world = World::new();
    let ids = world.stable(vec![static_join("a"), static_join("b")]);
    let left = world.leave(&[named("", "b"), named("", "nobody"), named(&ids[1], "a")]);
    assert_eq!(left, [Ok(()), Err(UnknownMemberId), Err(FencedInstanceId)]);
    assert_eq!(world.heartbeat(&ids[0], 1), Err(RebalanceInProgress));
}

#[test]
fn static_members_that_are_all_away_are_waited_for() {
    let mut world = World::new();
    let quick = |instance| Join { rebalance: SESSION / 5, ..static_join(instance) };
    let ids = world.stable(vec![quick("a"), quick("b")]);
    world.leave(&[named(&ids[0], "a")]);
    world.pass(SESSION / 2);
    assert_eq!(world.group.state().name(), "PreparingRebalance");
    let back = world.join(quick("b"));
    assert_eq!((world.joined(back).generation, world.joined(back).members.len()), (2, 1));
    assert_eq!(world.heartbeat(&ids[1], 2), Err(UnknownMemberId));
}
