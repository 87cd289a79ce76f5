//! Counts the bytes that are allocated at present, and has large blocks in large pages.
//!
//! Over 4 KiB pages, what goes through hundreds of megabytes waits for page tables, which
//! are too large for the core's own cache by then: a property of the machine, not of the
//! engine or of the floor.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The large pages of most machines that have any.
const LARGE: usize = 2 << 20;

struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: everything is left to the system's allocator; sizes are added up, and large
// blocks are aligned to large pages, in `alloc` as in `dealloc`.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let before = ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        MOST.fetch_max(before + layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        let block = unsafe { System.alloc(aligned(layout)) };
        #[cfg(target_os = "linux")]
        if layout.size() >= LARGE && !block.is_null() {
            // SAFETY: advice about memory that was just allocated. A kernel that does not
            // take it leaves the pages as they are.
            unsafe { libc::madvise(block.cast(), layout.size(), libc::MADV_HUGEPAGE) };
        }
        block
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, aligned(layout)) }
    }
}

fn aligned(layout: Layout) -> Layout {
    if layout.size() < LARGE { layout } else { layout.align_to(LARGE).unwrap_or(layout) }
}

/// Bytes allocated and not freed.
pub fn allocated() -> usize {
    ALLOCATED.load(Ordering::Relaxed)
}

/// The most bytes that are allocated at once while something runs.
pub fn most<R>(run: impl FnOnce() -> R) -> usize {
    MOST.store(allocated(), Ordering::Relaxed);
    run();
    MOST.load(Ordering::Relaxed)
}
