//! List scheduling: HEFT, and a variant that looks ahead.
//!
//! Each node gets an upward rank: the time from its start to the end of the work, along the longest
//! way, at average prices. By falling rank, each goes where it ends first, into a gap if there is
//! one (Topcuoglu, Hariri and Wu, "Performance-Effective and Low-Complexity Task Scheduling for
//! Heterogeneous Computing", 2002). Looking ahead, a node goes where the nodes behind it end first
//! (Bittencourt, Sakellariou and Madeira, "DAG Scheduling Using a Lookahead Variant of the
//! Heterogeneous Earliest Finish Time Algorithm", 2010). Copies take their turns on the links. On
//! a GPU, kernels take the room that their blocks need, so several may run at once.

use super::calendar::{Calendar, Taken, WHOLE};
use super::graph::{ItemId, NodeId, TaskGraph};
use super::issue::Link;
use super::prices::{Prices, Processor};
use super::ranks::ranks;
use crate::machine::{DeviceId, Direction};
use crate::scenario::Home;
use crate::units::{Instant, Span};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// How a list scheduler chooses where a node goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// Where it ends first.
    EarliestFinish,
    /// Where the nodes behind it end first.
    LookAhead,
    /// Where it ends first, with as many kernels side by side on a GPU as fit.
    SideBySide,
    /// Where it ends first, side by side as well, but node by node in time: of the nodes that can
    /// start at a moment, the one of the highest rank.
    ByTime,
}

impl Choice {
    const fn is_side_by_side(self) -> bool {
        matches!(self, Self::SideBySide | Self::ByTime)
    }
}

/// An order of nodes and a processor for each.
pub(super) type Listed = (Vec<NodeId>, Vec<Processor>);

/// How many kernels may run side by side on a GPU: one, unless the work ends earlier if more do.
pub(super) fn side_by_side(graph: &TaskGraph<'_>, prices: &Prices) -> usize {
    let most = prices.most_side_by_side();
    if most == 1 || graph.nodes.len() > MOST_SIDE_BY_SIDE {
        return 1;
    }
    let end = |choice| Some(place_all(graph, prices, &prices.processors(), choice)?.0);
    let ends = end(Choice::EarliestFinish).zip(end(Choice::SideBySide));
    let gains = ends.is_some_and(|(alone, beside)| {
        let [alone, beside] = [alone, beside].map(|end| end.since_start().nanos_f64());
        beside < (1.0 - LEAST_GAIN) * alone
    });
    if gains { most } else { 1 }
}

/// The most nodes for which it is found what fits beside what: for more, that takes too long.
const MOST_SIDE_BY_SIDE: usize = 512;

/// A node starts at once if what it waits for longer than others is at most this part of its time:
/// a copy that another does not need, for instance.
const PATIENCE: u64 = 64;

/// The least part of a schedule's time that is worth more streams.
const LEAST_GAIN: f64 = 0.02;

/// Schedules a graph on some of its processors. `None` if a node cannot be on any of them.
pub(super) fn list(
    graph: &TaskGraph<'_>,
    prices: &Prices,
    processors: &[Processor],
    choice: Choice,
) -> Option<Listed> {
    place_all(graph, prices, processors, choice).map(|(_, listed)| listed)
}

/// A schedule and when it ends.
fn place_all(
    graph: &TaskGraph<'_>,
    prices: &Prices,
    processors: &[Processor],
    choice: Choice,
) -> Option<(Instant, Listed)> {
    let ranks = ranks(graph, prices, processors)?;
    place_by(&ranks, (graph, prices), processors, choice).map(|(end, listed, _)| (end, listed))
}

