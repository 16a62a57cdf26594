use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use tidegate::env::Env;
use tidegate::metrics::Metrics;
use tokio::time::advance;
use uuid::Uuid;

use super::session::PARTITION_BYTES;
use super::*;
use crate::config::Limits;
use crate::wire::fetch::PartitionAnswer;

const QUIET: Duration = Duration::from_millis(1_000);

struct Kit {
    sessions: FetchSessions,
    metrics: Arc<Metrics>,
}

fn kit(sessions: u32, bytes: usize) -> Kit {
    let limits = Limits { fetch_sessions: sessions, fetch_session_bytes: bytes as u32, fetch_session_quiet_ms: 1_000, ..Limits::default() };
    let metrics = Arc::new(Metrics::default());
    Kit { sessions: FetchSessions::new(&limits, Env::simulated(7, 0), metrics.clone()), metrics }
}

fn key(partition: i32) -> PartitionKey {
    PartitionKey { topic: TopicKey::Id(Uuid::from_u128(1)), partition }
}

fn asked(partition: i32, offset: i64) -> Asked {
    Asked { key: key(partition), wanted: Wanted { offset, max_bytes: 100, leader_epoch: -1 } }
}

fn claim(id: i32, epoch: i32) -> Claim {
    Claim { id, epoch, by_id: true }
}

/// What is found in a partition: its high watermark, and whether records come with it.
fn found(partition: i32, high_watermark: i64, records: bool) -> PartitionAnswer {
    let records = if records { vec![Bytes::from_static(b"batch")] } else { Vec::new() };
    PartitionAnswer { partition, error: 0, high_watermark, log_start: 0, records }
}

impl Kit {
    /// Opens a session over so many partitions, all with high watermark 5; 0: there was no room.
    fn opened(&self, partitions: i32) -> i32 {
        let all = (0..partitions).map(|partition| asked(partition, 5)).collect();
        let (context, asked) = self.sessions.open(claim(0, 0), all, &[]).unwrap();
        let mut answered = asked.into_iter().map(|asked| (asked.clone(), found(asked.key.partition, 5, false))).collect();
        self.sessions.finish(context, &mut answered).unwrap()
    }

    /// A request of a session: the partitions that are looked at, in order, and those that are told of.
    fn request(
        &self,
        (id, epoch): (i32, i32),
        wanted: Vec<Asked>,
        forgotten: &[i32],
        state: impl Fn(i32) -> PartitionAnswer,
    ) -> Result<(Vec<i32>, Vec<i32>), ResponseError> {
        let forgotten: Vec<_> = forgotten.iter().map(|partition| key(*partition)).collect();
        let (context, asked) = self.sessions.open(claim(id, epoch), wanted, &forgotten)?;
        let looked_at = asked.iter().map(|asked| asked.key.partition).collect();
        let mut answered = asked.into_iter().map(|asked| (asked.clone(), state(asked.key.partition))).collect();
        self.sessions.finish(context, &mut answered)?;
        Ok((looked_at, answered.iter().map(|(asked, _)| asked.key.partition).collect()))
    }

    fn idle(&self, id: i32, epoch: i32) -> Result<(Vec<i32>, Vec<i32>), ResponseError> {
        self.request((id, epoch), vec![], &[], |partition| found(partition, 5, false))
    }

    fn figures(&self) -> (i64, i64, i64, u64) {
        let fetch = &self.metrics.fetch;
        (fetch.sessions.get(), fetch.session_partitions.get(), fetch.session_bytes.get(), fetch.session_evictions.get())
    }
}

