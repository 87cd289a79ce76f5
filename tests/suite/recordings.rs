//! Programs are recorded as they ran, and recordings are read as they were written.

mod as_bytes;
mod from_a_device;
mod in_parts;

use crate::commands::hallway;
use hallway::record::format::Note;
use hallway::trace::{
    CallKind, CopyPlaces, Defect, MemoryKind, Recording, StreamKey, Trace, WorkKind,
};
use hallway::units::Bytes;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use tempfile::TempDir;

/// The pretend CUPTI and the pretend program, compiled once.
static PRETEND: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = TempDir::new().expect("a folder");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/recordings");
    let compile = |source: &str, output: &str, rest: &[&str]| {
        let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
        let mut command = Command::new(rustc);
        command.args(["--edition", "2024", "-O", "--cap-lints", "allow"]).args(rest);
        command.arg("-o").arg(folder.path().join(output)).arg(sources.join(source));
        assert!(command.status().expect("a compiler").success(), "{source}");
    };
    // Under the driver's name, it is found where the recorder asks the driver, too.
    let name = ["--crate-type", "cdylib", "-C", "link-arg=-Wl,-soname,libcuda.so.1"];
    compile("pretend_cupti.rs", "libcupti.so", &name);
    compile("pretend_program.rs", "program", &[]);
    folder
});

/// What came of recording the pretend program.
struct Recorded {
    output: Output,
    folder: TempDir,
}

impl Recorded {
    fn path(&self) -> PathBuf {
        self.folder.path().join("program.hallway")
    }

    #[track_caller]
    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.path()).unwrap_or_else(|error| panic!("{error}: {}", self.said()))
    }

    #[track_caller]
    fn read(&self) -> Recording {
        Recording::read(&self.bytes()).expect("a recording")
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }
}

fn record(options: &[&str], action: &[&str], variables: &[(&str, &str)]) -> Recorded {
    let folder = TempDir::new().expect("a folder");
    let program = PRETEND.path().join("program");
    let mut command = hallway(folder.path(), ["record"]);
    command.args(options).arg("--").arg(program).args(action);
    command.env("HALLWAY_CUPTI", PRETEND.path().join("libcupti.so"));
    command.env("XDG_CACHE_HOME", folder.path().join("cache"));
    command.envs(variables.iter().copied());
    let output = command.output().expect("the binary was built");
    Recorded { output, folder }
}

const MEMORY: u64 = 0x7000_0000;
const EVENT: u64 = 0xe0;

/// Host addresses differ from run to run.
fn without_host_addresses(trace: &mut Trace) {
    for call in &mut trace.calls {
        if let CallKind::Copy { places: CopyPlaces { from, to, .. }, .. } = &mut call.kind {
            for address in [from, to] {
                assert!(address.is_some());
                *address = address.filter(|address| *address == MEMORY);
            }
        }
    }
}

#[test]
fn what_a_program_did_is_read_as_it_was() {
    let recorded = record(&[], &["everything"], &[]);
    assert!(recorded.output.status.success(), "{}", recorded.said());
    let Recording { mut trace, processes } = recorded.read();
    without_host_addresses(&mut trace);
    let process = processes[0].id;
    let stream = |stream| Some(StreamKey { process, device: 0, stream });
    let at = |from: bool, to: bool| CopyPlaces {
        from: from.then_some(MEMORY),
        to: to.then_some(MEMORY),
        ..CopyPlaces::default()
    };
    let copy = |places, bytes, stream, blocking| CallKind::Copy {
        places,
        bytes: Some(Bytes::new(bytes)),
        stream,
        blocking,
    };
    let launch = |pointers| CallKind::Launch { stream: stream(13), pointers };
    let wait = |number| CallKind::Wait { event: EVENT, stream: stream(number) };
    let (memory, bytes) = (MemoryKind::Device, Bytes::new(4096));
    let allocate = CallKind::Allocate { memory, address: MEMORY, bytes, stream: None };
    let expected = [
        (0, 100, "cudaMalloc", allocate),
        (200, 250, "cudaMemcpyAsync", copy(at(false, true), 64, stream(13), false)),
        (500, 520, "cudaLaunchKernel", launch(vec![MEMORY, MEMORY + 16])),
        (800, 810, "cudaEventRecord", CallKind::Record { event: EVENT, stream: stream(13) }),
        (820, 830, "cudaStreamWaitEvent", wait(14)),
        // The GPU did nothing in this stream: its number is known since it was made.
        (840, 850, "cudaStreamWaitEvent", wait(0xcc)),
        (900, 950, "cuMemcpyDtoH", copy(at(true, false), 32, stream(7), true)),
        (1000, 1020, "cudaGraphLaunch", CallKind::LaunchGraph { stream: stream(14) }),
        (1050, 1310, "cudaStreamSynchronize", CallKind::Synchronize { stream: stream(14) }),
        // A call that failed did nothing.
        (1400, 1410, "cudaMalloc", CallKind::Other),
        (1500, 1510, "cuLaunchKernel", launch(vec![MEMORY, MEMORY + 8])),
        (1600, 1650, "cudaFree", CallKind::Free { address: MEMORY, stream: None }),
    ];
    for (call, (begin, end, function, kind)) in trace.calls.iter().zip(&expected) {
        let times = [call.begin, call.end].map(|time| time.since_start().nanos());
        assert_eq!((times, &*call.function), ([*begin, *end], *function));
        // The packed launch has no work of its own, and its stream is known by its handle.
        assert_eq!(&call.kind, kind, "{function} at {begin}");
    }
    assert_eq!(trace.calls.len(), expected.len());
    assert_eq!(trace.threads.len(), 1);
    assert_eq!(trace.threads[0].name.as_deref(), Some("program"));
    assert_eq!(trace.defects, [(Defect::ZeroTime, 1)].into());
    the_work_is_as_it_was(&trace);
}

