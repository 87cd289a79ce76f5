//! The threads that call: each has a buffer, so that a call costs no system call and waits for no
//! other thread.

use super::Recorder;
use super::calls::{Last, Totals};
use super::format::{CALLS, THREAD, put, put_text};
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
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
    calls: AtomicU64,
    written: Mutex<Written>,
    /// Where memory is read into for a digest.
    room: Mutex<Vec<u8>>,
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

/// This thread. It is made known at its first call.
pub fn here(recorder: &Recorder) -> &'static Thread {
    if let Some(thread) = HERE.get() {
        return thread;
    }
    // SAFETY: there is nothing that the call could do wrong.
    let id = unsafe { gettid() } as u64;
    let (calls, written, room) = (AtomicU64::new(0), Mutex::default(), Mutex::default());
    let thread: &'static Thread = Box::leak(Box::new(Thread { id, calls, written, room }));
    HERE.set(Some(thread));
    let name = std::fs::read(format!("/proc/self/task/{id}/comm")).unwrap_or_default();
    let mut block = Vec::new();
    put(&mut block, id);
    put_text(&mut block, String::from_utf8_lossy(&name).trim_end().as_bytes());
    recorder.write(THREAD, &block);
    recorder.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    thread
}

impl Thread {
    /// Whether this is the last of so many calls.
    pub fn counts_to(&self, count: u64) -> bool {
        // Only the thread itself counts.
        let calls = self.calls.load(Ordering::Relaxed) + 1;
        self.calls.store(calls, Ordering::Relaxed);
        calls.is_multiple_of(count)
    }

    pub fn with_room<T>(&self, work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        work(&mut self.room.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Appends a call to the buffer, which is written when it is full.
    pub fn write(&self, recorder: &Recorder, call: impl FnOnce(&mut Vec<u8>, &mut Last)) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let Written { buffer, last } = &mut *written;
        if buffer.is_empty() {
            last.reset();
            put(buffer, self.id);
        }
        call(buffer, last);
        if buffer.len() > FULL {
            hand_over(recorder, &mut written);
        }
    }

    /// Writes what is in the buffer, and says what the thread has done so far. While the process
    /// ends, a thread that will never go on may hold the buffer: what it has is lost then.
    pub fn flush(&self, recorder: &Recorder, at_exit: bool) -> Option<Totals> {
        let mut written = if at_exit {
            patiently(&self.written, PATIENCE)?
        } else {
            self.written.lock().unwrap_or_else(PoisonError::into_inner)
        };
        hand_over(recorder, &mut written);
        Some(written.last.totals)
    }
}

fn hand_over(recorder: &Recorder, written: &mut Written) {
    if !written.buffer.is_empty() {
        recorder.write(CALLS, &written.buffer);
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
