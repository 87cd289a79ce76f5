//! A library that the driver loads into a program that uses CUDA. It records what the program does
//! into a file, and must never harm the program: whatever fails switches the recorder off, and the
//! file says why.
//!
//! It is compiled by itself and carried by `hallway`, which sets `CUDA_INJECTION64_PATH`.

#[path = "library/arguments.rs"]
mod arguments;
#[path = "library/calls.rs"]
mod calls;
#[path = "library/chosen.rs"]
mod chosen;
#[path = "library/contents.rs"]
mod contents;
#[path = "library/cupti.rs"]
mod cupti;
#[path = "library/device.rs"]
mod device;
#[path = "library/digests.rs"]
mod digests;
#[cfg(not(test))]
#[path = "library/format.rs"]
mod format;
#[path = "library/functions.rs"]
mod functions;
#[path = "library/memory.rs"]
mod memory;
#[path = "library/nvtx.rs"]
mod nvtx;
#[path = "library/output.rs"]
mod output;
#[path = "library/pages.rs"]
mod pages;
#[path = "library/ranges.rs"]
mod ranges;
#[path = "library/recorder.rs"]
mod recorder;
#[path = "library/threads.rs"]
mod threads;

#[cfg(test)]
use super::format;

use calls::CALLBACK;
use chosen::Chosen;
use cupti::{Cupti, FORBIDDEN, Subscriber, TAKEN, device_name};
use device::Raw;
use format::{COSTS, END, FUNCTIONS, GPU, Note, PROCESS, TOTALS, put, put_text};
use functions::{DRIVER, MODULE_UNLOADED, RESOURCE, RUNTIME, STREAM_CREATED};
use memory::Memory;
use output::{ON, Output, Sink};
use ranges::chosen_range;
use recorder::{RECORDER, Recorder, guarded};
use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{c_int, c_void};
use std::panic::catch_unwind;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use threads::{PATIENCE, Threads, Totals, patiently};

unsafe extern "C" {
    fn pthread_sigmask(how: c_int, set: *const u64, before: *mut u64) -> c_int;
    fn atexit(function: extern "C" fn()) -> c_int;
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

/// A program that is killed loses no more than what it did in this time.
const FLUSHED_EVERY: Duration = Duration::from_millis(500);

/// How long the end of a process waits for a flush that has begun.
const LAST_FLUSH: Duration = Duration::from_secs(10);

/// CUPTI's kinds of records that are asked for.
const KINDS: [u32; 4] =
    [device::OF_COPIES, device::OF_CLEARS, device::OF_KERNELS, device::OF_PEER_COPIES];

/// Called by the driver when CUDA is initialised.
#[unsafe(no_mangle)]
pub extern "C" fn InitializeInjection() -> c_int {
    // What panics say belongs in no program's output.
    std::panic::set_hook(Box::new(|_| {}));
    let _ = catch_unwind(start);
    // Any other answer would have the driver fail.
    1
}

fn start() {
    let Some(prefix) = std::env::var_os("HALLWAY_RECORD_FILE") else { return };
    if RECORDER.get().is_some() {
        return;
    }
    let Ok(mut output) = Output::create(&prefix, std::process::id()) else { return };
    let note = |output: &mut Output, note: Note, text: &str| {
        let _ = output.block(format::NOTE, &[&[note as u8], text.as_bytes()].concat());
    };
    let device_only = is_set("HALLWAY_RECORD_DEVICE_ONLY");
    let found = match find() {
        Ok(found) => found,
        Err((kind, why)) => {
            let _ = output.block(PROCESS, &about(None));
            note(&mut output, kind, &why);
            return;
        }
    };
    let (cupti, subscriber) = found;
    // A subscriber without callbacks costs nothing, and keeps a profiler of the program's own from
    // taking over buffers that are the recorder's.
    let subscriber = subscriber.filter(|_| !device_only);
    let _ = output.block(PROCESS, &about(Some(&cupti)));
    let _ = output.block(FUNCTIONS, &functions());
    if let Ok(text) = std::env::var("HALLWAY_RECORD_COSTS") {
        let _ = output.block(COSTS, &costs(&text));
    }
    if device_only {
        note(&mut output, Note::DeviceOnly, "no calls, as requested");
    } else if subscriber.is_none() {
        let why =
            "another tool, such as a profiler, already uses CUPTI's callbacks in this process";
        note(&mut output, Note::Taken, why);
    }
    let asked = is_set("HALLWAY_RECORD_DIGEST");
    let digests = asked && digests::can_be_taken();
    if asked && !digests {
        note(&mut output, Note::Partly, "no digests: process_vm_readv is not permitted");
    }
    let recorder = RECORDER.get_or_init(|| Recorder {
        cupti,
        subscriber,
        sink: Sink(Mutex::new(output)),
        flushing: Mutex::default(),
        threads: Threads::default(),
        device: Mutex::default(),
        memory: Memory::new(),
        digests,
        pending: Mutex::default(),
        chosen: chosen_range().map(|_| Chosen::default()),
    });
    // SAFETY: both are there until the process ends.
    unsafe {
        pthread_atfork(None, None, Some(in_child));
        atexit(at_exit);
    }
    ON.store(true, Ordering::Release);
    recorder.switch_on();
    ranges::recorder_started();
    let seconds = std::env::var("HALLWAY_RECORD_SECONDS").ok();
    let limit = seconds.and_then(|text| text.parse().ok()).map(Duration::from_secs);
    let name = std::thread::Builder::new().name("hallway".into());
    let started = name.spawn(move || recorder.flush_until(limit));
    if let Err(error) = started {
        recorder.sink.fail(&format!("cannot start a thread: {error}"));
    }
}

/// Whether hallway has switched something on.
fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "1")
}

