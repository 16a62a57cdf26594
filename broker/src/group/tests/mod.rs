use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::ResponseError::*;

use self::kit::{DELAY, REBALANCE, SESSION, World, join, protocols, who};
use super::heartbeat::Who;
use super::join::Join;
use super::state::Rules;

mod interleavings;
mod kit;
mod statics;

#[test]
fn members_that_come_together_are_one_generation() {
    let mut world = World::new();
    let first = world.join(join(""));
    world.pass(DELAY / 2);
    let second = world.join(join(""));
    assert!(world.joins.is_empty(), "nobody is answered before the delay has passed");
    world.pass(DELAY);
    let (first, second) = (world.joined(first), world.joined(second));
    assert_eq!((first.generation, second.generation), (1, 1));
    assert_eq!((&first.leader, &second.leader), (&first.member, &first.member));
    assert_eq!(first.members.len(), 2, "the leader hears of all");
    assert!(second.members.is_empty());
    assert_eq!((&*first.protocol, &*first.protocol_type), ("range", "consumer"));
}

#[test]
fn everybody_gets_what_the_leader_assigned() {
    let mut world = World::new();
    let (a, b) = (world.join(join("")), world.join(join("")));
    world.pass(DELAY);
    let (a, b) = (world.joined(a).member, world.joined(b).member);
    let follower = world.sync(who(&b), 1, &[]);
    assert!(world.syncs.is_empty());
    let leader = world.sync(who(&a), 1, &[(&a, "for a"), (&b, "for b"), ("stranger", "x")]);
    assert_eq!((world.synced(leader).unwrap(), world.synced(follower).unwrap()), ("for a".into(), "for b".into()));
    let again = world.sync(who(&b), 1, &[]);
    assert_eq!(world.synced(again).unwrap(), "for b", "a lost answer is given again");
}

#[test]
fn a_first_join_is_told_an_id_to_come_again_with() {
    let mut world = World::new();
    let asked = world.join(Join { comes_again: true, ..join("") });
    assert_eq!(world.join_error(asked), MemberIdRequired);
    let id = world.joins[&asked].clone().unwrap_err().member;
    assert!(!world.group.is_idle(), "somebody is about to join");
    let joined = world.join(Join { comes_again: true, ..join(&id) });
    world.pass(DELAY);
    assert_eq!(world.joined(joined).member, id);
}

#[test]
fn a_promised_id_lapses() {
    let mut world = World::new();
    let asked = world.join(Join { comes_again: true, ..join("") });
    let id = world.joins[&asked].clone().unwrap_err().member;
    world.pass(SESSION);
    assert!(world.group.is_idle());
    let late = world.join(Join { comes_again: true, ..join(&id) });
    assert_eq!(world.join_error(late), UnknownMemberId);
}

#[test]
fn a_newcomer_makes_everybody_join_again() {
    let mut world = World::new();
    let ids = world.stable(vec![join(""), join("")]);
    assert_eq!(world.heartbeat(&ids[0], 1), Ok(()));
    let third = world.join(join(""));
    assert_eq!(world.heartbeat(&ids[0], 1), Err(RebalanceInProgress));
    assert_eq!(world.commit(&ids[0], 1), Ok(()), "partitions are given up with their offsets committed");
    let (first, second) = (world.join(join(&ids[0])), world.join(join(&ids[1])));
    for ticket in [first, second, third] {
        assert_eq!(world.joined(ticket).generation, 2);
        assert_eq!(world.joined(ticket).leader, ids[0], "the leader stays");
    }
    assert_eq!(world.commit(&ids[0], 2), Err(RebalanceInProgress), "the assignment is not known yet");
    assert_eq!(world.commit(&ids[0], 1), Err(IllegalGeneration));
}

