//! Single events of the PyTorch profiler: what of each ends up in the trace.

use super::{of_events, requests};
use hallway::trace::{CallKind, CopyPlaces, Defect, MemoryKind, StreamKey, Trace, WorkKind};
use hallway::units::{Bytes, Span};

/// A call of process 1.
fn call(name: &str, ts: &str, dur: &str, correlation: u32) -> String {
    call_by(1, name, ts, dur, correlation)
}

fn call_by(process: u32, name: &str, ts: &str, dur: &str, correlation: u32) -> String {
    let category = if name.starts_with("cuda") { "cuda_runtime" } else { "cuda_driver" };
    format!(
        r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": {process}, "tid": {process},
        "ts": {ts}, "dur": {dur}, "args": {{"correlation": {correlation}}}}}"#
    )
}

fn kernel(ts: &str, dur: &str, device: u32, correlation: u32) -> String {
    format!(
        r#"{{"ph": "X", "cat": "kernel", "name": "k", "pid": {device}, "tid": 7, "ts": {ts},
        "dur": {dur}, "args": {{"device": {device}, "stream": 7, "correlation": {correlation},
        "grid": [2, 3, 4], "block": [32, 1, 1], "registers per thread": 40,
        "shared memory": 1024}}}}"#
    )
}

fn copy(name: &str, ts: &str, correlation: u32) -> String {
    format!(
        r#"{{"ph": "X", "cat": "gpu_memcpy", "name": "{name}", "pid": 0, "tid": 7, "ts": {ts},
        "dur": 4, "args": {{"device": 0, "stream": 7, "correlation": {correlation},
        "bytes": 4096}}}}"#
    )
}

