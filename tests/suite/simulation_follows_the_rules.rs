//! The simulator's rules, each on a plan small enough to work out by hand, on
//! the machine of round numbers in `machines.rs`. Times are in nanoseconds;
//! sizes in elements, of which the link carries one a nanosecond.

mod copies;
mod kernels;
mod laws;
mod reasons;
mod streams;
mod the_host;
mod whole_plans;

use hallway::kernels::{Arguments, Kernel};
use hallway::plan::{
    Allocation, AllocationId, Call, Direction, EventId, Family, Place, Plan, Slice, Step, Strategy,
    StreamId,
};
use hallway::profile::{Estimate, Profile};
use hallway::scenario::HostMemory;
use hallway::simulate::simulate;
use hallway::timeline::{Lane, Timeline};
use hallway::units::{Bytes, Instant};

const PINNED: AllocationId = AllocationId(0);
const PAGEABLE: AllocationId = AllocationId(1);
const DEVICE: AllocationId = AllocationId(2);

/// Room in each allocation: 400 kB, so that the host's two fit into its caches.
const ROOM: u64 = 100_000;

/// A plan with one allocation of each kind, whose body is written call by call.
fn tiny(body: Vec<Call>) -> Plan {
    let places =
        [Place::Host(HostMemory::Pinned), Place::Host(HostMemory::Pageable), Place::Device];
    let allocations = places.map(|place| Allocation {
        name: format!("{place:?}"),
        place,
        bytes: Bytes::of_f32(ROOM),
        holds: None,
    });
    let allocations = allocations.to_vec();
    let strategy = pinned(Family::Resident);
    Plan { strategy, allocations, streams: 3, events: 3, setup: Vec::new(), body }
}

fn pinned(family: Family) -> Strategy {
    Strategy { family, memory: HostMemory::Pinned }
}

fn slice(allocation: AllocationId, elements: u64) -> Slice {
    Slice { allocation, offset: Bytes::ZERO, length: Bytes::of_f32(elements) }
}

fn copy_in(stream: usize, from: AllocationId, elements: u64) -> Call {
    let (from, to) = (slice(from, elements), slice(DEVICE, elements));
    Call::Copy { stream: StreamId(stream), direction: Direction::HostToDevice, from, to }
}

fn copy_out(stream: usize, to: AllocationId, elements: u64) -> Call {
    let (from, to) = (slice(DEVICE, elements), slice(to, elements));
    Call::Copy { stream: StreamId(stream), direction: Direction::DeviceToHost, from, to }
}

fn step(on: AllocationId, elements: u64) -> Step {
    Step {
        kernel: Kernel::Scale,
        arguments: Arguments::default(),
        inputs: vec![slice(on, elements)],
        output: slice(on, elements),
        workspace: None,
        lead: 0,
    }
}

fn launch(stream: usize, elements: u64) -> Call {
    Call::Launch { stream: StreamId(stream), step: step(DEVICE, elements) }
}

fn compute(elements: u64) -> Call {
    Call::Compute { step: step(PAGEABLE, elements) }
}

fn record(stream: usize, event: usize) -> Call {
    Call::Record { stream: StreamId(stream), event: EventId(event) }
}

fn wait(stream: usize, event: usize) -> Call {
    Call::Wait { stream: StreamId(stream), event: EventId(event) }
}

fn synchronize(stream: usize) -> Call {
    Call::Synchronize { stream: StreamId(stream) }
}

fn run(body: Vec<Call>, machine: &Profile) -> Timeline {
    simulate(&tiny(body), machine).expect("the machine knows everything")
}

/// Start and end of everything that a lane did.
fn spans(timeline: &Timeline, lane: Lane) -> Vec<(u64, u64)> {
    let nanos = |instant: Instant| instant.since_start().nanos();
    timeline.lane(lane).map(|activity| (nanos(activity.start), nanos(activity.end))).collect()
}

fn makespan(timeline: &Timeline) -> u64 {
    timeline.makespan.nanos()
}

/// An exact figure in a profile.
fn exactly(ns: f64) -> Estimate {
    Estimate { ns, scatter: 0.0 }
}
