//! Cutting flushed batches into chunks without copying them.

use bytes::Bytes;

use super::chunk::Chunk;
use super::layout::{Layout, Span};

/// The chunks of a slice that begins at `position`, out of its bytes. A part that two chunks share is weighed in both:
/// either of them keeps all of it alive. Chunks that are not what the layout says are left out; a reader loads and
/// checks them then.
pub(super) fn cut(layout: &Layout, position: u64, batches: &[Bytes]) -> Vec<(Span, Chunk)> {
    let mut rest = batches.iter();
    let mut current: Option<(&Bytes, u64)> = rest.next().map(|part| (part, position));
    let mut chunks = Vec::new();
    for span in layout.spans() {
        let (mut parts, mut held) = (Vec::new(), 0);
        while let Some((part, start)) = current {
            let end = start + part.len() as u64;
            let (first, last) = (start.max(span.position), end.min(span.end()));
            if first < last {
                parts.push(part.slice((first - start) as usize..(last - start) as usize));
                held += part.len() as u64;
            }
            if end > span.end() {
                break;
            }
            current = rest.next().map(|part| (part, end));
        }
        if let Ok(chunk) = Chunk::new(parts, held)
            && chunk.len() == span.len
        {
            chunks.push((*span, chunk));
        }
    }
    chunks
}
