//! Random interleavings of everything that members do, and of time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

use super::kit::{REBALANCE, SESSION, World, join, protocols};
use crate::group::heartbeat::Who;
use crate::group::join::Join;
use crate::group::state::MemberId;

/// Something that happens. Numbers pick one of the ids and instances that are known by then.
#[derive(Clone, Debug)]
enum Step {
    Join { member: usize, instance: Option<u8>, comes_again: bool, can_skip: bool, subscription: u8 },
    Sync { member: usize, instance: Option<u8>, old: bool },
    Heartbeat { member: usize, old: bool },
    Commit { member: usize },
    Leave { member: usize, instance: Option<u8> },
    Pass { ms: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let instance = || proptest::option::weighted(0.4, 0u8..3);
    prop_oneof![
        4 => (0usize..12, instance(), any::<bool>(), any::<bool>(), 0u8..3)
            .prop_map(|(member, instance, comes_again, can_skip, subscription)| Step::Join { member, instance, comes_again, can_skip, subscription }),
        4 => (0usize..12, instance(), proptest::bool::weighted(0.1)).prop_map(|(member, instance, old)| Step::Sync { member, instance, old }),
        2 => (0usize..12, proptest::bool::weighted(0.1)).prop_map(|(member, old)| Step::Heartbeat { member, old }),
        1 => (0usize..12).prop_map(|member| Step::Commit { member }),
        1 => (0usize..12, instance()).prop_map(|(member, instance)| Step::Leave { member, instance }),
        3 => (0u64..15_000).prop_map(|ms| Step::Pass { ms }),
    ]
}

/// What clients know.
#[derive(Default)]
struct Clients {
    ids: BTreeSet<MemberId>,
}

impl Clients {
    /// None of them, or one that was heard of.
    fn pick(&self, number: usize) -> MemberId {
        let known = self.ids.iter().rev().take(8).collect::<Vec<_>>();
        if number < 4 { "".into() } else { known.get(number - 4).map_or_else(|| "stranger".into(), |id| (*id).clone()) }
    }
}

/// The instance of a member as it knows it, unless a step says otherwise.
fn instance_of(world: &World, member: &str, other: Option<u8>) -> Option<String> {
    let own = world.group.members.get(member).and_then(|member| member.instance.as_ref()).map(ToString::to_string);
    own.or_else(|| other.map(|number| format!("i{number}")))
}

fn take(world: &mut World, clients: &mut Clients, step: Step) {
    let generation = |old: bool| world.group.generation - i32::from(old);
    match step {
        Step::Join { member, instance, comes_again, can_skip, subscription } => {
            let member = clients.pick(member);
            let instance = instance_of(world, &member, instance).map(|instance| instance.as_str().into());
            let protocols = match subscription {
                0 => protocols(&["sticky", "range"], "a"),
                1 => protocols(&["range"], "a"),
                _ => protocols(&["range", "sticky"], "b"),
            };
            world.join(Join { instance, comes_again, can_skip, protocols, ..join(&member) });
        }
        Step::Sync { member, instance, old } => {
            let member = clients.pick(member);
            let instance = instance_of(world, &member, instance);
            let generation = generation(old);
            let parts: Vec<_> = world.group.members.keys().map(ToString::to_string).collect();
            let parts: Vec<_> = parts.iter().map(|id| (id.as_str(), id.as_str())).collect();
            world.sync(Who { member: &member, instance: instance.as_deref() }, generation, &parts);
        }
        Step::Heartbeat { member, old } => drop(world.heartbeat(&clients.pick(member), generation(old))),
        Step::Commit { member } => drop(world.commit(&clients.pick(member), generation(false))),
        Step::Leave { member, instance } => {
            let (member, instance) = (clients.pick(member), instance.map(|number| format!("i{number}")));
            world.leave(&[Who { member: &member, instance: instance.as_deref() }]);
        }
        Step::Pass { ms } => world.pass(Duration::from_millis(ms)),
    }
    let told = world.joins.values().map(|answer| answer.as_ref().map_or_else(|refused| &refused.member, |joined| &joined.member));
    clients.ids.extend(told.filter(|id| !id.is_empty()).cloned());
}

/// All answers of one generation agree, and nobody is in it twice.
fn check_generations(world: &World) {
    let mut generations: BTreeMap<i32, (String, BTreeSet<&str>)> = BTreeMap::new();
    for joined in world.joins.values().filter_map(|answer| answer.as_ref().ok()) {
        let (protocol, _) = generations.entry(joined.generation).or_insert_with(|| (joined.protocol.to_string(), BTreeSet::new()));
        assert_eq!(*protocol, *joined.protocol, "generation {}", joined.generation);
        let members: BTreeSet<_> = joined.members.iter().map(|member| &member.member).collect();
        assert_eq!(members.len(), joined.members.len(), "a member is in generation {} twice", joined.generation);
        let instances: Vec<_> = joined.members.iter().filter_map(|member| member.instance.as_ref()).collect();
        assert_eq!(instances.iter().collect::<BTreeSet<_>>().len(), instances.len(), "an instance is in it twice");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn generations_only_grow_and_everybody_is_answered(steps in proptest::collection::vec(step(), 1..80)) {
        let (mut world, mut clients) = (World::new(), Clients::default());
        let mut generation = 0;
        for step in steps {
            take(&mut world, &mut clients, step);
            prop_assert!(world.group.generation >= generation, "the generation went back");
            generation = world.group.generation;
        }
        world.pass(4 * (REBALANCE + SESSION));
        prop_assert_eq!(world.joins.len() as u64 + world.syncs.len() as u64, world.tickets(), "not everybody was answered");
        prop_assert_eq!(world.group.member_count(), 0, "members that are silent for ever stay");
        prop_assert!(world.group.is_idle());
        check_generations(&world);
    }
}