#[test]
fn who_does_not_join_again_in_time_is_out() {
    let mut world = World::new();
    let ids = world.stable(vec![join(""), join("")]);
    let third = world.join(join(""));
    let second = world.join(join(&ids[1]));
    for _ in 0..20 {
        world.pass(SESSION / 2);
        let _ = world.heartbeat(&ids[0], 1);
    }
    assert_eq!(world.joined(second).generation, 2);
    let leader = world.joined(third).leader;
    assert_ne!(leader, ids[0], "another one leads");
    assert_eq!(world.heartbeat(&ids[0], 1), Err(UnknownMemberId));
}

#[test]
fn a_silent_member_is_out_and_the_others_go_on() {
    let mut world = World::new();
    let ids = world.stable(vec![join(""), join("")]);
    world.pass(SESSION / 2);
    world.heartbeat(&ids[0], 1).unwrap();
    world.pass(SESSION / 2);
    assert_eq!(world.expired, 1);
    assert_eq!(world.heartbeat(&ids[1], 1), Err(UnknownMemberId));
    assert_eq!(world.heartbeat(&ids[0], 1), Err(RebalanceInProgress));
    let again = world.join(join(&ids[0]));
    assert_eq!((world.joined(again).generation, world.joined(again).members.len()), (2, 1));
}

#[test]
fn waiting_members_do_not_have_to_speak() {
    let mut world = World::new();
    let ids = world.stable(vec![join(""), join("")]);
    let third = world.join(join(""));
    for _ in 0..10 {
        world.pass(SESSION / 2);
        for id in &ids {
            assert_eq!(world.heartbeat(id, 1), Err(RebalanceInProgress));
        }
    }
    assert!(!world.joins.contains_key(&third), "it still waits, and is still a member");
    assert_eq!((world.group.member_count(), world.expired), (3, 0));
}

#[test]
fn a_member_that_never_asks_for_its_assignment_is_out() {
    let mut world = World::new();
    let (a, b) = (world.join(join("")), world.join(join("")));
    world.pass(DELAY);
    let (a, b) = (world.joined(a).member, world.joined(b).member);
    let waiting = world.sync(who(&b), 1, &[]);
    for _ in 0..13 {
        let _ = world.heartbeat(&a, 1);
        world.pass(REBALANCE / 12);
    }
    assert_eq!(world.synced(waiting), Err(RebalanceInProgress), "a leader that lives and does nothing holds nobody up for ever");
    assert_eq!(world.heartbeat(&a, 1), Err(UnknownMemberId));
}

#[test]
fn leaving_is_heard_at_once() {
    let mut world = World::new();
    let ids = world.stable(vec![join(""), join("")]);
    assert_eq!(world.leave(&[who(&ids[0])]), [Ok(())]);
    assert_eq!(world.leave(&[who(&ids[0])]), [Err(UnknownMemberId)]);
    let again = world.join(join(&ids[1]));
    assert_eq!(world.joined(again).leader, ids[1]);
    assert_eq!(world.leave(&[who(&ids[1])]), [Ok(())]);
    assert_eq!((world.group.state().name(), world.group.generation), ("Empty", 3));
    assert!(world.group.is_idle() && world.group.has_history());
}

#[test]
fn a_member_that_leaves_while_others_wait_holds_nobody_up() {
    let mut world = World::new();
    let ids = world.stable(vec![join(""), join("")]);
    let third = world.join(join(""));
    let first = world.join(join(&ids[0]));
    assert_eq!(world.leave(&[who(&ids[1])]), [Ok(())]);
    assert_eq!((world.joined(first).generation, world.joined(third).generation), (2, 2));
}

#[test]
fn the_protocol_that_most_prefer_and_all_know_is_chosen() {
    let mut world = World::new();
    let of = |names: &[&str]| Join { protocols: protocols(names, "t"), ..join("") };
    let tickets = [of(&["new", "sticky", "range"]), of(&["sticky", "range"]), of(&["range", "sticky"])].map(|join| world.join(join));
    world.pass(DELAY);
    assert_eq!(&*world.joined(tickets[0]).protocol, "sticky");
}

