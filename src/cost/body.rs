//! The body of a program as the engine reads it: calls with their costs, sorted into streams.

use super::analysis::Analysis;
use super::bursts::{Burst, bursts};
use super::call::{CallId, CompiledCall, index};
use super::call_costs::CallCosts;
use super::changed::Changed;
use super::classes::{Classes, PlacedCall};
use super::entries::{Entries, Entry, EntryId};
use super::host_times::HostTimes;
use super::streaming::Streaming;
use super::threads::ThreadCalls;
use super::work::{CallCost, WorkKind};
use super::written::HostWrites;
use crate::profile::{Profile, Unknown};
use crate::program::{Graph, Program, StreamKind, StreamTraits};
use crate::units::Span;
use std::sync::Arc;

#[derive(Debug, Clone)]
pub(crate) struct Body {
    pub calls: Vec<CompiledCall>,
    pub costs: Vec<CallCost>,
    /// The host time of each call, if some calls differ from their cost; otherwise empty.
    hosts: Vec<Span>,
    pub recordings: usize,
    pub entries: Entries,
    /// Empty if there are several host threads: none runs ahead of the others.
    pub bursts: Vec<Burst>,
    pub threads: ThreadCalls,
    /// When the host streams through memory beside copies.
    pub streaming: Streaming,
    pub writes: HostWrites,
    /// The legacy default stream and the streams that it is a barrier for; empty if it is not used.
    pub barrier: Vec<u16>,
    /// The traits of each stream. Branches of graphs are non-blocking: no barrier holds them back.
    pub traits: Vec<StreamTraits>,
    graphs: Arc<Vec<Graph>>,
}

impl Body {
    /// Looks up what every call of a program's body costs, and sorts the calls into streams, which
    /// include branches of graphs.
    ///
    /// # Errors
    /// If the profile does not know what one of them costs.
    pub(super) fn new(
        program: &Program,
        analysis: &Analysis,
        (profile, changed): (&Profile, &Changed),
        host_times: HostTimes<'_>,
    ) -> Result<Self, Unknown> {
        let branch =
            |traits: &StreamTraits| StreamTraits { kind: StreamKind::NonBlocking, ..*traits };
        let lanes = analysis.classes.lanes;
        let branches = lanes - program.streams.len();
        let branches = program.streams[..branches].iter().map(branch);
        let mut body = Self {
            calls: Vec::with_capacity(program.body.len()),
            costs: Vec::new(),
            hosts: Vec::new(),
            recordings: analysis.classes.recordings,
            entries: Entries::default(),
            bursts: Vec::new(),
            threads: ThreadCalls::of(program),
            streaming: Streaming::default(),
            writes: HostWrites::default(),
            barrier: barrier(program),
            traits: program.streams.iter().copied().chain(branches).collect(),
            graphs: Arc::clone(&analysis.classes.graphs),
        };
        body.add_calls(program, analysis, (profile, changed), host_times)?;
        let (bursts, issued) = if body.threads.are_several() {
            (Vec::new(), vec![Span::ZERO; body.calls.len()])
        } else {
            bursts((&body.calls, &body.costs), |call| body.host_of(call))
        };
        body.bursts = bursts;
        let calls = (0..)
            .zip(&issued)
            .map(|(call, &until)| (body.cost_of(call), body.host_of(call), until));
        body.streaming = Streaming::new(calls, profile);
        let times = (0..).zip(&issued).map(|(call, &until)| (body.host_of(call), until));
        let copies = (&analysis.classes.written, profile);
        body.writes = HostWrites::new(program, times, copies);
        let has_barrier = !body.barrier.is_empty();
        let calls = (&mut body.calls[..], &issued[..]);
        body.entries = Entries::new(calls, &body.costs, lanes, has_barrier);
        body.threads.note(&body.entries);
        Ok(body)
    }

    /// Looks up what each call costs; calls that cost the same are looked up once.
    fn add_calls(
        &mut self,
        program: &Program,
        analysis: &Analysis,
        (profile, changed): (&Profile, &Changed),
        mut host_times: HostTimes<'_>,
    ) -> Result<(), Unknown> {
        let costs = CallCosts::new(program, (profile, changed), &analysis.traffic);
        let Classes { all, calls, graphs, .. } = &analysis.classes;
        let mut missing = Vec::new();
        // The place of each class's cost in the list.
        let mut places = Vec::with_capacity(all.len());
        for class in all {
            let call = &program.body[class.first];
            let graph = class.graph.map(|at| &graphs[at]);
            places.push(index(self.costs.len()));
            let inline = costs.inline(call).filter(|_| graph.is_none());
            let may_go_inline = inline.is_some();
            match costs.cost(call, &class.locality, (graph, class.before)) {
                Ok(usual) => self.costs.push(CallCost { may_go_inline, ..usual }),
                Err(unknown) => missing.push(unknown),
            }
            self.costs.extend(inline);
        }
        if let Some(missing) = missing.into_iter().reduce(Unknown::and) {
            return Err(missing);
        }
        for &PlacedCall { class, recording, site, is_launch } in calls {
            let cost = places[class as usize];
            let found = &self.costs[cost as usize];
            let (stream, kind) = (site.stream, WorkKind::of(&found.work));
            self.hosts.extend(host_times.host_of(found, site, is_launch));
            self.calls.push(CompiledCall { cost, recording, stream, kind, is_part: false });
        }
        Ok(())
    }

    #[inline]
    pub fn cost_of(&self, call: CallId) -> &CallCost {
        &self.costs[self.calls[call as usize].cost as usize]
    }

    /// Host time of a call, from entry to return, when it need not wait.
    #[inline]
    pub fn host_of(&self, call: CallId) -> Span {
        self.hosts.get(call as usize).copied().unwrap_or_else(|| self.cost_of(call).host)
    }

    #[inline]
    pub fn entry(&self, id: EntryId) -> &Entry {
        &self.entries.list[id as usize]
    }

    /// The cost of an entry's call.
    #[inline]
    pub fn cost_in(&self, entry: EntryId) -> &CallCost {
        &self.costs[self.entry(entry).cost as usize]
    }

    #[inline]
    pub fn devices(&self) -> usize {
        self.traits.iter().map(|stream| stream.device.0 + 1).max().unwrap_or(1)
    }

    #[inline]
    pub fn streams(&self) -> usize {
        self.entries.starts.len()
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
        if !self.cost_of(call).in_graph {
            return call;
        }
        self.graph_at(call as usize).map_or(call, |graph| index(graph.launch))
    }
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
