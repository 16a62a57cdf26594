#![no_main]
//! Footers and whole objects. The input becomes the tables behind a good header, with right checksums.

use libfuzzer_sys::fuzz_target;
use tidegate_fuzz::segment::{HEADER_LEN, Identity, fence, read_footer, verify};
use tidegate_fuzz::types::{Nonce, TopicId};

const TRAILER_LEN: usize = 20;

fuzz_target!(|bytes: &[u8]| {
    let _ = read_footer(bytes, bytes.len() as u64);
    let _ = verify(bytes);
    let identity = Identity { topic: TopicId(uuid::Uuid::nil()), lane: 0, slot: 0, epoch: 0, nonce: Nonce(0) };
    let good = fence(identity, 0).chunks().concat();
    let (header, trailer) = (&good[..HEADER_LEN], &good[good.len() - TRAILER_LEN..]);
    let mut object = [header, header, bytes, trailer].concat();
    let (footer_at, trailer_at) = (HEADER_LEN, HEADER_LEN + HEADER_LEN + bytes.len());
    let crc = crc32fast::hash(&object[footer_at..trailer_at]);
    object[trailer_at..trailer_at + 4].copy_from_slice(&((trailer_at - footer_at) as u32).to_be_bytes());
    object[trailer_at + 4..trailer_at + 8].copy_from_slice(&crc.to_be_bytes());
    let _ = read_footer(&object, object.len() as u64);
    let _ = verify(&object);
});
