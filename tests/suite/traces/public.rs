//! Public traces of many GPUs, versions and tools: every figure that is known of them.

use super::{committed, hidden, repository, requests, work};
use hallway::trace::{Defect, Trace, read};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

/// All figures of a trace on a few lines.
fn figures(trace: &Trace) -> String {
    let mut text = format!("{}\n", trace.origin);
    for gpu in &trace.gpus {
        let name = gpu.name.as_deref().unwrap_or("unnamed");
        writeln!(text, "GPU {}: {name}", gpu.device).expect("a string");
    }
    let (calls, ranges) = (trace.calls.len(), trace.ranges.len());
    let streams: BTreeSet<_> = trace.work.iter().map(|work| work.stream).collect();
    let threads = trace.threads.len();
    writeln!(
        text,
        "threads {threads}, streams {}, calls {calls}, ranges {ranges}, until {}",
        streams.len(),
        trace.end().since_start()
    )
    .expect("a string");
    for (kind, (count, bytes, nanos)) in work(trace) {
        writeln!(text, "{count} {kind}, {bytes} B, {} us", nanos / 1_000).expect("a string");
    }
    let (hidden, copies) = hidden(trace);
    writeln!(text, "hidden {} of {} us", hidden / 1_000, copies / 1_000).expect("a string");
    let requests: Vec<String> =
        requests(trace).into_iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    writeln!(text, "{}", requests.join(", ")).expect("a string");
    for (defect, count) in &trace.defects {
        writeln!(text, "{count} {defect}").expect("a string");
    }
    text
}

#[track_caller]
fn has_figures(path: PathBuf, expected: &str) {
    let trace = read(&path).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(figures(&trace), expected);
    holds_together(&trace);
    let again = read(&path).expect("as before");
    assert!(again == trace, "{} is imported differently each time", path.display());
}

/// What readers of a trace rely on.
fn holds_together(trace: &Trace) {
    assert!(trace.calls.is_sorted_by_key(|call| call.begin));
    assert!(trace.work.is_sorted_by_key(|work| work.start));
    for call in &trace.calls {
        assert!(call.begin <= call.end && call.thread < trace.threads.len());
    }
    for work in &trace.work {
        assert!(work.start <= work.end);
        assert!(trace.gpus.iter().any(|gpu| gpu.device == work.stream.device));
        let call = work.call.map(|call| &trace.calls[call]);
        let process = call.map(|call| trace.threads[call.thread].process);
        assert!(process.is_none_or(|process| process == work.stream.process));
    }
    let without_call = trace.work.iter().filter(|work| work.call.is_none()).count();
    assert!(without_call <= trace.defects.get(&Defect::NoCall).copied().unwrap_or(0));
}

#[test]
fn pageable_copies_of_a_network_on_an_a100() {
    has_figures(committed("alexnet.json.gz"), ALEXNET);
}

#[test]
fn copies_of_rocm_have_their_sizes_from_their_calls() {
    has_figures(committed("rocm.json.gz"), ROCM);
}

#[test]
fn ten_copies_of_the_same_data() {
    has_figures(committed("repeated.json.gz"), REPEATED);
}

#[test]
fn data_that_goes_back_and_forth() {
    has_figures(committed("back-and-forth.json.gz"), BACK_AND_FORTH);
}

#[cfg(feature = "nsight")]
#[test]
fn four_streams_that_are_issued_one_after_the_other() {
    has_figures(committed("four-streams.sqlite.gz"), FOUR_STREAMS);
}

/// Traces too large to be committed, which lie beside the repository where it is developed.
#[test]
fn large_traces() {
    let folder = repository().join("../shared/traces");
    for (name, expected) in LARGE {
        let path = folder.join(name);
        let is_readable = name.contains(".json") || cfg!(feature = "nsight");
        if path.exists() && is_readable {
            has_figures(path, expected);
        }
    }
}

const ALEXNET: &str = "\
PyTorch profiler 1
GPU 0: NVIDIA A100-PG509-200
threads 1, streams 2, calls 361, ranges 8, until 43.4 s
3 clear, 21760 B, 8 us
79 kernel, 0 B, 10692 us
16 pageable to device, 244403360 B, 55503 us
hidden 0 of 55503 us
Clear 5, Copy 16, Launch 79, Record 20, Synchronize 16, SynchronizeDevice 5, Wait 20
2 was dropped by the recording tool
";

const ROCM: &str = "\
PyTorch profiler (ROCm) 1
GPU 2: AMD Radeon Graphics
threads 2, streams 1, calls 21, ranges 3, until 9.58 ms
14 kernel, 0 B, 110 us
2 unknown to device, 5120 B, 38 us
hidden 0 of 38 us
Copy 2, Launch 14, SynchronizeDevice 1
";

const REPEATED: &str = "\
PyTorch profiler 1
GPU 0: NVIDIA H200
threads 1, streams 1, calls 42, ranges 0, until 145 ms
10 kernel, 0 B, 480 us
10 pageable to device, 1000000000 B, 139587 us
hidden 0 of 139587 us
Copy 10, Launch 10, Synchronize 10, SynchronizeDevice 2
";

const BACK_AND_FORTH: &str = "\
PyTorch profiler 1
GPU 0: NVIDIA H200
threads 1, streams 1, calls 17, ranges 0, until 118 ms
2 device to pageable, 128000000 B, 88505 us
3 kernel, 0 B, 93 us
2 pageable to device, 128000000 B, 18392 us
hidden 0 of 106898 us
Copy 4, Launch 3, Synchronize 4, SynchronizeDevice 2
";

