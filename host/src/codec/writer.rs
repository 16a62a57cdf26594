//! Writing what [`Reader`](super::Reader) reads.

use bytes::Bytes;

/// Bytes in the making.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

macro_rules! integers {
    ($($name:ident)*) => {$(
        #[doc = concat!("Appends a big-endian `", stringify!($name), "`.")]
        pub fn $name(&mut self, value: $name) -> &mut Self {
            self.put(&value.to_be_bytes())
        }
    )*};
}

impl Writer {
    /// Nothing yet; room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { bytes: Vec::with_capacity(capacity) }
    }

    /// Begins bytes that [`Reader::open`](super::Reader::open) opens; end them with [`Self::close`].
    pub fn open(magic: &[u8; 4], version: u16) -> Self {
        let mut writer = Self::default();
        writer.put(magic).u16(version);
        writer
    }

    integers! { u8 u16 u32 u64 u128 i16 i32 i64 }

    /// Appends bytes.
    pub fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Appends a variable-length integer: seven bits a byte, lowest first.
    pub fn uvarint(&mut self, mut value: u64) -> &mut Self {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
        self
    }

    /// Appends a signed variable-length integer (zigzag).
    pub fn varint(&mut self, value: i64) -> &mut Self {
        self.uvarint((value << 1 ^ value >> 63) as u64)
    }

    /// Length so far, in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes so far.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes as they are.
    pub fn into_bytes(self) -> Bytes {
        self.bytes.into()
    }

    /// The bytes with their CRC-32 behind them.
    pub fn close(mut self) -> Bytes {
        self.u32(crc32fast::hash(&self.bytes));
        self.into_bytes()
    }
}
