//! Recordings made on an H200 with CUDA 13.0 are read as what their programs did.

use crate::commands::hallway;
use hallway::trace::{
    CallKind, Defect, DeviceWork, HostCall, MemoryKind, Recording, Trace, WorkKind,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn folder_of_recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings")
}

fn recording(name: &str) -> Recording {
    let path = folder_of_recordings().join(name).with_extension("hallway");
    let bytes = std::fs::read(path).expect("a file");
    Recording::read(&bytes).expect("a recording")
}

fn calls<'t>(trace: &'t Trace, function: &'t str) -> impl Iterator<Item = &'t HostCall> {
    trace.calls.iter().filter(move |call| &*call.function == function)
}

/// Copies of one size between two kinds of memory.
fn copies(trace: &Trace, kinds: [MemoryKind; 2], size: u64) -> Vec<&DeviceWork> {
    let is_one = |work: &&DeviceWork| match work.kind {
        WorkKind::Copy { from, to, bytes } => {
            [from, to] == kinds && bytes.is_some_and(|bytes| bytes.get() == size)
        }
        _ => false,
    };
    trace.work.iter().filter(is_one).collect()
}

fn kernels(trace: &Trace) -> Vec<&DeviceWork> {
    let is_kernel = |work: &&DeviceWork| matches!(work.kind, WorkKind::Kernel { .. });
    trace.work.iter().filter(is_kernel).collect()
}

fn pointers<'t>(trace: &'t Trace, work: &DeviceWork) -> &'t [u64] {
    match &trace.calls[work.call.expect("its call")].kind {
        CallKind::Launch { pointers, .. } => pointers,
        other => panic!("{other:?}"),
    }
}

fn target(trace: &Trace, work: &DeviceWork) -> u64 {
    match trace.calls[work.call.expect("its call")].kind {
        CallKind::Copy { places, .. } => places.to.expect("an address"),
        ref other => panic!("{other:?}"),
    }
}

/// All work has its call, which is of the stream in which the work ran, and came before.
#[track_caller]
fn is_consistent(trace: &Trace) {
    for work in &trace.work {
        let call = &trace.calls[work.call.expect("its call")];
        let stream = match &call.kind {
            CallKind::Copy { stream, .. }
            | CallKind::Clear { stream, .. }
            | CallKind::Launch { stream, .. }
            | CallKind::LaunchGraph { stream } => *stream,
            other => panic!("{other:?}"),
        };
        assert_eq!(stream, Some(work.stream));
        assert!(call.begin <= work.start && work.start <= work.end);
    }
}

const PAGEABLE: MemoryKind = MemoryKind::Pageable;
const PINNED: MemoryKind = MemoryKind::Pinned;
const DEVICE: MemoryKind = MemoryKind::Device;

#[test]
fn pageable_copies_go_where_the_next_kernel_works() {
    let trace = recording("pageable").trace;
    is_consistent(&trace);
    assert_eq!(trace.defects, [].into());
    let copied = copies(&trace, [PAGEABLE, DEVICE], 1_000_000);
    assert_eq!(copied.len(), 5);
    let kernels = kernels(&trace);
    assert_eq!(kernels.len(), 5);
    for (copy, kernel) in copied.into_iter().zip(kernels) {
        assert!(copy.end <= kernel.start);
        assert!(pointers(&trace, kernel).contains(&target(&trace, copy)));
    }
}

#[test]
fn pinned_batches_have_a_stream_of_their_own() {
    let trace = recording("pinned").trace;
    is_consistent(&trace);
    let copied = copies(&trace, [PINNED, DEVICE], 1 << 20);
    assert_eq!(copied.len(), 6);
    let streams: BTreeSet<_> = copied.iter().map(|copy| copy.stream).collect();
    let others: BTreeSet<_> = kernels(&trace).iter().map(|kernel| kernel.stream).collect();
    assert_eq!((streams.len(), others.len()), (1, 1));
    assert!(streams.is_disjoint(&others));
    let waits = trace.calls.iter().filter_map(|call| match call.kind {
        CallKind::Wait { stream, .. } => Some(stream.expect("a known stream")),
        _ => None,
    });
    // Each kernel waits for its copy, and each copy but the first two for the kernel before.
    let waits: Vec<_> = waits.collect();
    assert_eq!(waits.iter().filter(|stream| others.contains(stream)).count(), 6);
    assert_eq!(waits.iter().filter(|stream| streams.contains(stream)).count(), 4);
}

#[test]
fn small_copies_and_kernels_are_all_there() {
    let trace = recording("copies").trace;
    is_consistent(&trace);
    assert_eq!(copies(&trace, [PAGEABLE, DEVICE], 20_000).len(), 40);
    assert!(calls(&trace, "cudaStreamSynchronize").count() >= 40);
    assert!(trace.calls.iter().all(|call| match call.kind {
        CallKind::Synchronize { stream } => stream.is_some(),
        _ => true,
    }));

    let trace = recording("kernels").trace;
    is_consistent(&trace);
    // One fills the array, if that is not a memory set.
    assert!(kernels(&trace).len() >= 100, "{}", kernels(&trace).len());
    let adds = kernels(&trace).into_iter().filter(|kernel| match &kernel.kind {
        WorkKind::Kernel { name, .. } => name.contains("CUDAFunctorOnSelf_add<float>"),
        _ => false,
    });
    let given: BTreeSet<_> = adds.map(|kernel| pointers(&trace, kernel).to_vec()).collect();
    assert_eq!(given.len(), 1, "all add to one array: {given:?}");
}