/// The version of CUPTI's interface in CUDA 11.8, the oldest one whose records are known.
const OLDEST: u32 = 18;

/// A CUPTI that works, with its callbacks if nobody else has them.
fn find() -> Result<(Cupti, Option<Subscriber>), (Note, String)> {
    let mut why = (
        Note::NoCupti,
        "CUPTI was not found: it is part of the CUDA toolkit, and of the Python packages \
         nvidia-cuda-cupti (CUDA 13) and nvidia-cuda-cupti-cu12"
            .to_owned(),
    );
    for cupti in Cupti::candidates() {
        if cupti.version() < OLDEST {
            let text =
                "is older than the CUPTI of CUDA 11.8, and its records have a different format";
            why = (Note::NoCupti, format!("{} {text}", cupti.name));
            continue;
        }
        match cupti.subscribe(CALLBACK) {
            Ok(subscriber) => return Ok((cupti, Some(subscriber))),
            Err(TAKEN) => return Ok((cupti, None)),
            Err(code) => {
                let kind = if FORBIDDEN.contains(&code) { Note::Forbidden } else { Note::NoCupti };
                why = (kind, format!("{}: {}", cupti.name, cupti.explain(code)));
            }
        }
    }
    Err(why)
}

/// What is known of the process before it does anything.
fn about(cupti: Option<&Cupti>) -> Vec<u8> {
    let mut block = Vec::new();
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    put(&mut block, u64::from(std::process::id()));
    put(&mut block, since.as_nanos() as u64);
    put(&mut block, cupti.map_or(0, |cupti| u64::from(cupti.version())));
    put_text(&mut block, cupti.map_or("", |cupti| &cupti.name).as_bytes());
    let mut program = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    program.truncate(4_096);
    put_text(&mut block, String::from_utf8_lossy(&program).as_bytes());
    block
}

fn functions() -> Vec<u8> {
    let mut block = Vec::new();
    for function in &functions::FUNCTIONS {
        block.push(function.form as u8);
        put_text(&mut block, function.name.as_bytes());
    }
    block
}

/// What recording adds between two calls of each form, which whoever started the process has
/// measured: nanoseconds by form, such as `4=600,6=450`.
fn costs(text: &str) -> Vec<u8> {
    let mut block = Vec::new();
    for (form, nanos) in text.split(',').filter_map(|one| one.split_once('=')) {
        if let (Ok(form), Ok(nanos)) = (form.parse(), nanos.parse()) {
            block.push(form);
            put(&mut block, nanos);
        }
    }
    block
}

impl Recorder {
    fn switch_on(&self) {
        let mut problem = None;
        if let Err(code) = self.cupti.register(request, complete) {
            problem = Some(code);
        }
        for kind in KINDS {
            if let Err(code) = self.cupti.enable(kind) {
                problem = Some(code);
            }
        }
        self.set_callbacks(true);
        if let Some(code) = problem {
            let kind = if FORBIDDEN.contains(&code) { Note::Forbidden } else { Note::Partly };
            let why = self.cupti.explain(code);
            self.sink
                .note(kind, &format!("CUPTI does not record everything that the GPUs do: {why}"));
        }
    }

    fn set_callbacks(&self, on: bool) {
        let Some(subscriber) = self.subscriber else { return };
        for domain in [RUNTIME, DRIVER] {
            for function in functions::FUNCTIONS.iter().filter(|one| one.domain == domain) {
                for id in [function.id, function.per_thread].into_iter().filter(|id| *id != 0) {
                    // An older CUPTI does not know every function, and nobody calls those.
                    self.cupti.set_callback(subscriber, domain, id.into(), on);
                }
            }
        }
        for id in [STREAM_CREATED, MODULE_UNLOADED] {
            self.cupti.set_callback(subscriber, RESOURCE, id, on);
        }
    }