#[track_caller]
fn the_work_is_as_it_was(trace: &Trace) {
    let (pageable, device) = (MemoryKind::Pageable, MemoryKind::Device);
    let kernel = WorkKind::Kernel {
        name: "scale".into(),
        grid: [8, 1, 1],
        block: [128, 1, 1],
        registers: 24,
        shared: Bytes::new(64),
    };
    let copy = |from, to, bytes| WorkKind::Copy { from, to, bytes: Some(Bytes::new(bytes)) };
    let expected = [
        (300, 400, 13, 1, None, copy(pageable, device, 64)),
        (600, 700, 13, 2, None, kernel.clone()),
        (910, 940, 7, 6, None, copy(device, pageable, 32)),
        (1100, 1200, 14, 7, Some(0x1_0000_0000), kernel.clone()),
        (1200, 1300, 14, 7, Some(0x1_0000_0001), kernel),
    ];
    let work = trace.work.iter().map(|work| {
        let times = [work.start, work.end].map(|time| time.since_start().nanos());
        let call = work.call.expect("each has its call");
        (times[0], times[1], work.stream.stream, call, work.graph_node, work.kind.clone())
    });
    assert_eq!(work.collect::<Vec<_>>(), expected);
}

#[test]
fn a_program_that_is_killed_leaves_what_it_did() {
    let whole = record(&[], &["everything"], &[]).read();
    for (action, code) in [("killed", 137), ("leaves", 3)] {
        let recorded = record(&[], &[action], &[]);
        assert_eq!(recorded.output.status.code(), Some(code), "{}", recorded.said());
        let recording = recorded.read();
        assert_eq!(recording.trace.calls.len(), whole.trace.calls.len());
        assert_eq!(recording.trace.work.len(), whole.trace.work.len());
        assert_eq!(recording.trace.defects.get(&Defect::Cut), Some(&1));
        assert!(recorded.said().contains("did not exit normally"), "{}", recorded.said());
    }
    assert_eq!(whole.trace.defects.get(&Defect::Cut), None);
}

#[test]
fn processes_are_joined_and_forked_children_are_left_alone() {
    let recorded = record(&[], &["starts another"], &[]);
    let recording = recorded.read();
    assert_eq!(recording.processes.len(), 2);
    assert!(recording.processes.iter().all(|process| process.has_ended));
    assert_eq!((recording.trace.calls.len(), recording.trace.work.len()), (24, 10));
    let is_own = |work: &hallway::trace::DeviceWork| {
        let call = &recording.trace.calls[work.call.expect("each has its call")];
        recording.trace.threads[call.thread].process == work.stream.process
    };
    assert!(recording.trace.work.iter().all(is_own));
    let left: Vec<_> = std::fs::read_dir(recorded.folder.path()).expect("a folder").collect();
    assert_eq!(left.len(), 2, "the recording and the cache: {left:?}");

    let forked = record(&[], &["forks"], &[]).read();
    assert_eq!(forked.processes.len(), 1);
    assert_eq!(forked.trace.calls.len(), 12);
    assert_eq!(forked.trace.defects, [(Defect::ZeroTime, 1)].into());
}

#[test]
fn recording_stops_when_it_was_asked_to() {
    let recording = record(&["--seconds", "1"], &["stops recording"], &[]).read();
    assert_eq!(recording.trace.calls.len(), 12);
    assert!(recording.processes[0].has_ended);
}

