//! When the engines of a program poll: what that depends on. The rule is in `simulate::polling`.

use super::call::{CallId, NONE};
use super::entries::{Entry, EntryId};
use super::layout::Layout;
use super::work::{CallCost, WorkKind};
use crate::profile::{Curve, FirstPoll, OperationKind, Profile, Rule};
use crate::program::{Behind, Graph};
use crate::units::Span;

/// Ticks of the clock in a polling period.
pub(crate) const TICKS: u64 = 8;

type ByKinds = [[Span; OperationKind::COUNT]; OperationKind::COUNT];

/// The clock by which engines poll.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PollClock {
    /// The time from one edge of the clock to the next.
    pub tick: Span,
    /// When the first edge of the pass comes.
    pub first_edge: Span,
}

/// How engines poll, on a machine where that is known.
#[derive(Debug, Clone)]
pub(crate) struct PollTimes {
    pub clock: PollClock,
    /// From the arrival of an operation to when its periods begin to count. The first index is the
    /// kind of copy under way then, or kernel if there is none; the second is the operation's own
    /// kind.
    pub first_polls: ByKinds,
    /// For pairs of kinds for which it is known: from the arrival to when periods begin to count,
    /// over how long the copy has been under way.
    pub under_way: Vec<(OperationKind, OperationKind, Curve)>,
    /// From the arrival of a graph's node to when its periods begin to count, by the kind of what
    /// it follows and its own.
    in_graphs: ByKinds,
    /// From the arrival of a node behind any other copy to the host to when its periods begin to
    /// count, by its kind.
    behind_out: [Span; OperationKind::COUNT],
    /// Whether engines poll when other work arrives for them.
    pub by_doorbells: bool,
    /// Whether engines poll when they have finished a node of a graph.
    pub at_nodes: bool,
    /// Whether work behind a waiting operation may restart its period.
    pub restarts: bool,
}

/// The place of an engine among those of all devices, or of a stream's operations for an engine
/// among those of all streams.
#[inline]
pub(crate) fn place_of(device_or_stream: usize, kind: OperationKind) -> usize {
    device_or_stream * OperationKind::COUNT + kind as usize
}

impl PollTimes {
    /// `None` if the profile does not know how engines poll. `phase`, from 0 to 1, is how far into
    /// a tick of the engines' clock a pass begins.
    pub fn new(profile: &Profile, phase: f64) -> Option<Self> {
        let polling = profile.latency.semaphore_polling.as_ref()?;
        let [mut first_polls, in_graphs] = [&polling.first_polls, &polling.first_polls_in_graphs]
            .map(|pairs| {
                let mut first = ByKinds::default();
                for FirstPoll { from, to, time, .. } in pairs {
                    first[*from as usize][*to as usize] = time.span();
                }
                first
            });
        // Kernels never wait for other kernels by polling, so the least of what copies take stands
        // in.
        let behind_kernels =
            polling.first_polls.iter().filter(|pair| pair.from == OperationKind::Kernel);
        let least = behind_kernels.map(|pair| pair.time.span()).min().unwrap_or_default();
        first_polls[OperationKind::Kernel as usize][OperationKind::Kernel as usize] = least;
        let tick = Span::from_nanos((polling.period.span().nanos() / TICKS).max(1));
        let first_edge = Span::from_nanos_f64(tick.nanos_f64() * (1.0 - phase));
        let grows = |pair: &FirstPoll| Some((pair.from, pair.to, pair.under_way.clone()?));
        Some(Self {
            clock: PollClock { tick, first_edge },
            first_polls,
            under_way: polling.first_polls.iter().filter_map(grows).collect(),
            in_graphs,
            behind_out: behind_out(&polling.first_polls_in_graphs),
            by_doorbells: profile.follows(Rule::Doorbells),
            restarts: profile.follows(Rule::RestartedPeriods),
            at_nodes: profile.follows(Rule::PollsAtNodes),
        })
    }