#[test]
fn nodes_of_graphs_belong_to_their_launch() {
    let trace = recording("graph").trace;
    assert_eq!(calls(&trace, "cudaGraphLaunch").count(), 4);
    let nodes: Vec<_> = trace.work.iter().filter(|work| work.graph_node.is_some()).collect();
    assert_eq!(nodes.len(), 12);
    let of_launches: BTreeSet<_> = nodes.iter().map(|work| work.call).collect();
    assert_eq!(of_launches.len(), 4);
    let numbers: BTreeSet<_> = nodes.iter().map(|work| work.graph_node).collect();
    assert_eq!(numbers.len(), 3);
}

#[test]
fn programs_in_cupy_launch_through_the_driver() {
    let trace = recording("cupy").trace;
    is_consistent(&trace);
    let launches: Vec<_> = calls(&trace, "cuLaunchKernel").collect();
    assert!(launches.len() >= 10, "{}", launches.len());
    for launch in &launches[1..10] {
        let CallKind::Launch { pointers, .. } = &launch.kind else { panic!("{launch:?}") };
        assert_eq!(pointers.len(), 2, "one array in, one out");
    }
    let bytes = 256 * 256 * 4;
    let into = [PAGEABLE, PINNED].map(|kind| copies(&trace, [kind, DEVICE], bytes).len());
    assert_eq!(into.iter().sum::<usize>(), 1);
}

#[test]
fn streams_of_a_program_in_cuda() {
    let trace = recording("streams").trace;
    is_consistent(&trace);
    let bytes = 4 << 18;
    let into = copies(&trace, [PINNED, DEVICE], bytes);
    let back = copies(&trace, [DEVICE, PINNED], bytes);
    assert_eq!((into.len(), back.len()), (3, 3));
    assert_ne!(into[0].stream, back[0].stream);
    let kernels = kernels(&trace);
    assert_eq!(kernels.len(), 6);
    // The structure that the second kernel is given by value holds two addresses.
    assert!(kernels.iter().all(|kernel| pointers(&trace, kernel).len() == 2));
    let name = |kernel: &DeviceWork| match &kernel.kind {
        WorkKind::Kernel { name, grid, block, .. } => (name.to_string(), grid[0], block[0]),
        other => panic!("{other:?}"),
    };
    assert_eq!(name(kernels[0]), ("scale(float*, int, float*)".to_owned(), 1024, 256));
    assert_eq!(name(kernels[1]), ("addone(S)".to_owned(), 1024, 256));
    for function in ["cudaHostRegister", "cudaMallocAsync", "cudaMallocManaged", "cudaMemset"] {
        assert_eq!(calls(&trace, function).count(), 1, "{function}");
    }
    let digests = trace.calls.iter().filter_map(|call| match &call.kind {
        CallKind::Copy { places, .. } => places.digest,
        _ => None,
    });
    // Three copies in and four back; a copy within the device has none.
    assert_eq!(digests.count(), 7);
}

#[test]
fn several_processes_and_ones_that_ended_early() {
    let two = recording("two");
    assert_eq!(two.processes.len(), 2);
    is_consistent(&two.trace);
    let processes: BTreeSet<_> = two.trace.work.iter().map(|work| work.stream.process).collect();
    assert_eq!(processes.len(), 2);
    assert_eq!(two.trace.defects, [].into());

    let aborted = recording("aborted").trace;
    assert_eq!(aborted.defects, [(Defect::Cut, 1)].into());
    assert_eq!(kernels(&aborted).len(), 6);
}

#[test]
fn what_was_sent_before_is_counted() {
    // The program sends one buffer four times; in `refill`, it has other contents each time.
    for (name, again) in [("races/cu-no-event-right", 3), ("races/cu-refill-right", 0)] {
        let sent = recording(name).trace.sent();
        assert_eq!((sent.copies, sent.again), (4, again), "{name}");
        assert_eq!(sent.bytes_again.get(), again as u64 * (16 << 20), "{name}");
    }
    assert_eq!(recording("pinned").trace.sent().copies, 0);
}

/// Which calls use the same memory is known by addresses; where that shows a race, by streams.
#[test]
fn imported_memory_is_told_apart_by_addresses() {
    let imported = |name: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder_of_recordings().join(name).with_extension("hallway");
        let done = hallway(folder.path(), ["import"]).arg(path).output().expect("it runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("text")
    };
    let right = imported("races/cu-no-event-right");
    assert!(right.contains("reads = [\"device-1\"], writes = [\"device-1\"]"), "{right}");
    let planted = imported("races/cu-no-event-planted");
    assert!(planted.contains("reads = [], writes = []"), "{planted}");
}
