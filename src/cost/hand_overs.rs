//! What it costs when one operation follows another on another engine. Only hand-overs that the
//! program may come to need a cost.

use super::call::{CompiledCall, NONE};
use super::layout::Layout;
use super::work::{CallCost, Waits, Work, WorkKind};
use crate::profile::{HandOver, Known, OperationKind, Profile};
use crate::units::Span;

/// What ties an operation to one that it has to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tie {
    Stream,
    Event,
    /// The later of the two is a node of a graph.
    Graph,
}

/// The cost of a hand-over, in nanoseconds: for the first operation of its kind in an empty stream,
/// and for one that was queued behind others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HandOverCost {
    pub first: f64,
    pub queued: f64,
    /// Set where engines poll: how much too early the later operation may arrive without waiting.
    pub arrival_tolerance: Option<Span>,
}

/// By the kind of the later operation, by what ties the two, and by the kind of the earlier one.
/// `None` where the later one goes on at once, or the pair never occurs.
type Costs = [[[Option<HandOverCost>; OperationKind::COUNT]; 3]; OperationKind::COUNT];

#[derive(Debug, Clone)]
pub(crate) struct HandOvers {
    pub costs: Costs,
    /// Whether a hand-over may take time, by the later operation's kind and by the tie.
    pub takes_time: [[bool; 3]; OperationKind::COUNT],
    /// How many nanoseconds longer a wait for an event takes if another device records it.
    pub crossing: f64,
}

impl HandOvers {
    /// # Errors
    /// If the profile does not know the cost of one that the body may come to.
    pub fn new(ties: &Ties, profile: &Profile) -> Known<Self> {
        let costs = costs(ties, profile)?;
        let crossing = if ties.cross { profile.crossing()? } else { 0.0 };
        let takes_time =
            costs.map(|to| to.map(|from| crossing > 0.0 || from.iter().any(Option::is_some)));
        Ok(Self { costs, takes_time, crossing })
    }

    /// Halves the costs of hand-overs.
    pub fn halve(&mut self) {
        self.crossing /= 2.0;
        for cost in self.costs.iter_mut().flatten().flatten().flatten() {
            (cost.first, cost.queued) = (cost.first / 2.0, cost.queued / 2.0);
        }
    }
}

/// A set of kinds of operations, a bit for each.
type Kinds = usize;

/// What the next operation of a stream may have to follow.
#[derive(Clone, Copy, Default)]
struct Predecessors {
    last: Kinds,
    /// Operations of other streams, by way of events.
    awaited: Kinds,
}

/// The kinds that an operation may turn out to be. Whether a copy travels along with its command,
/// and so counts as a kernel, is known only while the program runs.
const fn kinds_of(cost: &CallCost, kind: OperationKind) -> Kinds {
    (1 << kind as usize) | ((cost.may_go_inline as usize) << OperationKind::Kernel as usize)
}

fn listed(kinds: Kinds) -> impl Iterator<Item = OperationKind> {
    OperationKind::ALL.into_iter().filter(move |&kind| kinds & (1 << kind as usize) != 0)
}

fn costs(ties: &Ties, profile: &Profile) -> Known<Costs> {
    let mut table = Costs::default();
    for &(from, to, tie) in &ties.list {
        table[to as usize][tie as usize][from as usize] =
            cost_of(profile, (from, to), tie, ties.has_staged)?;
    }
    Ok(table)
}

/// What the operations of a program may have to follow.
#[derive(Debug, Default)]
pub(crate) struct Ties {
    /// The kinds of the earlier and the later operation, and what ties them, each once.
    list: Vec<(OperationKind, OperationKind, Tie)>,
    has_staged: bool,
    /// Whether a device waits for an event of another one.
    cross: bool,
}

impl Ties {
    pub fn new(layout: &Layout, costs: &[CallCost]) -> Self {
        let is_staged = |cost: &CallCost| matches!(cost.work, Work::Staged { .. });
        let has_staged = costs.iter().any(is_staged);
        Self { list: ties(layout, costs), has_staged, cross: cross(layout) }
    }
}

