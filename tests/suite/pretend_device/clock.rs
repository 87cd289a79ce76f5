//! The host's clock, which only goes on when something is done: one for each thread.

use std::cell::Cell;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Reading the clock takes this many nanoseconds, so that whoever spins until some time gets there.
const READING: u64 = 1;

/// Times from here on count from the release of a stream that is still held.
pub const HELD: u64 = 1 << 44;

static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// Nanoseconds since the beginning.
pub fn now() -> u64 {
    NOW.get()
}

/// Lets the host be busy.
pub fn pass(nanos: u64) {
    NOW.set(NOW.get() + nanos);
}

/// Lets the host make a call that waits. It takes `call` if what is waited for is over by then,
/// and otherwise until the host has woken up.
pub fn wait_until(end: u64, call: u64, wake: u64) {
    assert!(end < HELD, "who waits for a held stream waits for ever");
    let called = NOW.get() + call;
    NOW.set(if end > NOW.get() { called.max(end + wake) } else { called });
}

pub fn read() -> Instant {
    pass(READING);
    *BEGINNING + Duration::from_nanos(now())
}
