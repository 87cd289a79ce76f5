//! Recordings: what kernels use is known by their pointers, whether bytes change by digests, and
//! the host may read a result whenever it works.

use crate::traces_become_programs::blank;
use hallway::advise::{Condition, Refusal, Remedy, Rewriting, Subject, proved};
use hallway::machine::Direction;
use hallway::program::{Call, Program};
use hallway::scenario::Workload;
use hallway::trace::{
    CallKind, CopyPlaces, DeviceWork, HostCall, KernelUse, MemoryKind, PointerAccess,
    SpelledMemory, Spelling, StreamKey, Trace, WorkKind,
};
use hallway::units::{Bytes, Instant, Span};
use std::collections::BTreeMap;

const STREAM: StreamKey = StreamKey { process: 1, device: 0, stream: 7 };
const BYTES: u64 = 1 << 20;
const HOST: MemoryKind = MemoryKind::Pageable;
const DEVICE: MemoryKind = MemoryKind::Device;
/// Addresses of an upload's source and target.
const FROM: u64 = 0x1000_0000;
const TO: u64 = 0x9000_0000;
/// Addresses of a download's source and target.
const RESULT: u64 = 0x9800_0000;
const OUT: u64 = 0x2000_0000;

fn at(micros: u64) -> Instant {
    Instant::START + Span::from_micros(micros)
}

/// A trace that is put together call by call.
struct Story {
    trace: Trace,
    now: u64,
}

impl Story {
    fn new() -> Self {
        Self { trace: blank(), now: 0 }
    }

    /// A call of so many microseconds, what it has the GPU do meanwhile, and 10 us of the host.
    fn call(&mut self, function: &str, kind: CallKind, done: Option<WorkKind>, takes: u64) {
        let (begin, end) = (at(self.now), at(self.now + takes));
        let call = self.trace.calls.len();
        let (function, recorder) = (function.into(), Span::ZERO);
        self.trace.calls.push(HostCall { thread: 0, kind, function, begin, end, recorder });
        if let Some(kind) = done {
            let (start, end) = (at(self.now + 1), at(self.now + takes - 1));
            let (call, stream) = (Some(call), STREAM);
            self.trace.work.push(DeviceWork { kind, stream, start, end, call, graph_node: None });
        }
        self.now += takes + 10;
    }

    fn copy(&mut self, [from, to]: [u64; 2], kinds: [MemoryKind; 2], digest: Option<u64>) {
        let places = CopyPlaces { from: Some(from), to: Some(to), digest, ..CopyPlaces::default() };
        let bytes = Some(Bytes::new(BYTES));
        let blocking = kinds.contains(&HOST);
        let kind = CallKind::Copy { places, bytes, stream: Some(STREAM), blocking };
        let [from, to] = kinds;
        self.call("cudaMemcpyAsync", kind, Some(WorkKind::Copy { from, to, bytes }), 200);
    }

    fn launch(&mut self, pointers: &[u64]) {
        let kernel = WorkKind::Kernel {
            name: "void k<float>".into(),
            grid: [64, 1, 1],
            block: [256, 1, 1],
            registers: 32,
            shared: Bytes::ZERO,
        };
        let launch = CallKind::Launch { stream: Some(STREAM), pointers: pointers.to_vec() };
        self.call("cudaLaunchKernel", launch, Some(kernel), 5);
    }
}

/// Turns of a loop that uploads, launches, downloads and works on the host, with the digests of
/// what each turn uploads.
fn looping(digests: &[u64]) -> Trace {
    let mut story = Story::new();
    for &digest in digests {
        story.copy([FROM, TO], [HOST, DEVICE], Some(digest));
        story.launch(&[TO + 64, RESULT]);
        story.copy([RESULT, OUT], [DEVICE, HOST], None);
    }
    story.trace
}

/// The second turn of three calls as a program.
fn advised_on(trace: &Trace) -> Subject {
    turn(trace, 3)
}

