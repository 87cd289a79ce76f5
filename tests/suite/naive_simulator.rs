//! A naive simulator, in the simplest code, agrees with the engine to the nanosecond on drawn
//! programs. It shares no code with the engine: no host runs ahead, there are no bursts and no
//! solver of links that keeps what has not changed. At each step it asks anew who waits, which
//! engine takes what and how fast copies go. It keeps what has a history: what is left of a copy,
//! blocks that run, and polls so far. Its rules were written from the engine's, so it finds faults
//! in shortcuts and bookkeeping rather than in what a rule means. Both read the same prices, and so
//! also agree on what only prices know: staging, first touches, caches, mapped and managed memory.
//!
//! It has all rules of docs/simulator.md but two: threads that stream alongside copies, and H2D
//! copies of data that the CPU has just written. The engine asks when the CPU streams and writes on
//! the clock of the latest calls that the host has made ahead, which differs a little from when it
//! does behind a call that waits. The machines here are without both.

mod copies;
mod host;
mod multiprocessors;
mod polling;
mod simulator;
mod streams;
mod waiting_kernels;

use super::predicted::calibrated;
use super::simulation_follows_the_rules::laws::{check_bound, check_path};
use hallway::kernels::{Arguments, Kernel};
use hallway::machine::{DeviceId, Direction, HostMemory, Residence, StreamId};
use hallway::profile::Profile;
use hallway::program::{
    Allocation, AllocationId, Call, CopyBy, EventId, LibraryStep, Place, Program, Route, Slice,
    StreamKind, StreamTraits, ThreadId, Threads,
};
use hallway::samples::{Load, TransferPath};
use hallway::simulate::simulate;
use hallway::timeline::Lane;
use hallway::units::{Bytes, Instant, Span};
use proptest::prelude::{
    ProptestConfig, Strategy, TestCaseError, any, prop, prop_assert_eq, prop_oneof, proptest,
};
use simulator::{Simulator, Spans};
use std::sync::LazyLock;

const EVENTS: usize = 4;
const PAGEABLE: usize = 1;
const MANAGED: usize = 2;
const DEVICE: usize = 3;

/// Machines of one and of two GPUs, each as it is and with hand-overs at a cost.
static MACHINES: LazyLock<[[Profile; 2]; 2]> = LazyLock::new(|| {
    ["h200", "others/two-h200"].map(|folder| {
        let mut polls = calibrated(folder);
        polls.interference.retain(|one| one.load != Load::Cpu);
        polls.transfers.retain(|one| !TransferPath::WRITTEN.contains(&one.path));
        let mut has_costs = polls.clone();
        has_costs.latency.semaphore_polling = None;
        [polls, has_costs]
    })
});

/// What a drawn program may do.
#[derive(Debug, Clone, Copy)]
struct Kind {
    devices: usize,
    threads: u16,
    streams: usize,
    has_default: bool,
    /// By direction, whether copies are of pageable memory.
    stages: [bool; 2],
}

fn any_kind() -> impl Strategy<Value = Kind> {
    let stages = (0..3_usize, any::<bool>(), any::<bool>());
    (0..5_usize, 1..=2_u16, 0..4_usize, any::<bool>(), stages).prop_map(
        |(devices, threads, streams, has_default, (stages, down, up))| {
            let devices = if devices == 0 { 2 } else { 1 };
            let streams =
                if streams == 0 && threads == 1 { 10 } else { 4 + usize::from(threads) % 2 };
            let stages = if stages == 0 && threads == 1 { [down, up] } else { [false; 2] };
            // A thread that waits for the device may hold up the call that a barrier waits for.
            let has_default = has_default && devices == 1 && threads == 1;
            Kind { devices, threads, streams, has_default, stages }
        },
    )
}

