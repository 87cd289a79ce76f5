//! The threads that call: each has a buffer, so that a call costs no system call and waits for no
//! other thread.

use super::format::{CALLS, THREAD, put, put_text};
use super::output::Sink;
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// A block is written when it is longer than this. The longest call takes less than 1 KiB.
const FULL: usize = 32 << 10;

/// How long the end of a process waits for a thread that may never go on.
pub const PATIENCE: Duration = Duration::from_millis(100);

unsafe extern "C" {
    fn gettid() -> c_int;
}

/// A thread of the process. It is kept for as long as the process runs: its calls may come while
/// the thread itself is being taken down.
pub struct Thread {
    id: u64,
    written: Mutex<Written>,
    /// Where memory is read into for a digest.
    room: Mutex<Vec<u8>>,
}

/// What the numbers of a thread's last call were: most are close to those of the next.
#[derive(Default)]
pub struct Last {
    pub begin: u64,
    pub correlation: u64,
    pub context: u64,
    pub addresses: [u64; 2],
    pub stream: u64,
    pub event: u64,
    pub totals: Totals,
}

impl Last {
    /// Starts over for a new block, which can be read without the one before.
    pub fn reset(&mut self) {
        *self = Self { totals: self.totals, ..Self::default() };
    }
}

/// What has been recorded so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub calls: u64,
    pub copies: u64,
    pub copied: u64,
}

/// What a thread has written, and what the next call is written relative to.
#[derive(Default)]
struct Written {
    buffer: Vec<u8>,
    last: Last,
}

thread_local! {
    /// Without a destructor, so that it can be used until the thread is gone.
    static HERE: Cell<Option<&'static Thread>> = const { Cell::new(None) };
}

/// The threads that have called.
#[derive(Default)]
pub struct Threads(Mutex<Vec<&'static Thread>>);

impl Threads {
    /// All of them, unless that takes too long while the process ends.
    pub fn all(&self, at_exit: bool) -> Vec<&'static Thread> {
        let threads = match at_exit {
            true => patiently(&self.0, PATIENCE),
            false => Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)),
        };
        threads.map(|threads| threads.clone()).unwrap_or_default()
    }
}

/// The number that the system has for this thread.
pub fn thread_id() -> u64 {
    // SAFETY: there is nothing that the call could do wrong.
    unsafe { gettid() as u64 }
}

/// This thread. It is made known at its first call.
pub fn here(threads: &Threads, sink: &Sink) -> &'static Thread {
    if let Some(thread) = HERE.get() {
        return thread;
    }
    let id = thread_id();
    let (written, room) = (Mutex::default(), Mutex::default());
    let thread: &'static Thread = Box::leak(Box::new(Thread { id, written, room }));
    HERE.set(Some(thread));
    let name = std::fs::read(format!("/proc/self/task/{id}/comm")).unwrap_or_default();
    let mut block = Vec::new();
    put(&mut block, id);
    put_text(&mut block, String::from_utf8_lossy(&name).trim_end().as_bytes());
    sink.write(THREAD, &block);
    threads.0.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    thread
}

impl Thread {
    pub fn with_room<T>(&self, work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        work(&mut self.room.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Appends a call to the buffer, which is written when it is full.
    pub fn write(&self, sink: &Sink, call: impl FnOnce(&mut Vec<u8>, &mut Last)) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let Written { buffer, last } = &mut *written;
        if buffer.is_empty() {
            last.reset();
            put(buffer, self.id);
        }
        call(buffer, last);
        if buffer.len() > FULL {
            hand_over(sink, &mut written);
        }
    }

    /// Writes what is in the buffer, and says what the thread has done so far. While the process
    /// ends, a thread that will never go on may hold the buffer: what it has is lost then.
    pub fn flush(&self, sink: &Sink, at_exit: bool) -> Option<Totals> {
        let mut written = if at_exit {
            patiently(&self.written, PATIENCE)?
        } else {
            self.written.lock().unwrap_or_else(PoisonError::into_inner)
        };
        hand_over(sink, &mut written);
        Some(written.last.totals)
    }
}

fn hand_over(sink: &Sink, written: &mut Written) {
    if !written.buffer.is_empty() {
        sink.write(CALLS, &written.buffer);
        written.buffer.clear();
    } else if written.buffer.capacity() > 0 {
        // The thread has done nothing for a while, and may be gone.
        written.buffer = Vec::new();
    }
}

/// Locks, but waits no longer than about this.
pub fn patiently<T>(mutex: &Mutex<T>, longest: Duration) -> Option<MutexGuard<'_, T>> {
    for _ in 0..longest.as_millis() {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(guard)) => return Some(guard.into_inner()),
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
    None
}
