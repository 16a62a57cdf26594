//! Laying out a segment: one pass over the batches, and none of their bytes copied.

use std::ops::Range;

use bytes::Bytes;
use crc32fast::Hasher;

use super::header::HEADER_LEN;
use super::trailer::Trailer;
use super::{Footer, Header, Identity, LogObjectKind, ProducerAppend, SliceMeta};
use crate::codec::{Body, Writer, crc32_combine, crc32_of_rest};
use crate::index::{IndexBuilder, SliceIndex};
use crate::policy::IndexSpacing;
use crate::record::AppendedSet;
use crate::types::{PartitionId, TimestampMs};

/// What [`seal`] takes for one partition.
#[derive(Debug)]
pub struct SliceInput {
    /// The partition.
    pub partition: PartitionId,
    /// Its sets, in offset order; not empty.
    pub sets: Vec<AppendedSet>,
    /// Spacing of its index.
    pub spacing: IndexSpacing,
}

/// A sealed segment, ready to upload.
#[derive(Debug)]
pub struct Sealed {
    /// Header, batches as they came, indexes, footer, trailer: no batch byte is copied.
    pub body: Body,
    /// Its header.
    pub header: Header,
    /// Its footer.
    pub footer: Footer,
    /// The index of each slice of the footer, in the same order.
    pub indexes: Vec<SliceIndex>,
    /// Where the batches of each slice of the footer lie among the chunks of the body, in the same order.
    slices: Vec<Range<usize>>,
}

impl Sealed {
    /// The batches of each slice of the footer, in the same order.
    pub fn slices(&self) -> impl Iterator<Item = &[Bytes]> {
        self.slices.iter().map(|chunks| &self.body.chunks()[chunks.clone()])
    }
}

/// Lays out a segment; the slices are put in partition order. There is at least one slice, each of another partition, each
/// with at least one set.
pub fn seal(identity: Identity, created_ms: TimestampMs, mut inputs: Vec<SliceInput>) -> Sealed {
    assert!(!inputs.is_empty(), "a segment has at least one slice");
    inputs.sort_by_key(|input| input.partition);
    assert!(inputs.is_sorted_by(|a, b| a.partition < b.partition), "a partition has one slice in a segment");
    let mut pass = Pass { position: HEADER_LEN as u64, hasher: Hasher::new(), producers: Vec::new() };
    let (mut metas, mut indexes): (Vec<_>, Vec<_>) = inputs.iter().map(|input| pass.slice(input)).unzip();
    let body_crc32 = pass.running_crc32();
    let header = Header { kind: LogObjectKind::Segment, identity, created_ms, body_len: pass.position - HEADER_LEN as u64, body_crc32 };
    let mut tail = Writer::default();
    for (meta, index) in metas.iter_mut().zip(&mut indexes) {
        let encoded = index.encode();
        meta.index_position = pass.position + tail.len() as u64;
        meta.index_len = u32::try_from(encoded.len()).expect("a segment of 256 MiB has a smaller index");
        tail.put(&encoded);
    }
    let footer = Footer { header, slices: metas, producers: pass.producers };
    let sets: usize = inputs.iter().map(|input| input.sets.len()).sum();
    let mut chunks = Vec::with_capacity(sets + 2);
    chunks.push(footer.header.encode());
    let mut slices = Vec::with_capacity(inputs.len());
    for input in inputs {
        let first = chunks.len();
        chunks.extend(input.sets.into_iter().map(|set| set.bytes));
        slices.push(first..chunks.len());
    }
    let body = assemble(&footer, chunks, tail);
    Sealed { body, header, footer, indexes, slices }
}

/// A fence: the claim of an opening on a slot.
pub fn fence(identity: Identity, created_ms: TimestampMs) -> Body {
    let header = Header { kind: LogObjectKind::Fence, identity, created_ms, body_len: 0, body_crc32: 0 };
    let footer = Footer { header, slices: Vec::new(), producers: Vec::new() };
    assemble(&footer, vec![footer.header.encode()], Writer::default())
}

/// Joins the parts: `chunks` hold the header and the batches, `tail` the indexes. The checksum of the whole follows from those of header and
/// body.
fn assemble(footer: &Footer, mut chunks: Vec<Bytes>, mut tail: Writer) -> Body {
    let footer_at = tail.len();
    footer.encode(&mut tail);
    let encoded = &tail.as_slice()[footer_at..];
    let trailer = Trailer {
        footer_len: u32::try_from(encoded.len()).expect("a segment of 256 MiB has a smaller footer"),
        footer_crc32: crc32fast::hash(encoded),
        body_crc32: footer.header.body_crc32,
    };
    trailer.encode(&mut tail);
    let of_head_and_body = crc32_combine(crc32fast::hash(&chunks[0]), footer.header.body_crc32, footer.header.body_len);
    let mut hasher = Hasher::new_with_initial(of_head_and_body);
    hasher.update(tail.as_slice());
    chunks.push(tail.into_bytes());
    Body::with_crc32(chunks, hasher.finalize())
}

/// A slice in the making.
struct SliceBuilder {
    index: IndexBuilder,
    batches: u32,
    max_timestamp: TimestampMs,
}

/// The one pass over the batches: each header is looked at once, since it lies elsewhere than the last one.
struct Pass {
    /// Of the next byte in the object.
    position: u64,
    /// Over the body so far.
    hasher: Hasher,
    producers: Vec<ProducerAppend>,
}

impl Pass {
    fn running_crc32(&self) -> u32 {
        self.hasher.clone().finalize()
    }

    fn slice(&mut self, input: &SliceInput) -> (SliceMeta, SliceIndex) {
        let (position, crc32_before) = (self.position, self.running_crc32());
        let first = input.sets.first().and_then(|set| set.batches.first()).expect("a slice has at least one batch").header;
        let mut builder =
            SliceBuilder { index: IndexBuilder::new(input.partition, input.spacing), batches: 0, max_timestamp: first.max_timestamp };
        for set in &input.sets {
            self.set(input.partition, set, &mut builder);
        }
        let crc32_after = self.running_crc32();
        let len = self.position - position;
        let meta = SliceMeta {
            partition: input.partition,
            base_offset: first.base_offset,
            next_offset: input.sets.last().expect("a slice has at least one set").next_offset(),
            position,
            len,
            batch_count: builder.batches,
            first_timestamp: first.first_timestamp(),
            max_timestamp: builder.max_timestamp,
            crc32: crc32_of_rest(crc32_before, crc32_after, len),
            index_position: 0,
            index_len: 0,
        };
        (meta, builder.index.finish(self.position, crc32_after))
    }

    fn set(&mut self, partition: PartitionId, set: &AppendedSet, slice: &mut SliceBuilder) {
        let mut hashed = 0;
        for batch in &set.batches {
            let header = &batch.header;
            slice.batches += 1;
            slice.max_timestamp = slice.max_timestamp.max(header.max_timestamp);
            slice.index.add(header, self.position + batch.position as u64, || {
                self.hasher.update(&set.bytes[hashed..batch.position]);
                hashed = batch.position;
                self.hasher.clone().finalize()
            });
            if header.producer_id >= 0 {
                self.producers.push(ProducerAppend::of(partition, header));
            }
        }
        self.hasher.update(&set.bytes[hashed..]);
        self.position += set.bytes.len() as u64;
    }
}
