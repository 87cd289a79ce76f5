//! Takes waits out of a program, and puts in those that its data needs, as late as it needs them.
//!
//! Where the host needs what a stream does, it waits right before the call that needs it: for the
//! stream, or for an event if later work in the stream need not be done. Where a stream needs what
//! another one does, it waits for an event. Events are used again once nobody waits for them.

use super::patch::Patch;
use super::subject::Subject;
use crate::machine::{DeviceId, StreamId};
use crate::program::{Awaited, Call, EventId, MissingOrder, Program, missing_orders};
use std::collections::{BTreeMap, BTreeSet};

/// The program without some waits of the host, and with those that it then lacks. Programs have to
/// pass [`Subject::check_waits`].
pub(super) fn with_needed_waits(subject: &Subject, is_removed: impl Fn(usize) -> bool) -> Program {
    let removed = without(subject, is_removed);
    let lacking = subject.rewritten(removed, 1);
    let missing = missing_orders(&lacking.with_host_reads());
    let program = &lacking.program;
    let spots = Spots::of(program);
    let mut patch = Patch::default();
    let mut events = Events::new(program.events);
    let mut by_first: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for MissingOrder { first, second } in missing.between {
        by_first.entry(spots.end_of(first)).or_default().push(spots.begin_of(second));
    }
    for (first, mut seconds) in by_first {
        let Some(stream) = program.body[first].stream() else { continue };
        seconds.sort_unstable();
        seconds.dedup();
        let (of_streams, of_host): (Vec<usize>, Vec<usize>) =
            seconds.into_iter().partition(|&at| program.body[at].stream().is_some());
        // One wait of the host does for all later calls.
        let host = of_host.first().copied();
        let for_stream = host.filter(|&at| spots.next_in(stream, first).is_none_or(|n| n > at));
        if let Some(at) = for_stream {
            patch.insert_before(at, Call::synchronize(stream));
        }
        let for_event = host.filter(|_| for_stream.is_none());
        let Some(last) = of_streams.last().copied().max(for_event) else { continue };
        let event = events.take(first, last);
        patch.insert_after(first, Call::record(stream, event));
        for at in of_streams {
            let Some(waiting) = program.body[at].stream() else { continue };
            patch.insert_before(at, Call::wait(waiting, event));
        }
        if let Some(at) = for_event {
            patch.insert_before(at, Call::SynchronizeEvent { event });
        }
    }
    match missing.at_the_end[..] {
        [] => {}
        [one] => patch.append(Call::synchronize(StreamId(one))),
        _ => patch.append(Call::SynchronizeDevice(DeviceId::FIRST)),
    }
    let mut with = patch.applied(program);
    with.events = events.count;
    with
}

/// The program without some waits of the host, and without records of events that nobody waits for.
fn without(subject: &Subject, is_removed: impl Fn(usize) -> bool) -> Program {
    let program = &subject.program;
    let waits_for = |call: &Call| match call.awaited() {
        Some(Awaited::Event(event)) => Some(event),
        _ => call.stream_waits_for(),
    };
    let stays = |at: usize, call: &Call| call.awaited().is_none() || !is_removed(at);
    let staying = program.body.iter().enumerate().filter(|(at, call)| stays(*at, call));
    let awaited: BTreeSet<EventId> = staying.filter_map(|(_, call)| waits_for(call)).collect();
    let inside = subject.in_graphs();
    let mut patch = Patch::default();
    for (at, call) in program.body.iter().enumerate() {
        let is_idle = |event: EventId| !awaited.contains(&event) && !inside[at];
        if !stays(at, call) || call.recorded().is_some_and(is_idle) {
            patch.remove(at);
        }
    }
    patch.applied(program)
}

/// Where something can come in: not within a graph.
struct Spots {
    /// For each call of a graph, its launch and its last call.
    graphs: BTreeMap<usize, [usize; 2]>,
    /// Positions of the calls that put something into each stream.
    put: BTreeMap<StreamId, Vec<usize>>,
}

impl Spots {
    fn of(program: &Program) -> Self {
        let graphs = program.graphs().flat_map(|graph| {
            let ends = [graph.launch, graph.calls.end.max(1) - 1];
            graph.calls.map(move |at| (at, ends))
        });
        let graphs = graphs.collect();
        let mut put: BTreeMap<StreamId, Vec<usize>> = BTreeMap::new();
        for (at, call) in program.body.iter().enumerate() {
            if let Some(stream) = call.stream().filter(|_| !call.only_waits()) {
                put.entry(stream).or_default().push(at);
            }
        }
        Self { graphs, put }
    }

    fn begin_of(&self, at: usize) -> usize {
        self.graphs.get(&at).map_or(at, |ends| ends[0])
    }

    fn end_of(&self, at: usize) -> usize {
        self.graphs.get(&at).map_or(at, |ends| ends[1])
    }

    /// The next call after a position that puts something into a stream.
    fn next_in(&self, stream: StreamId, after: usize) -> Option<usize> {
        let put = self.put.get(&stream)?;
        put.get(put.partition_point(|&at| at <= after)).copied()
    }
}

/// Numbers of events that are free again once their last wait was issued.
struct Events {
    count: usize,
    /// Each with the position from which on it is free.
    free: BTreeSet<(usize, usize)>,
}

impl Events {
    const fn new(count: usize) -> Self {
        Self { count, free: BTreeSet::new() }
    }

    /// An event that is recorded at a position and waited for last at another one.
    fn take(&mut self, first: usize, last: usize) -> EventId {
        let reused = self.free.first().copied().filter(|&(from, _)| from < first);
        let id = match reused {
            Some(one) => {
                self.free.remove(&one);
                one.1
            }
            None => {
                self.count += 1;
                self.count - 1
            }
        };
        self.free.insert((last, id));
        EventId(id)
    }
}
