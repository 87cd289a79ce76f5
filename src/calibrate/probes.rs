//! The list of everything that a calibration measures.

use super::sizes::{Points, Sizes};
use crate::gpu::supports;
use crate::kernels::{Kernel, Variant};
use crate::machine::Direction;
use crate::samples::{
    CYCLES, DEVICE_FOOTPRINT, GraphCall, Handing, IN_ONE_STREAM, IN_TURN, Link, Load, MEANWHILE,
    MEMORY_FOOTPRINT, MOST_OF_ONE_CORE, MemoryWork, ONE_TEAM, ONE_THREAD, Quantity, REFETCHED,
    ROTATED, ROTATED_IN_GRAPH, ROWS, SHARED_FOOTPRINT, SetupStep, Side, TURNS, Taker, TimedCall,
    TransferPath, TripPart,
};
use crate::units::Bytes;
use std::ops::Range;

/// What is measured in one go. It may give several quantities.
#[derive(Debug, Clone)]
pub(super) struct Probe {
    pub quantities: Vec<Quantity>,
    /// How many repetitions make a sample. With two counts both are measured, and their difference
    /// is free of the cost of starting and ending.
    pub counts: Counts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    Once,
    Of(u64),
    Both(u64, u64),
    /// Few and many, where many are chosen so that they take a few milliseconds.
    ByDuration,
}

/// The size of a pool: the pageable memory of one operand.
pub(super) const POOL: Bytes = MEMORY_FOOTPRINT;
/// The largest copy, and the largest array of a kernel.
pub(super) const LARGEST: Bytes = Bytes::mib(256);

/// Copies both ways at once move this much: a millisecond of large ones, because others on the host
/// use the link more and less.
const AT_ONCE: Bytes = Bytes::mib(64);

/// The most copies in a row, both ways at once. The first twenty or so may run in step and hide
/// their starts behind each other; later ones do not, nor do those of plans.
const IN_A_ROW: u64 = 96;

/// Copies in a row beside kernels.
const BESIDE_KERNELS: u64 = 24;

/// The most streams that a measurement uses for its work.
pub(super) const MOST_STREAMS: usize = 8;

/// How many streams wait while another one runs kernels. The largest number leaves that one and two
/// for copies.
const POLLING_STREAMS: [usize; 4] = [1, 2, 3, MOST_STREAMS - 3];

/// The probes of the device and of the link to it.
pub(super) fn device_probes(sizes: &Sizes) -> Vec<Probe> {
    let mut probes = call_probes();
    probes.extend(chain_probes());
    probes.extend(trip_probes(sizes));
    probes.extend(graph_probes());
    for direction in Direction::BOTH {
        for &bytes in &sizes.copies {
            probes.push(one(copy(direction, bytes, false), Counts::ByDuration));
        }
        for &bytes in &sizes.registered {
            probes.push(one(copy(direction, bytes, true), Counts::ByDuration));
        }
    }
    for (bytes, footprint) in sizes.both_ways() {
        let quantity = |direction| Quantity::Shared { direction, bytes, footprint };
        let quantities = Direction::BOTH.map(quantity).to_vec();
        let count = (AT_ONCE.get() / bytes.get()).clamp(1, IN_A_ROW);
        probes.push(Probe { quantities, counts: Counts::Of(count) });
    }
    for direction in Direction::BOTH {
        for &power in sizes.beside_powers {
            let bytes = Bytes::new(1 << power);
            let quantity = |kernels| Quantity::CopyBesideKernels { direction, bytes, kernels };
            let quantities = [true, false].map(quantity).to_vec();
            probes.push(Probe { quantities, counts: Counts::Of(BESIDE_KERNELS) });
        }
    }
    let paths = TransferPath::ALL.into_iter().filter(|path| !TransferPath::MANAGED.contains(path));
    probes.extend(paths.flat_map(|path| transfers(sizes, path)));
    for &load in sizes.loads {
        probes.extend(Direction::BOTH.map(|direction| beside(direction, load)));
    }
    for &step in sizes.setup_steps {
        let counts = match step {
            SetupStep::Stream | SetupStep::Event => Counts::Of(16),
            SetupStep::Context | SetupStep::Module => Counts::Once,
        };
        probes.push(one(Quantity::Setup { step }, counts));
    }
    let is_supported = |points: &Points| supports(points.variant.kernel).is_ok();
    let around = |variant, elements, footprint| {
        one(Quantity::KernelAround { variant, elements, footprint }, parts(elements))
    };
    for Points { variant, elements, on_device, just_copied, in_memory, .. } in
        sizes.points().into_iter().filter(is_supported)
    {
        let on_device = on_device.into_iter().filter(|besides| !elements.contains(besides));
        for elements in on_device.chain(elements.iter().copied()) {
            probes.push(one(Quantity::Kernel { variant, elements }, Counts::ByDuration));
        }
        for elements in just_copied {
            probes.push(one(Quantity::JustCopied { variant, elements }, parts(elements)));
        }
        for elements in in_memory {
            probes.push(around(variant, elements, DEVICE_FOOTPRINT));
        }
    }
    // How much of what was used before is still in the device's caches.
    let scale = Variant { kernel: Kernel::Scale, extent: 0 };
    for &mib in sizes.device_footprints_mib {
        probes.push(around(scale, 1 << 16, Bytes::mib(mib)));
    }
    probes
}

