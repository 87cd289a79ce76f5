//! The body of a program as the engine reads it: calls with their costs, sorted into streams.

use super::analysis::Analysis;
use super::bursts::{Burst, bursts};
use super::call::{CallId, CompiledCall, NONE, index, stream_index};
use super::call_costs::{CallCosts, Key};
use super::entries::{Entries, Entry, EntryId};
use super::host_times::{CallSite, HostTimes};
use super::in_flight::waited_for;
use super::streaming::Streaming;
use super::threads::ThreadCalls;
use super::work::{CallCost, WorkKind};
use crate::profile::{Profile, Unknown};
use crate::program::{Before, Call, Graph, Program, StreamKind, StreamTraits};
use crate::units::Span;
use std::collections::BTreeMap;

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
    /// The legacy default stream and the streams that it is a barrier for; empty if it is not used.
    pub barrier: Vec<u16>,
    /// The traits of each stream. Branches of graphs are non-blocking: no barrier holds them back.
    pub traits: Vec<StreamTraits>,
    graphs: Vec<Graph>,
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
        profile: &Profile,
        host_times: HostTimes<'_>,
    ) -> Result<Self, Unknown> {
        let branch =
            |traits: &StreamTraits| StreamTraits { kind: StreamKind::NonBlocking, ..*traits };
        let branches = program.lane_count() - program.streams.len();
        let branches = program.streams[..branches].iter().map(branch);
        let mut body = Self {
            calls: Vec::with_capacity(program.body.len()),
            costs: Vec::new(),
            hosts: Vec::new(),
            recordings: 0,
            entries: Entries::default(),
            bursts: Vec::new(),
            threads: ThreadCalls::of(program),
            streaming: Streaming::default(),
            barrier: barrier(program),
            traits: program.streams.iter().copied().chain(branches).collect(),
            graphs: program.graphs().collect(),
        };
        body.add_calls(program, analysis, profile, host_times)?;
        let (bursts, issued) = if body.threads.are_several() {
            (Vec::new(), vec![Span::ZERO; body.calls.len()])
        } else {
            bursts((&body.calls, &body.costs), |call| body.host_of(call))
        };
        body.bursts = bursts;
        let calls = (0..)
            .zip(&issued)
            .map(|(call, &until)| (body.cost_of(call), body.host_of(call), until));
        body.streaming = Streaming::new(calls, !body.threads.are_several(), profile);
        let has_barrier = !body.barrier.is_empty();
        let calls = (&mut body.calls[..], &issued[..]);
        body.entries = Entries::new(calls, &body.costs, program.lane_count(), has_barrier);
        body.threads.note(&body.entries);
        Ok(body)
    }

    /// Looks up each call; calls that cost the same are looked up once.
    fn add_calls(
        &mut self,
        program: &Program,
        analysis: &Analysis,
        profile: &Profile,
        mut host_times: HostTimes<'_>,
    ) -> Result<(), Unknown> {
        let costs = CallCosts::new(program, profile);
        let mut known: BTreeMap<(Key, Option<Before>), Option<u32>> = BTreeMap::new();
        // `cuStreamWaitEvent`: a wait is for the latest record before it.
        let mut latest = vec![NONE; program.events];
        let lanes = program.lanes();
        let mut missing = Vec::new();
        for (at, call) in program.body.iter().enumerate() {
            let graph = self.graph_at(at);
            let before = graph.and_then(|graph| graph.before(at));
            let locality = analysis.at(at);
            let key = (Key::of(program, call, &locality, graph), before);
            let cost = match known.get(&key) {
                Some(&cost) => cost,
                None => {
                    let usual = costs.cost(call, &locality, (graph, before));
                    let usual = usual.map_err(|unknown| missing.push(unknown)).ok();
                    let inline = costs.inline(call).filter(|_| graph.is_none());
                    let cost = usual.is_some().then_some(index(self.costs.len()));
                    let may_go_inline = inline.is_some();
                    self.costs.extend(usual.map(|usual| CallCost { may_go_inline, ..usual }));
                    self.costs.extend(inline);
                    known.insert(key, cost);
                    cost
                }
            };
            let Some(cost) = cost else { continue };
            let recording = match call {
                Call::Record { event, .. } => {
                    latest[event.0] = index(self.recordings);
                    self.recordings += 1;
                    latest[event.0]
                }
                Call::Wait { event, .. } | Call::SynchronizeEvent { event } => latest[event.0],
                _ => NONE,
            };
            let stream = stream_index(lanes[at].unwrap_or(0));
            let is_launch = call.is_launch() && before.is_none();
            let device = match call.facts().only_waits {
                true => waited_for(program, call),
                false => self.traits.get(usize::from(stream)).map_or(0, |one| one.device.0),
            };
            let ends_copies = analysis.in_flight.ending.contains(&at);
            let thread = usize::from(program.thread_of(at).0);
            let site = CallSite { thread, stream, device, ends_copies };
            let found = &self.costs[cost as usize];
            let kind = WorkKind::of(&found.work);
            self.hosts.extend(host_times.host_of(found, site, is_launch));
            self.calls.push(CompiledCall { cost, recording, stream, kind, is_part: false });
        }
        missing.into_iter().reduce(Unknown::and).map_or(Ok(()), Err)
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
        self.graphs.iter().find(|graph| graph.launch == call || graph.calls.contains(&call))
    }

    /// The call by which the host issues a call: for a node of a graph, the graph's launch.
    #[inline]
    pub fn issued_by(&self, call: CallId) -> CallId {
        if !self.cost_of(call).in_graph {
            return call;
        }
        self.graph_at(call as usize).map_or(call, |graph| index(graph.launch))
    }

    /// Whether every entry is an operation, with no records and waits between them.
    #[inline]
    pub fn has_only_operations(&self) -> bool {
        let is_mark = |kind| matches!(kind, WorkKind::Record | WorkKind::Wait);
        !self.entries.list.iter().any(|entry| is_mark(entry.kind))
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
