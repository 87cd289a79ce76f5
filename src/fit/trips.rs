//! What trips of one operation show: how small copies travel, and how long an operation takes to
//! start.

use super::lookup::Lookup;
use crate::profile::{CallCosts, CopyModel, Curve, Estimate, GraphCosts, InlineCopies, Latencies};
use crate::samples::{Link, Quantity, TURNS, TripPart};
use crate::stats::{biweight_mean, median, quantile};
use crate::units::Bytes;
use std::ops::RangeInclusive;

/// What the analysis of trips needs: the measurements and the models fitted so far.
pub(super) struct Trips<'a> {
    pub lookup: &'a Lookup<'a>,
    pub latency: &'a Latencies,
    pub copies: &'a [CopyModel],
    pub graph: &'a GraphCosts,
}

/// An operation that arrives this many nanoseconds too early certainly has to wait.
pub(super) const SURELY: f64 = 2_000.0;

/// Host time of one part of a trip.
pub(super) fn part(
    lookup: &Lookup<'_>,
    (first, size): (Link, u64),
    next: Option<Link>,
    (part, in_graph): (TripPart, bool),
) -> Option<Estimate> {
    lookup.estimate_of(&Quantity::Trip { first, size, next, part, in_graph })
}

/// The sizes of a first operation for which trips were measured.
pub(super) fn sizes(lookup: &Lookup<'_>, (wanted, inside): (Link, bool)) -> Vec<u64> {
    let size = |quantity: &Quantity| match *quantity {
        Quantity::Trip { first, size, next: None, part: TripPart::Rest, in_graph }
            if (first, in_graph) == (wanted, inside) =>
        {
            Some(size)
        }
        _ => None,
    };
    let mut sizes: Vec<u64> = lookup.measurements().filter_map(|m| size(&m.quantity)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The sizes of copies from which starts are computed. A start matters most to copies that are not
/// much longer than itself; smaller copies may travel with their command.
const START_OF: RangeInclusive<Bytes> = Bytes::kib(32)..=Bytes::kib(256);

/// The way to the device: what is left of a trip of one operation after its call, without the
/// operation itself and the way back. This is the median over sizes. `service` gives the
/// nanoseconds of an operation of a size, if they are known.
pub(super) fn start(
    lookup: &Lookup<'_>,
    (link, in_graph): (Link, bool),
    service: impl Fn(u64) -> Option<f64>,
    synchronize: Option<Estimate>,
) -> Option<Estimate> {
    let start = |&size: &u64| {
        let rest = part(lookup, (link, size), None, (TripPart::Rest, in_graph))?;
        Some(rest.without(service(size)? + synchronize?.ns))
    };
    let is_start = |size: &&u64| link == Link::Kernel || START_OF.contains(&Bytes::new(**size));
    let starts: Vec<Estimate> =
        sizes(lookup, (link, in_graph)).iter().filter(is_start).filter_map(start).collect();
    let middle = |of: fn(&Estimate) -> f64| median(&starts.iter().map(of).collect::<Vec<_>>());
    Some(Estimate::new(middle(|start| start.ns)?, middle(|start| start.scatter)?))
}

/// A call that takes this many times as long as usual is taken to send the data along.
const TAKES_DATA: f64 = 1.3;

/// Pinned H2D copies whose data the driver sends along with the commands. They reach up to the size
/// from which a call takes no longer than that of any other copy.
pub(super) fn inline_copies(lookup: &Lookup<'_>, calls: &CallCosts) -> Option<InlineCopies> {
    let synchronize = calls.synchronize?.ns;
    let sizes = sizes(lookup, (Link::CopyIn, false));
    let time = |size, wanted| part(lookup, (Link::CopyIn, size), None, (wanted, false));
    let call = |size| time(size, TripPart::FirstCall);
    let by_engine = calls.copy_in?.ns;
    let takes_data = |&size: &u64| call(size).is_some_and(|call| call.ns > TAKES_DATA * by_engine);
    // The smallest copies send data too, but take no noticeable time for it. Beyond the first size
    // that does not, a long call is one that was held up.
    let small = sizes.iter().copied().skip_while(|size| !takes_data(size));
    let most = small.take_while(takes_data).last()?;
    let curve = |time: &dyn Fn(u64) -> Option<Estimate>| {
        let small = sizes.iter().filter(|&&size| size <= most);
        let times: Option<Vec<(f64, Estimate)>> =
            small.map(|&size| Some((size as f64, time(size)?))).collect();
        let times = times?;
        let scatters: Vec<f64> = times.iter().map(|(_, time)| time.scatter).collect();
        let knots = times.iter().map(|&(size, time)| (size, time.ns)).collect();
        Some(Curve { knots, scatter: median(&scatters)? })
    };
    let complete = |size| {
        let (call, rest) = (call(size)?, time(size, TripPart::Rest)?);
        Some(Estimate::new((call.ns + rest.ns - synchronize).max(0.0), call.scatter))
    };
    Some(InlineCopies {
        most_bytes: Bytes::new(most),
        until_return: curve(&call)?,
        until_complete: curve(&complete)?,
    })
}

/// The shares of launches for which the spread has a point.
const SHARES: [f64; 13] = [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];

/// The fewest means that show what is usual.
const FEWEST: usize = 16;

/// How far single launches lie from what launches cost together, as factors over the share of
/// launches below them. Trips time launches one by one. `None` if there are too few.
///
/// The cost together is computed like the estimate of a launch: as a mean of groups, without
/// outliers.
pub(super) fn launch_spread(lookup: &Lookup<'_>) -> Option<Vec<(f64, f64)>> {
    let is_launch = |quantity: &Quantity| match *quantity {
        Quantity::Trip { in_graph: false, first, next, part, .. } => match part {
            TripPart::FirstCall => first == Link::Kernel,
            TripPart::NextCall => next == Some(Link::Kernel),
            TripPart::Rest => false,
        },
        _ => false,
    };
    let trips = lookup.measurements().filter(|one| is_launch(&one.quantity));
    let times: Vec<f64> = trips.flat_map(|one| &one.times).map(|time| time.nanos_f64()).collect();
    let together = times.chunks_exact(TURNS as usize);
    let means: Vec<f64> =
        together.map(|some| some.iter().sum::<f64>() / some.len() as f64).collect();
    let usual = biweight_mean(&means, 0.0).filter(|&usual| means.len() >= FEWEST && usual > 0.0)?;
    let factor = |share| Some((share, quantile(&times, share)? / usual));
    SHARES.map(factor).into_iter().collect()
}