/// How many kernels run in a row, each on a part of its own. There are as many as find their input
/// in the device's cache, where copies left it, with room for their output.
fn parts(elements: u64) -> Counts {
    if elements <= 1 << 18 { Counts::Both(2, 10) } else { Counts::Both(1, 3) }
}

/// The probes that need the CPU: pageable copies, twins, memory management.
pub(super) fn host_probes(sizes: &Sizes, threads: usize) -> Vec<Probe> {
    let mut probes = Vec::new();
    for direction in Direction::BOTH {
        for &bytes in &sizes.copies {
            probes.push(staged(direction, bytes, bytes));
        }
        for &bytes in &sizes.cold_copies {
            probes.push(staged(direction, bytes, POOL));
        }
    }
    for &bytes in sizes.copies.iter().filter(|bytes| LEAVES_CORE.contains(bytes)) {
        probes.push(staged(Direction::HostToDevice, bytes, MOST_OF_ONE_CORE));
    }
    for Points { variant, elements, edges, coarse, .. } in sizes.points() {
        let edges = edges.into_iter().filter(|edge| !elements.contains(edge));
        for elements in edges.chain(elements.iter().copied()) {
            probes.push(twin(variant, elements, Bytes::ZERO));
        }
        for elements in coarse {
            // A larger run goes round its own data, whatever footprint is asked for.
            if Bytes::new(variant.bytes(elements)) < SHARED_FOOTPRINT {
                probes.push(twin(variant, elements, SHARED_FOOTPRINT));
            }
            probes.push(twin(variant, elements, POOL * arrays(variant)));
        }
    }
    // How much of what was used before is still in the caches.
    for &kib in sizes.own_footprints_kib {
        let (variant, elements) = ONE_THREAD;
        probes.push(twin(variant, elements, Bytes::kib(kib)));
    }
    for &mib in sizes.team_footprints_mib {
        let (variant, elements) = ONE_TEAM;
        probes.push(twin(variant, elements, Bytes::mib(mib)));
    }
    for &mib in sizes.footprints_mib {
        let saxpy = Variant { kernel: Kernel::Saxpy, extent: 0 };
        probes.push(twin(saxpy, 1 << 20, Bytes::mib(mib)));
    }
    let handed = |taker: Taker| {
        let elements = taker.elements(threads);
        Handing::ALL.map(|part| Quantity::Handed { taker, part, elements })
    };
    let quantities = Taker::ALL.map(handed).concat();
    probes.push(Probe { quantities, counts: Counts::Of(TURNS) });
    probes.extend(memory_probes(sizes));
    probes
}

