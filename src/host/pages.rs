//! Host memory whose pages are not allocated until they are touched.

use super::HostError;
use crate::units::Bytes;
use std::io;
use std::ptr;

/// A region of `f32` straight from the operating system, by an anonymous private mapping:
/// page-aligned, zero, and without physical pages until they are first touched. A general
/// allocator would hand out pages that an earlier buffer has already touched.
pub struct PageMemory {
    start: *mut f32,
    count: usize,
}

// SAFETY: a mapping belongs to the process and not to a thread, and the methods that
// change it take it exclusively.
unsafe impl Send for PageMemory {}
// SAFETY: a shared mapping is only read; the methods that change it take it exclusively.
unsafe impl Sync for PageMemory {}

impl PageMemory {
    /// Maps `bytes`, rounded up to whole values.
    pub fn new(bytes: Bytes) -> Result<Self, HostError> {
        let count = bytes.in_f32s();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let length = mapped(count);
        // SAFETY: the system chooses the address, so the new mapping touches no existing memory.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(HostError::Memory { bytes, source: io::Error::last_os_error() });
        }
        Ok(Self { start: start.cast(), count })
    }

    pub fn as_ptr(&self) -> *const f32 {
        self.start
    }

    pub fn as_mut_ptr(&mut self) -> *mut f32 {
        self.start
    }

    /// All values; they are zero until written.
    pub fn as_slice(&self) -> &[f32] {
        // SAFETY: the mapping holds `count` values, which are zero until written. It
        // lives as long as `self` and is borrowed only through `self`.
        unsafe { std::slice::from_raw_parts(self.start, self.count) }
    }

    /// All values, to be written; they are zero until then.
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        // SAFETY: the mapping holds `count` values and lives as long as `self`, which is
        // borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.count) }
    }

    /// Returns all pages to the system. The values are zero afterwards, and the next
    /// touch of each page faults as the first one did. The address stays the same.
    pub fn renew(&mut self) -> Result<(), HostError> {
        let (start, length) = (self.start.cast(), mapped(self.count));
        // SAFETY: the range is this mapping, and nobody else borrows it now. Linux
        // promises zeroes at the next touch (madvise(2)).
        if unsafe { libc::madvise(start, length, libc::MADV_DONTNEED) } == 0 {
            return Ok(());
        }
        let bytes = Bytes::of_f32(self.count as u64);
        Err(HostError::Memory { bytes, source: io::Error::last_os_error() })
    }
}

/// Bytes of the mapping for so many values: the system maps no empty range.
fn mapped(count: usize) -> usize {
    (count * size_of::<f32>()).max(1)
}

impl Drop for PageMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value, and no borrow outlives it.
        let status = unsafe { libc::munmap(self.start.cast(), mapped(self.count)) };
        debug_assert_eq!(status, 0, "munmap of our own mapping failed");
    }
}
