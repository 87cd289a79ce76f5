//! A timeline by the device's own records of what it did: the work is timed as it runs unwatched.

use super::by_events::engine_of;
use super::error::{ExecuteError, Executed};
use super::prepared::Prepared;
use crate::gpu::{AnyDevice, AnyRecorder, Record, Work};
use crate::program::Program;
use crate::timeline::{Activity, Lane, Timeline};
use crate::units::{Instant, Span};
use std::collections::BTreeMap;
use std::ops::Range;

/// A call of the body that the host makes, and when.
type Made = (usize, Range<u64>);

/// Makes a pass, and says when each call was made and when its work ran. `None` where the library
/// is missing or in use, or the records do not tell the calls apart.
pub(super) fn timeline<'d, D: AnyDevice>(
    program: &Program,
    (body, made): (&[Prepared<'d, D>], &[usize]),
    make: &mut impl FnMut(&Prepared<'d, D>) -> Executed,
) -> Executed<Option<Timeline>> {
    let Some(recorder) = D::recorder() else {
        return Ok(None);
    };
    let pass = || {
        // The first pass that is recorded takes longer.
        made.iter().try_for_each(|&at| make(&body[at]))?;
        let mut calls = Vec::new();
        for &at in made {
            let start = recorder.now()?;
            make(&body[at])?;
            calls.push((at, start..recorder.now()?));
        }
        Ok::<_, ExecuteError>(calls)
    };
    match recorder.record(pass) {
        Ok((calls, records)) => Ok(of_records(program, &calls?, &records)),
        // Another profiler may be at work.
        Err(_) => Ok(None),
    }
}

/// The timeline of a pass in which the host made these calls.
fn of_records(program: &Program, calls: &[Made], records: &[Record]) -> Option<Timeline> {
    let (first, last) = (calls.first()?.1.start, calls.last()?.1.end);
    let at = |time: u64| Instant::START + Span::from_nanos(time.saturating_sub(first));
    let activity = |lane, call, Range { start, end }: Range<u64>| Activity {
        lane,
        call,
        start: at(start),
        end: at(end),
        cause: None,
    };
    let mut activities: Vec<Activity> = Vec::new();
    let mut of_calls = by_call(calls, records);
    for (call, span) in calls {
        activities.push(activity(Lane::Host, *call, span.clone()));
        let found = of_calls.remove(call).unwrap_or_default();
        if let Some((_, lane)) = engine_of(&program.body[*call]) {
            let ran = found.iter().map(|record| record.start..record.end);
            let whole = ran.reduce(|all, one| all.start.min(one.start)..all.end.max(one.end))?;
            activities.push(activity(lane, *call, whole));
        }
        if let Some(graph) = program.graphs().find(|graph| graph.launch == *call) {
            for (call, lane, record) in of_graph(program, graph.calls, found)? {
                activities.push(activity(lane, call, record.start..record.end));
            }
        }
    }
    activities.sort_by_key(|activity| (activity.lane, activity.start, activity.call));
    Some(Timeline { activities, makespan: Span::from_nanos(last - first) })
}

/// The records by the call during which the host asked the driver for the work.
fn by_call(calls: &[Made], records: &[Record]) -> BTreeMap<usize, Vec<Record>> {
    let mut found: BTreeMap<usize, Vec<Record>> = BTreeMap::new();
    for record in records {
        let made = calls.partition_point(|(_, span)| span.end < record.called);
        if let Some((call, span)) = calls.get(made)
            && span.contains(&record.called)
        {
            found.entry(*call).or_default().push(*record);
        }
    }
    found
}

/// The records of a graph's nodes by their calls, each with its lane. `None` unless every call has
/// exactly one node; a call of a library may launch several kernels.
fn of_graph(
    program: &Program,
    calls: Range<usize>,
    mut records: Vec<Record>,
) -> Option<Vec<(usize, Lane, Record)>> {
    records.sort_by_key(|record| record.node);
    let on_engines = calls.filter_map(|at| Some((at, engine_of(&program.body[at])?.1)));
    let on_engines: Vec<(usize, Lane)> = on_engines.collect();
    let found: Vec<_> =
        on_engines.iter().zip(&records).map(|(&(at, lane), &record)| (at, lane, record)).collect();
    let is_told = on_engines.len() == records.len()
        && found.iter().all(|(_, lane, record)| record.node > 0 && *lane == lane_of(record.work));
    is_told.then_some(found)
}

const fn lane_of(work: Work) -> Lane {
    match work {
        Work::Copy(direction) => Lane::of(direction),
        Work::CopyToPeer => Lane::PeerCopy,
        Work::CopyWithin | Work::Clear | Work::Kernel => Lane::Kernels,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::{Family, Resident, Strategy, build};
    use crate::machine::{Direction, HostMemory};
    use crate::scenario::Workload;

    fn record(called: u64, work: Work, node: u64, start: u64) -> Record {
        Record { called, work, node, start, end: start + 5 }
    }

    #[test]
    fn a_graphs_records_are_told_apart_by_their_nodes_or_not_at_all() {
        let text = "schema_version = 1\nname = \"w\"\nquestion = \"?\"\n\
             [[buffer]]\nname = \"x\"\ntype = \"f32\"\nelements = 1024\nhome = \"host\"\n\
             [[buffer]]\nname = \"y\"\ntype = \"f32\"\nelements = 1024\nhome = \"host\"\n\
             [[task]]\nname = \"t\"\nkernel = \"scale\"\nreads = [\"x\"]\nwrites = [\"y\"]\n";
        let workload = Workload::from_toml("w.toml", text).expect("valid");
        let family = Family::Resident(Resident);
        let strategy =
            Strategy { family, memory: HostMemory::Pinned, graph: true, each_pass: false };
        let program = build(&workload, strategy).expect("fits");
        let graph = program.graphs().next().expect("it has one");
        let calls = [(graph.launch, 100..110), (graph.calls.end, 111..150)];
        let [copy_in, copy_out] =
            [Direction::HostToDevice, Direction::DeviceToHost].map(Work::Copy);
        let mut records = vec![
            record(102, copy_out, 9, 130),
            record(102, copy_in, 7, 110),
            record(102, Work::Kernel, 8, 120),
            record(90, Work::Kernel, 8, 95),
        ];
        let timeline = of_records(&program, &calls, &records).expect("each call has a node");
        let found = timeline.activities.iter().map(|one| (one.lane, one.call, one.start));
        let at = |nanos| Instant::START + Span::from_nanos(nanos);
        let first = graph.calls.start;
        let expected = [
            (Lane::Host, graph.launch, at(0)),
            (Lane::Host, graph.calls.end, at(11)),
            (Lane::CopyIn, first, at(10)),
            (Lane::Kernels, first + 1, at(20)),
            (Lane::CopyOut, first + 2, at(30)),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert_eq!(timeline.makespan, Span::from_nanos(50));
        records.push(record(102, Work::Kernel, 10, 125));
        assert!(of_records(&program, &calls, &records).is_none(), "one call has two nodes");
        records.truncate(2);
        assert!(of_records(&program, &calls, &records).is_none(), "the kernel has no node");
        records.push(record(102, Work::Kernel, 10, 120));
        assert!(of_records(&program, &calls, &records).is_none(), "nodes are in another order");
    }
}
