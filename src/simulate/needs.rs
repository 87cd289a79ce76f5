//! What a plan needs from a profile besides the costs of its calls. Only hand-overs that the plan
//! may come to need a price.

use super::in_flight::InFlight;
use super::operation::{NONE, Work};
use super::program::{Class, CompiledProgram, HandOvers, Item, Price, Sort, Tie, Waits};
use super::streams::NOBODY;
use crate::machine::{DeviceId, Direction};
use crate::profile::{HandOver, OperationKind, Profile, Unknown};
use crate::program::{Call, Program};
use crate::units::Span;

/// Checks that a plan is of a kind that was measured, whatever its calls cost.
///
/// # Errors
/// What of it was not.
pub(super) fn shape(plan: &Program, in_flight: &InFlight) -> Result<(), Unknown> {
    let is_too_large = plan.lane_count() >= usize::from(NOBODY) || plan.body.len() >= NONE as usize;
    let what = if is_too_large {
        "plans of so many streams or calls"
    } else if plan.has_graphs() && plan.devices() > 1 {
        "graphs beside work on several GPUs"
    } else if plan.body.iter().any(|call| matches!(call, Call::Allocate(_) | Call::Pin(_))) {
        "what memory costs that every pass takes and none gives back"
    } else if in_flight.stages {
        "what a copy of pageable memory costs beside one of pinned memory in its direction"
    } else {
        return Ok(());
    };
    Err(Unknown { what: what.to_owned() })
}

/// A set of kinds of operations.
type Kinds = [bool; OperationKind::COUNT];

/// What the next operation of a stream may have to follow.
#[derive(Clone, Copy, Default)]
struct Behind {
    last: Kinds,
    /// Operations of other streams, by way of events.
    awaited: Kinds,
}

/// The kinds that an operation may turn out to be. Whether a copy travels along with its command,
/// and so counts as a kernel, is known only while the plan runs.
fn kinds_of(class: &Class, kind: OperationKind) -> Kinds {
    let mut kinds = Kinds::default();
    kinds[kind as usize] = true;
    kinds[OperationKind::Kernel as usize] |= class.may_go_inline;
    kinds
}

fn add(kinds: &mut Kinds, more: &Kinds) {
    kinds.iter_mut().zip(more).for_each(|(kind, more)| *kind |= more);
}

fn listed(kinds: Kinds) -> impl Iterator<Item = OperationKind> {
    OperationKind::ALL.into_iter().filter(move |&kind| kinds[kind as usize])
}

/// The prices of the hand-overs that the program may come to.
///
/// # Errors
/// If the profile does not know one of them.
pub(super) fn hand_overs(program: &CompiledProgram<'_>) -> Result<HandOvers, Unknown> {
    let mut table = HandOvers::default();
    let mut looked_up = [[[false; 3]; OperationKind::COUNT]; OperationKind::COUNT];
    let mut streams = vec![Behind::default(); program.streams()];
    let mut recordings = vec![Kinds::default(); program.recordings];
    let is_staged = |class: &Class| matches!(class.work, Work::Staged { .. });
    let has_staged = program.classes.iter().any(is_staged);
    for item in &program.items {
        pass_barrier(program, &mut streams, item);
        let Some(behind) = streams.get_mut(usize::from(item.stream)) else { continue };
        let class = &program.classes[item.class as usize];
        match item.sort {
            // The host has waited for the stream, so nothing is left to follow.
            Sort::HostOnly if matches!(class.waits, Waits::Stream(_)) => {
                *behind = Behind::default();
            }
            Sort::HostOnly => {}
            Sort::Record => {
                let before = &mut recordings[item.recording as usize];
                *before = behind.awaited;
                add(before, &behind.last);
            }
            Sort::Wait if item.recording == NONE => {}
            Sort::Wait => add(&mut behind.awaited, &recordings[item.recording as usize]),
            Sort::Operation(kind) => {
                let kinds = kinds_of(class, kind);
                let within = listed(behind.last).map(|from| (from, Tie::Stream));
                let awaited = listed(behind.awaited).map(|from| (from, Tie::Event));
                let before = within.chain(awaited);
                for ((from, tie), to) in before.flat_map(|b| listed(kinds).map(move |to| (b, to))) {
                    let tie = if class.in_graph { Tie::Graph } else { tie };
                    let (row, side) = ((from as usize, to as usize), tie as usize);
                    if !std::mem::replace(&mut looked_up[row.0][row.1][side], true) {
                        let price = price_of(program.profile, (from, to), tie, has_staged)?;
                        table[row.1][side][row.0] = price;
                    }
                }
                *behind = Behind { last: kinds, awaited: Kinds::default() };
            }
        }
    }
    Ok(table)
}

/// For each kind of the later operation and each tie between the two, whether a hand-over may take
/// time.
pub(super) fn takes_time(program: &CompiledProgram<'_>) -> [[bool; 3]; OperationKind::COUNT] {
    let crosses = program.crossing > 0.0;
    program.hand_overs.map(|to| to.map(|from| crosses || from.iter().any(Option::is_some)))
}

/// Across the barrier of the legacy default stream, the last operations of other streams have to be
/// followed.
fn pass_barrier(program: &CompiledProgram<'_>, streams: &mut [Behind], item: &Item) {
    if item.sort == Sort::HostOnly || !program.barrier.contains(&item.stream) {
        return;
    }
    let traits = |stream: u16| &program.traits[usize::from(stream)];
    for &other in &program.barrier {
        if traits(item.stream).waits_for(traits(other)) {
            let before = streams[usize::from(other)].last;
            add(&mut streams[usize::from(item.stream)].awaited, &before);
        }
    }
}

