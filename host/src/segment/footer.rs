//! The table at the end of an object, and the trailer by which it is found.
//!
//! A footer begins with a copy of the header, so that one read of an object's tail tells whose it is, what it
//! is, and where everything lies.

use super::header::HEADER_LEN;
use super::slice::SLICE_LEN;
use super::trailer::{TRAILER_LEN, Trailer};
use super::{FormatError, Header, SliceMeta};
use crate::codec::{Reader, Writer};
use crate::record::BatchHeader;
use crate::types::{Offset, PartitionId};

/// A tail of so many bytes holds the whole footer of most segments.
pub const TAIL_READ_BYTES: u64 = 64 << 10;
const PRODUCER_LEN: usize = 30;

/// One append of an idempotent producer, for the rebuilding of producer state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the protocol guide")]
pub struct ProducerAppend {
    pub partition: PartitionId,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub first_sequence: i32,
    pub last_sequence: i32,
    pub base_offset: Offset,
}

impl ProducerAppend {
    /// What the header of a batch with a producer id says, once it has its offset.
    pub fn of(partition: PartitionId, header: &BatchHeader) -> Self {
        Self {
            partition,
            producer_id: header.producer_id,
            producer_epoch: header.producer_epoch,
            first_sequence: header.base_sequence,
            last_sequence: header.last_sequence(),
            base_offset: header.base_offset,
        }
    }
}

/// The table at the end of a segment or fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footer {
    /// The object's header.
    pub header: Header,
    /// In partition order, at most one for each; none in a fence.
    pub slices: Vec<SliceMeta>,
    /// In append order within a partition.
    pub producers: Vec<ProducerAppend>,
}

/// Why a footer could not be read from a tail.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FooterError {
    /// The tail is too short: read the last `tail_len` bytes of the object.
    #[error("the footer needs the last {tail_len} bytes of the object")]
    NeedMore {
        /// So many bytes, at most the size of the object.
        tail_len: u64,
    },
    /// The object is not understood.
    #[error(transparent)]
    Format(#[from] FormatError),
}

/// Size of a fence, in bytes: an object without slices. Every segment is larger.
pub const FENCE_LEN: u64 = (HEADER_LEN + HEADER_LEN + 8 + TRAILER_LEN) as u64;

/// Reads the footer of an object of `object_size` bytes from its last bytes, of which there may be any number.
pub fn read_footer(tail: &[u8], object_size: u64) -> Result<Footer, FooterError> {
    let Some(before) = object_size.checked_sub(tail.len() as u64) else {
        let problem = format!("a tail of {} bytes of an object of {object_size}", tail.len());
        return Err(FormatError::damaged("trailer", 0, problem).into());
    };
    if object_size < FENCE_LEN {
        let problem = format!("the object has {object_size} bytes, the smallest has {FENCE_LEN}");
        return Err(FormatError::damaged("trailer", 0, problem).into());
    }
    let Some(trailer_at) = tail.len().checked_sub(TRAILER_LEN) else {
        return Err(FooterError::NeedMore { tail_len: object_size.min(TAIL_READ_BYTES) });
    };
    let trailer = Trailer::decode(&tail[trailer_at..], before + trailer_at as u64)?;
    let footer_len = u64::from(trailer.footer_len);
    let most = object_size - (HEADER_LEN + TRAILER_LEN) as u64;
    if footer_len > most {
        let problem = format!("footer of {footer_len} bytes, there is room for {most}");
        return Err(FormatError::damaged("trailer", before + trailer_at as u64, problem).into());
    }
    let Some(footer_at) = (trailer_at as u64).checked_sub(footer_len) else {
        return Err(FooterError::NeedMore { tail_len: footer_len + TRAILER_LEN as u64 });
    };
    Ok(Footer::decode(&tail[footer_at as usize..trailer_at], before + footer_at, &trailer)?)
}

impl Footer {
    /// The slice of a partition.
    pub fn slice(&self, partition: PartitionId) -> Option<&SliceMeta> {
        let found = self.slices.binary_search_by_key(&partition, |slice| slice.partition);
        found.ok().map(|i| &self.slices[i])
    }

    pub(super) fn encode(&self, w: &mut Writer) {
        w.put(&self.header.encode());
        w.u32(self.slices.len() as u32).u32(self.producers.len() as u32);
        for slice in &self.slices {
            slice.encode(w);
        }
        for p in &self.producers {
            w.u32(p.partition).i64(p.producer_id).i16(p.producer_epoch);
            w.i32(p.first_sequence).i32(p.last_sequence).i64(p.base_offset);
        }
    }

    fn decode(bytes: &[u8], position: u64, trailer: &Trailer) -> Result<Self, FormatError> {
        let computed = crc32fast::hash(bytes);
        if computed != trailer.footer_crc32 {
            let problem =
                format!("crc-32 of its {} bytes is {computed:#010x}, the trailer says {:#010x}", bytes.len(), trailer.footer_crc32);
            return Err(FormatError::damaged("footer", position, problem));
        }
        let mut r = Reader::new("footer", bytes, position);
        let header = Header::decode_at(r.take(HEADER_LEN)?, position)?;
        r.check(header.body_crc32 == trailer.body_crc32, "the trailer has another crc-32 of the body")?;
        let slice_count = r.count(SLICE_LEN)?;
        let producer_count = r.count(PRODUCER_LEN)?;
        let mut footer = Self { header, slices: Vec::with_capacity(slice_count), producers: Vec::with_capacity(producer_count) };
        for _ in 0..slice_count {
            footer.slices.push(SliceMeta::decode(&mut r)?);
        }
        for _ in 0..producer_count {
            footer.producers.push(producer(&mut r)?);
        }
        footer.check(position).map_err(|problem| r.error(problem))?;
        r.finish()?;
        Ok(footer)
    }

    /// Slices fill the body, indexes what lies behind it, up to the footer; producers belong to slices.
    fn check(&self, position: u64) -> Result<(), String> {
        let mut next = HEADER_LEN as u64;
        for slice in &self.slices {
            if slice.position != next {
                return Err(format!("slice of partition {} at {}, expected at {next}", slice.partition, slice.position));
            }
            next = slice.end_position();
        }
        if next > position || next - HEADER_LEN as u64 != self.header.body_len {
            return Err(format!("slices end at {next}, the body has {} bytes", self.header.body_len));
        }
        for slice in &self.slices {
            if slice.index_position != next {
                return Err(format!("index of partition {} at {}, expected at {next}", slice.partition, slice.index_position));
            }
            next += u64::from(slice.index_len);
        }
        if next != position {
            return Err(format!("indexes end at {next}"));
        }
        if !self.slices.is_sorted_by(|a, b| a.partition < b.partition) {
            return Err("slices are not in partition order".to_owned());
        }
        let belongs = |p: &ProducerAppend| self.slice(p.partition).is_some_and(|s| (s.base_offset..s.next_offset).contains(&p.base_offset));
        match self.producers.iter().find(|p| !belongs(p)) {
            Some(p) => Err(format!("append of producer {} at offset {} is in no slice", p.producer_id, p.base_offset)),
            None => Ok(()),
        }
    }
}

fn producer(r: &mut Reader<'_>) -> Result<ProducerAppend, FormatError> {
    Ok(ProducerAppend {
        partition: r.u32()?,
        producer_id: r.i64()?,
        producer_epoch: r.i16()?,
        first_sequence: r.i32()?,
        last_sequence: r.i32()?,
        base_offset: r.i64()?,
    })
}
