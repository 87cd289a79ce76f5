//! What the recorder knows of the process, and the switch that ends it.

use super::chosen::Chosen;
use super::cupti::{Cupti, Subscriber};
use super::device::DeviceRecords;
use super::digests::PendingCopies;
use super::memory::Memory;
use super::output::{ON, Sink};
use super::threads::Threads;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock};

/// The process, as far as it is recorded.
pub struct Recorder {
    pub cupti: Cupti,
    pub subscriber: Option<Subscriber>,
    pub sink: Sink,
    /// Held while buffers are handed over, so that the end of the process waits for that.
    pub flushing: Mutex<()>,
    pub threads: Threads,
    pub device: Mutex<DeviceRecords>,
    pub memory: Memory,
    pub digests: bool,
    pub pending: Mutex<PendingCopies>,
    /// The calls that are recorded, if not all are.
    pub chosen: Option<Chosen>,
}

pub static RECORDER: OnceLock<Recorder> = OnceLock::new();

/// Does something with the recorder if it is on. A panic switches it off.
pub fn guarded(work: impl FnOnce(&'static Recorder)) {
    if !ON.load(Ordering::Relaxed) {
        return;
    }
    let Some(recorder) = RECORDER.get() else { return };
    if catch_unwind(AssertUnwindSafe(|| work(recorder))).is_err() {
        let _ = catch_unwind(|| recorder.sink.fail("a bug in the recorder"));
    }
}
