//! When a device did what, by CUPTI's activity records.
//!
//! CUPTI is opened when a pass is to be timed call by call, and only then. Records say when copies
//! and kernels ran by the device's own clock, brought to the host's. Timing events instead are work
//! for the device like any other: between two of them a kernel of a microsecond takes four.
//!
//! The first fields of each kind of record have been in the same places since CUDA 11.1, and only
//! those are read (CUPTI documentation, "`CUpti_ActivityKernel5`", "`CUpti_ActivityMemcpy4`",
//! "`CUpti_ActivityMemset3`", "`CUpti_ActivityMemcpyPtoP3`", "`CUpti_ActivityAPI`").

use super::error::GpuResult;
use super::libraries::{check, open};
use super::vendor::{AnyRecorder, Record, Work};
use crate::machine::Direction;
use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::{LazyLock, Mutex, PoisonError};

/// The library, where the loader finds it and where CUDA installs it.
const CUPTI: [&str; 6] = [
    "libcupti.so",
    "libcupti.so.13",
    "libcupti.so.12",
    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
    "/usr/local/cuda/lib64/libcupti.so",
    "/usr/local/cuda/targets/x86_64-linux/lib/libcupti.so",
];

/// Kinds of records: those of what a device does, and those of calls of the driver.
const COPY: u32 = 1;
const CLEAR: u32 = 2;
const DRIVER_CALL: u32 = 4;
const KERNEL: u32 = 10;
const PEER_COPY: u32 = 22;
const KINDS: [u32; 5] = [COPY, CLEAR, DRIVER_CALL, KERNEL, PEER_COPY];

/// Hands over buffers that are not full, too.
const FORCED: u32 = 1;

const BUFFER: usize = 1 << 20;

type Request = extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
type Complete = extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

/// CUPTI, with its records on their way to hallway.
pub struct Recorder {
    enable: unsafe extern "C" fn(u32) -> c_int,
    disable: unsafe extern "C" fn(u32) -> c_int,
    flush: unsafe extern "C" fn(u32) -> c_int,
    next: unsafe extern "C" fn(*mut u8, usize, *mut *mut u8) -> c_int,
    timestamp: unsafe extern "C" fn(*mut u64) -> c_int,
}

/// What has been recorded and nobody has asked for yet.
static FOUND: Mutex<Found> = Mutex::new(Found { calls: BTreeMap::new(), done: Vec::new() });

struct Found {
    /// When each call of the driver began, by the number that its records share.
    calls: BTreeMap<u32, u64>,
    /// What devices did, each with the number of its call, of which the beginning is not set yet.
    done: Vec<(u32, Record)>,
}

impl Recorder {
    /// The library, if it is there and works.
    pub fn find() -> Option<&'static Self> {
        static LOADED: LazyLock<Option<Recorder>> = LazyLock::new(Recorder::load);
        LOADED.as_ref()
    }

    fn load() -> Option<Self> {
        let library = open(&CUPTI)?;
        // SAFETY: the types are those of the documentation.
        let (found, register) = unsafe {
            let register: unsafe extern "C" fn(Request, Complete) -> c_int =
                *library.get(b"cuptiActivityRegisterCallbacks\0").ok()?;
            let found = Self {
                enable: *library.get(b"cuptiActivityEnable\0").ok()?,
                disable: *library.get(b"cuptiActivityDisable\0").ok()?,
                flush: *library.get(b"cuptiActivityFlushAll\0").ok()?,
                next: *library.get(b"cuptiActivityGetNextRecord\0").ok()?,
                timestamp: *library.get(b"cuptiGetTimestamp\0").ok()?,
            };
            (found, register)
        };
        // SAFETY: both functions may be called from any thread at any time.
        (unsafe { register(request, complete) } == 0).then_some(found)
    }
}

impl AnyRecorder for Recorder {
    fn now(&self) -> GpuResult<u64> {
        let mut now = 0;
        // SAFETY: `now` is written on success.
        check("cuptiGetTimestamp", unsafe { (self.timestamp)(&raw mut now) })?;
        Ok(now)
    }

    fn record<T>(&self, work: impl FnOnce() -> T) -> GpuResult<(T, Vec<Record>)> {
        let _enabled = Enabled::new(self)?;
        let result = work();
        // SAFETY: the callbacks are there until the process ends.
        check("cuptiActivityFlushAll", unsafe { (self.flush)(FORCED) })?;
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        let Found { calls, done } = &mut *found;
        let calls = std::mem::take(calls);
        let record = |(call, record)| Some(Record { called: *calls.get(&call)?, ..record });
        Ok((result, std::mem::take(done).into_iter().filter_map(record).collect()))
    }
}

/// Kinds of records that are enabled until this is dropped.
struct Enabled<'r> {
    recorder: &'r Recorder,
    count: usize,
}

impl<'r> Enabled<'r> {
    fn new(recorder: &'r Recorder) -> GpuResult<Self> {
        let mut enabled = Self { recorder, count: 0 };
        for kind in KINDS {
            // SAFETY: the number is one of CUPTI's.
            check("cuptiActivityEnable", unsafe { (recorder.enable)(kind) })?;
            enabled.count += 1;
        }
        Ok(enabled)
    }
}

