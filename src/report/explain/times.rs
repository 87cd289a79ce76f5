//! Where the time of a pass goes, in words and call by call.

use super::hold_ups::{HeldUpBy, HoldUp, hold_ups};
use crate::machine::StreamId;
use crate::program::spelled::Names;
use crate::program::{Call, Program};
use crate::report::words::{if_known, joined, or_dash, percent};
use crate::timeline::{Activity, Lane, Timeline, busy};
use crate::units::Span;
use std::collections::BTreeMap;

/// How the time of a pass divides, and what held each stream up.
pub(super) fn where_it_goes(program: &Program, timeline: &Timeline) -> Vec<String> {
    let names = Names::in_program(program);
    let streams = (0..program.streams.len()).map(StreamId);
    let streams = streams.filter_map(|id| stream((program, &names), timeline, id));
    std::iter::once(divided(program, timeline)).chain(streams).collect()
}

/// What happens along a critical path, in the order in which it is said. The host's calls are
/// launches, copies and memory; copies to the GPU include the staging of pageable memory; kernels
/// include copies inside the device. During waits, nothing on the path is done: hand-overs, the way
/// to the device, waking up.
const PARTS: [&str; 7] = [
    "the CPU's work",
    "the host's calls",
    "copies to the GPU",
    "kernels",
    "copies to the host",
    "copies between GPUs",
    "waits",
];

fn divided(program: &Program, timeline: &Timeline) -> String {
    let parts = parts_of_critical_path(program, timeline);
    let pass = timeline.makespan;
    format!("A run takes {pass} without scatter. Along its critical path: {parts}.")
}

/// The parts of the critical path. Together they take as long as the pass.
pub(in crate::report) fn parts_of_critical_path(program: &Program, timeline: &Timeline) -> String {
    let pass = timeline.makespan;
    let parts = times_on_critical_path(program, timeline).into_iter().map(|(what, time)| {
        let share = time.nanos_f64() / pass.nanos_f64().max(1.0);
        format!("{what} {time} ({})", percent(share))
    });
    joined(parts, ", ")
}

/// What happens along the critical path, and for how long.
pub(in crate::report) fn times_on_critical_path(
    program: &Program,
    timeline: &Timeline,
) -> Vec<(&'static str, Span)> {
    let pass = timeline.makespan;
    let mut times: BTreeMap<&'static str, Span> = BTreeMap::new();
    for segment in timeline.critical_path().segments {
        *times.entry(part(program, segment.activity)).or_default() += segment.time;
    }
    let [.., waits] = PARTS;
    let done: Span = times.values().copied().sum();
    // Nothing is done in gaps between activities.
    *times.entry(waits).or_default() += pass.saturating_sub(done);
    let there = PARTS.into_iter().filter_map(|what| Some((what, *times.get(what)?)));
    there.filter(|(_, time)| *time > Span::ZERO).collect()
}

fn part(program: &Program, activity: &Activity) -> &'static str {
    let [compute, calls, copies_in, kernels, copies_out, peer_copies, waits] = PARTS;
    let call = program.body.get(activity.call);
    // The call of a pageable copy lasts as long as the copy is staged.
    let lane = match call.and_then(Call::crossing) {
        Some((_, direction, ..)) if program.is_staged(activity.call) => Lane::of(direction),
        _ => activity.lane,
    };
    match lane {
        Lane::Host if call.is_some_and(Call::only_waits) => waits,
        Lane::Host if call.is_some_and(Call::is_host_work) => compute,
        Lane::Host => calls,
        Lane::CopyIn => copies_in,
        Lane::Kernels => kernels,
        Lane::CopyOut => copies_out,
        Lane::PeerCopy => peer_copies,
    }
}

