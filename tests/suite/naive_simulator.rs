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

mod engines;
mod simulator;
mod streams;

use super::predicted::calibrated;
use super::simulation_follows_the_rules::laws::{check_bound, check_path};
use super::simulation_follows_the_rules::{slice, step};
use hallway::machine::{DeviceId, Direction, HostMemory, Residence, StreamId};
use hallway::profile::Profile;
use hallway::program::{
    Allocation, AllocationId, Call, CopyBy, EventId, Place, Program, Route, Slice, StreamKind,
    StreamTraits, ThreadId, Threads,
};
use hallway::samples::{Load, TransferPath};
use hallway::simulate::simulate;
use hallway::timeline::Lane;
use hallway::units::{Bytes, Span};
use proptest::prelude::{
    ProptestConfig, Strategy, TestCaseError, any, prop, prop_assert_eq, proptest,
};
use simulator::{Op, Simulator};
use std::sync::LazyLock;

const EVENTS: usize = 4;
const PINNED: AllocationId = AllocationId(0);
const PAGEABLE: AllocationId = AllocationId(1);
const MANAGED: AllocationId = AllocationId(2);
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
            let (devices, is_one) = (if devices == 0 { 2 } else { 1 }, threads == 1);
            let many = if streams == 0 && is_one { 10 } else { 4 + usize::from(threads) % 2 };
            let stages = if stages == 0 && is_one { [down, up] } else { [false; 2] };
            // A thread that waits for the device may hold up the call that a barrier waits for.
            let has_default = has_default && devices == 1 && is_one;
            Kind { devices, threads, streams: many, has_default, stages }
        },
    )
}

/// A call: which kind it is, and the numbers of its stream, its event, its elements and its thread.
type Drawn = (usize, usize, usize, u64, u16);

fn any_calls() -> impl Strategy<Value = Vec<Drawn>> {
    let sizes = [1..20_000, 20_000..60_000, 60_000..1_000_000, 1_000_000..16_000_000_u64];
    let elements = prop::strategy::Union::new(sizes);
    prop::collection::vec((0..39_usize, 0..10_usize, 0..EVENTS, elements, 0..2_u16), 1..50)
}

impl Kind {
    fn program(&self, body: Vec<(Call, u16)>, priorities: u32) -> Program {
        let hosts = [HostMemory::Pinned, HostMemory::Pageable, HostMemory::Managed];
        let devices = (0..self.devices).map(|device| Place::Device(DeviceId(device)));
        let allocation = |place| {
            let (name, bytes) = (format!("{place:?}"), Bytes::mib(64));
            Allocation { name, place, bytes, holds: None }
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
        let threads = threads.into_iter().filter(|_| self.threads > 1);
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
            work_range: None,
            events: EVENTS,
            kernels: Vec::new(),
            setup: Vec::new(),
            body,
            threads: threads.map(|thread| ThreadId(thread % self.threads)).collect(),
        }
    }