fn ties(layout: &Layout, costs: &[CallCost]) -> Vec<(OperationKind, OperationKind, Tie)> {
    let mut list = Vec::new();
    // The ways that have been met: most operations follow others as many before them do.
    let mut met = vec![false; WAYS];
    let mut streams = vec![Predecessors::default(); layout.streams()];
    let mut recordings = vec![0; layout.entries.recordings.len()];
    for call in &layout.calls {
        pass_barrier(layout, &mut streams, call);
        let Some(before) = streams.get_mut(usize::from(call.stream)) else { continue };
        let cost = &costs[call.cost as usize];
        match call.kind {
            // The host has waited for the stream, so nothing is left to follow.
            WorkKind::Nothing if cost.waits == Waits::Stream => {
                *before = Predecessors::default();
            }
            WorkKind::Nothing => {}
            WorkKind::Record => {
                recordings[call.recording as usize] = before.awaited | before.last;
            }
            WorkKind::Wait if call.recording == NONE => {}
            WorkKind::Wait => before.awaited |= recordings[call.recording as usize],
            WorkKind::Operation(kind) => {
                let kinds = kinds_of(cost, kind);
                let found = std::mem::take(before);
                *before = Predecessors { last: kinds, awaited: 0 };
                if std::mem::replace(&mut met[number_of(&found, kinds, cost.in_graph)], true) {
                    continue;
                }
                let within = listed(found.last).map(|from| (from, Tie::Stream));
                let awaited = listed(found.awaited).map(|from| (from, Tie::Event));
                let ties = within.chain(awaited);
                for ((from, tie), to) in ties.flat_map(|b| listed(kinds).map(move |to| (b, to))) {
                    let tie = (from, to, if cost.in_graph { Tie::Graph } else { tie });
                    if !list.contains(&tie) {
                        list.push(tie);
                    }
                }
            }
        }
    }
    list
}

/// How many ways there are for an operation to follow others.
const WAYS: usize = 1 << (3 * OperationKind::COUNT + 1);

/// A number for the way in which an operation follows others.
fn number_of(before: &Predecessors, kinds: Kinds, in_graph: bool) -> usize {
    let sets = [before.last, before.awaited, kinds].into_iter();
    sets.fold(usize::from(in_graph), |number, set| (number << OperationKind::COUNT) | set)
}

/// Across the barrier of the legacy default stream, the last operations of other streams have to be
/// followed.
fn pass_barrier(layout: &Layout, streams: &mut [Predecessors], call: &CompiledCall) {
    if call.kind == WorkKind::Nothing || !layout.barrier.contains(&call.stream) {
        return;
    }
    let traits = |stream: u16| &layout.traits[usize::from(stream)];
    for &other in &layout.barrier {
        if traits(call.stream).waits_for(traits(other)) {
            streams[usize::from(call.stream)].awaited |= streams[usize::from(other)].last;
        }
    }
}

fn cost_of(
    profile: &Profile,
    (from, to): (OperationKind, OperationKind),
    tie: Tie,
    has_staged: bool,
) -> Known<Option<HandOverCost>> {
    // Trips, which determine polling, stayed on one device.
    let is_timed = from != to && ![from, to].contains(&OperationKind::PeerCopy);
    // Tolerances of single pairs were measured with pinned memory in one stream; where a program
    // stages copies, all pairs have the general one. Nodes of graphs have tolerances of their own.
    let polling = profile.latency.semaphore_polling.as_ref().filter(|_| is_timed);
    let arrival_tolerance = polling.map(|polling| match tie {
        Tie::Stream if !has_staged => polling.tolerance_behind(from, to).span(),
        Tie::Stream | Tie::Event => polling.arrival_tolerance.span(),
        Tie::Graph => polling.tolerance_in_graph(from, to).map_or(Span::ZERO, |one| one.span()),
    });
    let cost = if tie == Tie::Graph {
        let ns = profile.node_hand_over(from, to)?;
        Some(HandOverCost { first: ns, queued: ns, arrival_tolerance })
    } else {
        let cost = |found: &HandOver| HandOverCost {
            first: found.first.ns.max(0.0),
            queued: found.queued.ns.max(0.0),
            arrival_tolerance,
        };
        profile.hand_over(from, to, tie == Tie::Event)?.map(cost)
    };
    let takes_time = |cost: &HandOverCost| {
        cost.arrival_tolerance.is_some() || cost.first > 0.0 || cost.queued > 0.0
    };
    Ok(cost.filter(takes_time))
}

/// Whether a device waits for an event of another one.
fn cross(layout: &Layout) -> bool {
    if layout.devices() == 1 {
        return false;
    }
    let mut made_on = vec![0; layout.entries.recordings.len()];
    layout.calls.iter().filter(|call| call.recording != NONE).any(|call| {
        let (recording, device) = (call.recording as usize, layout.device_of(call.stream));
        if call.kind == WorkKind::Record {
            made_on[recording] = device;
        }
        made_on[recording] != device
    })
}