#[test]
fn threads_keep_their_calls_apart() {
    let recording = record(&[], &["threads"], &[]).read();
    assert_eq!(recording.trace.threads.len(), 8);
    let mut calls = vec![0; 8];
    recording.trace.calls.iter().for_each(|call| calls[call.thread] += 1);
    assert_eq!(calls, [2_000; 8]);
}

#[test]
fn equal_contents_have_equal_digests() {
    let recording = record(&["--digest"], &["digests"], &[]).read();
    if recording.processes[0].notes.iter().any(|(note, _)| *note == Note::Partly) {
        // A sandbox does not let processes read their own memory this way.
        return;
    }
    let digests = recording.trace.calls.iter().filter_map(|call| match &call.kind {
        CallKind::Copy { places, .. } => Some(places.digest),
        _ => None,
    });
    let digests: Vec<Option<u64>> = digests.collect();
    let [first, equal, other, back, unreadable] = digests[..] else { panic!("{digests:?}") };
    assert!(first.is_some() && other.is_some());
    assert_eq!(first, equal);
    assert_ne!(first, other);
    assert_eq!(other, back);
    assert_eq!(unreadable, None);
}

/// For each copy, whether one of its properties holds.
fn places(recording: &Recording, is: impl Fn(&CopyPlaces) -> bool) -> Vec<bool> {
    let of = |kind: &CallKind| match kind {
        CallKind::Copy { places, .. } => Some(is(places)),
        _ => None,
    };
    recording.trace.calls.iter().filter_map(|call| of(&call.kind)).collect()
}

#[test]
fn sources_that_change_before_a_wait_are_found() {
    let recording = record(&["--digest"], &["refills"], &[]).read();
    if recording.processes[0].notes.iter().any(|(note, _)| *note == Note::Partly) {
        return;
    }
    let found = places(&recording, |places| places.changed_early);
    // Refilled at once; after a wait; after a question that was answered by no, by yes; once
    // another copy had filled it; from memory that is not page-locked.
    assert_eq!(found, [true, false, true, false, false, false, false]);
    let functions: Vec<&str> = recording.trace.calls.iter().map(|call| &*call.function).collect();
    assert_eq!(functions.iter().filter(|name| **name == "cudaEventQuery").count(), 1);
}

#[test]
fn copies_to_memory_that_nobody_touched_are_found() {
    let recording = record(&[], &["new memory"], &[]).read();
    assert_eq!(places(&recording, |places| places.to_new), [true, false, false]);
}

#[test]
fn what_cannot_be_recorded_is_said() {
    let taken = record(&[], &["everything"], &[("PRETEND_SUBSCRIBE", "39")]);
    assert!(taken.said().contains("another tool"), "{}", taken.said());
    let recording = taken.read();
    assert_eq!((recording.trace.calls.len(), recording.trace.work.len()), (0, 5));
    assert_eq!(recording.trace.defects[&Defect::NoCall], 5);

    let forbidden = record(&[], &["everything"], &[("PRETEND_SUBSCRIBE", "35")]);
    assert_eq!(forbidden.output.status.code(), Some(4));
    assert!(forbidden.said().contains("NVreg_RestrictProfilingToAdminUsers"));
    assert!(!forbidden.path().exists());

    let unused = record(&[], &["nothing"], &[]);
    assert_eq!(unused.output.status.code(), Some(1));
    assert!(unused.said().contains("did not use CUDA"), "{}", unused.said());

    let failed = record(&[], &["fails"], &[]);
    assert_eq!(failed.output.status.code(), Some(7));
    assert!(failed.said().contains("failed with code 7"), "{}", failed.said());

    let dropped = record(&[], &["everything"], &[("PRETEND_DROPPED", "3")]).read();
    assert_eq!(dropped.trace.defects[&Defect::Dropped], 3);

    let injected = [("CUDA_INJECTION64_PATH", "/a"), ("NVTX_INJECTION64_PATH", "/b")];
    let injected = record(&[], &["everything"], &injected);
    assert!(injected.said().contains("the recorder replaces it"), "{}", injected.said());
    assert!(injected.said().contains("runs without it"), "{}", injected.said());
}

#[test]
fn a_million_calls_take_little_space() {
    let recorded = record(&[], &["launches", "100000"], &[]);
    let recording = recorded.read();
    assert_eq!((recording.trace.calls.len(), recording.trace.work.len()), (100_001, 100_000));
    let length = recorded.bytes().len();
    assert!(length < 2_500_000, "{length} bytes for 100,000 launches and their kernels");
}
