#![no_main]
//! What anybody can send to a broker's socket: refused, or decoded within the memory that its size allows.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| tidegate_fuzz::wire::take(bytes));
