//! When the engines of a program poll: the data that polling depends on.

use super::engine_of;
use crate::machine::Direction;
use crate::profile::{Curve, FirstPoll, OperationKind};
use crate::program::{Behind, Graph};
use crate::simulate::copies::Copies;
use crate::simulate::entries::EntryId;
use crate::simulate::operation::{ItemId, NONE};
use crate::simulate::program::{CompiledProgram, Sort};
use crate::simulate::streams::Streams;
use crate::units::{Instant, Span};

/// Edges of the clock in a period.
const TICKS: u64 = 8;

type ByKinds = [[Span; OperationKind::COUNT]; OperationKind::COUNT];

/// How engines poll, on a machine where that is known.
#[derive(Debug, Clone)]
pub(in crate::simulate) struct LookTimes {
    /// The time from one edge of the clock to the next; `first_edge` is when the first edge of the
    /// pass comes.
    tick: Span,
    first_edge: Span,
    /// From the arrival of an operation to when its periods begin to count. The first index is the
    /// kind of copy under way then, or kernel if there is none; the second is the operation's own
    /// kind.
    after: ByKinds,
    /// For pairs of kinds for which it is known: from the arrival to when periods begin to count,
    /// over how long the copy has been under way.
    under_way: Vec<(OperationKind, OperationKind, Curve)>,
    /// From the arrival of a graph's node to when its periods begin to count, by the kind of what
    /// it follows and its own.
    in_graphs: ByKinds,
    /// Copies to the host with which graphs begin.
    first_out: Vec<ItemId>,
    /// From the arrival of a node behind any other copy to the host to when its periods begin to
    /// count, by its kind.
    behind_out: [Span; OperationKind::COUNT],
    /// The operations that arrive at each engine, by device and kind, in order of issue. Of
    /// operations that arrive together, only the first is listed.
    pub(super) arrivals: Vec<Vec<EntryId>>,
    /// For each entry, the one before it in its stream that uses the same engine.
    before: Vec<EntryId>,
}

impl LookTimes {
    /// The polling of a program whose entries are known; `None` if the profile does not know any.
    /// `phase`, from 0 to 1, is how far into a tick of the engines' clock a pass begins.
    pub fn new(program: &CompiledProgram<'_>, phase: f64) -> Option<Self> {
        let looks = program.profile.latency.semaphore_polling.as_ref()?;
        let [mut after, in_graphs] =
            [&looks.first_polls, &looks.first_polls_in_graphs].map(|pairs| {
                let mut after = ByKinds::default();
                for FirstPoll { from, to, time, .. } in pairs {
                    after[*from as usize][*to as usize] = time.span();
                }
                after
            });
        // Kernels never wait for other kernels by polling, so the least of what copies take stands
        // in.
        let behind_kernels =
            looks.first_polls.iter().filter(|pair| pair.from == OperationKind::Kernel);
        let least = behind_kernels.map(|pair| pair.time.span()).min().unwrap_or_default();
        after[OperationKind::Kernel as usize][OperationKind::Kernel as usize] = least;
        let mut arrivals = vec![Vec::new(); program.devices() * OperationKind::COUNT];
        let mut entries: Vec<(ItemId, EntryId)> =
            (0..).zip(&program.entries.list).map(|(id, entry)| (entry.item, id)).collect();
        entries.sort_unstable();
        let mut before = vec![NONE; entries.len()];
        let mut latest = vec![NONE; program.streams() * OperationKind::COUNT];
        for (_, id) in entries {
            let entry = &program.entries.list[id as usize];
            let Sort::Operation(kind) = entry.sort else { continue };
            let latest = &mut latest[engine_of(usize::from(entry.stream), kind)];
            before[id as usize] = std::mem::replace(latest, id);
            if comes_by_itself(program, id) {
                arrivals[engine_of(program.device_of(entry.stream), kind)].push(id);
            }
        }
        let tick = Span::from_nanos((looks.period.span().nanos() / TICKS).max(1));
        let first_edge = Span::from_nanos_f64(tick.nanos_f64() * (1.0 - phase));
        let items = 0..program.items.len() as ItemId;
        let first_out = items.filter(|&id| is_first_out(program, id)).collect();
        let behind_out = behind_out(&looks.first_polls_in_graphs);
        let grows = |pair: &FirstPoll| Some((pair.from, pair.to, pair.under_way.clone()?));
        let under_way = looks.first_polls.iter().filter_map(grows).collect();
        Some(Self {
            tick,
            first_edge,
            after,
            under_way,
            in_graphs,
            first_out,
            behind_out,
            arrivals,
            before,
        })
    }

    /// How long after its arrival at `then` the polling periods of an operation begin to count, if
    /// it came too early. A command comes down the link behind the data that is under way (on an
    /// H200, any kernel launched beside a copy to the device starts 2.0 us later). A small part of
    /// that time is there without any copies.
    pub fn after(
        &self,
        copies: &Copies,
        (device, kind): (usize, OperationKind),
        then: Instant,
    ) -> Span {
        let beside = |way| {
            let (since, until) = copies.under_way(device, way, then)?;
            let from = OperationKind::of_copy(way);
            let pair = self.under_way.iter().find(|pair| (pair.0, pair.1) == (from, kind));
            let after = pair.map_or(self.after[from as usize][kind as usize], |(.., curve)| {
                Span::from_nanos_f64(curve.within(then.since(since).nanos_f64()))
            });
            // It waits for data that is ahead of it, so for no longer than there is such data.
            Some(until.map_or(after, |until| after.min(until.since(then))))
        };
        let alone = self.after[OperationKind::Kernel as usize][kind as usize];
        Direction::BOTH.into_iter().filter_map(beside).fold(alone, Span::max)
    }

