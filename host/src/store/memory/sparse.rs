//! What an object holds: its bytes, or only those of them that are not zeros.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use crate::store::Body;

/// Bytes that are looked at together: of those that are all zeros only the place is kept.
const GRAIN: usize = 64;

/// See the module.
pub(super) enum Contents {
    Whole(Bytes),
    Sparse(Sparse),
}

/// Bytes with holes of zeros.
pub(super) struct Sparse {
    len: usize,
    /// Where each piece begins in the object and in `kept`, in order; it ends in `kept` where the next one begins.
    pieces: Vec<(usize, usize)>,
    kept: Vec<u8>,
}

impl Contents {
    /// One piece of memory, not shared with the writer: as after a journey over a network.
    pub(super) fn whole(body: &Body) -> Self {
        let mut bytes = BytesMut::with_capacity(body.len() as usize);
        body.chunks().iter().for_each(|chunk| bytes.extend_from_slice(chunk));
        Self::Whole(bytes.freeze())
    }

    /// The same without what is zero.
    pub(super) fn sparse(body: &Body) -> Self {
        let mut sparse = Sparse { len: 0, pieces: Vec::new(), kept: Vec::new() };
        body.chunks().iter().for_each(|chunk| sparse.push(chunk));
        sparse.pieces.shrink_to_fit();
        sparse.kept.shrink_to_fit();
        Self::Sparse(sparse)
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Whole(bytes) => bytes.len(),
            Self::Sparse(sparse) => sparse.len,
        }
    }

    pub(super) fn all(&self) -> Bytes {
        self.slice(0..self.len())
    }

    /// The bytes of a range within its length.
    pub(super) fn slice(&self, range: Range<usize>) -> Bytes {
        match self {
            Self::Whole(bytes) => bytes.slice(range),
            Self::Sparse(sparse) => sparse.slice(range),
        }
    }
}

impl Sparse {
    fn push(&mut self, chunk: &[u8]) {
        let mut in_a_piece = false;
        for grain in chunk.chunks(GRAIN) {
            // No way out in between: so it is done many bytes at a time.
            let zeros = grain.iter().fold(0, |any, byte| any | byte) == 0;
            if !zeros {
                if !in_a_piece {
                    self.pieces.push((self.len, self.kept.len()));
                }
                self.kept.extend_from_slice(grain);
            }
            in_a_piece = !zeros;
            self.len += grain.len();
        }
    }

    fn slice(&self, range: Range<usize>) -> Bytes {
        let mut bytes = BytesMut::zeroed(range.len());
        let first = self.pieces.partition_point(|(at, _)| *at <= range.start).saturating_sub(1);
        for (number, &(at, from)) in self.pieces.iter().enumerate().skip(first).take_while(|(_, (at, _))| *at < range.end) {
            let kept = &self.kept[from..self.pieces.get(number + 1).map_or(self.kept.len(), |next| next.1)];
            let (start, end) = (at.max(range.start), (at + kept.len()).min(range.end));
            if start < end {
                bytes[start - range.start..end - range.start].copy_from_slice(&kept[start - at..end - at]);
            }
        }
        bytes.freeze()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Chunks with holes of all sizes around that of a grain.
    fn chunks() -> impl Strategy<Value = Vec<Bytes>> {
        let run = (any::<u8>(), 0..3 * GRAIN, 0..3 * GRAIN);
        let chunk = proptest::collection::vec(run, 0..6).prop_map(|runs| {
            let mut chunk = Vec::new();
            for (byte, bytes, zeros) in runs {
                chunk.resize(chunk.len() + bytes, byte);
                chunk.resize(chunk.len() + zeros, 0);
            }
            Bytes::from(chunk)
        });
        proptest::collection::vec(chunk, 0..5)
    }

    proptest! {
        #[test]
        fn what_is_left_out_comes_back(chunks in chunks(), from in 0..1_000_usize, to in 0..1_000_usize) {
            let body = Body::with_crc32(chunks, 0);
            let (whole, sparse) = (Contents::whole(&body), Contents::sparse(&body));
            prop_assert_eq!(whole.all(), sparse.all());
            let end = to.min(whole.len());
            let range = from.min(end)..end;
            prop_assert_eq!(whole.slice(range.clone()), sparse.slice(range));
        }
    }

    #[test]
    fn zeros_take_no_memory() {
        let chunks = vec![Bytes::from(vec![1; 100]), Bytes::from(vec![0; 1 << 20]), Bytes::from(vec![2; 100])];
        let Contents::Sparse(sparse) = Contents::sparse(&Body::with_crc32(chunks, 0)) else { panic!("it is sparse") };
        assert_eq!((sparse.kept.len(), sparse.pieces.len(), sparse.len), (200, 2, 200 + (1 << 20)));
    }
}
