//! A pass whose copies and kernels are timed by the device's own records.

use super::error::ExecuteError;
use super::movable::Ready;
use super::trace::engine_of;
use crate::gpu::{Record, Recorder};
use crate::program::Program;
use crate::timeline::{Activity, Lane, Timeline};
use crate::units::{Instant, Span};
use std::collections::BTreeMap;
use std::ops::Range;

/// Makes a pass, and says when each call was made and when its work ran. `None` where the library
/// is missing or in use, or not all work has a record; and of programs with graphs, whose records
/// do not tell the calls apart.
pub(super) fn timeline(
    program: &Program,
    body: &[Ready<'_>],
    mut make: impl FnMut(&Ready<'_>) -> Result<(), ExecuteError>,
) -> Result<Option<Timeline>, ExecuteError> {
    let Some(recorder) = Recorder::find().filter(|_| program.graphs().next().is_none()) else {
        return Ok(None);
    };
    let pass = || {
        // The first pass that is recorded takes longer.
        body.iter().try_for_each(&mut make)?;
        let mut spans = Vec::new();
        for call in body {
            let start = recorder.now()?;
            make(call)?;
            spans.push(start..recorder.now()?);
        }
        Ok::<_, ExecuteError>(spans)
    };
    let (spans, records) = match recorder.record(pass) {
        Ok(found) => found,
        // Another profiler may be at work.
        Err(ExecuteError::Gpu(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(of_records(program, &spans, &records))
}

/// The timeline of a pass whose calls were made during the spans.
fn of_records(program: &Program, spans: &[Range<u64>], records: &[Record]) -> Option<Timeline> {
    let (first, last) = (spans.first()?.start, spans.last()?.end);
    let at = |time: u64| Instant::START + Span::from_nanos(time.saturating_sub(first));
    let mut ran: BTreeMap<usize, Range<u64>> = BTreeMap::new();
    for &Record { called, start, end } in records {
        let call = spans.partition_point(|span| span.end < called);
        if spans.get(call).is_some_and(|span| span.contains(&called)) {
            let all = ran.entry(call).or_insert(start..end);
            *all = all.start.min(start)..all.end.max(end);
        }
    }
    let mut activities = Vec::new();
    for (call, span) in spans.iter().enumerate() {
        let activity = |lane, Range { start, end }: &Range<u64>| Activity {
            lane,
            call,
            start: at(*start),
            end: at(*end),
            cause: None,
        };
        activities.push(activity(Lane::Host, span));
        if let Some((_, lane)) = engine_of(&program.body[call]) {
            activities.push(activity(lane, ran.get(&call)?));
        }
    }
    activities.sort_by_key(|activity| (activity.lane, activity.start, activity.call));
    Some(Timeline { activities, makespan: Span::from_nanos(last - first) })
}
