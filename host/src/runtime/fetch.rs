//! Fetches over many partitions: what is there at once, else one wait for all of them.
//!
//! Partitions are read in the order asked, several at a time as long as the request's budget covers what they
//! may answer; so a cold fetch of many partitions costs a few round trips, not one each. A partition that fails
//! answers with its error and ends the wait: its client must act.

use std::sync::Arc;

use futures::future::join_all;
use tokio::sync::Notify;
use tokio::time::{Duration, timeout_at};

use super::api::{FetchPartition, FetchRequest};
use super::host::Host;
use crate::env::{Instant, now};
use crate::error::{Error, ErrorKind, Result};
use crate::log::partition::{Fetched, Partition};
use crate::types::{Offset, TopicPartition};

/// Partitions read at the same time by one request, at most.
const WAVE: usize = 32;
/// Passes over the partitions of one request; the last one comes at the end of the wait, whatever arrived meanwhile.
const PASSES: usize = 8;
/// Longest that a request waits for a lane that is being opened, if its own wait is shorter.
const OPENING_WAIT: Duration = Duration::from_secs(5);

type Asked = (FetchPartition, Result<Arc<Partition>>);

/// One result for each partition asked, in order.
pub(super) async fn fetch(host: &Host, request: FetchRequest) -> Vec<Result<Fetched>> {
    let deadline = now() + request.max_wait;
    let asked = resolve(host, &request, deadline).await;
    let enough = request.min_bytes.min(request.max_bytes);
    for pass in 1.. {
        let answer = read(&asked, request.max_bytes).await;
        if is_due(&asked, &answer, enough) || now() >= deadline {
            return answer;
        }
        wait(&asked, &answer, deadline, pass + 1 < PASSES).await;
    }
    unreachable!("the loop ends at the deadline")
}

/// Waits until one of the partitions has a record at or above its offset, or fails. Says whether one has.
pub(super) async fn wait_for_data(host: &Host, partitions: &[(TopicPartition, Offset)], max_wait: Duration) -> bool {
    let deadline = now() + max_wait;
    let waiter = Arc::new(Notify::new());
    let opened = join_all(partitions.iter().map(|(partition, offset)| async move { (host.partition(*partition).await, *offset) })).await;
    for (partition, offset) in &opened {
        match partition {
            Ok(partition) => partition.wake_when_readable(*offset, &waiter),
            Err(_) => return true,
        }
    }
    timeout_at(deadline, waiter.notified()).await.is_ok()
}

/// The partitions asked, their lanes opened: all at once, since each opening takes a few round trips.
async fn resolve(host: &Host, request: &FetchRequest, deadline: Instant) -> Vec<Asked> {
    let limit = deadline.max(now() + OPENING_WAIT);
    join_all(request.partitions.iter().map(|asked| async move {
        let opened = timeout_at(limit, host.partition(asked.partition)).await;
        (*asked, opened.unwrap_or_else(|_| Err(still_opening(&name_of(host, asked.partition)))))
    }))
    .await
}

async fn read(asked: &[Asked], max_bytes: usize) -> Vec<Result<Fetched>> {
    let mut answers = Vec::with_capacity(asked.len());
    let mut left = max_bytes;
    while answers.len() < asked.len() {
        let wave = &asked[answers.len()..];
        let wave = &wave[..covered(wave, left)];
        let first_data = left == max_bytes;
        let budget = left;
        let reads = wave.iter().enumerate().map(|(i, one)| read_one(one, budget, first_data && i == 0));
        for answer in join_all(reads).await {
            left = left.saturating_sub(answer.as_ref().map_or(0, |f| f.len));
            answers.push(answer);
        }
    }
    if left == max_bytes {
        at_least_one_batch(asked, &mut answers).await;
    }
    answers
}

/// How many of the next partitions the budget covers even if all answer as much as they may; at least one.
fn covered(asked: &[Asked], budget: usize) -> usize {
    let mut left = budget;
    let fits = |(one, _): &&Asked| match left.checked_sub(one.max_bytes) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    asked.iter().take(WAVE).take_while(fits).count().max(1)
}

