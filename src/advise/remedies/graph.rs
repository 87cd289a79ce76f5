//! Launches runs of calls in one stream as a graph, which is captured once.
//!
//! Copies of pageable memory, waits and the host's own work cannot be captured. In a recording, the
//! host works between any two calls; if that is only to prepare the next call, a graph saves it,
//! which is a condition. Nothing is captured in the legacy default stream, so its calls go to a
//! stream that waits for it.

use crate::advise::patch::Patch;
use crate::advise::refusal::Refusal;
use crate::advise::rewriting::{Condition, Place, Rewriting};
use crate::advise::streams::add_stream;
use crate::advise::subject::Subject;
use crate::machine::StreamId;
use crate::program::{Call, Program, StreamKind, StreamTraits};
use std::ops::Range;

/// The fewest calls that are worth a graph.
const LEAST: usize = 3;
/// In a recording, work of the host that is longer than this many nanoseconds does more than
/// prepare a call.
const MOST_WORK: u64 = 100_000;

pub(super) fn variants(subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    let program = &subject.program;
    if program.has_graphs() {
        return Err(Refusal::HasGraphs);
    }
    let mut found = Vec::new();
    for through_work in [false, true] {
        if through_work && !subject.is_recorded {
            continue;
        }
        let runs = runs(program, through_work);
        if !runs.is_empty() {
            found.push(captured(program, &runs, through_work));
        }
    }
    if found.is_empty() { Err(Refusal::NoRunOfLaunches) } else { Ok(found) }
}

/// Stretches of calls in one stream that a graph can contain.
fn runs(program: &Program, through_work: bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<(Range<usize>, StreamId, usize)> = None;
    let is_short = |call: &Call| call.stated_time().is_some_and(|time| time.nanos() <= MOST_WORK);
    for (at, call) in program.body.iter().enumerate() {
        let orders = call.recorded().is_some() || call.stream_waits_for().is_some();
        let is_node = call.bars().is_none() && !program.stages(call) && !orders;
        let stream = call.stream().filter(|_| is_node);
        let thread = program.thread_of(at);
        let goes_on = open.as_ref().is_some_and(|(range, of, _)| {
            stream == Some(*of) && program.thread_of(range.start) == thread
        });
        match (&mut open, stream) {
            (Some((range, _, nodes)), Some(_)) if goes_on => {
                range.end = at + 1;
                *nodes += 1;
            }
            (Some(_), None) if through_work && is_short(call) => {}
            (_, stream) => {
                found.extend(open.take());
                open = stream.map(|stream| (at..at + 1, stream, 1));
            }
        }
    }
    found.extend(open);
    found.retain(|(.., nodes)| *nodes >= LEAST);
    found.into_iter().map(|(range, ..)| range).collect()
}

/// The program with these stretches as graphs.
fn captured(program: &Program, runs: &[Range<usize>], through_work: bool) -> Rewriting {
    let mut with = program.clone();
    let mut patch = Patch::default();
    let mut places = Vec::new();
    for run in runs {
        let Some(stream) = program.body[run.start].stream() else { continue };
        let is_node = |call: &&Call| call.stated_time().is_none();
        let nodes: Vec<Call> = program.body[run.clone()].iter().filter(is_node).cloned().collect();
        places.push(Place { times: nodes.len() as u64, ..Place::of(program, run.start, None) });
        let captured = in_capture(&mut with, stream);
        let moved = nodes.into_iter().map(|call| call.in_stream(captured));
        let mut calls: Vec<Call> = moved.collect();
        calls.insert(0, Call::replay(captured, calls.len()));
        for at in run.clone() {
            patch.remove(at);
        }
        patch.replace(run.start, calls);
    }
    let conditions = if through_work { vec![Condition::OnlyIssues] } else { Vec::new() };
    let program = patch.applied(&with);
    Rewriting { program, passes: 1, places: Place::gathered(places), conditions }
}

/// The stream that a graph of a stream's calls goes to.
fn in_capture(program: &mut Program, stream: StreamId) -> StreamId {
    let traits = program.streams[stream.0];
    if traits.kind != StreamKind::LegacyDefault {
        return stream;
    }
    let blocking = StreamTraits { kind: StreamKind::Blocking, ..traits };
    add_stream(program, blocking, "captured")
}
