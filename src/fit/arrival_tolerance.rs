//! How much too early an operation may arrive behind another one in its stream or graph and still
//! go on at once: the arrival tolerance.
//!
//! Each trip of two operations shows by itself whether the second one had to wait. Call times vary,
//! so the same two calls come in time on some trips and too early on others. In graphs, it is first
//! nodes of several sizes that make the second one come in time or too early. The tolerance
//! is the line that best separates the two. On four hosts of an H200, 3 to 10% of the trips lay on
//! the wrong side of it. It was 0.2 to 0.5 us before a kernel's end for copies to the device, and
//! 0.9 to 1.4 us before the end of a copy to the host for kernels.

use super::estimator::nanos;
use super::round_trips::{SURELY, Trips, sizes};
use crate::machine::OperationKind;
use crate::profile::Estimate;
use crate::samples::{Measurement, Quantity, TripPart};

/// The fewest trips on each side that determine where the line is.
const FEWEST: usize = 8;

/// A trip's second operation: how many nanoseconds too early it arrived, and whether it had to
/// wait.
pub(super) type Came = (f64, bool);

/// The tolerance of a pair of operations, in streams or in graphs, if it has enough trips on both
/// sides of the line.
pub(super) fn tolerance_of_pair(
    trips: &Trips<'_>,
    (pair, in_graph): ([OperationKind; 2], bool),
    period: f64,
) -> Option<Estimate> {
    let mut all = match in_graph {
        true => single_trips_in_graphs(trips, pair, period),
        false => single_trips(trips, pair, period),
    };
    // In a graph, all trips of a size come equally early, so few sizes lie near the line. A node
    // that comes earlier still may find the next poll close by, and seem not to have waited.
    let most = if in_graph { period / 2.0 } else { SURELY };
    all.retain(|&(late, _)| late.abs() < most);
    let in_time = line(&mut all, |_, _| true)?;
    if in_time.min(all.len() - in_time) < FEWEST {
        return None;
    }
    Some(Estimate::new(behind(&all, in_time)?.max(0.0), 0.0))
}

/// The tolerance of all pairs taken together; 0 if they show no line.
pub(super) fn pooled_tolerance(mut all: Vec<Came>) -> Estimate {
    let is_likely = |all: &[Came], in_time| {
        behind(all, in_time).is_some_and(|line| (0.0..SURELY).contains(&line))
    };
    let line = line(&mut all, is_likely).and_then(|in_time| behind(&all, in_time));
    Estimate::new(line.unwrap_or(0.0), 0.0)
}

/// Sorts `all` by how early they came, and returns how many of them lie before the line. The
/// line is the one, among those that `is_likely` allows, with the fewest on the wrong side:
/// operations before it that waited, and operations behind it that did not.
fn line(all: &mut [Came], is_likely: impl Fn(&[Came], usize) -> bool) -> Option<usize> {
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut wrong = vec![all.iter().filter(|one| !one.1).count()];
    for (index, &(_, has_waited)) in all.iter().enumerate() {
        wrong.push(if has_waited { wrong[index] + 1 } else { wrong[index] - 1 });
    }
    (0..=all.len()).filter(|&in_time| is_likely(all, in_time)).min_by_key(|&in_time| wrong[in_time])
}

/// The position of the line behind the first `in_time`, if there are trips on both sides of it.
fn behind(all: &[Came], in_time: usize) -> Option<f64> {
    Some(f64::midpoint(all.get(in_time.checked_sub(1)?)?.0, all.get(in_time)?.0))
}

/// The second operation of every trip of this pair.
fn single_trips(trips: &Trips<'_>, [first, next]: [OperationKind; 2], period: f64) -> Vec<Came> {
    let of_size = |size| {
        let (end, start, alone) = trips.around((first, size), next, false)?;
        let visits = |part| {
            let next = Some(next);
            let wanted = Quantity::Trip { first, size, next, part, in_graph: false };
            trips.estimator.measurements_of(&wanted).iter()
        };
        let visits = visits(TripPart::NextCall).zip(visits(TripPart::Rest));
        // The parts of one trip have samples that pair up, except in tables written by hand.
        let visits = visits.filter(|(calls, rests)| calls.times.len() == rests.times.len());
        let of_visit = move |(calls, rests): (&&Measurement, &&Measurement)| {
            let times = nanos(&calls.times).into_iter().zip(nanos(&rests.times));
            times.map(move |(call, rest)| {
                let late = end - (call + start);
                (late, rest - alone - late.max(0.0) > period / 2.0)
            })
        };
        Some(visits.flat_map(of_visit).collect::<Vec<_>>())
    };
    trips.sizes(first).into_iter().filter_map(of_size).flatten().collect()
}

/// The second node of every graph of this pair. How early it comes is worked out as the simulator
/// does: all trips of a size come equally early.
fn single_trips_in_graphs(
    trips: &Trips<'_>,
    [first, next]: [OperationKind; 2],
    period: f64,
) -> Vec<Came> {
    let of_size = |size| {
        let late = trips.late_in_graph((first, size), next)?;
        let (_, _, alone) = trips.around((first, size), next, true)?;
        let rest = TripPart::Rest;
        let wanted = Quantity::Trip { first, size, next: Some(next), part: rest, in_graph: true };
        let rests = trips.estimator.measurements_of(&wanted).iter();
        let has_waited = move |rest: f64| rest - alone - late.max(0.0) > period / 2.0;
        let came = rests.flat_map(|rests| nanos(&rests.times));
        Some(came.map(move |rest| (late, has_waited(rest))).collect::<Vec<_>>())
    };
    let sizes = sizes(trips.estimator, (first, true));
    sizes.into_iter().filter_map(of_size).flatten().collect()
}
