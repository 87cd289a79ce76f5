//! How much too early an operation may come behind another and go on at once.
//!
//! Each trip of two operations tells by itself whether the second had to wait. Calls take now
//! longer, now shorter, and so of the same two operations some come in time and others do not:
//! on an H200 the line between them is as sharp as a third of a microsecond, and it lies 0.3 us
//! before a kernel's end for copies to the device, and 1.2 us before the end of a copy to the
//! host for kernels, on every host alike.

use super::looks::{SURELY, Trips};
use super::lookup::nanos;
use crate::profile::Estimate;
use crate::samples::{Link, Measurement, Quantity, TripPart};

/// Fewer trips on either side of the line do not say where it is.
const FEWEST: usize = 8;

/// The threshold of a pair of operations that has the fewest of its trips on the wrong side, if
/// there are enough on both.
pub(super) fn grace(trips: &Trips<'_>, pair: [Link; 2], period: f64) -> Option<Estimate> {
    let mut all = single_trips(trips, pair, period);
    all.retain(|&(late, _)| late.abs() < SURELY);
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let waited = all.iter().filter(|trip| trip.1).count();
    if waited.min(all.len() - waited) < FEWEST {
        return None;
    }
    // With a line behind so many: those before it that have waited, and those behind it that
    // have not.
    let mut wrong = all.len() - waited;
    let mut best = (wrong, 0);
    for (index, &(_, has_waited)) in all.iter().enumerate() {
        wrong = if has_waited { wrong + 1 } else { wrong - 1 };
        best = best.min((wrong, index + 1));
    }
    let (last, next) = (best.1.checked_sub(1).map(|at| all[at].0), all.get(best.1));
    let between = last.zip(next).map(|(last, next)| f64::midpoint(last, next.0));
    Some(Estimate::new(between.or(last)?.max(0.0), 0.0))
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
        let of_visit = move |(calls, rests): (&Measurement, &Measurement)| {
            let times = nanos(&calls.times).into_iter().zip(nanos(&rests.times));
            times.map(move |(call, rest)| (end - (call + start), rest - alone > period / 2.0))
        };
        Some(visits.flat_map(of_visit).collect::<Vec<_>>())
    };
    trips.sizes(first).into_iter().filter_map(of_size).flatten().collect()
}