impl Drop for Enabled<'_> {
    fn drop(&mut self) {
        for kind in &KINDS[..self.count] {
            // SAFETY: the kind is enabled.
            let _ = unsafe { (self.recorder.disable)(*kind) };
        }
    }
}

const LAYOUT: Layout = match Layout::from_size_align(BUFFER, 8) {
    Ok(layout) => layout,
    Err(_) => panic!("a power of two"),
};

/// Gives CUPTI a buffer for records. Without memory it gets none, and drops them.
extern "C" fn request(buffer: *mut *mut u8, size: *mut usize, most: *mut usize) {
    // SAFETY: CUPTI passes places to write to, and the layout is not empty.
    unsafe {
        *buffer = alloc(LAYOUT);
        *size = if (*buffer).is_null() { 0 } else { BUFFER };
        // As many records as fit.
        *most = 0;
    }
}

/// Takes a buffer back that has records in its first bytes.
extern "C" fn complete(_: *mut c_void, _: u32, buffer: *mut u8, _: usize, filled: usize) {
    if buffer.is_null() {
        return;
    }
    if let Some(recorder) = Recorder::find() {
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        let mut record = std::ptr::null_mut();
        loop {
            // SAFETY: CUPTI has filled so much of the buffer, and steps through it.
            let status = unsafe { (recorder.next)(buffer, filled, &raw mut record) };
            // After the last record, too, the status is not 0.
            if status != 0 || record.is_null() {
                break;
            }
            let length = filled - (record as usize - buffer as usize);
            // SAFETY: the record lies in the buffer, of which so much is filled from there on.
            let rest = unsafe { std::slice::from_raw_parts(record, length) };
            found.note(rest);
        }
    }
    // SAFETY: `request` has allocated it with this layout.
    unsafe { dealloc(buffer, LAYOUT) };
}

impl Found {
    /// Notes the record at the start of these bytes. One of another kind is left out, and so is
    /// one that ends too early.
    fn note(&mut self, bytes: &[u8]) -> Option<()> {
        let kind = word(bytes, 0)?;
        if kind == DRIVER_CALL {
            self.calls.insert(word(bytes, 32)?, long(bytes, 8)?);
            return Some(());
        }
        // Where the number of the call and the number of the node stand.
        let (work, call, node) = match kind {
            COPY => (copy(*bytes.get(4)?)?, 44, 64),
            CLEAR => (Work::Clear, 44, 64),
            KERNEL => (Work::Kernel, 92, 144),
            PEER_COPY => (Work::CopyToPeer, 60, 72),
            _ => return None,
        };
        let (node, start, end) = (long(bytes, node)?, long(bytes, 16)?, long(bytes, 24)?);
        let record = Record { called: 0, work, node, start, end };
        self.done.push((word(bytes, call)?, record));
        Some(())
    }
}

/// A copy by its `CUpti_ActivityMemcpyKind`.
fn copy(kind: u8) -> Option<Work> {
    match kind {
        1 => Some(Work::Copy(Direction::HostToDevice)),
        2 => Some(Work::Copy(Direction::DeviceToHost)),
        8 => Some(Work::CopyWithin),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record with its own fields in their places, in front of others.
    fn record(kind: u32, longs: [(usize, u64); 3], call: (usize, u32)) -> Vec<u8> {
        let mut bytes = vec![0; 200];
        bytes[..4].copy_from_slice(&kind.to_ne_bytes());
        for (at, value) in longs {
            bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        }
        bytes[call.0..call.0 + 4].copy_from_slice(&call.1.to_ne_bytes());
        bytes
    }

    #[test]
    fn records_are_read_by_their_kind_and_others_are_left_out() {
        let mut found = Found { calls: BTreeMap::new(), done: Vec::new() };
        let mut copy = record(COPY, [(16, 110), (24, 120), (64, 3)], (44, 7));
        copy[4] = 2;
        let (start, end) = ((16, 130), (24, 140));
        let read = [
            record(DRIVER_CALL, [(8, 100), (16, 104), (24, 0)], (32, 7)),
            copy.clone(),
            record(KERNEL, [start, end, (144, 4)], (92, 8)),
            record(CLEAR, [start, end, (64, 0)], (44, 8)),
            record(PEER_COPY, [start, end, (72, 5)], (60, 9)),
        ];
        let left_out =
            [record(38, [start, end, (64, 0)], (44, 3)), copy[..40].to_vec(), Vec::new()];
        assert!(read.iter().all(|bytes| found.note(bytes).is_some()));
        assert!(left_out.iter().all(|bytes| found.note(bytes).is_none()));
        assert_eq!(found.calls, BTreeMap::from([(7, 100)]));
        let done = |work, node, start, end| Record { called: 0, work, node, start, end };
        let expected = [
            (7, done(Work::Copy(Direction::DeviceToHost), 3, 110, 120)),
            (8, done(Work::Kernel, 4, 130, 140)),
            (8, done(Work::Clear, 0, 130, 140)),
            (9, done(Work::CopyToPeer, 5, 130, 140)),
        ];
        assert_eq!(found.done, expected);
    }
}