impl Kind {
    fn program(&self, body: Vec<(Call, u16)>, priorities: u32) -> Program {
        let hosts = [HostMemory::Pinned, HostMemory::Pageable, HostMemory::Managed];
        let devices = (0..self.devices).map(|device| Place::Device(DeviceId(device)));
        let allocation = |place| Allocation {
            name: format!("{place:?}"),
            place,
            bytes: Bytes::mib(64),
            holds: None,
        };
        let stream = |at: usize| StreamTraits {
            priority: -i32::from((priorities >> at) & 1 == 1),
            device: DeviceId(at % self.devices),
            kind: match at {
                0 if self.has_default => StreamKind::LegacyDefault,
                1 | 2 => StreamKind::Blocking,
                _ => StreamKind::NonBlocking,
            },
        };
        let (body, threads): (Vec<Call>, Vec<u16>) = body.into_iter().unzip();
        let threads = threads.into_iter().map(|thread| ThreadId(thread % self.threads)).collect();
        Program {
            label: "drawn".to_owned(),
            allocations: hosts
                .map(Place::Host)
                .into_iter()
                .chain(devices)
                .map(allocation)
                .collect(),
            streams: (0..self.streams).map(stream).collect(),
            stream_names: Vec::new(),
            events: EVENTS,
            kernels: Vec::new(),
            setup: Vec::new(),
            body,
            threads: if self.threads > 1 { threads } else { Vec::new() },
        }
    }

    /// The calls of a kind by its number, by a thread.
    fn calls(&self, drawn: &Drawn) -> Vec<Call> {
        let &Drawn { kind, at, event, elements, thread } = drawn;
        // Streams and events are those of the calling thread.
        let (count, mine) = (usize::from(self.threads), usize::from(thread % self.threads));
        let (stream, event) = (at % self.streams / count * count + mine, event / count * count);
        let (device, theirs) = (stream % self.devices, EventId(event + 1 - mine));
        let (stream, event) = (StreamId(stream), EventId(event + mine));
        let is_one = self.devices == 1 && self.threads == 1;
        let there = |elements| slice(DEVICE + device, elements);
        let copy = |way: Direction| {
            let elements = elements.max(if self.stages[way as usize] { 20_000 } else { 1 });
            let here = slice(usize::from(self.stages[way as usize]), elements);
            let sides = match way {
                Direction::HostToDevice => (here, there(elements)),
                Direction::DeviceToHost => (there(elements), here),
            };
            Call::copy(CopyBy::crossing(stream, way), sides.0, sides.1)
        };
        let launch = |slice: Slice| Call::Launch { stream, step: step(slice).into() };
        let alone = |call| {
            let device = Call::SynchronizeDevice(DeviceId(0));
            vec![device, call, Call::Synchronize { stream }]
        };
        match kind {
            0..6 => vec![copy(Direction::HostToDevice)],
            6..12 => vec![copy(Direction::DeviceToHost)],
            12..18 => vec![launch(there(elements))],
            18 | 19 => vec![launch(there(elements % 5_000 + 1))],
            20..23 => vec![Call::Record { stream, event }],
            23..26 => vec![Call::Wait { stream, event }],
            26 => vec![Call::Synchronize { stream }],
            27 => vec![Call::SynchronizeEvent { event }],
            28 => vec![Call::SynchronizeDevice(DeviceId(device))],
            29 if self.threads > 1 => {
                let other = Call::SynchronizeThread(ThreadId(1 - thread));
                vec![other, Call::Wait { stream, event: theirs }]
            }
            29 if self.devices > 1 => {
                let (stream, to) = (StreamId(device), DEVICE + 1 - device);
                let by = CopyBy::Stream(stream, Route::ToPeer);
                vec![Call::copy(by, there(elements), slice(to, elements))]
            }
            29 | 30 => vec![Call::Work { time: Span::from_nanos(elements % 50_000) }],
            31 => {
                let from = Slice { offset: Bytes::mib(32), ..there(elements.min(1 << 22)) };
                let by = CopyBy::Stream(stream, Route::OnDevice);
                vec![Call::copy(by, from, there(elements.min(1 << 22)))]
            }
            32 => vec![Call::Clear { stream, target: there(elements) }],
            33 if is_one => vec![Call::Compute { step: step(slice(PAGEABLE, elements)).into() }],
            34 if is_one => {
                let (from, to) = (slice(PAGEABLE, elements), slice(0, elements));
                vec![Call::copy(CopyBy::Host(Threads::All), from, to)]
            }
            35 if is_one => alone(launch(slice(elements as usize % 2 * MANAGED, elements))),
            36 if is_one => {
                let to = [Residence::Host, Residence::Device][elements as usize % 2];
                alone(Call::Prefetch { stream, target: slice(MANAGED, elements), to })
            }
            37 => vec![Call::Free { allocation: AllocationId(DEVICE + device), stream: None }],
            _ => {
                let stream = Some(stream);
                vec![Call::Allocate { allocation: AllocationId(DEVICE + device), stream }]
            }
        }
    }
}