    /// Halves the time between polls, and how long it takes until they count.
    pub fn halve(&mut self) {
        let half = |span: &mut Span| *span = Span::from_nanos(span.nanos() / 2);
        self.clock.tick = Span::from_nanos((self.clock.tick.nanos() / 2).max(1));
        half(&mut self.clock.first_edge);
        let pairs = [&mut self.first_polls, &mut self.in_graphs];
        pairs.into_iter().flatten().flatten().for_each(half);
        self.behind_out.iter_mut().for_each(half);
        self.under_way.iter_mut().for_each(|(.., curve)| curve.scale(0.5));
    }

    /// How long after its arrival the polling periods of a graph's node behind another node begin
    /// to count, as measured with graphs of two nodes. A copy to the host with which a graph begins
    /// holds up what is behind it (by 1.2 us on an H200).
    #[inline]
    pub fn first_poll_of_node(
        &self,
        (from, is_first_out): (OperationKind, bool),
        kind: OperationKind,
    ) -> Span {
        if from == OperationKind::CopyOut && !is_first_out {
            return self.behind_out[kind as usize];
        }
        self.in_graphs[from as usize][kind as usize]
    }
}

/// When the engines of a program come to hear of its operations.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// The operations that arrive at each engine, by device and kind, in order of issue.
    /// Only the first is listed where several arrive together.
    pub list: Vec<Vec<EntryId>>,
    /// For each entry, the one before it in its stream that uses the same engine, or [`NONE`].
    pub before: Vec<EntryId>,
    /// Copies to the host with which graphs begin.
    pub first_out: Vec<CallId>,
}

impl Arrivals {
    pub fn new(layout: &Layout, costs: &[CallCost]) -> Self {
        let mut list = vec![Vec::new(); layout.devices() * OperationKind::COUNT];
        let mut before = vec![NONE; layout.entries.list.len()];
        let mut latest = vec![NONE; layout.streams() * OperationKind::COUNT];
        for (id, entry) in layout.entries_in_order() {
            let &Entry { stream, kind, cost, .. } = entry;
            let WorkKind::Operation(kind) = kind else { continue };
            let latest = &mut latest[place_of(usize::from(stream), kind)];
            before[id as usize] = std::mem::replace(latest, id);
            if comes_by_itself(layout, entry, &costs[cost as usize]) {
                list[place_of(layout.device_of(stream), kind)].push(id);
            }
        }
        let calls = 0..layout.calls.len() as CallId;
        Self { list, before, first_out: calls.filter(|&id| is_first_out(layout, id)).collect() }
    }
}

/// Times of nodes behind a copy to the host inside a graph, by kind: the least of those measured.
#[inline]
fn behind_out(pairs: &[FirstPoll]) -> [Span; OperationKind::COUNT] {
    std::array::from_fn(|kind| {
        let behind = pairs.iter().filter(|pair| pair.to as usize == kind);
        behind.map(|pair| pair.time.span()).min().unwrap_or_default()
    })
}

/// Whether a call is a copy to the host with which a graph begins.
#[inline]
fn is_first_out(layout: &Layout, id: CallId) -> bool {
    let before = |graph: &Graph| graph.before(id as usize);
    layout.calls[id as usize].kind == WorkKind::Operation(OperationKind::CopyOut)
        && layout.graph_at(id as usize).and_then(before).map(|b| b.behind) == Some(Behind::Nothing)
}

/// Whether an operation arrives at the device by itself, not together with the one before. A
/// graph's branches go to several channels, part by part as the launch proceeds. A graph with one
/// branch goes to one channel, as a whole.
#[inline]
fn comes_by_itself(layout: &Layout, entry: &Entry, cost: &CallCost) -> bool {
    let has_branches = || layout.graph_at(entry.call as usize).is_some_and(Graph::has_branches);
    !cost.in_graph || cost.host > Span::ZERO && has_branches()
}