/// A schedule by given ranks, when it ends, and on how many processors nodes were tried for it.
pub(super) fn place_by(
    ranks: &[Span],
    (graph, prices): (&TaskGraph<'_>, &Prices),
    processors: &[Processor],
    choice: Choice,
) -> Option<(Instant, Listed, u64)> {
    let mut by_rank: Vec<NodeId> = (0..graph.nodes.len()).collect();
    // Nodes are numbered so that each comes after those before it.
    by_rank.sort_by_key(|&node| (Reverse(ranks[node]), node));
    let state = State::new(graph, prices, choice);
    let mut placing = Placing { state, processors, choice, end: Instant::START, tried: 0 };
    let mut placed = vec![(Instant::START, Processor::Cpu); graph.nodes.len()];
    if choice == Choice::ByTime {
        placing.by_time(ranks, &mut placed)?;
    } else {
        for &node in &by_rank {
            placed[node] = placing.place(node)?;
        }
    }
    let mut order = by_rank;
    // Equal starts stay in the order of their ranks.
    order.sort_by_key(|&node| placed[node].0);
    let on = placed.into_iter().map(|(_, on)| on).collect();
    Some((placing.end, (order, on), placing.tried))
}

/// Places nodes one after the other.
struct Placing<'a> {
    state: State<'a>,
    processors: &'a [Processor],
    choice: Choice,
    /// When all that is placed so far has ended.
    end: Instant,
    /// On how many processors nodes were tried. A node that is placed counts as tried on all of
    /// them once more, because placing it takes time, too: a budget limits both.
    tried: u64,
}

impl Placing<'_> {
    /// The processor where a node is best, and when it starts there.
    fn best(&mut self, node: NodeId) -> Option<(Processor, Instant)> {
        let Self { state, processors, choice, .. } = self;
        self.tried += processors.len() as u64;
        let (graph, prices) = (state.graph, state.prices);
        let allowed = processors.iter().filter(|&&on| prices.of(graph, node, on).is_some());
        let found = allowed.map(|&on| {
            // The processor that has had nothing to do for longest, if several end alike.
            let busy = state.calendars[Resource::Processor(on).place()].last_end();
            let (start, first, end) = state.tried(node, on, |state, (start, end)| match choice {
                Choice::LookAhead => (start, state.children_end(node, processors).max(end), end),
                _ => (start, end, end),
            });
            ((first, end, busy), on, start)
        });
        found.min_by_key(|&(key, ..)| key).map(|(_, on, start)| (on, start))
    }

    fn place(&mut self, node: NodeId) -> Option<(Instant, Processor)> {
        let (on, _) = self.best(node)?;
        Some(self.place_on(on, node))
    }

    fn place_on(&mut self, on: Processor, node: NodeId) -> (Instant, Processor) {
        let (start, end) = self.state.place(node, on);
        self.end = self.end.max(end);
        (start, on)
    }

    /// Goes through time and places, of the nodes whose predecessors are placed and that can start
    /// then, the one of the highest rank (Graham, "Bounds on Multiprocessing Timing Anomalies",
    /// 1969).
    fn by_time(&mut self, ranks: &[Span], placed: &mut [(Instant, Processor)]) -> Option<()> {
        let nodes = &self.state.graph.nodes;
        let mut left: Vec<usize> = nodes.iter().map(|node| node.before.len()).collect();
        let mut ready: BTreeSet<(Reverse<Span>, NodeId)> = BTreeSet::new();
        ready.extend(
            (0..nodes.len()).filter(|&id| left[id] == 0).map(|id| (Reverse(ranks[id]), id)),
        );
        // What is placed later only delays a node: it is not looked at again before it can start.
        let mut starts = vec![(Instant::START, Span::ZERO); nodes.len()];
        let mut now = Instant::START;
        while !ready.is_empty() {
            let mut first = None;
            for &(rank, node) in &ready {
                let is_now = |(start, patience): (Instant, Span)| start <= now + patience;
                if is_now(starts[node]) {
                    let (on, start) = self.best(node)?;
                    starts[node] = (start, self.patience(node, on)?);
                    if is_now(starts[node]) {
                        first = Some((rank, node, on));
                        break;
                    }
                }
            }
            let Some((rank, node, on)) = first else {
                now = ready.iter().map(|&(_, node)| starts[node].0).min()?;
                continue;
            };
            ready.remove(&(rank, node));
            placed[node] = self.place_on(on, node);
            self.tried += self.processors.len() as u64;
            for &behind in &nodes[node].behind {
                left[behind] -= 1;
                if left[behind] == 0 {
                    ready.insert((Reverse(ranks[behind]), behind));
                }
            }
        }
        Some(())
    }

    /// How much a node may wait for what another does not need.
    fn patience(&self, node: NodeId, on: Processor) -> Option<Span> {
        let takes = self.state.prices.of(self.state.graph, node, on)?;
        Some(Span::from_nanos(takes.nanos() / PATIENCE))
    }
}