/// Pageable copies that the driver does not take along with the call, and that find their data in
/// the core's own caches only if little else was used in between.
const LEAVES_CORE: Range<Bytes> = Bytes::kib(65)..MOST_OF_ONE_CORE;

fn memory_probes(sizes: &Sizes) -> Vec<Probe> {
    use MemoryWork::{
        CombinedRead, CombinedReadTeam, CombinedWrite, CombinedWriteTeam, DeviceAllocate,
        DeviceFree, FirstTouch, FirstTouchTeam, PinnedAllocate, PinnedFree, Register, Renew,
        SecondTouch, SecondTouchTeam, Unregister,
    };
    let works: [&[MemoryWork]; 8] = [
        &[DeviceAllocate, DeviceFree],
        &[PinnedAllocate, PinnedFree],
        &[Register, Unregister],
        &[FirstTouch],
        &[SecondTouch],
        &[FirstTouchTeam],
        &[SecondTouchTeam],
        &[Renew],
    ];
    let mut probes = Vec::new();
    for works in works {
        for &bytes in &sizes.memory {
            let quantities = works.iter().map(|&work| Quantity::Memory { work, bytes });
            probes.push(Probe { quantities: quantities.collect(), counts: Counts::Once });
        }
    }
    for work in [CombinedRead, CombinedWrite, CombinedReadTeam, CombinedWriteTeam] {
        for bytes in sizes.combined.iter().copied().map(Bytes::new) {
            probes.push(one(Quantity::Memory { work, bytes }, Counts::Once));
        }
    }
    probes
}

/// The probes of managed memory, up to `most` bytes of it.
pub(super) fn managed_probes(sizes: &Sizes, most: Bytes) -> Vec<Probe> {
    let fits = |probe: &Probe| match probe.quantities[0] {
        Quantity::Transfer { bytes, .. } => bytes <= most,
        _ => false,
    };
    let probes = TransferPath::MANAGED.into_iter().flat_map(|path| transfers(sizes, path));
    probes.filter(fits).collect()
}

fn transfers(sizes: &Sizes, path: TransferPath) -> Vec<Probe> {
    let counts = match path {
        // Once per sample, because pages that have moved must be moved back.
        TransferPath::ManagedFault
        | TransferPath::ManagedPrefetchIn
        | TransferPath::ManagedPrefetchOut => Counts::Once,
        _ => Counts::ByDuration,
    };
    let quantity = |power: &u32| Quantity::Transfer { path, bytes: Bytes::new(1 << power) };
    (sizes.transfer_powers)(path).iter().map(|power| one(quantity(power), counts)).collect()
}

fn beside(direction: Direction, load: Load) -> Probe {
    let quantity = |of| Quantity::Beside { direction, bytes: load.copy(), load, of };
    let count = match load {
        Load::Kernel => 16,
        Load::Cpu => 4,
    };
    Probe { quantities: [Side::Copy, Side::Load].map(quantity).to_vec(), counts: Counts::Of(count) }
}

pub(super) fn one(quantity: Quantity, counts: Counts) -> Probe {
    Probe { quantities: vec![quantity], counts }
}

fn staged(direction: Direction, bytes: Bytes, footprint: Bytes) -> Probe {
    let quantity = |complete| Quantity::Staged { direction, bytes, footprint, complete };
    Probe { quantities: vec![quantity(false), quantity(true)], counts: Counts::Once }
}

/// How many arrays a kernel reads and writes element by element.
pub(super) fn arrays(variant: Variant) -> u64 {
    variant.kernel.bytes_per_element() / 4
}

