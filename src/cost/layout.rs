//! The calls of a body in their order, and sorted into streams.

use super::call::{CallId, CompiledCall, NONE, index};
use super::classes::{Classes, PlacedCall};
use super::entries::{Entries, Entry, EntryId};
use super::work::{CallCost, WorkKind};
use crate::program::{Graph, Program, StreamKind, StreamTraits};
use std::sync::Arc;

/// The calls of a body and their order in streams.
#[derive(Debug)]
pub(crate) struct Layout {
    pub calls: Vec<CompiledCall>,
    pub entries: Entries,
    /// For each call, its host thread; empty if one makes all of them.
    pub threads: Vec<u16>,
    /// The legacy default stream and the streams that it is a barrier for; empty if it is not used.
    pub barrier: Vec<u16>,
    /// The traits of each stream. Branches of graphs are non-blocking: no barrier holds them back.
    pub traits: Vec<StreamTraits>,
    graphs: Arc<Vec<Graph>>,
}

impl Layout {
    /// The layout of a program. `places`: for each class of calls, the place of its cost.
    pub fn new(
        program: &Program,
        classes: &Classes,
        (costs, places): (&[CallCost], &[u32]),
    ) -> Self {
        let branch =
            |traits: &StreamTraits| StreamTraits { kind: StreamKind::NonBlocking, ..*traits };
        let branches = classes.lanes - program.streams.len();
        let branches = program.streams[..branches].iter().map(branch);
        let call = |&PlacedCall { class, recording, site, .. }: &PlacedCall| {
            let cost = places[class as usize];
            let kind = WorkKind::of(&costs[cost as usize].work);
            CompiledCall { cost, recording, stream: site.stream, kind, is_part: false }
        };
        let mut calls: Vec<CompiledCall> = classes.calls.iter().map(call).collect();
        let barrier = barrier(program);
        let counts = (classes.lanes, classes.recordings);
        let entries = Entries::new(&mut calls, costs, counts, !barrier.is_empty());
        Self {
            calls,
            entries,
            threads: threads(program),
            barrier,
            traits: program.streams.iter().copied().chain(branches).collect(),
            graphs: Arc::clone(&classes.graphs),
        }
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