/// Who or what is taken for a while.
#[derive(Debug, Clone, Copy)]
enum Resource {
    Processor(Processor),
    Link(usize, Link),
}

impl Resource {
    /// Its place among the calendars: the CPU, and four for each device.
    const fn place(self) -> usize {
        match self {
            Self::Processor(on) => match on {
                Processor::Cpu => 0,
                Processor::Gpu(device) => 1 + 4 * device.0,
            },
            Self::Link(device, link) => 2 + 4 * device + link as usize,
        }
    }
}

/// Where an item may be: in the memory of the host, and of each device.
const HOST: usize = 0;

const fn memory_of(on: Processor) -> usize {
    match on {
        Processor::Cpu => HOST,
        Processor::Gpu(device) => 1 + device.0,
    }
}

/// Something that placing a node has changed, as it was before.
enum Change {
    Taken(Resource, usize),
    Moved { memory: usize, item: ItemId, since: Option<Instant> },
    End(NodeId),
}

/// What is where, and when, while nodes are placed.
struct State<'a> {
    graph: &'a TaskGraph<'a>,
    prices: &'a Prices,
    calendars: Vec<Calendar>,
    /// Whether kernels run side by side where they fit.
    side_by_side: bool,
    /// For each memory and item, since when it is there.
    there: Vec<Vec<Option<Instant>>>,
    /// When each node ends.
    ends: Vec<Option<Instant>>,
    changes: Vec<Change>,
}

impl<'a> State<'a> {
    fn new(graph: &'a TaskGraph<'a>, prices: &'a Prices, choice: Choice) -> Self {
        let mut there = vec![vec![None; graph.items.len()]; 1 + prices.devices];
        for (id, item) in graph.items.iter().enumerate().filter(|(_, item)| item.is_input) {
            let first = memory_of(Processor::Gpu(DeviceId::FIRST));
            let home = if item.home == Home::Device { first } else { HOST };
            there[home][id] = Some(Instant::START);
        }
        Self {
            calendars: vec![Calendar::default(); 1 + 4 * prices.devices],
            side_by_side: choice.is_side_by_side(),
            there,
            ends: vec![None; graph.nodes.len()],
            changes: Vec::new(),
            graph,
            prices,
        }
    }

    /// What follows if a node is placed, without placing it.
    fn tried<T>(
        &mut self,
        node: NodeId,
        on: Processor,
        then: impl FnOnce(&mut Self, (Instant, Instant)) -> T,
    ) -> T {
        let before = self.changes.len();
        let placed = self.place(node, on);
        let found = then(self, placed);
        self.undo(before);
        found
    }

    fn undo(&mut self, before: usize) {
        for change in self.changes.drain(before..).rev() {
            match change {
                Change::Taken(resource, at) => {
                    self.calendars[resource.place()].give_back(at);
                }
                Change::Moved { memory, item, since } => self.there[memory][item] = since,
                Change::End(node) => self.ends[node] = None,
            }
        }
    }

