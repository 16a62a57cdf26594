//! Arithmetic on CRC-32 (IEEE): sums of joined and of split bytes, without reading them again.
//!
//! A CRC is linear: `crc(AB) = shift(crc(A), |B|) ^ crc(B)`, where `shift` appends `|B|` zero bytes to the
//! state. So one pass over a segment gives the sum of the object, of the body and of every slice.

use crc32fast::Hasher;

/// CRC-32 of `A` followed by `B`, from their own and the length of `B` in bytes.
pub fn crc32_combine(a: u32, b: u32, b_len: u64) -> u32 {
    let mut whole = Hasher::new_with_initial(a);
    whole.combine(&Hasher::new_with_initial_len(b, b_len));
    whole.finalize()
}

/// CRC-32 of `B` alone, from those of `A` and of `A` followed by `B`, and the length of `B` in bytes.
pub fn crc32_of_rest(a: u32, ab: u32, b_len: u64) -> u32 {
    crc32_combine(a, 0, b_len) ^ ab
}