    /// The calls of a kind by its number, by a thread.
    fn calls(&self, &(kind, at, event, elements, thread): &Drawn) -> Vec<Call> {
        // Streams and events are those of the calling thread.
        let (count, mine) = (usize::from(self.threads), usize::from(thread % self.threads));
        let (stream, event) = (at % self.streams / count * count + mine, event / count * count);
        let (device, theirs) = (stream % self.devices, EventId(event + 1 - mine));
        let (stream, event) = (StreamId(stream), EventId(event + mine));
        let is_one = self.devices == 1 && self.threads == 1;
        let allocation = AllocationId(DEVICE + device);
        let there = |elements| slice(allocation, elements);
        let copy = |way: Direction| {
            let elements = elements.max(if self.stages[way as usize] { 20_000 } else { 1 });
            let memory = if self.stages[way as usize] { PAGEABLE } else { PINNED };
            let here = slice(memory, elements);
            let (from, to) = match way {
                Direction::HostToDevice => (here, there(elements)),
                Direction::DeviceToHost => (there(elements), here),
            };
            vec![Call::copy(CopyBy::crossing(stream, way), from, to)]
        };
        let launch = |on, elements| Call::Launch { stream, step: step(on, elements).into() };
        let alone = |call| {
            let device = Call::SynchronizeDevice(DeviceId(0));
            vec![device, call, Call::Synchronize { stream }]
        };
        let part = elements.min(1 << 22);
        vec![match kind {
            0..6 => return copy(Direction::HostToDevice),
            6..12 => return copy(Direction::DeviceToHost),
            12..18 => launch(allocation, elements),
            18 | 19 => launch(allocation, elements % 5_000 + 1),
            20..23 => Call::Record { stream, event },
            23..26 => Call::Wait { stream, event },
            26 => Call::Synchronize { stream },
            27 => Call::SynchronizeEvent { event },
            28 => Call::SynchronizeDevice(DeviceId(device)),
            29 if self.threads > 1 => {
                let other = Call::SynchronizeThread(ThreadId(1 - thread));
                return vec![other, Call::Wait { stream, event: theirs }];
            }
            29 if self.devices > 1 => {
                let (stream, to) =
                    (StreamId(device), slice(AllocationId(DEVICE + 1 - device), elements));
                Call::copy(CopyBy::Stream(stream, Route::ToPeer), there(elements), to)
            }
            29 | 30 => Call::Work { time: Span::from_nanos(elements % 50_000) },
            31 => {
                let from = Slice { offset: Bytes::mib(32), ..there(part) };
                Call::copy(CopyBy::Stream(stream, Route::OnDevice), from, there(part))
            }
            32 => Call::Clear { stream, target: there(elements) },
            33 if is_one => Call::Compute { step: step(PAGEABLE, elements).into() },
            34 if is_one => {
                let by = CopyBy::Host(Threads::All);
                Call::copy(by, slice(PAGEABLE, elements), slice(PINNED, elements))
            }
            35 if is_one => {
                return alone(launch([PINNED, MANAGED][elements as usize % 2], elements));
            }
            36 if is_one => {
                let to = [Residence::Host, Residence::Device][elements as usize % 2];
                return alone(Call::Prefetch { stream, target: slice(MANAGED, elements), to });
            }
            37 => Call::Free { allocation, stream: None },
            _ => Call::Allocate { allocation, stream: Some(stream) },
        }]
    }
}

/// Makes calls in the middle a graph, as far as they can be captured.
fn captured(body: &mut Vec<(Call, u16)>, from: usize, to: usize) {
    let (from, to) = (from.min(to).min(body.len()), from.max(to).min(body.len()));
    let can_be =
        |call: &Call| call.bars().is_none() && !matches!(call.route(), Some((_, Route::OnDevice)));
    let nodes: Vec<_> = body.drain(from..to).filter(|(call, _)| can_be(call)).collect();
    let launch = Call::Replay { stream: StreamId(3), calls: nodes.len() };
    body.splice(from..from, [(launch, 0)].into_iter().chain(nodes));
}

/// Checks that both simulators say the same of a program, and what holds for any timeline.
fn check(program: &Program, machine: &Profile) -> Result<(), TestCaseError> {
    let timeline = match simulate(program, machine) {
        Ok(timeline) => timeline,
        Err(refused) => return Err(TestCaseError::reject(refused.to_string())),
    };
    let mut spans = vec![[None; 2]; program.body.len()];
    for one in &timeline.activities {
        let span = [one.start, one.end].map(|at| at.since_start().nanos());
        spans[one.call][usize::from(one.lane != Lane::Host)] = Some(span);
    }
    let mut naive = Simulator::new(program, machine);
    let makespan = naive.run();
    let on_device = |op: &Op| Some([op.started?, op.ending?.time]);
    let ops = naive.ops.iter().map(|op| [op.has_returned.then_some(op.host), on_device(op)]);
    prop_assert_eq!(ops.collect::<Vec<_>>(), spans, "by call, on the host and on the device");
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
            body.extend(kind.calls(one).into_iter().map(|call| (call, one.4)));
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
