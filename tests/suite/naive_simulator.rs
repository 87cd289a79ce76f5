//! A naive simulator, in the simplest code, agrees with the engine to the nanosecond on drawn
//! programs. It shares no code with the engine: it has no bursts and no solver of links. At each
//! step it asks anew who waits, which engine takes what and how fast copies go. It keeps what has a
//! history: what is left of a copy, blocks that run, and polls so far. Its rules were written from
//! the engine's, so it finds faults in shortcuts and bookkeeping rather than in what a rule means.
//! Both read the same prices.
//!
//! Covered are one GPU and one host thread, with copies of pinned memory and library kernels:
//!
//! - issue call by call, and waits of the host for a stream, an event and the device;
//! - stream order, records and waits for events;
//! - copy engines by direction, which stay with a stream and take time to change to another;
//! - both directions on one link: the later start beside the other direction, and fair shares;
//! - copies beside kernels, delayed once each;
//! - engines that poll for what came too early, and hand-overs at a cost where they do not;
//! - streams that wait beside kernels that run;
//! - kernels that wait and so slow copies to the device;
//! - blocks dispatched to multiprocessors, and priorities of streams.
//!
//! The drawn programs leave out, and so this simulator says nothing of: pageable and mapped memory,
//! small copies that travel with their command, work on the CPU, copies within a device and between
//! devices, more streams than channels, the legacy default stream, graphs, several GPUs and several
//! host threads.

mod engines;
mod polling;
mod simulator;

use hallway::kernels::{Arguments, Kernel};
use hallway::machine::{DeviceId, Direction, HostMemory, StreamId};
use hallway::profile::Profile;
use hallway::program::{
    Allocation, AllocationId, Call, CopyBy, EventId, LibraryStep, Place, Program, Slice, Step,
    StreamTraits,
};
use hallway::simulate::simulate;
use hallway::timeline::Lane;
use hallway::units::{Bytes, Instant};
use proptest::prelude::{
    ProptestConfig, Strategy, TestCaseError, prop, prop_assert_eq, prop_oneof, proptest,
};
use simulator::{Simulator, Spans};
use std::path::Path;
use std::sync::LazyLock;

const STREAMS: usize = 5;
const EVENTS: usize = 4;

/// The calibrated machine, as it is and with hand-overs at a cost.
static MACHINES: LazyLock<[Profile; 2]> = LazyLock::new(|| {
    let polls = Profile::load(Path::new("calibration/h200/profile.toml")).expect("it loads");
    let mut has_costs = polls.clone();
    has_costs.latency.semaphore_polling = None;
    [polls, has_costs]
});

fn program(body: Vec<Call>, priorities: [i32; STREAMS]) -> Program {
    let places = [Place::Host(HostMemory::Pinned), Place::FIRST_DEVICE];
    let allocation = |place| Allocation {
        name: format!("{place:?}"),
        place,
        bytes: Bytes::mib(64),
        holds: None,
    };
    let stream = |priority| StreamTraits { priority, ..StreamTraits::default() };
    Program {
        label: "drawn".to_owned(),
        allocations: places.map(allocation).to_vec(),
        streams: priorities.map(stream).to_vec(),
        stream_names: Vec::new(),
        events: EVENTS,
        kernels: Vec::new(),
        setup: Vec::new(),
        body,
        threads: Vec::new(),
    }
}

fn slice(allocation: usize, elements: u64) -> Slice {
    let (allocation, length) = (AllocationId(allocation), Bytes::of_f32(elements));
    Slice { allocation, offset: Bytes::ZERO, length }
}

fn copy(stream: usize, direction: Direction, elements: u64) -> Call {
    let (host, device) = (slice(0, elements), slice(1, elements));
    let (from, to) = match direction {
        Direction::HostToDevice => (host, device),
        Direction::DeviceToHost => (device, host),
    };
    Call::copy(CopyBy::crossing(StreamId(stream), direction), from, to)
}

fn launch(stream: usize, elements: u64) -> Call {
    let step = LibraryStep {
        kernel: Kernel::Scale,
        arguments: Arguments::default(),
        inputs: vec![slice(1, elements)],
        output: slice(1, elements),
        workspace: None,
        lead: 0,
    };
    Call::Launch { stream: StreamId(stream), step: Step::Library(step) }
}

fn any_call() -> impl Strategy<Value = Call> {
    // Copies are too large to travel with their command.
    let elements =
        prop_oneof![20_000..60_000_u64, 60_000..1_000_000_u64, 1_000_000..16_000_000_u64];
    (0..15_usize, 0..STREAMS, 0..EVENTS, elements).prop_map(|(kind, stream, event, elements)| {
        let (at, event) = (StreamId(stream), EventId(event));
        match kind {
            0..3 => copy(stream, Direction::HostToDevice, elements),
            3..6 => copy(stream, Direction::DeviceToHost, elements),
            6..9 => launch(stream, elements),
            9 | 10 => Call::Record { stream: at, event },
            11 | 12 => Call::Wait { stream: at, event },
            13 if elements % 2 == 0 => Call::Synchronize { stream: at },
            13 => Call::SynchronizeEvent { event },
            _ if elements % 4 == 0 => Call::SynchronizeDevice(DeviceId(0)),
            _ => launch(stream, elements % 5_000 + 1),
        }
    })
}

/// Checks that both simulators say the same of a program.
fn check(program: &Program, machine: &Profile) -> Result<(), TestCaseError> {
    let timeline = simulate(program, machine).expect("the profile knows all of it");
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
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn both_simulators_agree_to_the_nanosecond(
        body in prop::collection::vec(any_call(), 1..50),
        priorities in prop::array::uniform5(-1..=0_i32),
    ) {
        let program = program(body, priorities);
        for machine in &*MACHINES {
            check(&program, machine)?;
        }
    }
}