fn price_of(
    profile: &Profile,
    (from, to): (OperationKind, OperationKind),
    tie: Tie,
    has_staged: bool,
) -> Result<Option<Price>, Unknown> {
    // Trips, which determine polling, stayed on one device.
    let is_timed = from != to && ![from, to].contains(&OperationKind::PeerCopy);
    // Tolerances of single pairs were measured with pinned memory in one stream; where a plan
    // stages copies, all pairs have the general one. Nodes of graphs arrive with their launch, and
    // have no tolerance.
    let looks =
        profile.latency.semaphore_polling.as_ref().filter(|_| is_timed).map(|looks| match tie {
            Tie::Stream if !has_staged => looks.tolerance_behind(from, to).span(),
            Tie::Stream | Tie::Event => looks.arrival_tolerance.span(),
            Tie::Graph => Span::ZERO,
        });
    let price = if tie == Tie::Graph {
        let ns = profile.node_hand_over(from, to)?;
        Some(Price { first: ns, queued: ns, looks })
    } else {
        let price = |found: &HandOver| Price {
            first: found.first.ns.max(0.0),
            queued: found.queued.ns.max(0.0),
            looks,
        };
        profile.hand_over(from, to, tie == Tie::Event)?.map(price)
    };
    Ok(price.filter(|price| looks.is_some() || price.first > 0.0 || price.queued > 0.0))
}

/// How much longer it takes to wait for an event of another device, in nanoseconds; 0 if the
/// program never does.
///
/// # Errors
/// If the profile does not know it.
pub(super) fn crossing(program: &CompiledProgram<'_>) -> Result<f64, Unknown> {
    let mut made_on = vec![0; program.recordings];
    for item in program.items.iter().filter(|item| item.recording != NONE) {
        let (recording, device) = (item.recording as usize, program.device_of(item.stream));
        match item.sort {
            Sort::Record => made_on[recording] = device,
            _ if made_on[recording] != device => return program.profile.crossing(),
            _ => {}
        }
    }
    Ok(0.0)
}

/// Checks that a device sends its peer copies from one stream.
///
/// # Errors
/// If they lie in several: what an engine pays for going from one to another was not measured.
pub(super) fn one_stream_of_peer_copies(streams: usize) -> Result<(), Unknown> {
    let what = "what copies from one GPU to others cost in several streams".to_owned();
    if streams > 1 { Err(Unknown { what }) } else { Ok(()) }
}

/// The pairs of devices between which peer copies go both ways, each pair once.
///
/// # Errors
/// If a copy is issued elsewhere than on the device that it comes from, or if one device takes
/// copies of several: neither was measured.
pub(super) fn pairs(program: &CompiledProgram<'_>) -> Result<Vec<[DeviceId; 2]>, Unknown> {
    let mut ways: Vec<[DeviceId; 2]> = Vec::new();
    for item in &program.items {
        let Work::PeerCopy { way, .. } = program.classes[item.class as usize].work else {
            continue;
        };
        if program.device_of(item.stream) != way[0].0 {
            let what = "copies between GPUs that the receiving GPU's stream makes".to_owned();
            return Err(Unknown { what });
        }
        if ways.iter().any(|other| other[0] != way[0] && other[1] == way[1]) {
            return Err(Unknown { what: "copies from several GPUs to one".to_owned() });
        }
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    let goes_back = |&[from, to]: &[DeviceId; 2]| from < to && ways.contains(&[to, from]);
    Ok(ways.iter().copied().filter(goes_back).collect())
}

/// Checks that the profile knows what waiting kernels cost running ones. Only where several streams
/// of a device have kernels can one wait while another runs.
///
/// # Errors
/// If that is possible and the profile does not know the cost.
pub(super) fn polling(program: &CompiledProgram<'_>) -> Result<(), Unknown> {
    let mut launching: Vec<usize> =
        program.launching.iter().map(|&stream| program.device_of(stream)).collect();
    launching.sort_unstable();
    if launching.windows(2).all(|two| two[0] != two[1]) {
        return Ok(());
    }
    let mut copies = [false; 2];
    for class in &program.classes {
        if let Work::Copy { direction, .. } | Work::Staged { direction, .. } = class.work {
            copies[direction as usize] = true;
        }
    }
    program.profile.knows_polling(copies)
}

/// The streams whose waiting kernels slow copies: those with kernels outside of graphs, on devices
/// that have several such streams and that copies are made to.
///
/// # Errors
/// If the profile does not know what their waiting costs those copies.
pub(super) fn refetched(program: &CompiledProgram<'_>) -> Result<Vec<u16>, Unknown> {
    let mut launches = vec![false; program.streams()];
    let mut is_copied_to = vec![false; program.devices()];
    for item in &program.items {
        let class = &program.classes[item.class as usize];
        if item.sort == Sort::KERNEL && !class.in_graph {
            launches[usize::from(item.stream)] = true;
        }
        if let Work::Copy { direction: Direction::HostToDevice, .. } = class.work {
            is_copied_to[program.device_of(item.stream)] = true;
        }
    }
    let on = |device: usize| {
        let is_here = |id: &u16| program.device_of(*id) == device && launches[usize::from(*id)];
        let here: Vec<u16> = program.launching.iter().copied().filter(is_here).collect();
        if here.len() > 1 && is_copied_to[device] { here } else { Vec::new() }
    };
    let refetched: Vec<u16> = (0..program.devices()).flat_map(on).collect();
    if !refetched.is_empty() {
        program.profile.knows_refetching()?;
    }
    Ok(refetched)
}
