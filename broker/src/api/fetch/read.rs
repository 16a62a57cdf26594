//! Reading for a fetch: one wait, whose turn it is, and a budget for what is not written yet.

use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::FetchRequest;
use parking_lot::Mutex;
use tidegate::runtime::{self, FetchPartition, Fetched};
use tidegate::types::TopicPartition;
use tidegate::{Error, ErrorKind};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::resolve::Target;
use crate::api::Service;
use crate::api::turns::Turns;
use crate::config::Limits;
use crate::errors;
use crate::fetch_session::Asked;
use crate::wire::fetch::PartitionAnswer;

/// How long a fetch waits for room in the budget of answers before it is answered without records.
const ROOM_WAIT: Duration = Duration::from_secs(1);

/// How much to read and how long to wait for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    max_bytes: usize,
    min_bytes: usize,
    max_wait: Duration,
}

impl Waiting {
    pub(super) fn of(request: &FetchRequest, limits: &Limits) -> Self {
        let max_wait = (request.max_wait_ms.max(0) as u32).min(limits.fetch_wait_ms);
        Self {
            max_bytes: request.max_bytes.clamp(0, limits.fetch_bytes.min(i32::MAX as u32) as i32) as usize,
            min_bytes: request.min_bytes.max(0) as usize,
            max_wait: Duration::from_millis(max_wait.into()),
        }
    }

    fn request(self, partitions: Vec<FetchPartition>) -> runtime::FetchRequest {
        let Self { max_bytes, min_bytes, max_wait } = self;
        runtime::FetchRequest { partitions, max_bytes, min_bytes, max_wait }
    }
}

impl Service {
    /// Reads what can be read; one answer for each of `asked`, in order. With `turns`, the ones served longest ago come first.
    pub(super) async fn read(
        &self,
        asked: &[Asked],
        targets: &[Target],
        turns: Option<&Mutex<Turns>>,
        mut waiting: Waiting,
        stop: &CancellationToken,
    ) -> (Vec<PartitionAnswer>, Option<OwnedSemaphorePermit>) {
        if targets.iter().any(|target| matches!(target, Target::Refused(_))) {
            waiting.max_wait = Duration::ZERO;
        }
        let readable: Vec<(usize, FetchPartition)> =
            targets.iter().enumerate().filter_map(|(at, target)| Some((at, target.read()?))).collect();
        let partitions: Vec<TopicPartition> = readable.iter().map(|(_, target)| target.partition).collect();
        let order = turns.map_or_else(|| (0..readable.len()).collect(), |turns| turns.lock().order(&partitions));
        let request = waiting.request(order.iter().map(|at| readable[*at].1).collect());
        let (results, permit) = self.read_within_budget(request, stop).await;
        let mut answers: Vec<PartitionAnswer> =
            asked.iter().zip(targets).map(|(asked, target)| target.unread(asked.key.partition)).collect();
        for (at, result) in order.iter().zip(results) {
            let (place, target) = &readable[*at];
            answers[*place] = self.answer(target, result).await;
        }
        if let Some(turns) = turns {
            turns.lock().note(&partitions, |at| answers[readable[at].0].has_records());
        }
        (answers, permit)
    }

    async fn answer(&self, target: &FetchPartition, result: tidegate::Result<Fetched>) -> PartitionAnswer {
        let partition = target.partition.partition as i32;
        match result {
            Ok(Fetched { offsets, chunks: records, .. }) => {
                PartitionAnswer { partition, error: 0, high_watermark: offsets.high_watermark, log_start: offsets.log_start, records }
            }
            Err(error) => self.failed(target, &error).await,
        }
    }

    /// Where an offset is out of range, the range comes with the error.
    async fn failed(&self, target: &FetchPartition, error: &Error) -> PartitionAnswer {
        let code = errors::of_read(error).code();
        let (high_watermark, log_start) = match error.kind() {
            ErrorKind::OffsetOutOfRange => {
                self.storage.offsets(target.partition).await.map_or((-1, -1), |o| (o.high_watermark, o.log_start))
            }
            _ => (-1, -1),
        };
        PartitionAnswer::empty(target.partition.partition as i32, code, high_watermark, log_start)
    }

    /// Reads, and takes room for what was found in the budget of unwritten answers. Where there is none, the
    /// records are let go, and read again once there is room, or not at all.
    async fn read_within_budget(
        &self,
        mut read: runtime::FetchRequest,
        stop: &CancellationToken,
    ) -> (Vec<tidegate::Result<Fetched>>, Option<OwnedSemaphorePermit>) {
        let mut found = self.read_until_stopped(&read, stop).await;
        let room = self.fetch_room.clone();
        let wanted = record_bytes(&found).min(self.settings.limits.total_fetch_bytes as usize);
        if let Ok(permit) = room.clone().try_acquire_many_owned(wanted as u32) {
            return (found, Some(permit));
        }
        for fetched in found.iter_mut().flatten() {
            fetched.chunks = Vec::new();
            fetched.len = 0;
        }
        let Ok(Ok(permit)) = timeout(ROOM_WAIT, room.acquire_many_owned(wanted as u32)).await else { return (found, None) };
        read.max_bytes = wanted;
        read.max_wait = Duration::ZERO;
        (self.storage.fetch(read).await, Some(permit))
    }

    /// A long wait ends when the broker stops, with what is there by then.
    async fn read_until_stopped(&self, read: &runtime::FetchRequest, stop: &CancellationToken) -> Vec<tidegate::Result<Fetched>> {
        tokio::select! {
            found = self.storage.fetch(read.clone()) => return found,
            () = stop.cancelled(), if !read.max_wait.is_zero() => {}
        }
        self.storage.fetch(runtime::FetchRequest { max_wait: Duration::ZERO, ..read.clone() }).await
    }
}

impl Target {
    fn read(&self) -> Option<FetchPartition> {
        match self {
            Self::Read(target) => Some(*target),
            Self::Missing(_) | Self::Refused(_) => None,
        }
    }

    /// The answer as long as nothing was read.
    fn unread(&self, partition: i32) -> PartitionAnswer {
        let error = match self {
            Self::Read(_) => ResponseError::UnknownServerError,
            Self::Missing(error) | Self::Refused(error) => *error,
        };
        PartitionAnswer::empty(partition, error.code(), -1, -1)
    }
}

fn record_bytes(found: &[tidegate::Result<Fetched>]) -> usize {
    found.iter().flatten().map(|fetched| fetched.len).sum()
}
