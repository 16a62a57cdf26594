//! A chunk: whole record batches of one slice, verified, in memory, never changed.
//!
//! Its bytes are a rope: one part where it was downloaded, one part per appended set where it came from a
//! flush. Parts are never joined, and what is read are slices of them. Batches never straddle parts. *Marks*
//! (at least one every [`MARK_BYTES`]) make finding an offset a binary search and a short walk.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::record::BATCH_HEADER_LEN;
use crate::types::Offset;

/// Bytes between marks: what a search walks at most.
const MARK_BYTES: u64 = 16 << 10;
/// Memory of an entry beside its parts and marks, in bytes: the map's node, the counters, the keys.
const ENTRY_OVERHEAD: u64 = 256;

/// Verified batches, shared.
#[derive(Clone, Debug)]
pub struct Chunk(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    parts: Box<[Bytes]>,
    marks: Box<[Place]>,
    end: Place,
    weight: u64,
}

/// Where a batch starts; or the end of the chunk, behind the last part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    part: usize,
    position: usize,
    /// Bytes of the chunk before it.
    before: u64,
    /// Offset of the batch that starts here; of the end: as `prior_end`.
    base_offset: Offset,
    /// Offset after the batch before it.
    prior_end: Offset,
}

/// What [`Chunk::read`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Bytes appended to the output.
    pub len: usize,
    /// Offset after the last batch read; `None` if none was.
    pub next_offset: Option<Offset>,
    /// Bytes of the chunk up to there.
    pub end_in_chunk: u64,
    /// Everything from the offset to the chunk's end was read: go on in the next one.
    pub exhausted: bool,
}

/// One batch where it lies.
#[derive(Clone, Debug)]
pub struct StoredBatch {
    /// Offset of its first record.
    pub base_offset: Offset,
    /// Offset after its last record.
    pub next_offset: Offset,
    /// All of it.
    pub bytes: Bytes,
}

struct Step {
    size: usize,
    base_offset: Offset,
    next_offset: Offset,
}

/// The three fields that a walk needs, bounded by what is there.
fn step(part: &[u8], position: usize) -> Result<Step, String> {
    let rest = &part[position..];
    if rest.len() < BATCH_HEADER_LEN {
        return Err(format!("a batch header takes {BATCH_HEADER_LEN} bytes, {} are left", rest.len()));
    }
    let field = |range: Range<usize>| -> [u8; 4] { rest[range].try_into().expect("the range has four bytes") };
    let base_offset = Offset::from_be_bytes(rest[..8].try_into().expect("the range has eight bytes"));
    let length = i32::from_be_bytes(field(8..12));
    let delta = i32::from_be_bytes(field(23..27));
    let size = usize::try_from(length).unwrap_or(0).saturating_add(12);
    if size < BATCH_HEADER_LEN || size > rest.len() {
        return Err(format!("a batch of {size} bytes where {BATCH_HEADER_LEN} to {} are possible", rest.len()));
    }
    match base_offset.checked_add(i64::from(delta)).and_then(|last| last.checked_add(1)) {
        Some(next_offset) if base_offset >= 0 && delta >= 0 => Ok(Step { size, base_offset, next_offset }),
        _ => Err(format!("a batch with base offset {base_offset} and last offset delta {delta}")),
    }
}

impl Chunk {
    /// A chunk over whole batches. `held` is the memory that the parts keep alive, in bytes: more than their
    /// length where they are cut out of something larger. The error says what is wrong with the batches.
    pub fn new(parts: Vec<Bytes>, held: u64) -> Result<Self, String> {
        let parts: Box<[Bytes]> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        let mut marks = Vec::new();
        let (mut before, mut prior_end, mut marked) = (0, Offset::MIN, 0);
        for (part, bytes) in parts.iter().enumerate() {
            let mut position = 0;
            while position < bytes.len() {
                let step = step(bytes, position).map_err(|e| format!("{e}, at byte {before} of the chunk"))?;
                if step.base_offset < prior_end {
                    return Err(format!("offset {} follows offset {}, at byte {before} of the chunk", step.base_offset, prior_end - 1));
                }
                if position == 0 || before - marked >= MARK_BYTES {
                    marks.push(Place { part, position, before, base_offset: step.base_offset, prior_end });
                    marked = before;
                }
                position += step.size;
                before += step.size as u64;
                prior_end = step.next_offset;
            }
        }
        if marks.is_empty() {
            return Err("no batch in it".into());
        }
        let end = Place { part: parts.len(), position: 0, before, base_offset: prior_end, prior_end };
        let tables = parts.len() * size_of::<Bytes>() + marks.len() * size_of::<Place>();
        let weight = held.max(before) + tables as u64 + ENTRY_OVERHEAD;
        Ok(Self(Arc::new(Inner { parts, marks: marks.into(), end, weight })))
    }

