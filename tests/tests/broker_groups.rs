//! Consumer groups on the wire: what members may do, what they are told, and what becomes of them.

use std::time::Duration;

use anyhow::{Context, Result};
use kafka_protocol::messages::offset_delete_request::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use kafka_protocol::messages::*;
use tidegate_broker::{BrokerSettings, GroupSettings};
use tidegate_tests::broker::Cluster;
use tidegate_tests::member::{Member, group};
use tidegate_tests::wire::{Client, Running, batch, name};
use tokio::time::timeout;

/// How long a test waits before it gives up: no measure of anything.
const PATIENCE: Duration = Duration::from_secs(60);

async fn start_with(change: impl FnOnce(&mut GroupSettings)) -> Result<(Running, Client)> {
    let mut groups = GroupSettings { initial_rebalance_delay_ms: 50, session_timeout_min_ms: 100, ..GroupSettings::default() };
    change(&mut groups);
    let broker = Running::with(Default::default(), BrokerSettings { groups, ..Default::default() }).await?;
    let mut client = broker.client().await?;
    client.create("topic", 2).await?;
    Ok((broker, client))
}

async fn start() -> Result<(Running, Client)> {
    start_with(|_| ()).await
}

/// Beats until the answer is this one.
async fn until_told(member: &Member, client: &mut Client, expected: i16) -> Result<()> {
    let told = async {
        while member.heartbeat(client, 4).await? != expected {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        anyhow::Ok(())
    };
    timeout(PATIENCE, told).await.with_context(|| format!("heartbeats are never answered with {expected}"))?
}

/// Two members of one generation, in sync; the leader is the first.
async fn pair(broker: &Running, mut members: [Member; 2]) -> Result<[(Member, Client); 2]> {
    let mut clients = [broker.client().await?, broker.client().await?];
    let [one, two] = &mut clients;
    let [first, second] = &mut members;
    let (a, b) = tokio::try_join!(first.join(one, 9), second.join(two, 9))?;
    assert_eq!((a.error_code, b.error_code, a.generation_id), (0, 0, b.generation_id));
    let parts: Vec<(String, &'static str)> = vec![(first.id.clone(), "first"), (second.id.clone(), "second")];
    let parts: Vec<(&str, &'static str)> = parts.iter().map(|(id, part)| (id.as_str(), *part)).collect();
    let leads = |member: &Member| if a.leader.as_str() == member.id { parts.clone() } else { Vec::new() };
    let (for_first, for_second) = (leads(first), leads(second));
    let (x, y) = tokio::try_join!(first.sync(one, &for_first), second.sync(two, &for_second))?;
    assert_eq!((x, y), ((0, "first".into()), (0, "second".into())));
    let led = a.leader.as_str() == members[0].id;
    let [one, two] = clients;
    let [first, second] = members;
    Ok(if led { [(first, one), (second, two)] } else { [(second, two), (first, one)] })
}

#[tokio::test]
async fn members_share_a_topic_and_a_killed_one_is_replaced() -> Result<()> {
    let (broker, _client) = start().await?;
    let member = Member { session_ms: 500, ..Member::of("g") };
    let [(mut leader, mut connection), (follower, other)] = pair(&broker, [member.clone(), member]).await?;
    drop(other);
    until_told(&leader, &mut connection, 27).await?;
    let joined = leader.join(&mut connection, 9).await?;
    assert_eq!((joined.error_code, joined.generation_id, joined.members.len()), (0, follower.generation + 1, 1));
    assert_eq!(leader.sync(&mut connection, &[(&leader.id, "all")]).await?, (0, "all".into()));
    let mut late = broker.client().await?;
    assert_eq!(follower.heartbeat(&mut late, 4).await?, 25, "the killed one is unknown");
    assert_eq!(broker.storage.metrics().group.expired_members.get(), 1);
    broker.stop().await
}

#[tokio::test]
async fn a_member_that_leaves_is_replaced_at_once() -> Result<()> {
    let (broker, _client) = start().await?;
    let member = Member { session_ms: 1_800_000, ..Member::of("g") };
    let [(leader, mut one), (mut follower, mut two)] = pair(&broker, [member.clone(), member]).await?;
    assert_eq!(leader.leave(&mut one, 5).await?, 0);
    assert_eq!(follower.heartbeat(&mut two, 4).await?, 27);
    let joined = follower.join(&mut two, 9).await?;
    assert_eq!((joined.error_code, joined.leader.as_str()), (0, follower.id.as_str()));
    broker.stop().await
}

#[tokio::test]
async fn a_static_member_comes_back_without_a_rebalance_and_fences_its_former_self() -> Result<()> {
    let (broker, _client) = start().await?;
    let [(leader, mut one), (old, two)] = pair(&broker, [Member::named("g", "a"), Member::named("g", "b")]).await?;
    drop(two);
    let mut connection = broker.client().await?;
    let mut back = Member { id: String::new(), generation: -1, ..old.clone() };
    let joined = back.join(&mut connection, 9).await?;
    assert_eq!((joined.error_code, joined.generation_id, joined.leader.as_str()), (0, leader.generation, leader.id.as_str()));
    let (error, part) = back.sync(&mut connection, &[]).await?;
    assert!(error == 0 && !part.is_empty(), "it has its assignment: {error} {part:?}");
    assert_eq!(leader.heartbeat(&mut one, 4).await?, 0, "nobody else notices");
    let mut zombie = broker.client().await?;
    assert_eq!(old.heartbeat(&mut zombie, 4).await?, 82);
    assert_eq!(old.commit(&mut zombie, 9, 0, 1).await?, 82);
    assert_eq!(old.sync(&mut zombie, &[]).await?.0, 82);
    assert_eq!(zombie.call(9, &old.joining(9)).await?.error_code, 82);
    broker.stop().await
}

#[tokio::test]
async fn what_is_wrong_is_told_by_its_name() -> Result<()> {
    let (broker, mut client) = start_with(|groups| groups.members_per_group = 1).await?;
    let mut member = Member::of("g");
    let join = |change: &dyn Fn(JoinGroupRequest) -> JoinGroupRequest| change(Member::of("g").joining(9));
    let refused = [
        (24, join(&|r| r.with_group_id(group("")))),
        (24, join(&|r| r.with_group_id(group(&"x".repeat(1_025))))),
        (26, join(&|r| r.with_session_timeout_ms(99))),
        (26, join(&|r| r.with_session_timeout_ms(-1))),
        (26, join(&|r| r.with_session_timeout_ms(i32::MAX))),
        (23, join(&|r| r.with_protocols(Vec::new()))),
        (23, join(&|r| r.with_protocol_type(Default::default()))),
        (25, join(&|r| r.with_member_id(tidegate_tests::member::text("stranger")))),
    ];
    for (expected, request) in refused {
        let found = client.call(9, &request).await?;
        assert_eq!((found.error_code, found.generation_id), (expected, -1), "{request:?}");
    }
    assert_eq!(member.heartbeat(&mut client, 4).await?, 25, "no such member yet");
    assert_eq!(member.sync(&mut client, &[]).await?.0, 25);
    assert_eq!(member.leave(&mut client, 5).await?, 25);
    member.alone(&mut client).await?;
    assert_eq!(client.call(9, &Member::of("g").joining(9)).await?.error_code, 81, "the group is full");
    let stale = Member { generation: member.generation - 1, ..member.clone() };
    let stranger = Member { id: "stranger".to_owned(), ..member.clone() };
    for (who, expected) in [(&member, 0), (&stale, 22), (&stranger, 25)] {
        assert_eq!(who.heartbeat(&mut client, 4).await?, expected, "heartbeat of {who:?}");
        assert_eq!(who.sync(&mut client, &[]).await?.0, expected, "sync of {who:?}");
        assert_eq!(who.commit(&mut client, 9, 0, 1).await?, expected, "commit of {who:?}");
    }
    let wrong = member.syncing(5, &[]).with_protocol_name(Some(tidegate_tests::member::text("sticky")));
    assert_eq!(client.call(5, &wrong).await?.error_code, 23);
    assert_eq!(Member::of("g").commit(&mut client, 9, 0, 1).await?, 25, "a stranger to a group with members");
    assert_eq!(member.commit(&mut client, 9, 2, 1).await?, 3, "no such partition");
    let nowhere = Member { topic: "nowhere", ..member.clone() };
    assert_eq!(nowhere.commit(&mut client, 9, 0, 1).await?, 3, "no such topic, and none is created");
    let mut noted = member.committing(9, 0, 1);
    noted.topics[0].partitions[0].committed_metadata = Some(tidegate_tests::member::text(&"x".repeat(4_097)));
    assert_eq!(client.call(9, &noted).await?.topics[0].partitions[0].error_code, 12);
    broker.stop().await
}

#[tokio::test]
async fn a_group_with_members_is_not_deleted_and_keeps_what_it_reads() -> Result<()> {
    let (broker, mut client) = start().await?;
    client.create("unread", 1).await?;
    let mut member = Member::of("g");
    member.alone(&mut client).await?;
    assert_eq!(member.commit(&mut client, 9, 0, 5).await?, 0);
    let unread = Member { topic: "unread", ..member.clone() };
    assert_eq!(unread.commit(&mut client, 9, 0, 6).await?, 0);
    let delete = DeleteGroupsRequest::default().with_groups_names(vec![group("g")]);
    assert_eq!(client.call(2, &delete).await?.results[0].error_code, 68);
    let topic = |topic: &str| {
        let partition = OffsetDeleteRequestPartition::default().with_partition_index(0);
        OffsetDeleteRequestTopic::default().with_name(name(topic)).with_partitions(vec![partition])
    };
    let offsets = OffsetDeleteRequest::default().with_group_id(group("g")).with_topics(vec![topic("topic"), topic("unread")]);
    let deleted = client.call(0, &offsets).await?;
    let codes: Vec<_> = deleted.topics.iter().map(|topic| topic.partitions[0].error_code).collect();
    assert_eq!((deleted.error_code, codes), (0, vec![86, 0]));
    assert_eq!((member.committed(&mut client, 0).await?, unread.committed(&mut client, 0).await?), (5, -1));
    assert_eq!(member.leave(&mut client, 5).await?, 0);
    assert_eq!(client.call(2, &delete).await?.results[0].error_code, 0);
    assert_eq!(member.committed(&mut client, 0).await?, -1);
    broker.stop().await
}

#[tokio::test]
async fn a_topic_created_again_has_no_offsets() -> Result<()> {
    let (broker, mut client) = start().await?;
    let member = Member::of("g");
    client.produce("topic", 0, batch(&[b"old"])).await?;
    assert_eq!(member.commit(&mut client, 9, 0, 1).await?, 0);
    assert_eq!(member.committed(&mut client, 0).await?, 1);
    let delete = DeleteTopicsRequest::default().with_topic_names(vec![name("topic")]).with_timeout_ms(1_000);
    assert_eq!(client.call(5, &delete).await?.responses[0].error_code, 0);
    assert_eq!(member.committed(&mut client, 0).await?, -1, "a topic that is gone");
    client.create("topic", 2).await?;
    assert_eq!(member.committed(&mut client, 0).await?, -1, "another topic of that name");
    assert_eq!(member.commit(&mut client, 9, 0, 7).await?, 0);
    assert_eq!(member.committed(&mut client, 0).await?, 7);
    broker.stop().await
}

#[tokio::test]
async fn commits_sent_one_after_the_other_are_made_in_that_order() -> Result<()> {
    let (broker, mut client) = start().await?;
    let member = Member::of("g");
    for offset in 0..60 {
        client.send(9, &member.committing(9, 0, offset)).await?;
    }
    for _ in 0..60 {
        assert_eq!(client.receive::<OffsetCommitRequest>(9).await?.topics[0].partitions[0].error_code, 0);
    }
    assert_eq!(member.committed(&mut client, 0).await?, 59);
    broker.stop().await
}

#[tokio::test]
async fn offsets_of_a_group_without_members_go_after_their_retention() -> Result<()> {
    let brief = |groups: &mut GroupSettings| (groups.offsets_retention_ms, groups.offsets_check_interval_ms) = (50, 20);
    let (broker, mut client) = start_with(brief).await?;
    let mut member = Member::of("kept");
    member.alone(&mut client).await?;
    assert_eq!(member.commit(&mut client, 9, 0, 5).await?, 0);
    let simple = Member::of("idle");
    assert_eq!(simple.commit(&mut client, 9, 0, 5).await?, 0);
    let gone = async {
        while simple.committed(&mut client, 0).await? != -1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        anyhow::Ok(())
    };
    timeout(PATIENCE, gone).await.context("the offsets stay")??;
    assert_eq!(member.committed(&mut client, 0).await?, 5, "a group with members keeps them");
    broker.stop().await
}

#[tokio::test]
async fn a_broker_that_stops_keeps_nobody_waiting() -> Result<()> {
    let (broker, _client) = start_with(|groups| groups.initial_rebalance_delay_ms = 60_000).await?;
    let mut client = broker.client().await?;
    let mut member = Member::of("g");
    let joining = tokio::spawn(async move { member.join(&mut client, 9).await });
    let arrived = async {
        while broker.storage.metrics().group.members.get() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, arrived).await?;
    timeout(PATIENCE, broker.stop()).await??;
    assert_eq!(joining.await??.error_code, 16);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn answered_commits_survive_kill_9() -> Result<()> {
    let cluster = Cluster::local()?;
    let mut broker = cluster.start().await?;
    let mut client = Client::connect(broker.kafka().parse()?).await?;
    client.create("topic", 2).await?;
    for round in 1..4 {
        let mut member = Member::of("g");
        member.alone(&mut client).await?;
        assert_eq!(member.commit(&mut client, 9, 0, round * 10).await?, 0);
        assert_eq!(member.commit(&mut client, 9, 1, round * 10 + 1).await?, 0);
        broker.kill().await?;
        broker = cluster.start().await?;
        client = Client::connect(broker.kafka().parse()?).await?;
        assert_eq!((member.committed(&mut client, 0).await?, member.committed(&mut client, 1).await?), (round * 10, round * 10 + 1));
        assert_eq!(member.heartbeat(&mut client, 4).await?, 25, "it has to join again");
        assert_eq!(member.commit(&mut client, 9, 0, 99).await?, 22, "and cannot commit until then: its generation is nobody's");
    }
    assert!(broker.terminate().await?.success(), "{}", cluster.log());
    Ok(())
}