/// The second turn as a program, where each makes so many calls.
fn turn(trace: &Trace, calls: usize) -> Subject {
    let how = Spelling { memory: SpelledMemory::ByAddress, ..Spelling::default() };
    let spelled = trace.spelled("turn", calls..2 * calls, how);
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

#[test]
fn what_is_said_of_kernels_counts() {
    let stated = |text: &str| text.parse::<KernelUse>();
    let used = |said: &[(PointerAccess, &str)]| {
        let mut trace = looping(&[1, 2, 3, 4]);
        for &(access, text) in said {
            trace.state_use(access, stated(text).expect("well written")).expect("it is there");
        }
        let program = advised_on(&trace).program;
        let (_, step) = program.body.iter().find_map(Call::launched).expect("a launch");
        [step.reads(), step.writes()].map(|slices| {
            let names = slices.iter().map(|one| program.allocation(one.allocation).name.as_str());
            names.map(str::to_owned).collect::<Vec<String>>().join(" ")
        })
    };
    use PointerAccess::{Read, Write};
    assert_eq!(used(&[]), ["device-1 device-2", "device-1 device-2"]);
    assert_eq!(used(&[(Write, "k<=1")]), ["device-1 device-2", "device-2"]);
    assert_eq!(used(&[(Write, "k=1"), (Read, "k=0")]), ["device-1", "device-2"]);
    assert_eq!(used(&[(Write, "k=0,1"), (Write, "k=")]), ["device-1 device-2", ""]);

    for wrong in ["", "k", "=1", "k=x", "k=-1"] {
        assert!(stated(wrong).is_err(), "{wrong}");
    }
    let refused = |text: &str| {
        let found = looping(&[1, 2]).state_use(Write, stated(text).expect("well written"));
        found.expect_err("it is wrong").to_string()
    };
    assert_eq!(refused("other=0"), "no kernel's name contains `other`");
    assert!(refused("k=2").ends_with("take 2 pointers, so there is no pointer 2"));
}

#[test]
fn memory_that_a_pass_takes_is_spelled_out_and_can_be_kept() {
    let mut story = Story::new();
    // The block behind it adjoins, and is another one all the same.
    let (scratch, behind) = (RESULT, RESULT + BYTES);
    for turn in 0..4 {
        for address in [scratch, behind] {
            let (memory, bytes) = (DEVICE, Bytes::new(BYTES));
            let kind = CallKind::Allocate { memory, address, bytes, stream: None };
            story.call("cudaMalloc", kind, None, 50);
        }
        story.copy([FROM, scratch], [HOST, DEVICE], Some(turn));
        story.launch(&[scratch, behind]);
        story.copy([behind, OUT], [DEVICE, HOST], None);
        for address in [scratch, behind] {
            story.call("cudaFree", CallKind::Free { address, stream: None }, None, 50);
        }
    }
    let pass = story.trace.pass().expect("a loop");
    assert_eq!(story.trace.calls[pass.turns[0][0]].function.as_ref(), "cudaMalloc", "{pass:?}");
    let subject = turn(&story.trace, 7);
    let changes =
        |of: &Program| of.body.iter().filter(|call| call.memory_change().is_some()).count();
    assert_eq!(changes(&subject.program), 4);
    let (_, step) = subject.program.body.iter().find_map(Call::launched).expect("a launch");
    assert_eq!((step.reads().len(), step.writes().len()), (1, 2), "new memory has nothing to read");
    let kept = proved(Remedy::KeepMemory, &subject).expect("it can be kept");
    assert_eq!(changes(&kept[0].program), 0);
}

#[test]
fn the_host_reads_no_result_that_is_still_under_way() {
    let mut story = Story::new();
    for turn in 0..4 {
        story.copy([FROM, TO], [HOST, DEVICE], Some(turn));
        story.launch(&[TO, RESULT]);
        // The host is busy for a moment before it waits, as in `tensor.item()`.
        story.copy([RESULT, OUT], [DEVICE, MemoryKind::Pinned], None);
        let kind = CallKind::Synchronize { stream: Some(STREAM) };
        story.call("cudaStreamSynchronize", kind, None, 30);
    }
    let subject = turn(&story.trace, 4);
    assert!(subject.by_address);
    let kept = |one: &Rewriting| one.program.body.iter().filter(|call| call.only_waits()).count();
    let waiting = proved(Remedy::DeferWaits, &subject).expect("some variant is the same");
    assert!(waiting.iter().all(|one| one.is_open() || kept(one) > 0), "{waiting:#?}");
}

#[test]
fn one_result_is_waited_for_although_another_is_under_way() {
    let mut story = Story::new();
    let wait = |story: &mut Story| {
        let kind = CallKind::Synchronize { stream: Some(STREAM) };
        story.call("cudaStreamSynchronize", kind, None, 30);
    };
    for turn in 0..4 {
        story.copy([FROM, TO], [HOST, DEVICE], Some(turn));
        story.launch(&[TO, RESULT]);
        story.copy([RESULT, OUT], [DEVICE, MemoryKind::Pinned], None);
        wait(&mut story);
        // At once, into the memory behind it: both are one block.
        story.now -= 10;
        story.copy([RESULT, OUT + BYTES], [DEVICE, MemoryKind::Pinned], None);
        wait(&mut story);
    }
    let subject = turn(&story.trace, 6);
    for one in proved(Remedy::DeferWaits, &subject).unwrap_or_default() {
        let body = &one.program.body;
        let is_download =
            |at: &usize| body[*at].crossing().is_some_and(|one| one.1 == Direction::DeviceToHost);
        let downloads: Vec<usize> = (0..body.len()).filter(is_download).collect();
        // The host works before the second result is there, and may read the first.
        let mut works = (downloads[1]..body.len()).filter(|&at| body[at].stated_time().is_some());
        let work = works.next().expect("the host works");
        let waits = body[downloads[0]..work].iter().any(Call::only_waits);
        assert!(one.is_open() || waits, "{one:#?}");
    }
}

#[test]
fn what_stays_on_the_gpu_has_memory_of_its_own() {
    // An allocator that gives all uploads the same memory.
    let mut story = Story::new();
    for _ in 0..4 {
        for layer in 0..3 {
            story.copy([FROM + layer * 2 * BYTES, TO], [HOST, DEVICE], Some(layer));
            story.launch(&[TO, RESULT]);
        }
        story.copy([RESULT, OUT], [DEVICE, HOST], None);
    }
    let mut subject = turn(&story.trace, 7);
    let uploads =
        subject.program.body.iter().enumerate().filter(|(_, call)| {
            call.crossing().is_some_and(|one| one.1 == Direction::HostToDevice)
        });
    subject.unchanged = uploads.map(|(at, _)| (at, true)).collect();
    let found = proved(Remedy::CopyOnce, &subject).expect("nothing changes");
    let all =
        found.iter().max_by_key(|one| one.places.iter().map(|place| place.times).sum::<u64>());
    let all = all.expect("a variant");
    let more = all.program.device_bytes().get() - subject.program.device_bytes().get();
    assert_eq!(more, 3 * BYTES);
    assert_eq!(all.conditions, [Condition::OnlyRead]);
}
