//! The smallest heap there is: it only grows. A policy that allocates nothing in its decisions needs no more.

#![allow(unsafe_code, reason = "an allocator is unsafe by nature")]

use core::alloc::{GlobalAlloc, Layout};
use core::arch::wasm32::{memory_grow, memory_size};
use core::cell::Cell;
use core::ptr::null_mut;

const PAGE: usize = 64 << 10;

struct Heap {
    next: Cell<usize>,
    end: Cell<usize>,
}

// SAFETY: a guest has one thread; threads are off in every host of this contract.
unsafe impl Sync for Heap {}

// SAFETY: each allocation lies behind the last one, in pages that `memory_grow` has given, and nothing is given twice.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if self.end.get() == 0 {
            // What was there at the start belongs to data and stack.
            let begin = memory_size(0) * PAGE;
            self.next.set(begin);
            self.end.set(begin);
        }
        let at = self.next.get().next_multiple_of(layout.align());
        let Some(next) = at.checked_add(layout.size()) else { return null_mut() };
        if next > self.end.get() {
            let pages = (next - self.end.get()).div_ceil(PAGE);
            if memory_grow(0, pages) == usize::MAX {
                return null_mut();
            }
            self.end.set(self.end.get() + pages * PAGE);
        }
        self.next.set(next);
        at as *mut u8
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static HEAP: Heap = Heap { next: Cell::new(0), end: Cell::new(0) };
