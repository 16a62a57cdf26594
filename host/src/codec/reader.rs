//! Reading untrusted bytes.

use super::FormatError;

/// A position in bytes that are not trusted. Errors name the part that is read and the position in its object.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    part: &'a str,
    bytes: &'a [u8],
    next: usize,
    /// Position of the first byte in its object.
    origin: u64,
}

macro_rules! integers {
    ($($name:ident)*) => {$(
        #[doc = concat!("The next big-endian `", stringify!($name), "`.")]
        #[inline]
        pub fn $name(&mut self) -> Result<$name, FormatError> {
            self.array().map($name::from_be_bytes)
        }
    )*};
}

impl<'a> Reader<'a> {
    /// Reads `bytes`, which lie at `origin` in their object.
    pub fn new(part: &'a str, bytes: &'a [u8], origin: u64) -> Self {
        Self { part, bytes, next: 0, origin }
    }

    /// Opens bytes that begin with a magic and a version and end with their CRC-32: checks the three, in an
    /// order that tells damage from a newer version, and reads what lies between.
    pub fn open(part: &'a str, bytes: &'a [u8], origin: u64, magic: &[u8; 4], version: u16) -> Result<Self, FormatError> {
        let mut reader = Self::new(part, bytes, origin);
        let found_magic = reader.take(4)?;
        if found_magic != magic {
            let problem = format!("magic {}, expected {}", found_magic.escape_ascii(), magic.escape_ascii());
            return Err(FormatError::damaged(part, origin, problem));
        }
        let found_version = reader.u16()?;
        let Some(end) = bytes.len().checked_sub(4).filter(|end| *end >= reader.next) else {
            return Err(reader.error(format!("{} bytes, too few for a checksum", bytes.len())));
        };
        let stored = Reader::new(part, &bytes[end..], origin + end as u64).u32()?;
        let computed = crc32fast::hash(&bytes[..end]);
        if stored != computed {
            return Err(FormatError::damaged(
                part,
                origin,
                format!("crc-32 of its {} bytes is {computed:#010x}, {stored:#010x} was stored", bytes.len()),
            ));
        }
        match found_version {
            0 => return Err(FormatError::damaged(part, origin, "format version 0 does not exist")),
            found if found > version => return Err(FormatError::newer(part, origin, version, found)),
            _ => {}
        }
        reader.bytes = &bytes[..end];
        Ok(reader)
    }

    integers! { u8 u16 u32 u64 u128 i8 i16 i32 i64 }

    /// The next `len` bytes.
    #[inline]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], FormatError> {
        let Some(taken) = self.bytes[self.next..].get(..len) else { return Err(self.too_short(len)) };
        self.next += len;
        Ok(taken)
    }

    #[cold]
    fn too_short(&self, len: usize) -> FormatError {
        self.error(format!("{len} bytes expected, {} left", self.remaining()))
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        self.take(N).map(|taken| taken.try_into().expect("take returns what was asked for"))
    }

    /// A variable-length integer of at most 64 bits: seven bits a byte, lowest first.
    #[inline]
    pub fn uvarint(&mut self) -> Result<u64, FormatError> {
        // Nearly all take one byte or two.
        match self.bytes[self.next..] {
            [low, ..] if low & 0x80 == 0 => {
                self.next += 1;
                Ok(u64::from(low))
            }
            [low, high, ..] if high & 0x80 == 0 => {
                self.next += 2;
                Ok(u64::from(low & 0x7f) | u64::from(high) << 7)
            }
            _ => self.long_uvarint(),
        }
    }

    fn long_uvarint(&mut self) -> Result<u64, FormatError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.error("variable-length integer of more than 64 bits"))
    }

    /// A signed variable-length integer (zigzag).
    #[inline]
    pub fn varint(&mut self) -> Result<i64, FormatError> {
        self.uvarint().map(|z| (z >> 1) as i64 ^ -((z & 1) as i64))
    }

    /// A variable-length integer that fits a smaller type.
    pub fn uvarint_as<T: TryFrom<u64>>(&mut self) -> Result<T, FormatError> {
        let value = self.uvarint()?;
        T::try_from(value).map_err(|_| self.error(format!("{value} is out of range")))
    }

    /// A `u32` count of items of at least `item_len` bytes each: never more than the remaining bytes can hold.
    pub fn count(&mut self, item_len: usize) -> Result<usize, FormatError> {
        let count = self.u32()?;
        self.bounded(u64::from(count), item_len)
    }

    /// The same for a variable-length count.
    pub fn varint_count(&mut self, item_len: usize) -> Result<usize, FormatError> {
        let count = self.uvarint()?;
        self.bounded(count, item_len)
    }

    fn bounded(&self, count: u64, item_len: usize) -> Result<usize, FormatError> {
        let most = self.remaining() / item_len;
        match usize::try_from(count) {
            Ok(count) if count <= most => Ok(count),
            _ => Err(self.error(format!("count {count}, the {} bytes left hold at most {most}", self.remaining()))),
        }
    }

    /// Bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.next
    }

    /// Position of the next byte in its object.
    pub fn position(&self) -> u64 {
        self.origin + self.next as u64
    }

    /// Nothing may remain.
    #[inline]
    pub fn finish(self) -> Result<(), FormatError> {
        match self.remaining() {
            0 => Ok(()),
            left => Err(self.error(format!("{left} bytes too many"))),
        }
    }

    /// Damage at the next byte.
    #[cold]
    pub fn error(&self, problem: impl Into<String>) -> FormatError {
        FormatError::damaged(self.part, self.position(), problem)
    }

    /// [`Self::error`] unless `holds`.
    #[inline]
    pub fn check(&self, holds: bool, problem: &str) -> Result<(), FormatError> {
        if holds { Ok(()) } else { Err(self.error(problem)) }
    }
}