#[tokio::test]
async fn only_what_changed_is_told() {
    let kit = kit(10, 1 << 20);
    let id = kit.opened(3);
    assert_eq!(kit.idle(id, 1).unwrap(), (vec![0, 1, 2], vec![]));
    let moved = |partition| found(partition, if partition == 1 { 6 } else { 5 }, partition == 1);
    assert_eq!(kit.request((id, 2), vec![], &[], moved).unwrap().1, [1], "records");
    let higher = |partition| found(partition, if partition == 1 { 6 } else { 5 + i64::from(partition == 0) }, false);
    assert_eq!(kit.request((id, 3), vec![], &[], higher).unwrap().1, [0], "another high watermark");
    let trimmed = |partition| PartitionAnswer { log_start: i64::from(partition == 2), ..higher(partition) };
    assert_eq!(kit.request((id, 4), vec![], &[], trimmed).unwrap().1, [2], "another log start");
}

#[tokio::test]
async fn an_error_is_told_each_time_and_its_end_too() {
    let kit = kit(10, 1 << 20);
    let id = kit.opened(2);
    let failing = |partition| if partition == 0 { PartitionAnswer::empty(0, 3, -1, -1) } else { found(partition, 5, false) };
    for epoch in 1..4 {
        assert_eq!(kit.request((id, epoch), vec![], &[], failing).unwrap().1, [0]);
    }
    assert_eq!(kit.idle(id, 4).unwrap().1, [0], "that it has gone");
    assert_eq!(kit.idle(id, 5).unwrap().1, Vec::<i32>::new());
}

#[tokio::test]
async fn partitions_are_added_changed_and_forgotten() {
    let kit = kit(10, 1 << 20);
    let id = kit.opened(2);
    let (looked_at, told) = kit.request((id, 1), vec![asked(7, 0)], &[0], |partition| found(partition, 5, false)).unwrap();
    assert_eq!((looked_at, told), (vec![1, 7], vec![7]));
    let (_, all) = kit.sessions.open(claim(id, 2), vec![asked(1, 99)], &[key(55)]).unwrap();
    assert_eq!(all, [asked(1, 99), asked(7, 0)]);
    assert_eq!(kit.figures(), (1, 2, 2 * PARTITION_BYTES as i64, 0));
    assert_eq!(kit.request((id, 3), vec![], &[1, 7], |partition| found(partition, 0, false)).unwrap().0, Vec::<i32>::new());
    assert_eq!(kit.figures(), (0, 0, 0, 0), "a session without partitions is none");
}

#[tokio::test]
async fn what_gave_records_goes_behind_all_others() {
    let kit = kit(10, 1 << 20);
    let id = kit.opened(3);
    let first = |partition| found(partition, 5, partition == 0);
    assert_eq!(kit.request((id, 1), vec![], &[], first).unwrap(), (vec![0, 1, 2], vec![0]));
    let second = |partition| found(partition, 5, partition == 1);
    assert_eq!(kit.request((id, 2), vec![asked(0, 9)], &[], second).unwrap(), (vec![1, 2, 0], vec![1]), "a new position keeps its place");
    assert_eq!(kit.idle(id, 3).unwrap().0, [2, 0, 1]);
}

#[tokio::test]
async fn a_request_out_of_turn_is_refused_and_changes_nothing() {
    let kit = kit(10, 1 << 20);
    let id = kit.opened(1);
    for epoch in [2, 7, i32::MAX, -2, i32::MIN] {
        let refused = kit.request((id, epoch), vec![asked(5, 0)], &[0], |partition| found(partition, 0, false));
        assert_eq!(refused.unwrap_err(), ResponseError::InvalidFetchSessionEpoch, "epoch {epoch}");
    }
    assert_eq!(kit.idle(id, 1).unwrap().0, [0]);
    assert_eq!(kit.idle(id, 1).unwrap_err(), ResponseError::InvalidFetchSessionEpoch, "sent again");
    for unknown in [0, -1, id ^ 1] {
        assert_eq!(kit.idle(unknown, 1).unwrap_err(), ResponseError::FetchSessionIdNotFound);
    }
    let by_name = Claim { id, epoch: 2, by_id: false };
    assert_eq!(kit.sessions.open(by_name, vec![], &[]).unwrap_err(), ResponseError::FetchSessionTopicIdError);
}