fn slice(allocation: usize, elements: u64) -> Slice {
    let (allocation, length) = (AllocationId(allocation), Bytes::of_f32(elements));
    Slice { allocation, offset: Bytes::ZERO, length }
}

fn step(on: Slice) -> LibraryStep {
    let (kernel, arguments) = (Kernel::Scale, Arguments::default());
    LibraryStep { kernel, arguments, inputs: vec![on], output: on, workspace: None, lead: 0 }
}

#[derive(Debug, Clone)]
struct Drawn {
    kind: usize,
    at: usize,
    event: usize,
    elements: u64,
    thread: u16,
}

fn any_calls() -> impl Strategy<Value = Vec<Drawn>> {
    let elements = prop_oneof![
        1..20_000_u64,
        20_000..60_000_u64,
        60_000..1_000_000_u64,
        1_000_000..16_000_000_u64
    ];
    let one = (0..39_usize, 0..10_usize, 0..EVENTS, elements, 0..2_u16);
    let one = one.prop_map(|(kind, at, event, elements, thread)| Drawn {
        kind,
        at,
        event,
        elements,
        thread,
    });
    prop::collection::vec(one, 1..50)
}

/// Makes calls in the middle a graph, as far as they can be captured.
fn captured(body: &mut Vec<(Call, u16)>, from: usize, to: usize) {
    let (from, to) = (from.min(to).min(body.len()), from.max(to).min(body.len()));
    let rest = body.split_off(to);
    let mut calls = body.split_off(from);
    calls.retain(|(call, _)| {
        let is_on_device =
            matches!(call, Call::Copy { by: CopyBy::Stream(_, Route::OnDevice), .. });
        call.bars().is_none() && !is_on_device
    });
    body.push((Call::Replay { stream: StreamId(3), calls: calls.len() }, 0));
    body.extend(calls.into_iter().chain(rest));
}

/// Checks that both simulators say the same of a program, and what holds for any timeline.
fn check(program: &Program, machine: &Profile) -> Result<(), TestCaseError> {
    let timeline = match simulate(program, machine) {
        Ok(timeline) => timeline,
        Err(refused) => return Err(TestCaseError::reject(refused.to_string())),
    };
    let [mut host, mut device]: [Spans; 2] = [(); 2].map(|()| vec![None; program.body.len()]);
    let nanos = |at: Instant| at.since_start().nanos();
    for one in &timeline.activities {
        let side = if one.lane == Lane::Host { &mut host } else { &mut device };
        side[one.call] = Some((nanos(one.start), nanos(one.end)));
    }
    let mut naive = Simulator::new(program, machine);
    let makespan = naive.run();
    prop_assert_eq!(&naive.host, &host, "the host's calls");
    prop_assert_eq!(&naive.device, &device, "operations");
    prop_assert_eq!(makespan, timeline.makespan.nanos());
    check_path(&timeline)?;
    check_bound(program, &timeline, machine)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        max_global_rejects: 2_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn both_simulators_agree_to_the_nanosecond(
        kind in any_kind(),
        calls in any_calls(),
        graph in prop::option::of((0..50_usize, 0..50_usize)),
        priorities in any::<u32>(),
    ) {
        // Each thread makes a call: others may wait for it.
        let first = |thread| (Call::Work { time: Span::from_nanos(100) }, thread);
        let mut body: Vec<(Call, u16)> = (0..kind.threads).map(first).collect();
        for one in &calls {
            body.extend(kind.calls(one).into_iter().map(|call| (call, one.thread)));
        }
        let can_capture = kind.devices == 1 && kind.threads == 1 && kind.stages == [false; 2];
        if let Some((from, to)) = graph.filter(|_| can_capture) {
            captured(&mut body, from, to);
        }
        let program = kind.program(body, priorities);
        for machine in &MACHINES[kind.devices - 1] {
            check(&program, machine)?;
        }
    }
}