/// A twin that goes round `footprint`, or round its own data if that is more.
fn twin(variant: Variant, elements: u64, footprint: Bytes) -> Probe {
    let footprint = footprint.max(Bytes::new(variant.bytes(elements)));
    // A team that is left alone for a moment goes to sleep, which does not happen in a plan. So
    // small runs are measured many at a time.
    let flops = variant.kernel.flops_per_element(&variant.arguments());
    let work = elements * (4 + flops as u64 / 16);
    let count = ((1 << 25) / work).clamp(1, 64);
    one(Quantity::Twin { variant, elements, footprint }, Counts::Of(count))
}

fn copy(direction: Direction, bytes: Bytes, registered: bool) -> Quantity {
    Quantity::Copy { direction, bytes, registered }
}

fn call_probes() -> Vec<Probe> {
    use TimedCall::{
        Clear, CopyIn, CopyOut, Launch, LaunchAndRecord, Multiply, Record, Synchronize, Transform,
        Wait, WaitAndLaunch,
    };
    let calls = [Launch, CopyIn, CopyOut, Clear, LaunchAndRecord, WaitAndLaunch, Synchronize];
    let is_supported = |call: &TimedCall| {
        call.of_library().is_some_and(|(variant, _)| supports(variant.kernel).is_ok())
    };
    let calls = calls.into_iter().chain([Multiply, Transform].into_iter().filter(is_supported));
    let call = |call| one(Quantity::Call { call }, Counts::Of(32));
    // On an idle device, each call is timed alone: nothing follows it.
    let alone = [Launch, CopyIn, CopyOut, Clear, Record, Wait, Synchronize];
    let idle = |call| one(Quantity::IdleCall { call }, Counts::Of(16));
    fn in_turn(one_stream: bool, of: &[(TimedCall, usize)]) -> impl Iterator<Item = Quantity> {
        let calls = of.iter().map(|&(call, _)| Some(call)).chain([None]);
        calls.map(move |call| Quantity::CallInTurn { call, one_stream })
    }
    let in_turn = Probe {
        quantities: in_turn(false, &IN_TURN).chain(in_turn(true, &IN_ONE_STREAM)).collect(),
        counts: Counts::Of(TURNS),
    };
    let copies = [None, Some(Direction::HostToDevice), Some(Direction::DeviceToHost)];
    let quantities = copies.map(|copy| Quantity::LaunchBeside { copy }).to_vec();
    let beside = Probe { quantities, counts: Counts::Of(32) };
    calls.map(call).chain(alone.map(idle)).chain([in_turn, beside]).collect()
}

/// Trips of operations of several sizes: alone, to see where small copies change their mechanism,
/// and with another operation behind them, to see when that one starts.
fn trip_probes(sizes: &Sizes) -> Vec<Probe> {
    use Link::{CopyIn as I, CopyOut as O, Kernel as K};
    let mut probes = Vec::new();
    for (first, alone) in [I, O, K].into_iter().zip(&sizes.trips) {
        for &size in *alone {
            let is_long = first == K || size >= LONG_TRIP.get();
            let others = [I, O, K].into_iter().filter(|&next| next != first && is_long);
            let nexts = std::iter::once(None).chain(others.map(Some));
            probes.extend(nexts.map(|next| trip((first, size), next, false)));
        }
    }
    let [ins, ..] = sizes.trips;
    let large = ins.iter().filter(|&&size| size >= LATE_TRIP.get());
    probes.extend(large.map(|&size| late_trip((I, size), O)));
    probes
}

fn trip((first, size): (Link, u64), next: Option<Link>, in_graph: bool) -> Probe {
    let parts = TripPart::all(next.is_some() && !in_graph).iter();
    let quantity = |&part| Quantity::Trip { first, size, next, part, in_graph };
    Probe { quantities: parts.map(quantity).collect(), counts: Counts::Once }
}

fn late_trip((first, size): (Link, u64), next: Link) -> Probe {
    let quantity = |&part| Quantity::LateTrip { first, size, next, part };
    Probe { quantities: TripPart::all(true).iter().map(quantity).collect(), counts: Counts::Once }
}

/// Copies from this size on are still under way when the next operation arrives.
const LONG_TRIP: Bytes = Bytes::kib(32);