    fn take(&mut self, resource: Resource, ready: Instant, length: Span, room: u32) -> Taken {
        let (at, taken) = self.calendars[resource.place()].take(ready, length, room);
        self.changes.extend(at.map(|at| Change::Taken(resource, at)));
        taken
    }

    fn set(&mut self, memory: usize, item: ItemId, since: Option<Instant>) {
        let now = &mut self.there[memory][item];
        if *now != since {
            let since = std::mem::replace(now, since);
            self.changes.push(Change::Moved { memory, item, since });
        }
    }

    /// Places a node and the copies that it needs. Returns when it starts, and when its results are
    /// where they have to be.
    fn place(&mut self, id: NodeId, on: Processor) -> (Instant, Instant) {
        let node = &self.graph.nodes[id];
        let mut ready = Instant::START;
        for &before in &node.before {
            ready = ready.max(self.ends[before].unwrap_or(Instant::START));
        }
        for &read in &node.reads {
            ready = ready.max(self.bring(read, on));
        }
        let length = self.prices.of(self.graph, id, on).unwrap_or_default();
        let is_shared = self.side_by_side && on != Processor::Cpu;
        let room = if is_shared { self.prices.room(id) } else { WHOLE };
        let Taken { start, end, .. } = self.take(Resource::Processor(on), ready, length, room);
        self.ends[id] = Some(end);
        self.changes.push(Change::End(id));
        let mut home = end;
        for &written in &node.writes {
            for memory in 0..self.there.len() {
                self.set(memory, written, (memory == memory_of(on)).then_some(end));
            }
            let item = &self.graph.items[written];
            if item.goes_home.is_some() {
                let on_device = item.home == Home::Device;
                let at = if on_device { Processor::Gpu(DeviceId::FIRST) } else { Processor::Cpu };
                home = home.max(self.bring(written, at));
            }
        }
        (start, home)
    }

    /// When an item is in the memory of a processor.
    fn bring(&mut self, item: ItemId, on: Processor) -> Instant {
        if let Some(there) = self.there[memory_of(on)][item] {
            return there;
        }
        let mut devices = 0..self.prices.devices;
        let has_it = |&device: &usize| self.there[1 + device][item].is_some();
        let from = devices.find(has_it);
        let (link, ready, length) = match (on, from) {
            (Processor::Cpu, None) => return Instant::START,
            (Processor::Cpu, Some(from)) => {
                let length = self.prices.copy(item, Direction::DeviceToHost);
                (Resource::Link(from, Link::FromDevice), self.there[1 + from][item], length)
            }
            (Processor::Gpu(_), Some(from)) if self.prices.goes_by_peers(item) => {
                let length = self.prices.peer_copy(item).unwrap_or_default();
                (Resource::Link(from, Link::ToOtherDevices), self.there[1 + from][item], length)
            }
            (Processor::Gpu(device), _) => {
                let ready = self.bring(item, Processor::Cpu);
                let length = self.prices.copy(item, Direction::HostToDevice);
                (Resource::Link(device.0, Link::ToDevice), Some(ready), length)
            }
        };
        let Taken { end, .. } = self.take(link, ready.unwrap_or(Instant::START), length, WHOLE);
        self.set(memory_of(on), item, Some(end));
        end
    }

    /// When the nodes right behind one end, each where it ends first, if what else they wait for is
    /// placed.
    fn children_end(&mut self, id: NodeId, processors: &[Processor]) -> Instant {
        let before = self.changes.len();
        let (graph, prices) = (self.graph, self.prices);
        let mut latest = Instant::START;
        for &child in &graph.nodes[id].behind {
            let allowed = processors.iter().filter(|&&on| prices.of(graph, child, on).is_some());
            let first = allowed.min_by_key(|&&on| self.tried(child, on, |_, (_, end)| end));
            if let Some(&on) = first {
                latest = latest.max(self.place(child, on).1);
            }
        }
        self.undo(before);
        latest
    }
}