    /// Bytes of all its batches.
    pub fn len(&self) -> u64 {
        self.0.end.before
    }

    /// Never: a chunk has at least one batch.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Memory that it keeps alive, in bytes.
    pub fn weight(&self) -> u64 {
        self.0.weight
    }

    /// What a downloaded chunk of `len` bytes will weigh, nearly.
    pub(super) fn weight_of(len: u64) -> u64 {
        len + (len / MARK_BYTES + 1) * size_of::<Place>() as u64 + size_of::<Bytes>() as u64 + ENTRY_OVERHEAD
    }

    /// Offset after its last batch.
    pub fn next_offset(&self) -> Offset {
        self.0.end.prior_end
    }

    /// Appends to `out` whole batches from the one that contains `from` (or the next) on, up to `max_bytes`, all with
    /// base offsets below `below`; the first even if it is larger, where `at_least_one`.
    pub fn read(&self, from: Offset, below: Offset, max_bytes: usize, at_least_one: bool, out: &mut Vec<Bytes>) -> Read {
        let start = self.seek(from);
        let end = self.advance(start, below, max_bytes, at_least_one);
        for part in start.part..self.0.parts.len().min(end.part + 1) {
            let first = if part == start.part { start.position } else { 0 };
            let last = if part == end.part { end.position } else { self.0.parts[part].len() };
            if first < last {
                out.push(self.0.parts[part].slice(first..last));
            }
        }
        let len = (end.before - start.before) as usize;
        Read { len, next_offset: (len > 0).then_some(end.prior_end), end_in_chunk: end.before, exhausted: end == self.0.end }
    }

    /// The batches from the one that contains `from` (or the next) on.
    pub fn batches_from(&self, from: Offset) -> impl Iterator<Item = StoredBatch> + '_ {
        let mut place = self.seek(from);
        std::iter::from_fn(move || {
            let (batch, next) = self.batch(place)?;
            let bytes = self.0.parts[place.part].slice(place.position..place.position + batch.size);
            place = next;
            Some(StoredBatch { base_offset: batch.base_offset, next_offset: batch.next_offset, bytes })
        })
    }

    fn batch(&self, place: Place) -> Option<(Step, Place)> {
        let part = self.0.parts.get(place.part)?;
        let batch = step(part, place.position).expect("all batches were walked when the chunk was made");
        let position = place.position + batch.size;
        let (part, position) = if position == part.len() { (place.part + 1, 0) } else { (place.part, position) };
        let before = place.before + batch.size as u64;
        let mut next = Place { part, position, before, base_offset: batch.next_offset, prior_end: batch.next_offset };
        if let Some(Ok(following)) = self.0.parts.get(part).map(|bytes| step(bytes, position)) {
            next.base_offset = following.base_offset;
        }
        Some((batch, next))
    }

    /// The batch that contains `from`, or the first one behind it, or the end.
    fn seek(&self, from: Offset) -> Place {
        let marks = &self.0.marks;
        let mut place = marks[marks.partition_point(|m| m.base_offset <= from).saturating_sub(1)];
        while let Some((batch, next)) = self.batch(place) {
            if batch.next_offset > from {
                break;
            }
            place = next;
        }
        place
    }

    /// The first batch that does not fit any more, or the end.
    fn advance(&self, start: Place, below: Offset, max_bytes: usize, at_least_one: bool) -> Place {
        let limit = start.before.saturating_add(max_bytes as u64);
        let fits = self.0.marks.partition_point(|m| m.before <= limit && m.base_offset < below);
        let mut place = match fits.checked_sub(1).map(|m| self.0.marks[m]) {
            Some(mark) if mark.before > start.before => mark,
            _ => start,
        };
        while let Some((batch, next)) = self.batch(place) {
            let wanted = next.before <= limit || (at_least_one && place == start);
            if batch.base_offset >= below || !wanted {
                break;
            }
            place = next;
        }
        place
    }
}

#[cfg(test)]
mod tests;