#[cfg(feature = "nsight")]
const FOUR_STREAMS: &str = "\
Nsight Systems 3.24.14
GPU 0: NVIDIA GeForce RTX 4060 Ti
threads 1, streams 4, calls 44, ranges 0, until 1.10 s
4 device to pinned, 400000000 B, 30323 us
4 kernel, 0 B, 536 us
8 pinned to device, 800000000 B, 61322 us
hidden 0 of 91646 us
Copy 12, Launch 4, Record 2, SynchronizeEvent 1
";

const LARGE: [(&str, &str); 9] = [
    (
        "open-kineto-2080ti-resnet-pageable.json.gz",
        "\
PyTorch profiler 1
GPU 0: NVIDIA GeForce RTX 2080 Ti
threads 2, streams 3, calls 25928, ranges 90, until 16.2 s
362 clear, 192089472 B, 607 us
62 device to device, 46758048 B, 314 us
9628 kernel, 0 B, 4103141 us
61 pageable to device, 2312140804 B, 629760 us
hidden 0 of 629760 us
Clear 572, Copy 123, Launch 9628, Synchronize 61, SynchronizeDevice 1
210 was dropped by the recording tool
",
    ),
    (
        "open-kineto-h100-owlv2.json.gz",
        "\
PyTorch profiler 1
GPU 0: NVIDIA H100 80GB HBM3
threads 1, streams 1, calls 9292, ranges 7, until 1.21 s
750 clear, 97344400 B, 737 us
5 device to device, 250 B, 6 us
55 device to pageable, 146418600 B, 12903 us
4330 kernel, 0 B, 551451 us
25 pageable to device, 30897080 B, 1660 us
hidden 0 of 14563 us
Clear 1055, Copy 85, Launch 4330, Synchronize 80, SynchronizeDevice 2
305 was dropped by the recording tool
",
    ),
    (
        "open-kineto-b200-eager.json.gz",
        "\
PyTorch profiler 1
GPU 0: NVIDIA B200
threads 1, streams 1, calls 1372, ranges 3, until 87.1 ms
146 device to device, 771323904 B, 781 us
768 kernel, 0 B, 10862 us
2 pageable to device, 16 B, 3 us
13 pinned to device, 33093 B, 17 us
hidden 0 of 21 us
Copy 161, Launch 768
",
    ),
    (
        "open-nsys-2026-two-gpus.sqlite.gz",
        "\
Nsight Systems 3.25.0
GPU 0: unnamed
GPU 1: unnamed
threads 4, streams 2, calls 7466, ranges 19118, until 300 ms
269 clear, 1076 B, 213 us
986 device to device, 8046134272 B, 5665 us
4010 kernel, 0 B, 535200 us
34 pageable to device, 272 B, 26 us
hidden 12 of 26 us
Clear 268, Copy 1018, Launch 4006, Synchronize 33, Wait 200
31 was recorded without its call
24 was dropped by the recording tool
",
    ),
    (
        "open-nsys-gtx1060-5-streams.sqlite.gz",
        "\
Nsight Systems 2.9.1
GPU 0: GeForce GTX 1060 with Max-Q Design
threads 1, streams 5, calls 71, ranges 0, until 540 ms
1 clear, 40000 B, 2 us
6 device to pinned, 40200000 B, 4364 us
9 kernel, 0 B, 271711 us
5 pinned to device, 40160000 B, 3702 us
hidden 2180 of 7874 us
Allocate 10, Clear 1, Copy 10, Free 10, Launch 7, Record 5, SynchronizeDevice 1, SynchronizeEvent 5
3 was recorded without its call
",
    ),
    (
        "open-nsys-gtx1060-15-streams-size4.sqlite.gz",
        "\
Nsight Systems 2.9.1
GPU 0: GeForce GTX 1060 with Max-Q Design
threads 1, streams 15, calls 184, ranges 76, until 709 ms
17 clear, 256160000 B, 48 us
15 device to pinned, 176640000 B, 22528 us
12 kernel, 0 B, 230271 us
15 pinned to device, 176640000 B, 22476 us
hidden 11879 of 30952 us
Allocate 30, Clear 17, Copy 30, Free 30, Launch 12, Record 5, Synchronize 10, \
SynchronizeDevice 1, SynchronizeEvent 5
",
    ),
    (
        "open-nsys-gh200-jacobi.sqlite.gz",
        "\
Nsight Systems 3.6.0
GPU 0: NVIDIA GH200 120GB
threads 1, streams 1, calls 6017, ranges 2, until 2.52 s
1002 clear, 2147487648 B, 1784 us
2000 device to device, 131072000 B, 3482 us
1001 device to pinned, 1073745824 B, 4985 us
1001 kernel, 0 B, 2071933 us
hidden 0 of 4985 us
Clear 1002, Copy 3001, Launch 1001, SynchronizeDevice 1002
",
    ),
    (
        "open-nsys-rtx6000-mordred.sqlite.gz",
        "\
Nsight Systems
GPU 0: Quadro RTX 6000
threads 1, streams 1, calls 260, ranges 0, until 6.70 s
16 clear, 4021651132 B, 13 us
24 device to pageable, 738663444 B, 286008 us
12 kernel, 0 B, 6128 us
164 pageable to device, 536962766 B, 100951 us
hidden 0 of 386959 us
Clear 16, Copy 188, Launch 12, SynchronizeDevice 12, SynchronizeEvent 6
",
    ),
    (
        "own-small-one-by-one.json.gz",
        "\
PyTorch profiler 1
GPU 0: NVIDIA H200
threads 1, streams 1, calls 1203, ranges 0, until 16.3 ms
400 pageable to device, 8000000 B, 834 us
hidden 0 of 834 us
Copy 400, Synchronize 400, SynchronizeDevice 3
",
    ),
];
