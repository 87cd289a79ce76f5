//! How much too early an operation may come behind another and go on at once.
//!
//! Each trip of two operations tells by itself whether the second had to wait. Calls take now
//! longer, now shorter, and so of the same two operations some come in time and others do not.
//! On four hosts of an H200, 3 to 10% of the trips lay on the wrong side of the line between
//! them, which is 0.2 to 0.5 us before a kernel's end for copies to the device, and 0.9 to 1.4
//! before the end of a copy to the host for kernels.

use super::looks::{SURELY, Trips};
use super::lookup::nanos;
use crate::profile::Estimate;
use crate::samples::{Link, Measurement, Quantity, TripPart};

/// Fewer trips on either side of the line do not say where it is.
const FEWEST: usize = 8;

/// The threshold of a pair of operations that has the fewest of its trips on the wrong side, if
/// there are enough on both.
pub(super) fn grace_of_pair(trips: &Trips<'_>, pair: [Link; 2], period: f64) -> Option<Estimate> {
    let mut all = single_trips(trips, pair, period);
    all.retain(|&(late, _)| late.abs() < SURELY);
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    // With a line behind so many: those before it that have waited, and those behind it that
    // have not.
    let mut wrong = all.iter().filter(|trip| !trip.1).count();
    let mut best = (wrong, 0);
    for (index, &(_, has_waited)) in all.iter().enumerate() {
        wrong = if has_waited { wrong + 1 } else { wrong - 1 };
        best = best.min((wrong, index + 1));
    }
    let (_, in_time) = best;
    if in_time.min(all.len() - in_time) < FEWEST {
        return None;
    }
    let line = f64::midpoint(all[in_time - 1].0, all[in_time].0);
    Some(Estimate::new(line.max(0.0), 0.0))
}

/// By how many nanoseconds the second operation of each trip came too early, and whether it
/// had to wait for a look.
fn single_trips(trips: &Trips<'_>, [first, next]: [Link; 2], period: f64) -> Vec<(f64, bool)> {
    let of_size = |size| {
        let (end, start, alone) = trips.around((first, size), next)?;
        let visits = |part| {
            let next = Some(next);
            let wanted = Quantity::Trip { first, size, next, part, in_graph: false };
            trips.lookup.measurements().filter(move |m| m.quantity == wanted)
        };
        let visits = visits(TripPart::NextCall).zip(visits(TripPart::Rest));
        // The parts of a trip are written together; by hand, they may be of different ones.
        let visits = visits.filter(|(calls, rests)| calls.times.len() == rests.times.len());
        let of_visit = move |(calls, rests): (&Measurement, &Measurement)| {
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
