//! Checking blocks that were read from a store.

use std::ops::Range;

use super::SliceIndex;
use crate::codec::FormatError;

impl SliceIndex {
    /// Checks that `bytes` are those of a run of blocks (not empty, within the index), block by block.
    /// The error names the first block that is not as it was written.
    pub fn verify(&self, blocks: Range<usize>, bytes: &[u8]) -> Result<(), FormatError> {
        let range = self.range_of(blocks.clone());
        if bytes.len() as u64 != range.end - range.start {
            return Err(self.damaged(&range, format!("{} bytes", bytes.len())));
        }
        for block in blocks {
            let position = self.entries[block].position;
            let at = |position: u64| (position - range.start) as usize;
            let of_block = &bytes[at(position)..at(self.position_after(block + 1))];
            self.verify_block(block, of_block)?;
        }
        Ok(())
    }

    fn verify_block(&self, block: usize, bytes: &[u8]) -> Result<(), FormatError> {
        let mut hasher = crc32fast::Hasher::new_with_initial(self.entries[block].running_crc32);
        hasher.update(bytes);
        let (expected, found) = (self.crc32_after(block + 1), hasher.finalize());
        if found == expected {
            return Ok(());
        }
        let problem = format!("running crc-32 behind it is {found:#010x}, its index says {expected:#010x}");
        Err(self.damaged(&self.range_of(block..block + 1), problem))
    }

    fn damaged(&self, range: &Range<u64>, problem: String) -> FormatError {
        let part = format!("block {}..{} of partition {}", range.start, range.end, self.partition);
        FormatError::damaged(part, range.start, problem)
    }
}