/// What a stream does in a pass. `None` of a stream that has nothing to do.
fn stream(
    (program, names): (&Program, &Names<'_>),
    timeline: &Timeline,
    id: StreamId,
) -> Option<String> {
    let is_here = |activity: &&Activity| {
        let stream = program.body.get(activity.call).and_then(Call::stream);
        activity.lane != Lane::Host && stream == Some(id)
    };
    let mut operations: Vec<&Activity> = timeline.activities.iter().filter(is_here).collect();
    operations.sort_by_key(|operation| (operation.start, operation.call));
    operations.first()?;
    let held_up = hold_ups(program, timeline, &operations);
    let busy = busy(operations.iter().map(|operation| (operation.start, operation.end)));
    let why = match held_up.as_slice() {
        [] => ", and nothing delays it".to_owned(),
        held_up => format!(". {}", joined(held_up.iter().map(hold_up), ". ")),
    };
    Some(format!("Stream `{}` is busy for {busy}{why}.", names.stream(id)))
}

fn hold_up(HoldUp { by, total, longest, from, call, awaited }: &HoldUp) -> String {
    let longest = if longest < total {
        format!(" in total, up to {longest} at a time")
    } else {
        String::new()
    };
    let awaited = |what: &str| if_known(*awaited, |other| format!(", {what} {}", other + 1));
    let (who, while_it) = match by {
        HeldUpBy::Host => ("The host delays", awaited("while the host makes call")),
        HeldUpBy::OtherStream => ("Another stream delays", awaited("which waits for call")),
        HeldUpBy::Engine => ("A busy engine delays", awaited("while the engine runs call")),
        HeldUpBy::HandOver => ("Hand-overs delay", String::new()),
    };
    let call = call + 1;
    format!("{who} it by {total}{longest} (starting at {from}, before call {call}{while_it})")
}

/// The columns of a listing with times.
pub(super) struct TimeColumns {
    cells: Vec<[String; 4]>,
    widths: [usize; 4],
}

const HEADS: [&str; 4] = ["begins", "returns", "starts", "done"];

impl TimeColumns {
    pub fn new(program: &Program, timeline: &Timeline) -> Self {
        let cells = call_times(program, timeline).into_iter().map(|times| times.map(or_dash));
        let cells: Vec<[String; 4]> = cells.collect();
        let width = |at: usize| {
            let cells = cells.iter().map(|row| row[at].len());
            cells.chain([HEADS[at].len()]).max().unwrap_or_default()
        };
        let widths = [0, 1, 2, 3].map(width);
        Self { cells, widths }
    }

    /// The heads, behind numbers of so many digits.
    pub fn head(&self, digits: usize) -> String {
        format!("{:digits$}{}\n", "", self.line(&HEADS.map(str::to_owned)))
    }

    pub fn row(&self, call: usize) -> String {
        self.line(&self.cells[call])
    }

    fn line(&self, cells: &[String; 4]) -> String {
        let cells = cells.iter().zip(self.widths).map(|(cell, width)| format!("  {cell:>width$}"));
        cells.collect()
    }
}

/// Four times of each call of a pass: when the host enters it, and when it returns, unknown for a
/// call that a graph makes; when the device starts on it, if it has anything to do; and when the
/// work is done, by the device or else by the host, unless the call only marks a place in a stream.
pub fn call_times(program: &Program, timeline: &Timeline) -> Vec<[Option<Span>; 4]> {
    let mut times = vec![[None; 4]; program.body.len()];
    for Activity { lane, call, start, end, .. } in &timeline.activities {
        let Some([begins, returns, starts, done]) = times.get_mut(*call) else { continue };
        let (start, end) = (start.since_start(), end.since_start());
        if *lane == Lane::Host {
            (*begins, *returns) = (Some(start), Some(end));
        } else {
            (*starts, *done) = (Some(start), Some(end));
        }
    }
    for (call, [_, returns, _, done]) in program.body.iter().zip(&mut times) {
        if call.stream().is_none() || call.only_waits() {
            *done = done.or(*returns);
        }
    }
    times
}

/// What the columns mean.
pub(super) const LEGEND: &str = "Predicted times from the start of the run, without scatter. The \
                                 host is in a call from `begins` to\n`returns`; the device works \
                                 on it from `starts` to `done`.\n\n";