/// Copies from this size on are still under way when the next operation comes late. (Commands for
/// kernels take equally long whether the data has just begun to arrive or has been arriving for a
/// while; those for copies to the host do not.)
const LATE_TRIP: Bytes = Bytes::kib(512);

/// Nodes of the graphs whose calls are timed, to separate what each node costs from what the graph
/// costs besides.
const NODES: [u64; 3] = [3, 24, 96];

/// Sizes of the first node in graphs of one and of two nodes: bytes of copies in and out, degrees
/// of polynomials. All but the smallest still run when the next node arrives.
const NODE_SIZES: [&[u64]; 3] = [NODE_COPIES, NODE_COPIES, &[1024, 4096]];
const NODE_COPIES: &[u64] = &[32 << 10, 256 << 10, 512 << 10];

fn graph_probes() -> Vec<Probe> {
    use Link::Kernel;
    let calls = |nodes| {
        let quantities = GraphCall::ALL.map(|call| Quantity::GraphCall { call, nodes });
        Probe { quantities: quantities.to_vec(), counts: Counts::Once }
    };
    let chain =
        |links: &[Link]| one(Quantity::GraphChain { links: links.to_vec() }, Counts::Both(2, 26));
    let mut probes = NODES.map(calls).to_vec();
    for (first, sizes) in Link::OF_ONE_DEVICE.into_iter().zip(NODE_SIZES) {
        for &size in sizes {
            let others = Link::OF_ONE_DEVICE.into_iter().filter(|&next| next != first);
            let nexts = std::iter::once(None).chain(others.map(Some));
            probes.extend(nexts.map(|next| trip((first, size), next, true)));
        }
    }
    probes.push(chain(&[Kernel]));
    probes.extend(CYCLES.iter().map(|links| chain(links)));
    probes.extend(ROWS.map(|(kernels, waits, awaited)| {
        one(Quantity::GraphRows { kernels, waits, awaited }, Counts::Both(2, 26))
    }));
    for direction in Direction::BOTH {
        let (bytes, streams) = ROTATED_IN_GRAPH;
        let quantity = Quantity::Rotation { direction, bytes, streams, in_graph: true };
        probes.push(one(quantity, Counts::Both(2, 10)));
    }
    probes
}

/// Dependent operations in a row: of one kind, of two kinds, and across several streams.
fn chain_probes() -> Vec<Probe> {
    use Link::{CopyIn as I, CopyOut as O, Kernel as K};
    let mut probes = Vec::new();
    let trip = |links: &[Link], across, long| {
        one(Quantity::RoundTrip { links: links.to_vec(), across, long }, Counts::Once)
    };
    for first in [I, O, K] {
        let alone = Quantity::Chain { links: vec![first], across: false };
        probes.push(one(alone, Counts::Both(2, 26)));
        probes.extend([false, true].map(|long| trip(&[first], false, long)));
        for next in [I, O, K] {
            probes.extend([false, true].map(|across| trip(&[first, next], across, true)));
        }
    }
    for links in CYCLES {
        for across in [false, true] {
            let quantity = Quantity::Chain { links: links.to_vec(), across };
            probes.push(one(quantity, Counts::Both(2, 26)));
        }
    }
    for copies in MEANWHILE {
        for others in POLLING_STREAMS {
            probes.push(one(Quantity::Polled { others, copies }, Counts::Both(8, 40)));
        }
    }
    for (streams, kernels) in REFETCHED.cases() {
        let quantity = Quantity::Refetched { bytes: REFETCHED.bytes, streams, kernels };
        probes.push(one(quantity, Counts::Both(2, 18)));
    }
    for direction in Direction::BOTH {
        for streams in [2, 4, MOST_STREAMS] {
            let quantity =
                Quantity::Rotation { direction, bytes: ROTATED, streams, in_graph: false };
            probes.push(one(quantity, Counts::Both(2, 10)));
        }
    }
    probes
}
