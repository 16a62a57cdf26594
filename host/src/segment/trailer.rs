//! The last bytes of every log object: how long its footer is, and what it must sum up to.

use super::FormatError;
use super::header::VERSION;
use crate::codec::{Reader, Writer};

/// Encoded size of a trailer, in bytes.
pub(super) const TRAILER_LEN: usize = 20;
const MAGIC: &[u8; 4] = b"KAFT";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trailer {
    pub(super) footer_len: u32,
    pub(super) footer_crc32: u32,
    pub(super) body_crc32: u32,
}

impl Trailer {
    pub(super) fn encode(&self, w: &mut Writer) {
        w.u32(self.footer_len).u32(self.footer_crc32).u32(self.body_crc32).u16(VERSION).u16(0).put(MAGIC);
    }

    /// Reads exactly [`TRAILER_LEN`] bytes.
    pub(super) fn decode(bytes: &[u8], position: u64) -> Result<Self, FormatError> {
        let mut r = Reader::new("trailer", bytes, position);
        let trailer = Self { footer_len: r.u32()?, footer_crc32: r.u32()?, body_crc32: r.u32()? };
        let (version, reserved, magic) = (r.u16()?, r.u16()?, r.take(MAGIC.len())?);
        if magic != MAGIC {
            let problem =
                format!("magic {}, expected {}: the object is cut short or no log object", magic.escape_ascii(), MAGIC.escape_ascii());
            return Err(r.error(problem));
        }
        if version != VERSION || reserved != 0 {
            // The trailer has no checksum of its own; the header tells damage from a newer version.
            return Err(r.error(format!("version {version}, reserved {reserved}, expected {VERSION} and 0")));
        }
        r.finish()?;
        Ok(trailer)
    }
}
