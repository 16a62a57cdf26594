//! What the extents say of a whole partition: where leader epochs end, and how many bytes there are.
//!
//! Extents lie without a gap in offset order, and their epochs never go down: so the end of an epoch is found by halving.

use super::Partition;
use crate::error::Result;
use crate::types::{Epoch, Offset};

impl Partition {
    /// Where the records of epochs up to `epoch` end, and the epoch of the last of them; `None` if no such record is left.
    pub async fn epoch_end(&self, epoch: Epoch) -> Result<(Option<Epoch>, Offset)> {
        let offsets = self.offsets()?;
        // Records below `low` are of such epochs, those from `high` on are not.
        let (mut low, mut high, mut last) = (offsets.log_start, offsets.high_watermark, None);
        while low < high {
            let Some(extent) = self.extent_at(low + (high - low) / 2).await? else { break };
            if extent.epoch <= epoch {
                low = extent.slice.next_offset;
                last = Some(extent.epoch);
            } else {
                high = extent.slice.base_offset.max(low);
            }
        }
        Ok((last, low.min(offsets.high_watermark)))
    }

    /// Bytes of the extents from the one on that holds the log start.
    pub async fn bytes(&self) -> Result<u64> {
        let offsets = self.offsets()?;
        if offsets.log_start == offsets.high_watermark {
            return Ok(0);
        }
        let first = self.extent_at(offsets.log_start).await?;
        Ok(self.total_bytes().await?.saturating_sub(first.map_or(0, |extent| extent.prior_bytes)))
    }
}
