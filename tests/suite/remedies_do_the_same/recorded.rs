//! Recordings: what kernels use is known by their pointers, whether bytes change by digests, and
//! the host may read a result whenever it works.

use hallway::advise::{Condition, Refusal, Remedy, Subject, proved};
use hallway::program::Call;
use hallway::scenario::Workload;
use hallway::trace::{
    CallKind, CopyPlaces, DeviceWork, HostCall, HostThread, MemoryKind, Origin, SpelledMemory,
    Spelling, StreamKey, Trace, WorkKind,
};
use hallway::units::{Bytes, Instant, Span};
use std::collections::BTreeMap;

const STREAM: StreamKey = StreamKey { process: 1, device: 0, stream: 7 };
const BYTES: u64 = 1 << 20;
/// Addresses of an upload's source and target.
const FROM: u64 = 0x1000_0000;
const TO: u64 = 0x9000_0000;
/// Addresses of a download's source and target.
const RESULT: u64 = 0x9800_0000;
const OUT: u64 = 0x2000_0000;

fn at(micros: u64) -> Instant {
    Instant::START + Span::from_micros(micros)
}

/// Turns of a loop that uploads, launches, downloads and works on the host, with the digests of
/// what each turn uploads.
fn looping(digests: &[u64]) -> Trace {
    let threads = vec![HostThread { process: 1, id: 1, name: None }];
    let (calls, work, ranges) = (Vec::new(), Vec::new(), Vec::new());
    let origin = Origin { tool: "a test", version: None, part: None };
    let (gpus, defects) = (Vec::new(), BTreeMap::new());
    let empty_kernel = None;
    let stated_uses = Vec::new();
    let mut trace =
        Trace { origin, gpus, threads, calls, work, ranges, empty_kernel, stated_uses, defects };
    let mut now = 0;
    for &digest in digests {
        let copy = |from, to, digest| {
            let places =
                CopyPlaces { from: Some(from), to: Some(to), digest, ..CopyPlaces::default() };
            let bytes = Some(Bytes::new(BYTES));
            CallKind::Copy { places, bytes, stream: Some(STREAM), blocking: true }
        };
        let moved = |from, to| WorkKind::Copy { from, to, bytes: Some(Bytes::new(BYTES)) };
        let (host, device) = (MemoryKind::Pageable, MemoryKind::Device);
        let kernel = WorkKind::Kernel {
            name: "k".into(),
            grid: [64, 1, 1],
            block: [256, 1, 1],
            registers: 32,
            shared: Bytes::ZERO,
        };
        let launch = CallKind::Launch { stream: Some(STREAM), pointers: vec![TO + 64, RESULT] };
        let made = [
            ("cudaMemcpy", copy(FROM, TO, Some(digest)), moved(host, device), 200),
            ("cudaLaunchKernel", launch, kernel, 5),
            ("cudaMemcpy", copy(RESULT, OUT, None), moved(device, host), 200),
        ];
        for (function, kind, done, takes) in made {
            let (begin, end) = (at(now), at(now + takes));
            let call = trace.calls.len();
            let (function, recorder) = (function.into(), hallway::units::Span::ZERO);
            trace.calls.push(HostCall { thread: 0, kind, function, begin, end, recorder });
            let (start, end) = (at(now + 1), at(now + takes - 1));
            let (call, stream) = (Some(call), STREAM);
            trace.work.push(DeviceWork { kind: done, stream, start, end, call, graph_node: None });
            now += takes + 10;
        }
    }
    trace
}

/// The second turn as a program.
fn advised_on(trace: &Trace) -> Subject {
    let how = Spelling { memory: SpelledMemory::ByAddress, ..Spelling::default() };
    let spelled = trace.spelled("turn", 3..6, how);
    let workload = Workload::from_toml("turn.toml", &spelled.text).expect("a scenario");
    Subject::addressed(workload.programs[0].clone()).expect("no race")
}

#[test]
fn kernels_use_what_their_pointers_point_into() {
    let subject = advised_on(&looping(&[1, 2, 3, 4]));
    let program = &subject.program;
    let launch = program.body.iter().find(|call| call.is_launch()).expect("a launch");
    let used = program.accesses(launch).map(|one| one.allocation());
    let used: Vec<&str> = used.map(|id| program.allocation(id).name.as_str()).collect();
    assert_eq!(used, ["device-1", "device-2", "device-1", "device-2"]);
    let named: Vec<&str> = program.allocations.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(named, ["device-1", "device-2", "pageable-1", "pageable-2"]);
}

#[test]
fn digests_say_whether_a_copy_is_needed_in_each_pass() {
    let said = |digests: &[u64]| {
        let trace = looping(digests);
        let pass = trace.pass().expect("a loop");
        assert_eq!(pass.turns[pass.steady][1] - pass.turns[pass.steady][0], 3);
        let unchanged = trace.unchanged_copies(&pass);
        let first = unchanged.values().next().copied().expect("a digest");
        let mut subject = advised_on(&trace);
        let is_upload = |call: &Call| call.crossing().is_some();
        let upload = subject.program.body.iter().position(is_upload).expect("an upload");
        subject.unchanged = BTreeMap::from([(upload, first)]);
        proved(Remedy::CopyOnce, &subject).map(|found| found[0].conditions.clone())
    };
    assert_eq!(said(&[5, 5, 5, 5, 5]), Ok(vec![Condition::OnlyRead]));
    assert_eq!(said(&[1, 2, 3, 4, 5]), Err(Refusal::BytesDiffer));
}

#[test]
fn the_host_may_read_a_result_whenever_it_works() {
    let subject = advised_on(&looping(&[1, 2, 3, 4]));
    let found = proved(Remedy::DeferWaits, &subject).expect("waits can go");
    let later = found.iter().position(|one| one.conditions.contains(&Condition::ReadLater));
    let waits = |at: usize| found[at].program.body.iter().filter(|c| c.only_waits()).count();
    let later = later.expect("a variant in which nobody reads");
    assert!(!found[0].is_open() && found[later].is_open());
    assert!(waits(later) <= waits(0), "{found:#?}");
}