fn read(events: &[String]) -> Trace {
    of_events(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

fn defects(trace: &Trace) -> Vec<(Defect, usize)> {
    trace.defects.iter().map(|(&defect, &count)| (defect, count)).collect()
}

const STREAM: StreamKey = StreamKey { process: 1, device: 0, stream: 7 };

#[test]
fn a_launch_gets_its_stream_from_its_kernel() {
    let trace = read(&[call("cudaLaunchKernel", "10", "5", 3), kernel("12.5", "7.125", 0, 3)]);
    assert_eq!(trace.calls[0].kind, CallKind::Launch { stream: Some(STREAM), pointers: vec![] });
    assert_eq!(trace.calls[0].end.since_start(), Span::from_micros(5));
    let work = &trace.work[0];
    assert_eq!((work.call, work.stream), (Some(0), STREAM));
    assert_eq!(work.start.since_start(), Span::from_nanos(2_500));
    assert_eq!(work.end.since_start(), Span::from_nanos(9_625));
    let WorkKind::Kernel { grid, block, registers, shared, .. } = &work.kind else {
        panic!("{work:?}")
    };
    assert_eq!((grid, block), (&[2, 3, 4], &[32, 1, 1]));
    assert_eq!((*registers, *shared), (40, Bytes::kib(1)));
    assert!(trace.defects.is_empty());
}

/// As doubles, these two times would be 256 ns off, each.
#[test]
fn times_are_kept_to_the_nanosecond() {
    for (begin, next, apart) in [
        ("1695835542514261.123", "1695835542514261.124", 1),
        ("1695835542514261.001", "1695835542514262", 999),
        ("-5.5", "4.5e0", 10_000),
        ("1.5E+3", "\"1500.0004\"", 0),
        ("1.5E+3", "1500.0005", 1),
        ("1", "9223372036854775.8060", 9_223_372_036_854_774_806),
        ("0.25e-1", "0.1", 75),
    ] {
        let events = [call("cudaMalloc", begin, "1", 1), call("cudaFree", next, "0.001", 2)];
        let begins: Vec<_> = read(&events).calls.iter().map(|call| call.begin).collect();
        assert_eq!(begins[1].since(begins[0]), Span::from_nanos(apart), "{begin} {next}");
    }
    let texts = [r#""""#, r#""NaN""#, r#""-""#, r#"".""#];
    for wrong in ["1e30", "-1e400", "true", "[1]", "9223372036854776"].iter().chain(&texts) {
        let trace = read(&[call("cudaMalloc", "1", "1", 1), call("cudaFree", wrong, "1", 2)]);
        assert_eq!(defects(&trace), [(Defect::Unreadable, 1)], "{wrong}");
    }
}

#[test]
fn what_is_wrong_with_events_is_counted() {
    let events = [
        call("cudaLaunchKernel", "1000000", "5", 3),
        kernel("999999", "7", 0, 3),
        kernel("1000020", "-1", 0, 3),
        kernel("0", "0", 0, 3),
        kernel("1000030", "1", 0, 99),
        call("cudaMemcpyAsync", "1000040", "1", 4),
        copy("Memcpy HtoD (Attic -> Device)", "1000041", 4),
        r#"{"ph": "X", "cat": "kernel", "name": 7}"#.to_owned(),
        "12".to_owned(),
    ];
    let trace = read(&events);
    let expected = [
        (Defect::ZeroTime, 1),
        (Defect::EndsBeforeStart, 1),
        (Defect::NoCall, 1),
        (Defect::BeforeItsCall, 1),
        (Defect::Unreadable, 3),
        (Defect::Dropped, 1),
    ];
    assert_eq!(defects(&trace), expected);
    assert_eq!((trace.calls.len(), trace.work.len()), (2, 2));
}

/// A clock that could not be read is as far before the base as this is after 1970.
#[test]
fn unset_times_are_known_beside_a_base() {
    let content = format!(
        r#"{{"traceEvents": [{}, {}, {}], "baseTimeNanoseconds": 1735632360000000000}}"#,
        call("cudaLaunchKernel", "4203669603187.439", "5", 3),
        kernel("4203669603190", "7", 0, 3),
        kernel("-1735632360000000", "0", 0, 3),
    );
    let trace = super::read_bytes(content.as_bytes()).expect("a trace");
    assert_eq!(defects(&trace), [(Defect::ZeroTime, 1)]);
    assert_eq!(trace.end().since_start(), Span::from_nanos(9_561));
}

#[test]
fn kinds_of_memory_are_in_the_name() {
    use MemoryKind::{Array, Device, Managed, Pageable, Pinned, Unknown};
    let names = [
        ("Memcpy HtoD (Pageable -> Device)", Pageable, Device),
        ("Memcpy DtoH (Device -> Pinned)", Device, Pinned),
        ("Memcpy PtoP (Device -> Device)", Device, Device),
        ("Memcpy HtoD (Host -> Device)", Unknown, Device),
        ("Memcpy DtoA (Device Static -> Array)", Device, Array),
        ("Memcpy HtoH (Managed -> Unknown)", Managed, Unknown),
        ("Memcpy DtoH", Device, Unknown),
    ];
    for (name, from, to) in names {
        let trace = read(&[call("cudaMemcpyAsync", "1", "1", 1), copy(name, "2", 1)]);
        let bytes = Some(Bytes::kib(4));
        assert_eq!(trace.work[0].kind, WorkKind::Copy { from, to, bytes }, "{name}");
        let places = CopyPlaces::default();
        let stream = Some(STREAM);
        let expected = CallKind::Copy { places, bytes, stream, blocking: false };
        assert_eq!(trace.calls[0].kind, expected);
    }
}

#[test]
fn functions_are_known_by_name_whatever_their_version() {
    let asks = |name: &str, is_copy: bool| {
        let work = if is_copy {
            copy("Memcpy HtoD (Pinned -> Device)", "2", 1)
        } else {
            kernel("2", "1", 0, 1)
        };
        let trace = read(&[call(name, "1", "1", 1), work]);
        assert_eq!(trace.work[0].call, Some(0), "{name}");
        trace.calls[0].clone()
    };
    for (name, plain, blocks) in [
        ("cudaMemcpy_v3020", "cudaMemcpy", true),
        ("cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync", false),
        ("cudaMemcpy2DFromArrayAsync", "cudaMemcpy2DFromArrayAsync", false),
        ("cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync", false),
        ("cuMemcpyDtoH_v2_ptds", "cuMemcpyDtoH", true),
        ("hipMemcpyWithStream", "hipMemcpyWithStream", true),
        ("hipMemcpyAsync", "hipMemcpyAsync", false),
    ] {
        let call = asks(name, true);
        assert_eq!(&*call.function, plain);
        let CallKind::Copy { blocking, .. } = call.kind else { panic!("{name}") };
        assert_eq!(blocking, blocks, "{name}");
    }
    for name in [
        "cudaLaunchKernel",
        "cudaLaunchKernelExC_v11060",
        "cuLaunchKernel",
        "cuLaunchKernelEx",
        "hipExtModuleLaunchKernel",
        "aFunctionOfTomorrow",
    ] {
        assert!(matches!(asks(name, false).kind, CallKind::Launch { .. }), "{name}");
    }
    let graph = asks("cudaGraphLaunch_v10000", false).kind;
    assert_eq!(graph, CallKind::LaunchGraph { stream: Some(STREAM) });
}

#[test]
fn calls_within_calls_are_part_of_the_outer_one() {
    let trace = read(&[
        call("cudaLaunchKernel", "10", "10", 1),
        call("cuLaunchKernel", "12", "5", 2),
        call("cuLaunchKernel", "20", "0", 3),
        kernel("30", "1", 0, 2),
        kernel("31", "1", 0, 3),
        call("cuLaunchKernel", "19.5", "1", 1),
    ]);
    let names: Vec<&str> = trace.calls.iter().map(|call| &*call.function).collect();
    assert_eq!(names, ["cudaLaunchKernel", "cuLaunchKernel"]);
    let owners: Vec<_> = trace.work.iter().map(|work| work.call).collect();
    assert_eq!(owners, [Some(0), Some(1)]);
    assert!(trace.defects.is_empty());
}

#[test]
fn launches_that_make_a_graph_did_not_lose_their_kernels() {
    let trace = read(&[
        call("cudaStreamBeginCapture", "1", "1", 1),
        call("cudaLaunchKernel", "3", "1", 2),
        call("cudaStreamEndCapture", "5", "1", 3),
        call("cudaGraphLaunch", "7", "1", 4),
        kernel("8", "1", 0, 4),
        kernel("9", "1", 0, 4),
    ]);
    assert!(trace.defects.is_empty());
    assert_eq!(trace.calls[1].kind, CallKind::Other);
    assert_eq!(requests(&trace).into_iter().collect::<Vec<_>>(), [("LaunchGraph".to_owned(), 1)]);
    assert!(trace.work.iter().all(|work| work.call == Some(3)));
}

/// Merged traces do not name the process beside the work. A GPU of which all other work is of one
/// process settles it; else it is not guessed.
#[test]
fn ids_of_several_processes_collide() {
    let mut events = vec![
        call_by(1, "cudaLaunchKernel", "1", "1", 5),
        call_by(2, "cudaLaunchKernel", "2", "1", 5),
        call_by(1, "cudaMemcpyAsync", "3", "1", 6),
        call_by(2, "cudaLaunchKernel", "4", "1", 6),
        kernel("6", "1", 0, 5),
        kernel("7", "1", 1, 5),
        copy("Memcpy HtoD (Pinned -> Device)", "8", 6),
    ];
    let trace = read(&events);
    let owners = |trace: &Trace| trace.work.iter().map(|work| work.call).collect::<Vec<_>>();
    assert_eq!(owners(&trace), [Some(0), None, Some(2)]);
    events.push(kernel("9", "1", 1, 6));
    let trace = read(&events);
    assert_eq!(owners(&trace), [Some(0), Some(1), Some(2), Some(3)]);
    assert_eq!(trace.work[1].stream, StreamKey { process: 2, device: 1, stream: 7 });
    assert!(trace.defects.is_empty());
}

#[test]
fn waits_say_which_stream_and_event_they_are_for() {
    let sync = |kind: &str, stream: i64, correlation: u32, more: &str| {
        format!(
            r#"{{"ph": "X", "cat": "cuda_sync", "name": "{kind}", "pid": 0, "tid": {stream},
            "ts": 5, "dur": 1, "args": {{"stream": {stream}, "correlation": {correlation},
            "device": 0{more}}}}}"#
        )
    };
    let event = r#", "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 1,
        "wait_on_cuda_event_id": 42"#;
    let trace = read(&[
        call("cudaEventRecord", "1", "1", 1),
        call("cudaStreamWaitEvent", "3", "1", 2),
        call("cudaEventSynchronize", "5", "1", 3),
        call("cudaStreamSynchronize", "7", "1", 4),
        call("cudaDeviceSynchronize", "9", "1", 5),
        call("cudaEventRecord", "11", "1", 6),
        sync("Stream Wait Event", 20, 2, event),
        sync("Event Sync", 4_294_967_295, 3, event),
        sync("Stream Sync", 7, 4, ""),
        sync("Context Sync", -1, 5, ""),
    ]);
    let stream = |stream| Some(StreamKey { process: 1, device: 0, stream });
    let kinds: Vec<_> = trace.calls.iter().map(|call| call.kind.clone()).collect();
    let expected = [
        CallKind::Record { event: 42, stream: stream(7) },
        CallKind::Wait { event: 42, stream: stream(20) },
        CallKind::SynchronizeEvent { event: 42 },
        CallKind::Synchronize { stream: stream(7) },
        CallKind::SynchronizeDevice,
        CallKind::Other,
    ];
    assert_eq!(kinds, expected);
    assert!(trace.defects.is_empty());
}
