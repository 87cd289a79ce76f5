//! A pass with a clock on every call, for pictures of where time goes.

use super::memory::need;
use super::prepared::{Handles, Prepared};
use super::run::ExecuteError;
use crate::gpu::{Device, Event};
use crate::plan::{Call, Plan};
use crate::timeline::{Activity, Lane, Timeline};
use crate::units::{Instant, Span};
use std::time::Instant as Clock;

/// Makes every call once, with timing events around those that keep an engine busy.
pub(super) fn timeline(
    device: Option<&Device>,
    plan: &Plan,
    body: &[Prepared],
    handles: &Handles,
    mut make: impl FnMut(&Prepared, &Handles) -> Result<(), ExecuteError>,
) -> Result<Timeline, ExecuteError> {
    let mut activities = Vec::new();
    let mut marks: Vec<(usize, Lane, Event, Event)> = Vec::new();
    for (index, call) in plan.body.iter().enumerate() {
        if engine_of(call).is_some() {
            let event = || Event::timing(need(device)?).map_err(ExecuteError::from);
            let lane = engine_of(call).expect("just checked").1;
            marks.push((index, lane, event()?, event()?));
        }
    }
    let mut next = marks.iter();
    let origin = origin(device, handles)?;
    let clock = Clock::now();
    let now = || Instant::START + clock.elapsed().into();
    for (index, call) in body.iter().enumerate() {
        let start = now();
        let timed = engine_of(&plan.body[index]);
        let mark = timed.and_then(|(stream, _)| Some((&handles.streams[stream], next.next()?)));
        if let Some((stream, (_, _, before, _))) = mark {
            stream.record(before)?;
        }
        make(call, handles)?;
        if let Some((stream, (_, _, _, after))) = mark {
            stream.record(after)?;
        }
        activities.push(Activity { lane: Lane::Host, call: index, start, end: now(), cause: None });
    }
    let makespan = clock.elapsed().into();
    if let Some((origin, at)) = origin {
        let passed: Span = clock.duration_since(at).into();
        for (call, lane, before, after) in &marks {
            let time = |event: &Event| -> Result<Instant, ExecuteError> {
                Ok(Instant::START + event.since(&origin)?.saturating_sub(passed))
            };
            let (start, end) = (time(before)?, time(after)?);
            activities.push(Activity { lane: *lane, call: *call, start, end, cause: None });
        }
    }
    Ok(Timeline { activities: in_turn(activities), makespan })
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
