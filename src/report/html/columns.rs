//! A plan's timelines as columns of whole numbers, with each text once in a table.
//!
//! A column of similar numbers packs well, and a script reads a hundred thousand of them in a
//! blink. Starts count from the start before in the same row, calls from the call before.

use crate::machine::{Direction, StreamId};
use crate::program::spelled::Names;
use crate::program::{Call, Program, Sides, Slice, Step};
use crate::report::timeline_row::TimelineRow;
use crate::report::words::joined;
use crate::timeline::{Activity, Reason, Timeline};
use indexmap::IndexSet;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Columns of a plan: what each call is, the rows, and when what happened in each view.
pub(super) fn columns(program: &Program, views: &[(String, &Timeline)]) -> String {
    let mut words = IndexSet::new();
    let rows = rows(program, views);
    let calls = calls(program, &mut words);
    let drawn: Vec<Value> =
        views.iter().map(|(title, timeline)| view(program, title, timeline, &rows)).collect();
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| json!({ "name": row.name(program), "kind": row.lane.name().to_lowercase() }))
        .collect();
    json!({
        "words": Vec::from_iter(words), "streams": streams(program), "calls": calls, "rows": rows,
        "views": drawn,
    })
    .to_string()
}

/// The rows of all views together, so that predicted and measured timelines have the same ones.
fn rows(program: &Program, views: &[(String, &Timeline)]) -> Vec<TimelineRow> {
    let all = views.iter().flat_map(|(_, timeline)| &timeline.activities);
    let rows: BTreeSet<_> = all.map(|activity| TimelineRow::of(program, activity)).collect();
    rows.into_iter().collect()
}

/// What calls go to by their numbers: streams, then the branches of graphs.
fn streams(program: &Program) -> Vec<String> {
    let names = Names::in_program(program);
    let most = program.lanes().iter().flatten().max().map_or(0, |most| most + 1);
    let known = program.streams.len();
    let name = |at: usize| match at.checked_sub(known) {
        None => names.stream(StreamId(at)),
        Some(branch) => format!("graph branch {}", branch + 1),
    };
    (0..most.max(known)).map(name).collect()
}

/// For each call: its function, what it works on, its stream, bytes, offset and elements, and
/// whether the host does nothing in it but wait.
fn calls(program: &Program, words: &mut IndexSet<String>) -> Value {
    let names = Names::in_program(program);
    let lanes = program.lanes();
    let mut columns: [Vec<i64>; 7] = Default::default();
    for (at, call) in program.body.iter().enumerate() {
        let Sides { from, to, .. } = call.sides();
        let moved = from.or(to);
        let bytes = moved.map(|slice| slice.length.get());
        let bytes = bytes.or(call.allocation().map(|id| program.allocation(id).bytes.get()));
        let elements = call.step().map(Step::elements);
        let offset = moved.map(|slice| slice.offset.get());
        let known = |value: Option<u64>| value.map_or(-1, |value| value as i64);
        let row = [
            words.insert_full(call.name().to_owned()).0 as i64,
            words.insert_full(what(program, &names, call)).0 as i64,
            lanes.lane_of(at).map_or(-1, |lane| lane as i64),
            known(bytes),
            known(offset),
            known(elements),
            i64::from(call.only_waits()),
        ];
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    json!(columns)
}

/// What a call works on, without what differs from chunk to chunk.
fn what(program: &Program, names: &Names<'_>, call: &Call) -> String {
    let Sides { from, to, .. } = call.sides();
    let memory = |slice: &Slice| names.memory(slice.allocation).to_owned();
    let way = match call.crossing() {
        Some((_, Direction::HostToDevice, ..)) => "H2D ",
        Some((_, Direction::DeviceToHost, ..)) => "D2H ",
        None => "",
    };
    match (from, to) {
        (Some(from), Some(to)) => return format!("{way}{} to {}", memory(from), memory(to)),
        (Some(one), None) | (None, Some(one)) => return memory(one),
        (None, None) => {}
    }
    if let Some(id) = call.allocation() {
        return names.memory(id).to_owned();
    }
    let Some(step) = call.step() else { return String::new() };
    let [reads, writes] =
        [step.reads(), step.writes()].map(|all| joined(all.iter().map(memory), ", "));
    format!("{}: {reads} to {writes}", program.kernel_of(call).unwrap_or("kernel"))
}

/// For each activity: its row, its call, when it starts, how long it takes, and what it waited
/// for last.
fn view(program: &Program, title: &str, timeline: &Timeline, rows: &[TimelineRow]) -> Value {
    let row = |activity: &Activity| {
        rows.binary_search(&TimelineRow::of(program, activity)).expect("each activity has a row")
    };
    let mut all: Vec<(usize, &Activity)> =
        timeline.activities.iter().map(|activity| (row(activity), activity)).collect();
    all.sort_by_key(|(row, activity)| (*row, activity.start, activity.end, activity.call));
    let mut columns: [Vec<i64>; 6] = Default::default();
    let (mut row_before, mut call_before, mut start_before) = (0, 0, 0);
    for (row, activity) in all {
        if row != row_before {
            (row_before, start_before) = (row, 0);
        }
        let start = activity.start.since_start().nanos() as i64;
        let call = activity.call as i64;
        let cause = activity.cause;
        let values = [
            row as i64,
            call - call_before,
            start - start_before,
            activity.end.since(activity.start).nanos() as i64,
            cause.map_or(0, |cause| reason(cause.reason)),
            cause.map_or(0, |cause| call - cause.after as i64),
        ];
        (call_before, start_before) = (call, start);
        columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
    }
    json!({
        "title": title, "end": timeline.makespan.nanos(), "columns": columns,
        "knows": timeline.activities.iter().any(|one| one.cause.is_some()),
    })
}

/// The number of a reason: its place in [`REASONS`], from one.
pub(super) const fn reason(reason: Reason) -> i64 {
    reason as i64 + 1
}

/// Why something did not start sooner, in words that `call 12` follows. The first is of what
/// waits for nothing.
pub(super) const REASONS: [&str; 7] = [
    "the run begins with it",
    "it had to be issued by",
    "its stream was busy with",
    "it waited for an event after",
    "its engine was busy with",
    "the host waited for the device to finish",
    "it waited for another host thread to return from",
];
