//! The codecs of Kafka batches. Decoding stops at a limit, whatever the bytes claim to hold.

use std::io::{self, Read};

/// How the records of a batch are compressed: the low three bits of its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of the protocol guide")]
pub enum Compression {
    None,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

/// What Java clients and librdkafka put in front of snappy blocks, each with its length before it; followed by two
/// versions of 4 bytes.
const XERIAL_MAGIC: &[u8; 8] = b"\x82SNAPPY\0";
const XERIAL_HEADER_LEN: usize = 16;

impl Compression {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    pub(super) fn of_attributes(attributes: u16) -> Result<Self, String> {
        let code = attributes & 0b111;
        Self::ALL.get(usize::from(code)).copied().ok_or_else(|| format!("compression codec {code}, known are 0 to 4"))
    }

    /// Decodes `bytes` to at most `limit` bytes.
    pub(super) fn decode(self, bytes: &[u8], limit: usize) -> Result<Vec<u8>, String> {
        let decoded = match self {
            Self::None => read_limited(bytes, limit),
            Self::Gzip => read_limited(flate2::read::MultiGzDecoder::new(bytes), limit),
            Self::Snappy => snappy(bytes, limit),
            Self::Lz4 => read_limited(lz4_flex::frame::FrameDecoder::new(bytes), limit),
            // A window of up to 128 MiB is let through, as by other readers; only what is decoded becomes resident.
            Self::Zstd => zstd::stream::read::Decoder::with_buffer(bytes).and_then(|decoder| read_limited(decoder, limit)),
        };
        decoded.map_err(|e| format!("{self:?} records cannot be decoded: {e}"))
    }
}

fn too_long(limit: usize) -> io::Error {
    io::Error::other(format!("they have more than {limit} bytes when decoded"))
}

fn read_limited(decoder: impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut decoded = Vec::new();
    decoder.take(limit as u64 + 1).read_to_end(&mut decoded)?;
    if decoded.len() > limit { Err(too_long(limit)) } else { Ok(decoded) }
}

fn snappy(bytes: &[u8], limit: usize) -> io::Result<Vec<u8>> {
    let mut decoded = Vec::new();
    if !bytes.starts_with(XERIAL_MAGIC) {
        snappy_block(bytes, limit, &mut decoded)?;
        return Ok(decoded);
    }
    let mut rest = bytes.get(XERIAL_HEADER_LEN..).ok_or(io::ErrorKind::UnexpectedEof)?;
    while let Some((len, blocks)) = rest.split_first_chunk::<4>() {
        let len = u32::from_be_bytes(*len) as usize;
        let (block, others) = blocks.split_at_checked(len).ok_or(io::ErrorKind::UnexpectedEof)?;
        snappy_block(block, limit, &mut decoded)?;
        rest = others;
    }
    if rest.is_empty() { Ok(decoded) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn snappy_block(block: &[u8], limit: usize, decoded: &mut Vec<u8>) -> io::Result<()> {
    let start = decoded.len();
    let claimed = snap::raw::decompress_len(block)?;
    if claimed > limit - start {
        return Err(too_long(limit));
    }
    decoded.resize(start + claimed, 0);
    let written = snap::raw::Decoder::new().decompress(block, &mut decoded[start..])?;
    decoded.truncate(start + written);
    Ok(())
}
