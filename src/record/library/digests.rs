//! Checksums of what copies transfer: of their sources before they begin, or of their targets once
//! the process has waited for them.

use super::format::Checksum;
use std::collections::HashMap;
use std::ffi::{c_int, c_ulong, c_void};

/// Memory is read in parts of this size, which stay in a cache.
const PART: usize = 256 << 10;
/// More copies are not kept for a wait that may never come.
const MOST_PENDING: usize = 4_096;

#[repr(C)]
struct Piece {
    start: *mut c_void,
    length: usize,
}

unsafe extern "C" {
    fn getpid() -> c_int;
    fn process_vm_readv(
        process: c_int,
        to: *const Piece,
        to_count: c_ulong,
        from: *const Piece,
        from_count: c_ulong,
        flags: c_ulong,
    ) -> isize;
}

/// The checksum of some memory of this process; `None` if it cannot be read.
///
/// The kernel reads it: what a program calls host memory may be a device's, or be gone, and must
/// not end the program.
pub fn digest(address: u64, bytes: u64, room: &mut Vec<u8>) -> Option<u64> {
    let mut sum = Checksum::new();
    let (mut at, end) = (address, address.checked_add(bytes)?);
    room.resize(PART, 0);
    while at < end {
        let length = PART.min((end - at) as usize);
        let to = Piece { start: room.as_mut_ptr().cast(), length };
        let from = Piece { start: at as *mut c_void, length };
        // SAFETY: `to` is memory of that length; the kernel checks `from`.
        let read = unsafe { process_vm_readv(getpid(), &raw const to, 1, &raw const from, 1, 0) };
        if read != length as isize {
            return None;
        }
        sum.add(&room[..length]);
        at += length as u64;
    }
    Some(sum.finish())
}

/// Whether this process may read its own memory through the kernel; some containers forbid it.
pub fn can_be_taken() -> bool {
    let word = 1_u64;
    digest(&raw const word as u64, 8, &mut Vec::new()).is_some()
}

/// A stream, as calls name it. Handles of default streams mean another stream in each context, and
/// that of a thread in each thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle {
    pub context: u32,
    pub stream: u64,
    /// 0 but for the default stream of a thread.
    pub thread: u64,
}

/// A copy that has been asked for, with the memory on the host.
#[derive(Debug, Clone, Copy)]
pub struct Pending {
    pub correlation: u32,
    pub address: u64,
    pub bytes: u64,
    pub stream: Handle,
    /// The checksum of what a copy to the GPU reads; `None` for one to the host.
    pub sent: Option<u64>,
}

/// What a wait is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    Stream(Handle),
    Event(u64),
    /// All streams of a context.
    Context(u32),
}

/// Copies that nobody has waited for yet, oldest first, each with its number.
#[derive(Default)]
pub struct PendingCopies {
    copies: Vec<(u64, Pending)>,
    next: u64,
    /// In which stream each event was recorded, and before which copy.
    events: HashMap<u64, (Handle, u64)>,
}

impl PendingCopies {
    pub fn add(&mut self, copy: Pending) {
        if copy.sent.is_none() {
            self.written(copy.address, copy.bytes);
        }
        if self.copies.len() < MOST_PENDING {
            self.copies.push((self.next, copy));
            self.next += 1;
        }
    }

    /// Forgets copies that read this memory: a GPU writes it, in an order that streams may settle.
    pub fn written(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        self.copies.retain(|(_, copy)| {
            let meets = copy.address < end && address < copy.address.saturating_add(copy.bytes);
            copy.sent.is_none() || !meets
        });
    }

    pub fn recorded(&mut self, event: u64, stream: Handle) {
        self.events.insert(event, (stream, self.next));
    }

    /// The copies that are done once this wait is over.
    pub fn done(&mut self, awaited: Awaited) -> Vec<Pending> {
        let is_done = |(number, copy): &mut (u64, Pending)| match awaited {
            Awaited::Event(event) => {
                let place = self.events.get(&event);
                place.is_some_and(|&(stream, end)| copy.stream == stream && *number < end)
            }
            Awaited::Stream(stream) => copy.stream == stream,
            Awaited::Context(context) => copy.stream.context == context,
        };
        self.copies.extract_if(.., is_done).map(|(_, copy)| copy).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_cannot_be_read_has_no_digest() {
        let bytes = vec![7_u8; 3 * PART + 5];
        let mut room = Vec::new();
        let address = bytes.as_ptr() as u64;
        let whole = digest(address, bytes.len() as u64, &mut room);
        assert!(whole.is_some());
        assert_eq!(whole, digest(address, bytes.len() as u64, &mut room));
        assert_ne!(whole, digest(address, bytes.len() as u64 - 1, &mut room));
        assert_eq!(digest(8, 8, &mut room), None);
        assert_eq!(digest(u64::MAX, 8, &mut room), None);
    }

    #[test]
    fn a_wait_is_for_the_copies_before_it() {
        let mut pending = PendingCopies::default();
        let handle = |stream| Handle { context: 1, stream, thread: 0 };
        let copy = |correlation, stream| Pending {
            correlation,
            address: 0,
            bytes: 1,
            stream: handle(stream),
            sent: None,
        };
        pending.add(copy(1, 10));
        pending.add(copy(2, 11));
        pending.recorded(5, handle(10));
        pending.add(copy(3, 10));
        let numbers =
            |done: Vec<Pending>| -> Vec<u32> { done.iter().map(|copy| copy.correlation).collect() };
        assert!(pending.done(Awaited::Event(6)).is_empty());
        assert_eq!(numbers(pending.done(Awaited::Event(5))), [1]);
        assert_eq!(numbers(pending.done(Awaited::Stream(handle(11)))), [2]);
        assert!(pending.done(Awaited::Context(2)).is_empty());
        assert_eq!(numbers(pending.done(Awaited::Context(1))), [3]);
    }

    #[test]
    fn what_a_gpu_may_have_written_is_not_compared() {
        let stream = Handle { context: 1, stream: 5, thread: 0 };
        let copy =
            |correlation, address, sent| Pending { correlation, address, bytes: 8, stream, sent };
        let mut pending = PendingCopies::default();
        pending.add(copy(1, 0, Some(1)));
        pending.add(copy(2, 8, Some(1)));
        pending.add(copy(3, 16, Some(1)));
        pending.add(copy(4, 4, None));
        pending.written(23, 1);
        let done = pending.done(Awaited::Stream(stream));
        assert!(done.iter().map(|copy| copy.correlation).eq([4]));
    }
}
