//! Ids of idempotent producers, in blocks from the metadata store: what is left of a block is lost with the process.

use std::ops::Range;

use tokio::sync::Mutex;

use crate::error::Result;
use crate::metadata::SharedMetadata;

/// Ids of one block: so many producers begin for one request to the store.
const BLOCK: u32 = 1_000;

/// Gives out ids.
pub(super) struct ProducerIds {
    metadata: SharedMetadata,
    block: Mutex<Range<i64>>,
}

impl ProducerIds {
    pub(super) fn new(metadata: SharedMetadata) -> Self {
        Self { metadata, block: Mutex::new(0..0) }
    }

    /// An id that no producer has. Cancelled, it loses a block at most.
    pub(super) async fn next(&self) -> Result<i64> {
        let mut block = self.block.lock().await;
        loop {
            if let Some(id) = block.next() {
                return Ok(id);
            }
            *block = self.metadata.producer_ids(BLOCK).await?;
        }
    }
}