    /// How long after its arrival the polling periods of a graph's node behind another node begin
    /// to count, as measured with graphs of two nodes. A copy to the host with which a graph begins
    /// holds up what is behind it (by 1.2 us on an H200).
    pub fn after_node(&self, (from, node): (OperationKind, ItemId), kind: OperationKind) -> Span {
        if from == OperationKind::CopyOut && !self.first_out.contains(&node) {
            return self.behind_out[kind as usize];
        }
        self.in_graphs[from as usize][kind as usize]
    }

    /// The first poll at or after `ready`, if periods count from `first`. Up to `first`, a poll is
    /// always just over.
    pub fn next(&self, first: Instant, ready: Instant) -> Instant {
        let tick = self.tick.nanos();
        // What periods count from was fitted for the average, as if the eighth edge were a whole
        // period away. On average it is half a tick less.
        let from = ready.min(first + self.half_a_tick());
        let look = from + Span::from_nanos(TICKS * tick - self.since_edge(from));
        let periods = ready.since(look.min(ready)).nanos().div_ceil(TICKS * tick);
        look + Span::from_nanos(periods * TICKS * tick)
    }

    /// Nanoseconds since the last edge of the clock.
    fn since_edge(&self, time: Instant) -> u64 {
        (time.since_start() + self.tick - self.first_edge).nanos() % self.tick.nanos()
    }

    fn half_a_tick(&self) -> Span {
        Span::from_nanos(self.tick.nanos() / 2)
    }

    /// From when periods count after a doorbell has rung for work that lies behind a waiting
    /// operation; `None` if the ring changes nothing.
    pub(super) fn rung_anew(&self, ring: Instant) -> Option<Instant> {
        let is_heeded = self.since_edge(ring) < self.half_a_tick().nanos();
        is_heeded.then(|| ring.earlier_by(self.half_a_tick()))
    }

    /// Whether an operation lies in its stream behind one that its engine has not finished yet.
    pub(super) fn is_behind(&self, streams: &Streams, stream: u16, id: EntryId) -> bool {
        let before = self.before[id as usize];
        before != NONE && !streams.is_over(stream, before)
    }
}

/// Times of nodes behind a copy to the host inside a graph, by kind: the least of those measured.
fn behind_out(pairs: &[FirstPoll]) -> [Span; OperationKind::COUNT] {
    std::array::from_fn(|kind| {
        let behind = pairs.iter().filter(|pair| pair.to as usize == kind);
        behind.map(|pair| pair.time.span()).min().unwrap_or_default()
    })
}

/// Whether a call is a copy to the host with which a graph begins.
fn is_first_out(program: &CompiledProgram<'_>, id: ItemId) -> bool {
    let before = |graph: &Graph| graph.before(id as usize);
    program.items[id as usize].sort == Sort::Operation(OperationKind::CopyOut)
        && program.graph_at(id as usize).and_then(before).map(|b| b.behind) == Some(Behind::Nothing)
}

/// Whether an operation arrives at the device by itself, not together with the one before. A
/// graph's branches go to several channels, part by part as the launch proceeds. A graph with one
/// branch goes to one channel, as a whole.
fn comes_by_itself(program: &CompiledProgram<'_>, id: EntryId) -> bool {
    let class = program.class_in(id);
    let call = program.entries.list[id as usize].item as usize;
    let has_branches = || program.graph_at(call).is_some_and(Graph::has_branches);
    !class.in_graph || class.host > Span::ZERO && has_branches()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wherever the edges lie, and however short the ticks are.
    #[test]
    fn looks_are_at_edges_and_a_period_apart_in_the_mean() {
        for tick in [1, 2, 750, 1_023] {
            let (start, mut sum) = (50_000, 0);
            for first_edge in 1..=tick {
                let times = LookTimes {
                    tick: Span::from_nanos(tick),
                    first_edge: Span::from_nanos(first_edge),
                    after: ByKinds::default(),
                    under_way: Vec::new(),
                    in_graphs: ByKinds::default(),
                    first_out: Vec::new(),
                    behind_out: [Span::ZERO; OperationKind::COUNT],
                    arrivals: Vec::new(),
                    before: Vec::new(),
                };
                let at = |nanos| Instant::START + Span::from_nanos(nanos);
                let look = times.next(at(start), at(start + tick)).since_start().nanos();
                assert_eq!(look % tick, first_edge % tick);
                sum += look - start;
                let later = times.next(at(start), at(start + 20 * TICKS * tick));
                assert_eq!((later.since_start().nanos() - look) % (TICKS * tick), 0);
                assert!(later >= at(start + 20 * TICKS * tick));
            }
            let mean = sum as f64 / tick as f64;
            assert!((mean / (TICKS * tick) as f64 - 1.0).abs() < 0.07, "{mean} with {tick}");
        }
    }
}