    /// Writes everything that has come so far, again and again.
    fn flush_until(&self, limit: Option<Duration>) {
        block_signals();
        let started = Instant::now();
        loop {
            let left = limit.map(|limit| limit.saturating_sub(started.elapsed()));
            std::thread::sleep(left.map_or(FLUSHED_EVERY, |left| left.min(FLUSHED_EVERY)));
            if !ON.load(Ordering::Relaxed) {
                return;
            }
            if limit.is_some_and(|limit| started.elapsed() >= limit) {
                guarded(|recorder| {
                    recorder.set_callbacks(false);
                    recorder.finish();
                    KINDS.iter().for_each(|kind| recorder.cupti.disable(*kind));
                });
                return;
            }
            guarded(|recorder| {
                let _turn = recorder.flushing.lock().unwrap_or_else(PoisonError::into_inner);
                recorder.cupti.flush(false);
                recorder.flush(false);
            });
        }
    }

    fn flush(&self, at_exit: bool) {
        let mut totals = Totals::default();
        for thread in self.threads.all(at_exit) {
            let Some(of_thread) = thread.flush(&self.sink, at_exit) else { continue };
            totals.calls += of_thread.calls;
            totals.copies += of_thread.copies;
            totals.copied += of_thread.copied;
        }
        ranges::flush(&self.sink, at_exit);
        let (mut kernels, mut unnamed) = (0, Vec::new());
        if let Some(mut device) = patiently(&self.device, PATIENCE) {
            let mut output = self.sink.0.lock().unwrap_or_else(PoisonError::into_inner);
            if device.write(&mut output).is_err() {
                ON.store(false, Ordering::Relaxed);
            }
            kernels = device.kernels;
            unnamed = std::mem::take(&mut device.unnamed);
            if self.subscriber.is_none() {
                (totals.copies, totals.copied) = (device.copies, device.copied);
            }
        }
        // The driver is asked while nothing is locked.
        for device in unnamed {
            let Some(name) = device_name(device) else { continue };
            let mut block = Vec::new();
            put(&mut block, u64::from(device));
            put_text(&mut block, name.as_bytes());
            self.sink.write(GPU, &block);
        }
        let mut block = Vec::new();
        for number in [totals.calls, totals.copies, totals.copied, kernels] {
            put(&mut block, number);
        }
        self.sink.write(TOTALS, &block);
    }

    /// Ends the recording.
    fn finish(&self) {
        let _turn = patiently(&self.flushing, LAST_FLUSH);
        self.cupti.flush(true);
        if ON.swap(false, Ordering::Relaxed) {
            self.flush(true);
            self.sink.write(END, &[]);
        }
    }
}

/// Signals are for the program's own threads.
fn block_signals() {
    const SET: c_int = 2;
    // A set of signals has 128 bytes on Linux.
    let all = [u64::MAX; 16];
    // SAFETY: the set is as long as one may be.
    unsafe { pthread_sigmask(SET, all.as_ptr(), std::ptr::null_mut()) };
}

extern "C" fn in_child() {
    ON.store(false, Ordering::Relaxed);
}

extern "C" fn at_exit() {
    guarded(Recorder::finish);
}

const BUFFER: Layout = match Layout::from_size_align(1 << 20, 8) {
    Ok(layout) => layout,
    Err(_) => panic!("a power of two"),
};

/// Gives CUPTI a buffer for records. Without memory it gets none, and drops them.
unsafe extern "C" fn request(buffer: *mut *mut u8, size: *mut usize, most: *mut usize) {
    // SAFETY: CUPTI passes places to write to, and the layout is not empty.
    unsafe {
        *buffer = alloc(BUFFER);
        *size = if (*buffer).is_null() { 0 } else { BUFFER.size() };
        // As many records as fit.
        *most = 0;
    }
}

/// Takes a buffer back that has records in its first bytes.
unsafe extern "C" fn complete(
    context: *mut c_void,
    stream: u32,
    buffer: *mut u8,
    _: usize,
    filled: usize,
) {
    if buffer.is_null() {
        return;
    }
    guarded(|recorder| recorder.take(context, stream, buffer, filled));
    // SAFETY: `request` has allocated it with this layout.
    unsafe { dealloc(buffer, BUFFER) };
}

impl Recorder {
    fn take(&self, context: *mut c_void, stream: u32, buffer: *mut u8, filled: usize) {
        let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        let mut output = self.sink.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut record = std::ptr::null_mut();
        loop {
            // SAFETY: CUPTI has filled so much of the buffer, and steps through it.
            record = unsafe { self.cupti.next(buffer, filled, record) };
            if record.is_null() {
                break;
            }
            // SAFETY: CUPTI only returns whole records.
            let record = unsafe { Raw::new(record) };
            if self.chosen.as_ref().is_some_and(|chosen| !chosen.has(record.correlation())) {
                continue;
            }
            if device.add(record, &mut output).is_err() {
                ON.store(false, Ordering::Relaxed);
                return;
            }
        }
        device.dropped(self.cupti.dropped(context, stream) as u64);
    }
}