async fn read_one((asked, partition): &Asked, budget: usize, at_least_one: bool) -> Result<Fetched> {
    let partition = partition.as_ref().map_err(Clone::clone)?;
    partition.fetch(asked.offset, asked.max_bytes.min(budget), at_least_one).await
}

/// The first partition with data gives a batch even if that is larger than all limits: else its reader would never get on.
async fn at_least_one_batch(asked: &[Asked], answers: &mut [Result<Fetched>]) {
    let has_more = |(_, answer): &(&Asked, &mut Result<Fetched>)| answer.as_ref().is_ok_and(|f| f.next_offset < f.offsets.high_watermark);
    let first = asked.iter().zip(answers.iter_mut()).find(has_more);
    if let Some((one, answer)) = first {
        *answer = read_one(one, one.0.max_bytes, true).await;
    }
}

/// Whether to answer now: there is enough, a partition failed, or one holds back more than it was asked for.
fn is_due(asked: &[Asked], answers: &[Result<Fetched>], enough: usize) -> bool {
    let mut total = 0;
    for answer in answers {
        match answer {
            Ok(fetched) if fetched.next_offset < fetched.offsets.high_watermark => return true,
            Ok(fetched) => total += fetched.len,
            Err(_) => return true,
        }
    }
    asked.is_empty() || total >= enough
}

/// Waits until any partition has more than was just read, or until the deadline.
async fn wait(asked: &[Asked], answers: &[Result<Fetched>], deadline: Instant, wake_early: bool) {
    let waiter = Arc::new(Notify::new());
    if wake_early {
        for ((_, partition), answer) in asked.iter().zip(answers) {
            if let (Ok(partition), Ok(answer)) = (partition, answer) {
                partition.wake_when_readable(answer.next_offset, &waiter);
            }
        }
    }
    // Elapsed or woken: either way the next pass finds out.
    let _ = timeout_at(deadline, waiter.notified()).await;
}

/// As people know it, as far as this host does.
fn name_of(host: &Host, partition: TopicPartition) -> String {
    let number = partition.partition;
    host.topics.peek(partition.topic).map_or_else(|| partition.to_string(), |topic| format!("partition {number} of topic {}", topic.name))
}

fn still_opening(partition: &str) -> Error {
    Error::new(ErrorKind::Unavailable, format!("the lane of {partition} is still being opened; try again"))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::log::partition::Offsets;
    use crate::types::TopicId;

    fn asked(max_bytes: usize) -> Asked {
        let partition = TopicPartition { topic: TopicId(Uuid::nil()), partition: 0 };
        (FetchPartition { partition, offset: 0, max_bytes }, Err(still_opening("a")))
    }

    fn fetched(len: usize, next_offset: Offset, high_watermark: Offset) -> Result<Fetched> {
        Ok(Fetched { offsets: Offsets { log_start: 0, high_watermark }, chunks: Vec::new(), len, next_offset })
    }

    #[test]
    fn a_wave_never_promises_more_than_the_budget() {
        let many: Vec<Asked> = (0..100).map(|_| asked(10)).collect();
        assert_eq!(covered(&many, 45), 4);
        assert_eq!(covered(&many, 5), 1, "one is always read");
        assert_eq!(covered(&many, usize::MAX), WAVE);
    }

    #[test]
    fn an_answer_waits_only_while_more_could_help() {
        let one = [asked(10)];
        assert!(!is_due(&one, &[fetched(0, 5, 5)], 1));
        assert!(!is_due(&one, &[fetched(9, 5, 5)], 10));
        assert!(is_due(&one, &[fetched(10, 5, 5)], 10));
        assert!(is_due(&one, &[fetched(9, 4, 5)], 10), "more is there than was asked for");
        assert!(is_due(&one, &[Err(still_opening("a"))], 10));
        assert!(is_due(&[], &[], 1));
    }
}