#[tokio::test]
async fn an_answer_that_was_overtaken_is_an_error() {
    let kit = kit(10, 1 << 20);
    let id = kit.opened(1);
    let (slow, _) = kit.sessions.open(claim(id, 1), vec![], &[]).unwrap();
    assert!(kit.idle(id, 2).is_ok());
    let overtaken = kit.sessions.finish(slow, &mut vec![(asked(0, 5), found(0, 6, true))]);
    assert_eq!(overtaken, Err(ResponseError::InvalidFetchSessionEpoch));
}

#[tokio::test]
async fn epochs_go_on_behind_the_last_one() {
    assert_eq!([session::next_epoch(0), session::next_epoch(1), session::next_epoch(i32::MAX)], [1, 2, 1]);
}

#[tokio::test]
async fn a_full_fetch_ends_the_session_that_it_names() {
    let kit = kit(10, 1 << 20);
    let (first, second) = (kit.opened(1), kit.opened(2));
    kit.sessions.open(claim(first, 0), vec![], &[]).unwrap();
    kit.sessions.open(claim(second, -1), vec![], &[]).unwrap();
    assert_eq!(kit.figures(), (0, 0, 0, 0));
    assert_eq!(kit.idle(first, 1).unwrap_err(), ResponseError::FetchSessionIdNotFound);
}

#[tokio::test(start_paused = true)]
async fn a_newcomer_takes_the_place_of_the_longest_silent_only() {
    let kit = kit(2, 1 << 20);
    let (first, second) = (kit.opened(1), kit.opened(1));
    assert_eq!(kit.opened(1), 0, "nobody was silent for long");
    advance(QUIET / 2).await;
    kit.idle(first, 1).unwrap();
    advance(QUIET).await;
    let third = kit.opened(1);
    assert_eq!((third != 0, kit.figures().3), (true, 1));
    assert_eq!(kit.idle(second, 1).unwrap_err(), ResponseError::FetchSessionIdNotFound);
    assert!(kit.idle(first, 2).is_ok() && kit.idle(third, 1).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_large_newcomer_takes_the_place_of_the_smallest_that_is_not_young() {
    let kit = kit(2, 1 << 20);
    let (small, large) = (kit.opened(2), kit.opened(5));
    assert_eq!(kit.opened(9), 0, "all are young");
    advance(QUIET * 2).await;
    kit.idle(small, 1).unwrap();
    kit.idle(large, 1).unwrap();
    assert_eq!(kit.opened(2), 0, "it is no larger than the smallest");
    assert_ne!(kit.opened(3), 0);
    assert_eq!(kit.idle(small, 2).unwrap_err(), ResponseError::FetchSessionIdNotFound);
    assert!(kit.idle(large, 2).is_ok());
}

#[tokio::test]
async fn bytes_are_bounded_whatever_sessions_grow_to() {
    let kit = kit(10, 10 * PARTITION_BYTES);
    assert_eq!(kit.opened(11), 0);
    let (first, second) = (kit.opened(4), kit.opened(6));
    assert_eq!(kit.figures(), (2, 10, 10 * PARTITION_BYTES as i64, 0));
    let grown = kit.request((first, 1), vec![asked(50, 0)], &[], |partition| found(partition, 5, false));
    assert_eq!(grown.unwrap_err(), ResponseError::FetchSessionIdNotFound, "its client begins anew");
    assert_eq!(kit.figures(), (1, 6, 6 * PARTITION_BYTES as i64, 1));
    let names = vec![Asked { key: PartitionKey { topic: TopicKey::Name("x".repeat(30_000).into()), partition: 0 }, ..asked(0, 0) }];
    assert!(kit.request((second, 1), names, &[], |partition| found(partition, 5, false)).is_err(), "names count");
    assert_eq!(kit.figures().2, 0);
}

#[tokio::test]
async fn no_sessions_are_kept_where_the_settings_say_so() {
    assert_eq!(kit(0, 1 << 20).opened(1), 0);
    assert_eq!(kit(5, 0).opened(1), 0);
}
