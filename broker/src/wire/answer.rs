//! An answer on its way out: pieces that are written one after the other, without being joined first.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use kafka_protocol::protocol::{Encodable, HeaderVersion};
use tokio::sync::OwnedSemaphorePermit;

use super::reader::Malformed;

/// The bytes of an answer, its length field included.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pieces: VecDeque<Bytes>,
    /// Room in a memory budget, given back when the answer has been written or dropped.
    held: Option<OwnedSemaphorePermit>,
}

impl Answer {
    /// Encodes a message behind its length and header.
    pub(crate) fn encode<M: Encodable + HeaderVersion>(correlation_id: i32, version: i16, message: &M) -> Result<Self, Malformed> {
        fn codec(error: impl std::fmt::Display) -> Malformed {
            Malformed::Codec(error.to_string())
        }
        let header = header(correlation_id, M::header_version(version));
        let body = message.compute_size(version).map_err(codec)?;
        let mut bytes = BytesMut::with_capacity(4 + header.len() + body);
        bytes.put_i32(length(header.len() + body)?);
        bytes.extend_from_slice(&header);
        message.encode(&mut bytes, version).map_err(codec)?;
        Ok(Self { pieces: VecDeque::from([bytes.freeze()]), held: None })
    }

    /// Puts length and header in front of a body's pieces.
    pub(crate) fn around(correlation_id: i32, header_version: i16, body: Vec<Bytes>) -> Result<Self, Malformed> {
        let header = header(correlation_id, header_version);
        let mut first = BytesMut::with_capacity(4 + header.len());
        first.put_i32(length(header.len() + body.iter().map(Bytes::len).sum::<usize>())?);
        first.extend_from_slice(&header);
        let mut pieces = VecDeque::with_capacity(1 + body.len());
        pieces.push_back(first.freeze());
        pieces.extend(body.into_iter().filter(|piece| !piece.is_empty()));
        Ok(Self { pieces, held: None })
    }

    /// Bytes behind their length, and nothing else.
    pub(crate) fn bare(bytes: Vec<u8>) -> Result<Self, Malformed> {
        let length = length(bytes.len())?.to_be_bytes().to_vec();
        let pieces = [length, bytes].into_iter().filter(|piece| !piece.is_empty()).map(Bytes::from);
        Ok(Self { pieces: pieces.collect(), held: None })
    }

    /// Keeps `permit` until the answer is written.
    pub(crate) fn holding(mut self, permit: Option<OwnedSemaphorePermit>) -> Self {
        self.held = permit;
        self
    }
}

fn length(len: usize) -> Result<i32, Malformed> {
    i32::try_from(len).map_err(|_| Malformed::Codec(format!("answer of {len} bytes, at most {} can be sent", i32::MAX)))
}

/// Header version 1 ends with an empty section of tagged fields.
fn header(correlation_id: i32, version: i16) -> Vec<u8> {
    let mut header = correlation_id.to_be_bytes().to_vec();
    if version >= 1 {
        header.push(0);
    }
    header
}

impl Buf for Answer {
    fn remaining(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    fn chunk(&self) -> &[u8] {
        self.pieces.front().map_or(&[], |piece| piece)
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        slices.iter_mut().zip(&self.pieces).map(|(slice, piece)| *slice = IoSlice::new(piece)).count()
    }

    fn has_remaining(&self) -> bool {
        !self.pieces.is_empty()
    }

    fn advance(&mut self, mut written: usize) {
        while written > 0 {
            let front = self.pieces.front_mut().expect("no more is written than remains");
            if written < front.len() {
                front.advance(written);
                return;
            }
            written -= front.len();
            self.pieces.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_are_written_in_order_whatever_the_steps(
            sizes in proptest::collection::vec(0usize..40, 0..12),
            steps in proptest::collection::vec(1usize..50, 1..20),
        ) {
            let body: Vec<Bytes> = sizes.iter().enumerate().map(|(i, len)| Bytes::from(vec![i as u8; *len])).collect();
            let whole: Vec<u8> = body.concat();
            let mut answer = Answer::around(9, 1, body).unwrap();
            let mut written = Vec::new();
            for step in steps.iter().cycle() {
                if !answer.has_remaining() { break }
                let mut slices = [IoSlice::new(&[]); 3];
                let filled = answer.chunks_vectored(&mut slices);
                let seen: Vec<u8> = slices[..filled].iter().flat_map(|slice| slice.to_vec()).collect();
                let step = (*step).min(seen.len());
                written.extend_from_slice(&seen[..step]);
                answer.advance(step);
            }
            let len = (whole.len() + 5) as i32;
            prop_assert_eq!(&written[..4], &len.to_be_bytes()[..]);
            prop_assert_eq!(&written[9..], &whole[..]);
        }
    }
}