#[test]
fn protocols_that_do_not_go_together_are_refused() {
    let mut world = World::new();
    let nothing = world.join(Join { protocols: Vec::new(), ..join("") });
    assert_eq!(world.join_error(nothing), InconsistentGroupProtocol);
    let ids = world.stable(vec![join(""), join("")]);
    let other = world.join(Join { protocols: protocols(&["other"], "t"), ..join("") });
    assert_eq!(world.join_error(other), InconsistentGroupProtocol);
    let connect = world.join(Join { protocol_type: "connect".into(), ..join("") });
    assert_eq!(world.join_error(connect), InconsistentGroupProtocol);
    assert_eq!(world.heartbeat(&ids[0], 1), Ok(()), "the members do not notice");
}

#[test]
fn a_subscription_that_changes_is_shared_out_anew_and_one_that_does_not_is_not() {
    let mut world = World::new();
    let ids = world.stable(vec![join(""), join("")]);
    let follower = world.join(join(&ids[1]));
    assert_eq!((world.joined(follower).generation, world.heartbeat(&ids[0], 1)), (1, Ok(())));
    world.join(Join { protocols: protocols(&["range"], "more topics"), ..join(&ids[1]) });
    assert_eq!(world.heartbeat(&ids[0], 1), Err(RebalanceInProgress));
    let mut world = World::new();
    let ids = world.stable(vec![join(""), join("")]);
    world.join(join(&ids[0]));
    assert_eq!(world.heartbeat(&ids[1], 1), Err(RebalanceInProgress), "a leader joins again when partitions have changed");
}

#[test]
fn a_group_and_a_member_have_bounds() {
    let mut world = World::new();
    let tickets: Vec<_> = (0..6).map(|_| world.join(join(""))).collect();
    assert_eq!(world.join_error(tickets[5]), GroupMaxSizeReached);
    let mut world = World::with(Rules { initial_delay: DELAY, members: 5, bytes: 1_000 });
    let large = world.join(Join { protocols: protocols(&["range"], &"x".repeat(1_001)), ..join("") });
    assert_eq!(world.join_error(large), GroupMaxSizeReached);
}

#[test]
fn strangers_are_told_so() {
    let mut world = World::new();
    let lost = world.join(join("stranger"));
    assert_eq!(world.join_error(lost), UnknownMemberId);
    let ids = world.stable(vec![join("")]);
    let errors: [(ResponseError, Result<(), ResponseError>); 4] = [
        (UnknownMemberId, world.heartbeat("stranger", 1)),
        (IllegalGeneration, world.heartbeat(&ids[0], 2)),
        (UnknownMemberId, world.commit("", -1)),
        (IllegalGeneration, world.commit(&ids[0], 0)),
    ];
    for (expected, found) in errors {
        assert_eq!(found, Err(expected));
    }
    let sync = world.sync(who("stranger"), 1, &[]);
    assert_eq!(world.synced(sync), Err(UnknownMemberId));
    assert_eq!(World::new().commit("", -1), Ok(()), "offsets may be kept without membership in an empty group");
    assert_eq!(World::new().commit("m", 1), Err(UnknownMemberId));
}

#[test]
fn a_dead_group_sends_everybody_away() {
    let mut world = World::new();
    world.group.die();
    let join = world.join(join(""));
    assert_eq!(world.join_error(join), CoordinatorNotAvailable);
    assert_eq!(world.heartbeat("m", 1), Err(CoordinatorNotAvailable));
    assert_eq!(world.commit("", -1), Err(CoordinatorNotAvailable));
    assert_eq!(world.group.leave(world.now, &[Who { member: "m", instance: None }]), Err(CoordinatorNotAvailable));
}

#[test]
fn without_a_delay_the_first_member_begins_at_once() {
    let mut world = World::with(Rules { initial_delay: Duration::ZERO, members: 5, bytes: 1 << 20 });
    let ticket = world.join(join(""));
    assert_eq!(world.joined(ticket).generation, 1);
}
