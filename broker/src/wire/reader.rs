//! Reads the protocol's primitive types from bytes that are not trusted.

/// Why a request cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub(crate) enum Malformed {
    #[error("at byte {at}: {needed} more bytes expected, {left} found")]
    Short { at: usize, needed: usize, left: usize },
    #[error("at byte {at}: length {length} is negative")]
    NegativeLength { at: usize, length: i64 },
    #[error("at byte {at}: a variable-length integer of more than 32 bits")]
    LongVarint { at: usize },
    #[error("at byte {at}: tagged field {tag} has {found} bytes, its contents say {expected}")]
    TagLength { at: usize, tag: u32, expected: usize, found: usize },
    #[error("at byte {at}: more than {limit} array elements and tagged fields")]
    TooManyElements { at: usize, limit: usize },
    #[error("{0}")]
    Codec(String),
}

/// A position in a request's bytes.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes read so far.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Bytes not read yet.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        if self.left() < len {
            return Err(Malformed::Short { at: self.at, needed: len, left: self.left() });
        }
        let taken = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        Ok(self.take(N)?.try_into().expect("exactly N bytes were taken"))
    }

    pub(crate) fn i16(&mut self) -> Result<i16, Malformed> {
        self.array().map(i16::from_be_bytes)
    }

    pub(crate) fn i32(&mut self) -> Result<i32, Malformed> {
        self.array().map(i32::from_be_bytes)
    }

    /// An unsigned variable-length integer of at most 32 bits.
    pub(crate) fn varint(&mut self) -> Result<u32, Malformed> {
        let at = self.at;
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let [byte] = self.array()?;
            if shift == 28 && byte > 0x0f {
                return Err(Malformed::LongVarint { at });
            }
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        Ok(value)
    }

    /// A length of which -1 means null (`None`).
    pub(crate) fn length(&self, at: usize, length: i64) -> Result<Option<usize>, Malformed> {
        match length {
            -1 => Ok(None),
            0.. => Ok(Some(length as usize)),
            _ => Err(Malformed::NegativeLength { at, length }),
        }
    }

    /// A length as flexible versions write it: one more, 0 for null.
    pub(crate) fn compact_length(&mut self) -> Result<Option<usize>, Malformed> {
        Ok(self.varint()?.checked_sub(1).map(|length| length as usize))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn varints_above_32_bits_are_refused() {
        assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0x0f]).varint(), Ok(u32::MAX));
        assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0x1f]).varint(), Err(Malformed::LongVarint { at: 0 }));
        assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0x8f]).varint(), Err(Malformed::LongVarint { at: 0 }));
    }

    proptest! {
        #[test]
        fn reading_never_leaves_the_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..32), len in 0usize..64) {
            let mut reader = Reader::new(&bytes);
            let _ = reader.varint();
            let _ = reader.take(len);
            let _ = reader.i32();
            prop_assert!(reader.at() <= bytes.len());
        }
    }
}
