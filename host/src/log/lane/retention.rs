//! Log starts: moved by callers (trim) and by age and size (retention), always through the manifest first.

use super::state::State;
use super::{Inner, Lane, Phase};
use crate::error::{Error, ErrorKind, Result};
use crate::log::{Extent, ExtentLookup};
use crate::types::{Offset, PartitionId};

/// Extents of a partition that one round of retention looks at.
const EXTENTS_A_ROUND: usize = 1_024;
/// Extents asked of the catalog at once.
const EXTENTS_A_LOOKUP: usize = 64;

impl Lane {
    /// Moves a log start, at most up to the high watermark; durable when this returns. Returns the log start.
    /// [`OffsetOutOfRange`](ErrorKind::OffsetOutOfRange) above the high watermark.
    pub async fn trim(&self, partition: PartitionId, offset: Offset) -> Result<Offset> {
        let offsets = self.partition(partition)?.offsets()?;
        if offset > offsets.high_watermark || offset < 0 {
            let message =
                format!("cannot trim partition {partition} to {offset}: its offsets are {}..{}", offsets.log_start, offsets.high_watermark);
            return Err(Error::new(ErrorKind::OffsetOutOfRange, message));
        }
        self.inner.move_start(partition, offset).await
    }

    /// One round of retention, and of deleting dead segments whose grace is over. The caller sets the interval.
    pub async fn maintain(&self) -> Result<()> {
        let inner = &*self.inner;
        // By what the manifest names, not by what this host knows of the topic: another host may have seen it grow.
        let partitions: Vec<PartitionId> = inner.state.lock().committed.keys().copied().collect();
        let mut expired = 0;
        for partition in partitions {
            if let Some(start) = inner.expired_up_to(partition).await? {
                inner.state.lock().wanted_starts.insert(partition, start);
                expired += 1;
            }
        }
        inner.wake.notify_one();
        inner.wait_until(|state| (!matches!(state.phase, Phase::Leading) || state.wanted_starts.is_empty()).then_some(())).await;
        if expired > 0 && matches!(inner.state.lock().phase, Phase::Leading) {
            tracing::info!(topic = %inner.topic.name, lane = %inner.id, partitions = expired, "retention moved log starts: older records are no longer read");
        }
        inner.delete_dead().await?;
        inner.delete_old_snapshots().await
    }
}

impl Inner {
    async fn move_start(&self, partition: PartitionId, offset: Offset) -> Result<Offset> {
        let start = |state: &State| state.committed.get(&partition).map_or(0, |p| p.log_start);
        {
            let mut state = self.state.lock();
            state.check_leading()?;
            if start(&state) < offset {
                let wanted = state.wanted_starts.entry(partition).or_insert(offset);
                *wanted = offset.max(*wanted);
            }
        }
        self.wake.notify_one();
        self.wait_until(|state| match &state.phase {
            Phase::Ended(error) => Some(Err(error.clone())),
            _ => Some(start(state)).filter(|s| *s >= offset).map(Ok),
        })
        .await
    }

    /// Where the log may start by age and size, if that is further than now.
    async fn expired_up_to(&self, partition: PartitionId) -> Result<Option<Offset>> {
        let at = self.state.lock().committed.get(&partition).copied().unwrap_or_default();
        let settings = self.topic.settings.load();
        if !settings.cleanup_policy.deletes() {
            return Ok(None);
        }
        let oldest_ms = (settings.retention_ms >= 0).then(|| self.shared.env.unix_ms().saturating_sub(settings.retention_ms));
        let keep_bytes = u64::try_from(settings.retention_bytes).ok();
        let expired = |e: &Extent| {
            let too_old = oldest_ms.is_some_and(|oldest| (0..oldest).contains(&e.slice.max_timestamp));
            let behind = at.total_bytes.saturating_sub(e.prior_bytes + e.slice.len);
            too_old || keep_bytes.is_some_and(|keep| behind >= keep)
        };
        let mut start = at.log_start;
        if oldest_ms.is_none() && keep_bytes.is_none() {
            return Ok(None);
        }
        for _ in 0..EXTENTS_A_ROUND / EXTENTS_A_LOOKUP {
            let extents = self.catalog.extents_from(partition, start, EXTENTS_A_LOOKUP).await?;
            let run = extents.iter().take_while(|e| expired(e)).count();
            if let Some(last) = extents[..run].last() {
                start = last.slice.next_offset;
            }
            if run < extents.len() || extents.is_empty() {
                break;
            }
        }
        Ok((start > at.log_start).then_some(start))
    }
}
