//! What the engine needs to know of a program whatever its calls cost: the calls, sorted into
//! streams, and what may have to follow, wait for or slow what. It is worked out once for a
//! program; draws and what-if change nothing but prices.

use super::analysis::Analysis;
use super::call::{CallId, CompiledCall, NONE, index};
use super::classes::PlacedCall;
use super::compiled::ChannelLayout;
use super::copies::Copying;
use super::entries::{Entries, Entry, EntryId};
use super::hand_overs::Ties;
use super::links::Meetings;
use super::polling::Arrivals;
use super::waiting_kernels::WaitingKernels;
use super::work::{CallCost, Shape, WorkKind};
use crate::program::{Graph, Program, StreamKind, StreamTraits};
use std::sync::Arc;

/// The calls of a body, their order in streams, and what follows from that.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// What each cost is a cost of: with other shapes, this is the layout of another program.
    shapes: Vec<Shape>,
    pub calls: Vec<CompiledCall>,
    pub entries: Entries,
    /// For each call, its host thread; empty if one makes all of them.
    pub threads: Vec<u16>,
    /// The legacy default stream and the streams that it is a barrier for; empty if it is not used.
    pub barrier: Vec<u16>,
    /// The traits of each stream. Branches of graphs are non-blocking: no barrier holds them back.
    pub traits: Vec<StreamTraits>,
    graphs: Arc<Vec<Graph>>,
    pub ties: Ties,
    pub copying: Vec<Copying>,
    pub arrivals: Arrivals,
    pub meetings: Meetings,
    pub waiting_kernels: WaitingKernels,
    pub channels: ChannelLayout,
}

impl Layout {
    /// The layout of a program. `places`: for each class of calls, the place of its cost.
    pub fn new(program: &Program, analysis: &Analysis, costs: &[CallCost], places: &[u32]) -> Self {
        let branch =
            |traits: &StreamTraits| StreamTraits { kind: StreamKind::NonBlocking, ..*traits };
        let classes = &analysis.classes;
        let branches = classes.lanes - program.streams.len();
        let branches = program.streams[..branches].iter().map(branch);
        let call = |&PlacedCall { class, recording, site, .. }: &PlacedCall| {
            let cost = places[class as usize];
            let kind = WorkKind::of(&costs[cost as usize].work);
            CompiledCall { cost, recording, stream: site.stream, kind, is_part: false }
        };
        let mut layout = Self {
            shapes: shapes(costs).collect(),
            calls: classes.calls.iter().map(call).collect(),
            threads: threads(program),
            barrier: barrier(program),
            traits: program.streams.iter().copied().chain(branches).collect(),
            graphs: Arc::clone(&classes.graphs),
            ..Self::default()
        };
        let counts = (classes.lanes, classes.recordings);
        let has_barrier = !layout.barrier.is_empty();
        layout.entries = Entries::new(&mut layout.calls, costs, counts, has_barrier);
        layout.ties = Ties::new(&layout, costs);
        layout.copying = Copying::of_devices(&layout, costs);
        layout.arrivals = Arrivals::new(&layout, costs);
        layout.meetings = Meetings::new(&layout, costs);
        layout.waiting_kernels = WaitingKernels::new(&layout, costs);
        layout.channels = ChannelLayout::new(program, &layout, costs);
        layout
    }

    /// Whether this is the layout of a program with these costs.
    pub fn is_of(&self, costs: &[CallCost]) -> bool {
        shapes(costs).eq(self.shapes.iter().copied())
    }

    #[inline]
    pub fn entry(&self, id: EntryId) -> &Entry {
        &self.entries.list[id as usize]
    }

    #[inline]
    pub fn devices(&self) -> usize {
        self.traits.iter().map(|stream| stream.device.0 + 1).max().unwrap_or(1)
    }

    #[inline]
    pub fn streams(&self) -> usize {
        self.entries.starts.len()
    }

    /// Whether several host threads make the calls.
    #[inline]
    pub fn has_threads(&self) -> bool {
        !self.threads.is_empty()
    }

    /// The first call from `from` on that a host thread makes, or [`NONE`].
    pub fn next_of(&self, thread: u16, from: CallId) -> CallId {
        let mut calls = (from..).zip(&self.threads[from as usize..]);
        calls.find(|(_, of)| **of == thread).map_or(NONE, |(call, _)| call)
    }

    /// The entry of a call, if it has one of its own.
    pub fn entry_of(&self, id: CallId) -> Option<EntryId> {
        let Entries { list, starts, .. } = &self.entries;
        let stream = usize::from(self.calls[id as usize].stream);
        let (&start, end) = (starts.get(stream)?, starts.get(stream + 1));
        let list = &list[start as usize..end.map_or(list.len(), |&end| end as usize)];
        let before = list.partition_point(|entry| entry.call < id);
        (list[before].call == id).then(|| start + index(before))
    }

    /// The entries of all streams in the order of issue.
    pub fn entries_in_order(&self) -> impl Iterator<Item = (EntryId, &Entry)> {
        let mut next = self.entries.starts.clone();
        let calls = self.calls.iter();
        let calls = calls.filter(|call| call.kind != WorkKind::Nothing && !call.is_part);
        calls.map(move |call| {
            let next = &mut next[usize::from(call.stream)];
            *next += 1;
            (*next - 1, self.entry(*next - 1))
        })
    }

    /// The device of a stream.
    #[inline]
    pub fn device_of(&self, stream: u16) -> usize {
        self.traits[usize::from(stream)].device.0
    }

    /// The graph that a call launches or belongs to.
    #[inline]
    pub fn graph_at(&self, call: usize) -> Option<&Graph> {
        let before = self.graphs.partition_point(|graph| graph.calls.end <= call);
        self.graphs.get(before).filter(|graph| graph.launch <= call)
    }

    /// The call by which the host issues a call: for a node of a graph, the graph's launch.
    #[inline]
    pub fn issued_by(&self, call: CallId) -> CallId {
        self.graph_at(call as usize).map_or(call, |graph| index(graph.launch))
    }
}

/// What each cost is a cost of.
fn shapes(costs: &[CallCost]) -> impl Iterator<Item = Shape> {
    costs.iter().map(Shape::of)
}

/// For each call of a program with several host threads, its thread.
fn threads(program: &Program) -> Vec<u16> {
    let are_several = program.thread_count() > 1;
    program.threads.iter().filter(|_| are_several).map(|thread| thread.0).collect()
}

/// The legacy default stream and those that it is a barrier for; empty if nothing goes to it.
#[inline]
fn barrier(program: &Program) -> Vec<u16> {
    if !program.streams.iter().any(|stream| stream.kind == StreamKind::LegacyDefault) {
        return Vec::new();
    }
    let takes_part = |stream: &StreamTraits| stream.kind != StreamKind::NonBlocking;
    let streams = (0..).zip(&program.streams);
    streams.filter_map(|(id, stream)| takes_part(stream).then_some(id)).collect()
}
