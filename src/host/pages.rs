//! Host memory whose pages are not allocated until they are touched.

use super::HostError;
use crate::units::Bytes;

/// A region of `f32` straight from the operating system: page-aligned, zero, and without
/// physical pages until they are first touched. A general allocator would hand out pages
/// that an earlier buffer has already touched.
pub struct PageMemory {
    mapping: Mapping,
    count: usize,
}

impl PageMemory {
    /// Maps `bytes`, rounded up to whole values.
    pub fn new(bytes: Bytes) -> Result<Self, HostError> {
        let count = bytes.in_f32s();
        let mapping = Mapping::new(count * size_of::<f32>())
            .map_err(|source| HostError::Memory { bytes, source })?;
        Ok(Self { mapping, count })
    }

    pub fn as_ptr(&self) -> *const f32 {
        self.mapping.start()
    }

    pub fn as_mut_ptr(&mut self) -> *mut f32 {
        self.mapping.start()
    }

    /// All values; they are zero until written.
    pub fn as_slice(&self) -> &[f32] {
        // SAFETY: the mapping holds `count` values, which are zero until written. It
        // lives as long as `self` and is borrowed only through `self`.
        unsafe { std::slice::from_raw_parts(self.mapping.start(), self.count) }
    }

    /// All values, to be written; they are zero until then.
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        // SAFETY: the mapping holds `count` values and lives as long as `self`, which is
        // borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.mapping.start(), self.count) }
    }

    /// Returns all pages to the system. The values are zero afterwards, and the next
    /// touch of each page faults as the first one did. On Linux the address stays the
    /// same.
    pub fn renew(&mut self) -> Result<(), HostError> {
        let bytes = Bytes::of_f32(self.count as u64);
        self.mapping.renew().map_err(|source| HostError::Memory { bytes, source })
    }
}

#[cfg(unix)]
use unix::Mapping;

#[cfg(unix)]
mod unix {
    use std::io;
    use std::ptr;

    /// An anonymous private mapping.
    pub(super) struct Mapping {
        start: *mut libc::c_void,
        bytes: usize,
    }

    // SAFETY: a mapping belongs to the process and not to a thread, and the methods that
    // change it take it exclusively.
    unsafe impl Send for Mapping {}
    // SAFETY: a shared mapping is only read; the methods that change it take it
    // exclusively.
    unsafe impl Sync for Mapping {}

    impl Mapping {
        pub fn new(bytes: usize) -> io::Result<Self> {
            // The system maps no empty range.
            let bytes = bytes.max(1);
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            // SAFETY: the system chooses the address, so the new mapping touches no
            // existing memory.
            let start = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
            if start == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            Ok(Self { start, bytes })
        }

        pub fn start(&self) -> *mut f32 {
            self.start.cast()
        }

        #[cfg(target_os = "linux")]
        pub fn renew(&mut self) -> io::Result<()> {
            // SAFETY: the range is this mapping, and nobody else borrows it now. Linux
            // promises zeroes at the next touch (madvise(2)).
            match unsafe { libc::madvise(self.start, self.bytes, libc::MADV_DONTNEED) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        }

        /// Maps anew: other systems take `MADV_DONTNEED` as a hint only.
        #[cfg(not(target_os = "linux"))]
        pub fn renew(&mut self) -> io::Result<()> {
            *self = Self::new(self.bytes)?;
            Ok(())
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: the mapping belongs to this value, and no borrow outlives it.
            let status = unsafe { libc::munmap(self.start, self.bytes) };
            debug_assert_eq!(status, 0, "munmap of our own mapping failed");
        }
    }
}

#[cfg(not(unix))]
use zeroed::Mapping;

#[cfg(not(unix))]
mod zeroed {
    use std::io;

    /// A zeroed vector. Here too, large ones come from the system untouched.
    pub(super) struct Mapping(Box<[std::cell::UnsafeCell<f32>]>);

    // SAFETY: the cells are reached only through `PageMemory`, whose borrows are those of
    // ordinary slices.
    unsafe impl Sync for Mapping {}

    impl Mapping {
        pub fn new(bytes: usize) -> io::Result<Self> {
            let values = vec![0.0f32; bytes.div_ceil(size_of::<f32>())].into_boxed_slice();
            let cells = Box::into_raw(values) as *mut [std::cell::UnsafeCell<f32>];
            // SAFETY: an `UnsafeCell` has the layout of what it holds.
            Ok(Self(unsafe { Box::from_raw(cells) }))
        }

        pub fn start(&self) -> *mut f32 {
            self.0.as_ptr().cast_mut().cast()
        }

        pub fn renew(&mut self) -> io::Result<()> {
            *self = Self::new(self.0.len() * size_of::<f32>())?;
            Ok(())
        }
    }
}
