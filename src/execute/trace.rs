//! A pass with a clock on every call, for pictures of where time goes.

use super::memory::need;
use super::prepared::{Handles, Prepared};
use super::run::ExecuteError;
use crate::gpu::{Device, Event, ExecutableGraph, GpuError, Graph, Stream};
use crate::plan::{Call, Plan};
use crate::timeline::{Activity, Lane, Timeline};
use crate::units::{Instant, Span};
use std::collections::BTreeMap;
use std::time::Instant as Clock;

/// Timing events around a call that keeps an engine busy.
struct Marks {
    stream: usize,
    lane: Lane,
    before: Event,
    after: Event,
}

/// Makes every call once, with timing events around those that keep an engine
/// busy. In a graph, they are nodes of their own.
pub(super) fn timeline(
    device: Option<&Device>,
    plan: &Plan,
    body: &[Prepared],
    handles: &Handles,
    mut make: impl FnMut(&Prepared, &Handles) -> Result<(), ExecuteError>,
) -> Result<Timeline, ExecuteError> {
    let mut activities = Vec::new();
    let mut marks: BTreeMap<usize, Marks> = BTreeMap::new();
    for (index, call) in plan.body.iter().enumerate() {
        if let Some((stream, lane)) = engine_of(call) {
            let event = || Event::timing(need(device)?).map_err(ExecuteError::from);
            marks.insert(index, Marks { stream, lane, before: event()?, after: event()? });
        }
    }
    let graphs = marked_graphs(plan, body, handles, &marks, &mut make)?;
    let mut made: Vec<usize> = (0..body.len()).collect();
    made.retain(|at| !plan.graphs().any(|graph| graph.calls.contains(at)));
    let origin = origin(device, handles)?;
    let clock = Clock::now();
    let now = || Instant::START + clock.elapsed().into();
    for index in made {
        let start = now();
        match graphs.get(&index) {
            // SAFETY: as for the graph that it stands for.
            Some((stream, graph)) => unsafe { handles.streams[*stream].replay(graph)? },
            None => marked(&body[index], handles, marks.get(&index), Stream::record, &mut make)?,
        }
        activities.push(Activity { lane: Lane::Host, call: index, start, end: now(), cause: None });
    }
    let makespan = clock.elapsed().into();
    if let Some((origin, at)) = origin {
        let passed: Span = clock.duration_since(at).into();
        for (&call, Marks { lane, before, after, .. }) in &marks {
            let time = |event: &Event| -> Result<Instant, ExecuteError> {
                Ok(Instant::START + event.since(&origin)?.saturating_sub(passed))
            };
            let (start, end) = (time(before)?, time(after)?);
            activities.push(Activity { lane: *lane, call, start, end, cause: None });
        }
    }
    Ok(Timeline { activities: in_turn(activities), makespan })
}

/// Makes a call between its marks, if it has any.
fn marked(
    call: &Prepared,
    handles: &Handles,
    marks: Option<&Marks>,
    mark: fn(&Stream, &Event) -> Result<(), GpuError>,
    make: &mut impl FnMut(&Prepared, &Handles) -> Result<(), ExecuteError>,
) -> Result<(), ExecuteError> {
    if let Some(Marks { stream, before, .. }) = marks {
        mark(&handles.streams[*stream], before)?;
    }
    make(call, handles)?;
    if let Some(Marks { stream, after, .. }) = marks {
        mark(&handles.streams[*stream], after)?;
    }
    Ok(())
}

/// The plan's graphs with marks in them, by the positions of their launches, each
/// with its stream. They have been launched once: the first time takes longer.
fn marked_graphs(
    plan: &Plan,
    body: &[Prepared],
    handles: &Handles,
    marks: &BTreeMap<usize, Marks>,
    make: &mut impl FnMut(&Prepared, &Handles) -> Result<(), ExecuteError>,
) -> Result<BTreeMap<usize, (usize, ExecutableGraph)>, ExecuteError> {
    let mut graphs = BTreeMap::new();
    for mut graph in plan.graphs() {
        let stream = &handles.streams[graph.origin.0];
        let captured = Graph::capture(stream, || {
            graph
                .calls
                .try_for_each(|at| marked(&body[at], handles, marks.get(&at), Stream::mark, make))
        })?;
        let executable = captured.instantiate()?;
        // SAFETY: the plan's memory outlives the wait.
        unsafe { stream.replay(&executable)? };
        stream.synchronize()?;
        graphs.insert(graph.launch, (graph.origin.0, executable));
    }
    Ok(graphs)
}

/// An event with the host's time at which it happened: halfway between asking
/// for it and hearing of it.
fn origin(
    device: Option<&Device>,
    handles: &Handles,
) -> Result<Option<(Event, Clock)>, ExecuteError> {
    let Some(stream) = handles.streams.first() else { return Ok(None) };
    let event = Event::timing(need(device)?)?;
    let asked = Clock::now();
    stream.record(&event)?;
    stream.synchronize()?;
    Ok(Some((event, asked + asked.elapsed() / 2)))
}

fn engine_of(call: &Call) -> Option<(usize, Lane)> {
    match call {
        Call::Copy { stream, direction, .. } => Some((stream.0, Lane::of(*direction))),
        Call::Launch { stream, .. } | Call::Clear { stream, .. } => Some((stream.0, Lane::Kernels)),
        _ => None,
    }
}

/// An event in front of a copy fires when its stream gets there, not when the
/// engine does: a copy starts when the one before it on its engine has ended.
fn in_turn(mut activities: Vec<Activity>) -> Vec<Activity> {
    activities.sort_by_key(|activity| (activity.lane, activity.end, activity.call));
    let mut lane_ends = Instant::START;
    let mut lane = Lane::Host;
    for activity in &mut activities {
        if activity.lane != lane {
            (lane, lane_ends) = (activity.lane, Instant::START);
        }
        if matches!(lane, Lane::CopyIn | Lane::CopyOut) {
            activity.start = activity.start.max(lane_ends).min(activity.end);
        }
        lane_ends = activity.end;
    }
    activities.sort_by_key(|activity| (activity.lane, activity.start, activity.call));
    activities
}
