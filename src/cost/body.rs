//! The body of a program as the engine reads it: calls with their costs, sorted into streams.

use super::analysis::Analysis;
use super::call::{CallId, CompiledCall, NONE, index};
use super::call_costs::CallCosts;
use super::classes::{Classes, PlacedCall};
use super::entries::{Entries, Entry, EntryId};
use super::halved::Prices;
use super::host_times::HostTimes;
use super::streaming::Streaming;
use super::work::{CallCost, Waits, WorkKind};
use super::written::HostWrites;
use crate::profile::{Known, Unknown};
use crate::program::{Graph, Program, StreamKind, StreamTraits};
use crate::units::Span;
use std::sync::Arc;

#[derive(Debug, Clone)]
pub(crate) struct Body {
    pub calls: Vec<CompiledCall>,
    pub costs: Vec<CallCost>,
    /// The host time of each call, if some calls differ from their cost; otherwise empty.
    hosts: Vec<Span>,
    pub entries: Entries,
    /// Empty if there are several host threads: none runs ahead of the others.
    pub bursts: Vec<Burst>,
    /// For each call, its host thread; empty if one makes all of them.
    pub threads: Vec<u16>,
    /// When the host streams through memory beside copies.
    pub streaming: Streaming,
    pub writes: HostWrites,
    /// The legacy default stream and the streams that it is a barrier for; empty if it is not used.
    pub barrier: Vec<u16>,
    /// The traits of each stream. Branches of graphs are non-blocking: no barrier holds them back.
    pub traits: Vec<StreamTraits>,
    graphs: Arc<Vec<Graph>>,
}

/// Calls that the host makes one after the other without waiting.
///
/// In some calls the host waits for the device. Between them it runs by itself, and how long each
/// call takes is known in advance. So the time at which each call would be issued if the host never
/// waited is worked out once for a program. A simulation only notes how much later the calls are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Burst {
    /// The call behind the burst, which depends on what the device does, or the end of the program.
    /// The next burst begins behind that call, and counts no time for it.
    pub until: CallId,
    /// The time from the first call of the program to the start of this burst, and to its end,
    /// without the time that the host waits.
    pub times: [Span; 2],
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
        prices: &Prices<'_>,
        host_times: HostTimes<'_>,
    ) -> Known<Self> {
        let branch =
            |traits: &StreamTraits| StreamTraits { kind: StreamKind::NonBlocking, ..*traits };
        let lanes = analysis.classes.lanes;
        let branches = lanes - program.streams.len();
        let branches = program.streams[..branches].iter().map(branch);
        let mut body = Self {
            calls: Vec::with_capacity(program.body.len()),
            costs: Vec::new(),
            hosts: Vec::new(),
            entries: Entries::default(),
            bursts: Vec::new(),
            threads: threads(program),
            streaming: Streaming::default(),
            writes: HostWrites::default(),
            barrier: barrier(program),
            traits: program.streams.iter().copied().chain(branches).collect(),
            graphs: Arc::clone(&analysis.classes.graphs),
        };
        body.add_calls(program, analysis, prices, host_times)?;
        let (bursts, issued) = if body.has_threads() {
            (Vec::new(), vec![Span::ZERO; body.calls.len()])
        } else {
            bursts((&body.calls, &body.costs), |call| body.host_of(call))
        };
        body.bursts = bursts;
        let calls = (0..)
            .zip(&issued)
            .map(|(call, &until)| (body.cost_of(call), body.host_of(call), until));
        body.streaming = Streaming::new(calls, prices.profile);
        let times = (0..).zip(&issued).map(|(call, &until)| (body.host_of(call), until));
        let copies = (&analysis.classes.written, prices.profile);
        body.writes = HostWrites::new(program, times, copies);
        let has_barrier = !body.barrier.is_empty();
        let calls = (&mut body.calls[..], &issued[..]);
        let counts = (lanes, analysis.classes.recordings);
        body.entries = Entries::new(calls, &body.costs, counts, has_barrier);
        Ok(body)
    }

    /// Looks up what each call costs; calls that cost the same are looked up once.
    fn add_calls(
        &mut self,
        program: &Program,
        analysis: &Analysis,
        prices: &Prices<'_>,
        mut host_times: HostTimes<'_>,
    ) -> Known {
        let costs = CallCosts::new(program, prices, &analysis.traffic);
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
        if !self.cost_of(call).in_graph {
            return call;
        }
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

/// The bursts of a body, and when each call is issued if the host never waits. `host` is how long
/// each call occupies the host.
fn bursts(
    (calls, costs): (&[CompiledCall], &[CallCost]),
    host: impl Fn(CallId) -> Span,
) -> (Vec<Burst>, Vec<Span>) {
    let mut bursts = Vec::new();
    let mut issued = Vec::with_capacity(calls.len());
    let [mut start, mut time, mut launched] = [Span::ZERO; 3];
    for (until, call) in (0..).zip(calls) {
        let cost = &costs[call.cost as usize];
        if cost.may_go_inline || cost.waits != Waits::No {
            bursts.push(Burst { until, times: [start, time] });
            start = time;
            issued.push(time);
        } else if cost.in_graph {
            // The device starts on the first nodes while the host still works through the others.
            launched += cost.host;
            issued.push(launched);
        } else {
            launched = time + cost.latency;
            time += host(until);
            issued.push(time);
        }
    }
    bursts.push(Burst { until: index(calls.len()), times: [start, time] });
    (bursts, issued)
}
