//! A pass with a clock on every call, for pictures of where time goes.

use super::memory::need;
use super::prepared::{Handles, Prepared};
use super::run::ExecuteError;
use crate::gpu::{Device, Event};
use crate::plan::{Call, Plan, StreamId};
use crate::timeline::{Activity, Lane, Timeline};
use crate::units::{Instant, Span};
use std::time::Instant as Clock;

/// Events around a call that keeps an engine busy.
struct Mark {
    call: usize,
    stream: StreamId,
    lane: Lane,
    before: Event,
    after: Event,
}

/// Makes every call once, with timing events around those that keep an engine busy.
pub(super) fn timeline(
    device: Option<&Device>,
    plan: &Plan,
    body: &[Prepared<'_>],
    handles: &Handles,
    mut make: impl FnMut(&Prepared<'_>, &Handles) -> Result<(), ExecuteError>,
) -> Result<Timeline, ExecuteError> {
    let mut activities = Vec::new();
    let marks = marks(device, plan)?;
    let mut next = marks.iter();
    let origins = origins(device, plan, handles)?;
    let clock = Clock::now();
    let now = || Instant::START + clock.elapsed().into();
    for (index, call) in body.iter().enumerate() {
        let start = now();
        let mark = engine_of(&plan.body[index]).and_then(|_| next.next());
        if let Some(Mark { stream, before, .. }) = mark {
            handles.streams[stream.0].record(before)?;
        }
        make(call, handles)?;
        if let Some(Mark { stream, after, .. }) = mark {
            handles.streams[stream.0].record(after)?;
        }
        activities.push(Activity { lane: Lane::Host, call: index, start, end: now(), cause: None });
    }
    let makespan = clock.elapsed().into();
    for &Mark { call, stream, lane, ref before, ref after } in &marks {
        let (origin, at) = &origins[plan.device_of(stream).0];
        let passed: Span = clock.duration_since(*at).into();
        let time = |event: &Event| -> Result<Instant, ExecuteError> {
            Ok(Instant::START + event.since(origin)?.saturating_sub(passed))
        };
        let (start, end) = (time(before)?, time(after)?);
        activities.push(Activity { lane, call, start, end, cause: None });
    }
    Ok(Timeline { activities: in_turn(plan, activities), makespan })
}

fn marks(device: Option<&Device>, plan: &Plan) -> Result<Vec<Mark>, ExecuteError> {
    let engines = plan.body.iter().map(engine_of).enumerate();
    let engines = engines.filter_map(|(call, engine)| engine.map(|engine| (call, engine)));
    let mark = |(call, (stream, lane))| {
        let there = need(device)?.nth(plan.device_of(stream).0)?;
        let (before, after) = (Event::timing(there)?, Event::timing(there)?);
        Ok(Mark { call, stream, lane, before, after })
    };
    engines.map(mark).collect()
}

/// For each device, an event with the host's time at which it happened: halfway
/// between asking for it and hearing of it. No event says how long ago one of
/// another device was.
fn origins(
    device: Option<&Device>,
    plan: &Plan,
    handles: &Handles,
) -> Result<Vec<(Event, Clock)>, ExecuteError> {
    let mut origins = Vec::new();
    for index in 0..plan.devices() {
        let first = plan.streams.iter().position(|stream| stream.device.0 == index);
        let stream = &handles.streams[first.unwrap_or(0)];
        let there = need(device)?.nth(index)?;
        there.make_current()?;
        let event = Event::timing(there)?;
        let asked = Clock::now();
        stream.record(&event)?;
        stream.synchronize()?;
        origins.push((event, asked + asked.elapsed() / 2));
    }
    device.map_or(Ok(()), Device::make_current)?;
    Ok(origins)
}

fn engine_of(call: &Call) -> Option<(StreamId, Lane)> {
    match call {
        Call::Copy { stream, direction, .. } => Some((*stream, Lane::of(*direction))),
        Call::PeerCopy { stream, .. } => Some((*stream, Lane::PeerCopy)),
        Call::Launch { stream, .. } | Call::Clear { stream, .. } => Some((*stream, Lane::Kernels)),
        _ => None,
    }
}

/// An event in front of a copy fires when its stream gets there, not when the
/// engine does: a copy starts when the one before it on its engine has ended.
fn in_turn(plan: &Plan, mut activities: Vec<Activity>) -> Vec<Activity> {
    let engine = |activity: &Activity| {
        let device = plan.body[activity.call].stream().map(|stream| plan.device_of(stream));
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
