//! What the log remembers of idempotent producers at a checkpoint.
//!
//! State is a replay of appends, here as in footers: the manifest holds the newest appends of each producer and
//! partition, or names a snapshot, written create-only before it, where they would make it too large.

use bytes::Bytes;

use crate::codec::{FormatError, Reader, Writer};
use crate::segment::ProducerAppend;
use crate::types::{Epoch, Nonce, Slot};

const MAGIC: &[u8; 4] = b"KAFD";
const VERSION: u16 = 1;
const INLINE: u8 = 0;
const SNAPSHOT: u8 = 1;
/// Six integers of at least a byte.
const MIN_APPEND_LEN: usize = 6;

/// The appends that rebuild producer state, in append order within each partition, or where they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProducerStates {
    /// In the manifest itself.
    Inline(Vec<ProducerAppend>),
    /// In an object of their own.
    Snapshot(SnapshotRef),
}

impl Default for ProducerStates {
    fn default() -> Self {
        Self::Inline(Vec::new())
    }
}

/// Names a snapshot of producer state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotRef {
    /// The checkpoint at which it was taken.
    pub checkpoint: Slot,
    /// Epoch of its writer.
    pub epoch: Epoch,
    /// Nonce of its writer.
    pub nonce: Nonce,
}

/// The encoded snapshot of these appends.
pub fn encode_snapshot(appends: &[ProducerAppend]) -> Bytes {
    let mut w = Writer::open(MAGIC, VERSION);
    encode_appends(w.u16(0), appends);
    w.close()
}

/// Reads an encoded snapshot.
pub fn decode_snapshot(bytes: &[u8]) -> Result<Vec<ProducerAppend>, FormatError> {
    let mut r = Reader::open("producer snapshot", bytes, 0, MAGIC, VERSION)?;
    let reserved = r.u16()?;
    r.check(reserved == 0, "reserved bytes are not 0")?;
    let appends = decode_appends(&mut r)?;
    r.finish()?;
    Ok(appends)
}

impl ProducerStates {
    pub(super) fn encode(&self, w: &mut Writer) {
        match self {
            Self::Inline(appends) => encode_appends(w.u8(INLINE), appends),
            Self::Snapshot(of) => {
                w.u8(SNAPSHOT).uvarint(of.checkpoint).uvarint(u64::from(of.epoch)).u128(of.nonce.0);
            }
        }
    }

    pub(super) fn decode(r: &mut Reader<'_>) -> Result<Self, FormatError> {
        match r.u8()? {
            INLINE => decode_appends(r).map(Self::Inline),
            SNAPSHOT => {
                let (checkpoint, epoch, nonce) = (r.uvarint()?, r.uvarint_as()?, Nonce(r.u128()?));
                Ok(Self::Snapshot(SnapshotRef { checkpoint, epoch, nonce }))
            }
            kind => Err(r.error(format!("producer state of kind {kind}, expected {INLINE} or {SNAPSHOT}"))),
        }
    }
}

fn encode_appends(w: &mut Writer, appends: &[ProducerAppend]) {
    w.uvarint(appends.len() as u64);
    let mut offset = 0;
    for a in appends {
        w.uvarint(u64::from(a.partition)).varint(a.producer_id).varint(i64::from(a.producer_epoch));
        w.varint(i64::from(a.first_sequence)).varint(i64::from(a.last_sequence)).varint(a.base_offset.wrapping_sub(offset));
        offset = a.base_offset;
    }
}

fn decode_appends(r: &mut Reader<'_>) -> Result<Vec<ProducerAppend>, FormatError> {
    let count = r.varint_count(MIN_APPEND_LEN)?;
    let mut appends = Vec::with_capacity(count);
    let mut offset = 0i64;
    for _ in 0..count {
        let (partition, producer_id) = (r.uvarint_as()?, r.varint()?);
        let (producer_epoch, first_sequence, last_sequence) = (narrow(r)?, narrow(r)?, narrow(r)?);
        offset = offset.wrapping_add(r.varint()?);
        r.check(offset >= 0, "offset below 0")?;
        appends.push(ProducerAppend { partition, producer_id, producer_epoch, first_sequence, last_sequence, base_offset: offset });
    }
    Ok(appends)
}

fn narrow<T: TryFrom<i64>>(r: &mut Reader<'_>) -> Result<T, FormatError> {
    let value = r.varint()?;
    T::try_from(value).map_err(|_| r.error(format!("{value} is out of range")))
}
