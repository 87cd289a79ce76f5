//! A timeline by timing events around every call, where the device's own records are not to be
//! had: the events are work for the device, too, and short kernels look longer between them.

use super::error::Executed;
use super::handles::Handles;
use super::memory::need;
use super::prepared::Prepared;
use crate::gpu::{AnyDevice, AnyEvent, AnyGraph, AnyStream, GpuResult};
use crate::machine::StreamId;
use crate::program::{Call, Program, Route};
use crate::timeline::{Activity, Lane, Timeline};
use crate::units::{Instant, Span};
use std::collections::BTreeMap;
use std::time::Instant as Clock;

/// Timing events around a call that keeps an engine busy.
struct Marks<D: AnyDevice> {
    stream: StreamId,
    lane: Lane,
    before: D::Event,
    after: D::Event,
}

/// Makes every call once, with timing events around those that keep an engine busy. In a
/// graph, the events are nodes of their own.
pub(super) fn timeline<'d, D: AnyDevice>(
    device: Option<&D>,
    program: &Program,
    (body, made): (&[Prepared<'d, D>], &[usize]),
    handles: &Handles<D>,
    make: &mut impl FnMut(&Prepared<'d, D>) -> Executed,
) -> Executed<Timeline> {
    let mut activities = Vec::new();
    let marks = marks(device, program)?;
    let graphs = marked_graphs(program, body, handles, &marks, make)?;
    let origins = origins(device, program, handles)?;
    let clock = D::now();
    let now = || Instant::START + (D::now() - clock).into();
    for &index in made {
        let start = now();
        match graphs.get(&index) {
            // SAFETY: the graph accesses the memory of the plan's own graph, which is
            // alive; the pass waits for it.
            Some((stream, graph)) => unsafe { handles.streams[*stream].replay(graph)? },
            None => marked(&body[index], handles, marks.get(&index), D::Stream::record, make)?,
        }
        activities.push(Activity { lane: Lane::Host, call: index, start, end: now(), cause: None });
    }
    let makespan = (D::now() - clock).into();
    for (&call, &Marks { stream, lane, ref before, ref after }) in &marks {
        let (origin, at) = &origins[program.device_of(stream).0];
        let passed: Span = clock.duration_since(*at).into();
        let time = |event: &D::Event| -> Executed<Instant> {
            Ok(Instant::START + event.since(origin)?.saturating_sub(passed))
        };
        let (start, end) = (time(before)?, time(after)?);
        activities.push(Activity { lane, call, start, end, cause: None });
    }
    Ok(Timeline { activities: in_turn(program, activities), makespan })
}

/// Creates the events of all calls that have any, by their positions in the body.
fn marks<D: AnyDevice>(
    device: Option<&D>,
    program: &Program,
) -> Executed<BTreeMap<usize, Marks<D>>> {
    let mut marks = BTreeMap::new();
    for (index, call) in program.body.iter().enumerate() {
        if let Some((stream, lane)) = engine_of(call) {
            let there = need(device)?.nth(program.device_of(stream).0)?;
            let (before, after) = (there.timing_event()?, there.timing_event()?);
            marks.insert(index, Marks { stream, lane, before, after });
        }
    }
    Ok(marks)
}

/// Makes a call between its timing events, if it has any.
fn marked<'d, D: AnyDevice>(
    call: &Prepared<'d, D>,
    handles: &Handles<D>,
    marks: Option<&Marks<D>>,
    mark: fn(&D::Stream, &D::Event) -> GpuResult,
    make: &mut impl FnMut(&Prepared<'d, D>) -> Executed,
) -> Executed {
    if let Some(Marks { stream, before, .. }) = marks {
        mark(&handles.streams[stream.0], before)?;
    }
    make(call)?;
    if let Some(Marks { stream, after, .. }) = marks {
        mark(&handles.streams[stream.0], after)?;
    }
    Ok(())
}

/// The plan's graphs with timing events in them, by the positions of their launches, each
/// with its stream. Each has been launched once, because the first launch takes longer.
fn marked_graphs<'d, D: AnyDevice>(
    program: &Program,
    body: &[Prepared<'d, D>],
    handles: &Handles<D>,
    marks: &BTreeMap<usize, Marks<D>>,
    make: &mut impl FnMut(&Prepared<'d, D>) -> Executed,
) -> Executed<BTreeMap<usize, (usize, D::ExecutableGraph)>> {
    let mut graphs = BTreeMap::new();
    for mut graph in program.graphs() {
        let stream = &handles.streams[graph.origin.0];
        let captured = stream.capture(|| {
            graph.calls.try_for_each(|at| {
                marked(&body[at], handles, marks.get(&at), D::Stream::mark, make)
            })
        })?;
        let executable = captured.instantiate()?;
        // SAFETY: the plan's memory outlives the launch, which is waited for.
        unsafe { stream.replay(&executable)? };
        stream.synchronize()?;
        graphs.insert(graph.launch, (graph.origin.0, executable));
    }
    Ok(graphs)
}

/// For each device, an event and the host's time at which it happened, which is halfway
/// between recording it and the return of the wait. Every device needs its own, because
/// events of different devices cannot be compared.
fn origins<D: AnyDevice>(
    device: Option<&D>,
    program: &Program,
    handles: &Handles<D>,
) -> Executed<Vec<(D::Event, Clock)>> {
    let mut origins = Vec::new();
    for index in 0..program.devices() {
        let first = program.streams.iter().position(|stream| stream.device.0 == index);
        let stream = &handles.streams[first.unwrap_or(0)];
        let there = need(device)?.nth(index)?;
        there.make_current()?;
        let event = there.timing_event()?;
        let asked = D::now();
        stream.record(&event)?;
        stream.synchronize()?;
        origins.push((event, asked + (D::now() - asked) / 2));
    }
    device.map_or(Ok(()), D::make_current)?;
    Ok(origins)
}

pub(super) fn engine_of(call: &Call) -> Option<(StreamId, Lane)> {
    let lane = match call.route() {
        Some((_, Route::Crossing(direction))) => Lane::of(direction),
        Some((_, Route::ToPeer)) => Lane::PeerCopy,
        Some((_, Route::OnDevice)) => Lane::Kernels,
        None if call.is_launch() || call.is_clear() => Lane::Kernels,
        None => return None,
    };
    Some((call.stream()?, lane))
}

/// Corrects the start of copies. An event in front of a copy fires when its stream gets there, not
/// when the engine does: a copy starts no earlier than the one before it on its engine ends.
fn in_turn(program: &Program, mut activities: Vec<Activity>) -> Vec<Activity> {
    let engine = |activity: &Activity| {
        let device = program.body[activity.call].stream().map(|stream| program.device_of(stream));
        (activity.lane, device.filter(|_| activity.lane != Lane::Host))
    };
    activities.sort_by_key(|activity| (engine(activity), activity.end, activity.call));
    let mut engine_ends = Instant::START;
    let mut last = (Lane::Host, None);
    for activity in &mut activities {
        let engine = engine(activity);
        if engine != last {
            (last, engine_ends) = (engine, Instant::START);
        }
        if matches!(activity.lane, Lane::CopyIn | Lane::CopyOut | Lane::PeerCopy) {
            activity.start = activity.start.max(engine_ends).min(activity.end);
        }
        engine_ends = activity.end;
    }
    activities.sort_by_key(|activity| (activity.lane, activity.start, activity.call));
    activities
}
