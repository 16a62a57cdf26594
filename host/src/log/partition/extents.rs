//! Finding the extent of an offset.

use super::state::{Whereabouts, check_range};
use super::{Offsets, Partition};
use crate::error::{Error, ErrorKind, Result};
use crate::log::Extent;
use crate::types::Offset;

impl Partition {
    /// The offsets, if `offset` lies within them.
    pub(super) fn readable(&self, offset: Offset) -> Result<Offsets> {
        check_range(self.offsets()?, offset, &self.name())
    }

    /// The extent that contains `offset`, or the next one behind a gap. `None` at the high watermark.
    pub(super) async fn extent_at(&self, offset: Offset) -> Result<Option<Extent>> {
        match self.whereabouts(offset)? {
            Whereabouts::Here(extent) => return Ok(Some(extent)),
            Whereabouts::Nowhere => return Ok(None),
            Whereabouts::Older => {}
        }
        if let Some(extent) = self.0.older.find(offset).await? {
            return Ok(Some(extent));
        }
        // The catalog ends below the extents in memory: between them is a gap, or extents left meanwhile what is in memory.
        match self.whereabouts(offset)? {
            Whereabouts::Older => self.0.state.lock().first_recent().map(Some).ok_or_else(|| self.hole(offset)),
            Whereabouts::Here(extent) => Ok(Some(extent)),
            Whereabouts::Nowhere => Ok(None),
        }
    }

    fn whereabouts(&self, offset: Offset) -> Result<Whereabouts> {
        let state = self.0.state.lock();
        state.offsets()?;
        Ok(state.find(offset))
    }

    /// Bytes of all slices, trimmed ones included.
    pub(super) async fn total_bytes(&self) -> Result<u64> {
        let (known, high_watermark) = {
            let state = self.0.state.lock();
            (state.total_bytes, state.offsets()?.high_watermark)
        };
        if let Some(total) = known {
            return Ok(total);
        }
        let last = self.0.older.find(high_watermark - 1).await?;
        let total = last.map_or(0, |e| e.prior_bytes + e.slice.len);
        Ok(*self.0.state.lock().total_bytes.get_or_insert(total))
    }

    fn hole(&self, offset: Offset) -> Error {
        Error::new(
            ErrorKind::Corrupt,
            format!(
                "the catalog of {} has no extent at or above offset {offset}, though records are committed there; \
                 restore the lane's catalog from a copy of the bucket",
                self.name()
            ),
        )
    }
}
