//! The body of a program as the engine reads it: its layout, and what all calls cost.

use super::analysis::Analysis;
use super::call::{CallId, CompiledCall, index};
use super::call_costs::CallCosts;
use super::classes::{Classes, PlacedCall};
use super::entries::{Entry, EntryId};
use super::halved::Prices;
use super::host_times::HostTimes;
use super::streaming::Streaming;
use super::structure::Structure;
use super::work::{CallCost, Waits};
use super::written::HostWrites;
use crate::profile::{Known, Unknown};
use crate::program::Program;
use crate::units::Span;
use std::sync::Arc;

#[derive(Debug, Clone)]
pub(crate) struct Body {
    pub structure: Arc<Structure>,
    pub costs: Vec<CallCost>,
    /// The host time of each call, if some calls differ from their cost; otherwise empty.
    hosts: Vec<Span>,
    /// For each call, when it is issued if the host never waits.
    issued: Vec<Span>,
    /// Empty if there are several host threads: none runs ahead of the others.
    pub bursts: Vec<Burst>,
    /// When the host streams through memory beside copies.
    pub streaming: Streaming,
    pub writes: HostWrites,
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
    /// Looks up what every call of a program's body costs; calls that cost the same are looked up
    /// once. Streams include branches of graphs.
    ///
    /// # Errors
    /// If the profile does not know what one of them costs.
    pub(super) fn new(
        program: &Program,
        analysis: &Analysis,
        prices: &Prices<'_>,
        mut host_times: HostTimes<'_>,
    ) -> Known<Self> {
        let (costs, places) = costs_of(program, analysis, prices)?;
        let structure = analysis.structure(program, &costs, &places);
        let mut body = Self {
            structure,
            costs,
            hosts: Vec::new(),
            issued: Vec::new(),
            bursts: Vec::new(),
            streaming: Streaming::default(),
            writes: HostWrites::default(),
        };
        let Classes { calls, written, .. } = &analysis.classes;
        let hosts =
            calls.iter().zip(&body.structure.layout.calls).filter_map(|(call, compiled)| {
                let &PlacedCall { site, is_launch, .. } = call;
                host_times.host_of(&body.costs[compiled.cost as usize], site, is_launch)
            });
        body.hosts = hosts.collect();
        (body.bursts, body.issued) = if body.has_threads() {
            (Vec::new(), vec![Span::ZERO; calls.len()])
        } else {
            bursts((&body.structure.layout.calls, &body.costs), |call| body.host_of(call))
        };
        let calls = (0..).zip(&body.issued);
        let calls = calls.map(|(call, &until)| (body.cost_of(call), body.host_of(call), until));
        body.streaming = Streaming::new(calls, &body.costs, prices.profile);
        let times = (0..).zip(&body.issued).map(|(call, &until)| (body.host_of(call), until));
        body.writes = HostWrites::new(program, times, (written, prices.profile));
        Ok(body)
    }

    #[inline]
    pub fn cost_of(&self, call: CallId) -> &CallCost {
        &self.costs[self.structure.layout.calls[call as usize].cost as usize]
    }

    /// Host time of a call, from entry to return, when it need not wait.
    #[inline]
    pub fn host_of(&self, call: CallId) -> Span {
        self.hosts.get(call as usize).copied().unwrap_or_else(|| self.cost_of(call).host)
    }

    /// When a call is issued if the host never waits.
    #[inline]
    pub fn issued(&self, call: CallId) -> Span {
        self.issued[call as usize]
    }

    #[inline]
    pub fn entry(&self, id: EntryId) -> &Entry {
        self.structure.layout.entry(id)
    }

    /// The cost of an entry's call.
    #[inline]
    pub fn cost_in(&self, entry: EntryId) -> &CallCost {
        &self.costs[self.entry(entry).cost as usize]
    }

    #[inline]
    pub fn devices(&self) -> usize {
        self.structure.layout.devices()
    }

    /// Whether several host threads make the calls.
    #[inline]
    pub fn has_threads(&self) -> bool {
        self.structure.layout.has_threads()
    }

    /// The device of a stream.
    #[inline]
    pub fn device_of(&self, stream: u16) -> usize {
        self.structure.layout.device_of(stream)
    }
}

/// What the calls of each class cost, and for each class the place of its cost in the list.
fn costs_of(
    program: &Program,
    analysis: &Analysis,
    prices: &Prices<'_>,
) -> Known<(Vec<CallCost>, Vec<u32>)> {
    let lookup = CallCosts::new(program, prices, &analysis.traffic);
    let Classes { all, graphs, .. } = &analysis.classes;
    let (mut costs, mut places) = (Vec::new(), Vec::with_capacity(all.len()));
    let mut missing = Vec::new();
    for class in all {
        let call = &program.body[class.first];
        let graph = class.graph.map(|at| &graphs[at]);
        places.push(index(costs.len()));
        let inline = lookup.inline(call).filter(|_| graph.is_none());
        let may_go_inline = inline.is_some();
        match lookup.cost(call, &class.locality, (graph, class.before)) {
            Ok(usual) => costs.push(CallCost { may_go_inline, ..usual }),
            Err(unknown) => missing.push(unknown),
        }
        costs.extend(inline);
    }
    match missing.into_iter().reduce(Unknown::and) {
        Some(missing) => Err(missing),
        None => Ok((costs, places)),
    }
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
