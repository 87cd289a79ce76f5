//! What trips tell: how small copies go, how long starts take, and how often the
//! device looks whether an operation may go on.

use super::chains::round_trip;
use super::lookup::Lookup;
use crate::profile::{CallCosts, Curve, Estimate, InlineCopies, Latencies};
use crate::samples::{Link, Quantity};
use crate::stats::{mad, median};
use crate::units::Bytes;
use std::ops::RangeInclusive;

/// Host time of the first call of a trip, or of the whole trip.
fn trip(
    lookup: &Lookup<'_>,
    (first, size): (Link, u64),
    next: Option<Link>,
    whole: bool,
) -> Option<Estimate> {
    lookup.estimate_of(&Quantity::Trip { first, size, next, whole })
}

/// Sizes of a first operation for which trips were measured.
fn sizes(lookup: &Lookup<'_>, wanted: Link) -> Vec<u64> {
    let size = |quantity: &Quantity| match *quantity {
        Quantity::Trip { first, size, next: None, whole: true } if first == wanted => Some(size),
        _ => None,
    };
    let mut sizes: Vec<u64> = lookup.measurements().filter_map(|m| size(&m.quantity)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// A start matters most to copies that are not much longer; smaller ones may go along
/// with their command.
const START_OF: RangeInclusive<Bytes> = Bytes::kib(32)..=Bytes::kib(256);

/// What is left of a trip of one copy without its call, the copy itself and the way
/// back: the way to the device. In the median over sizes.
pub(super) fn start_of_copy(
    lookup: &Lookup<'_>,
    link: Link,
    copy: impl Fn(u64) -> Option<f64>,
    synchronize: Option<Estimate>,
) -> Option<Estimate> {
    let start = |&size: &u64| {
        let call = trip(lookup, (link, size), None, false)?;
        let whole = trip(lookup, (link, size), None, true)?;
        Some(whole.without(call.ns + copy(size)? + synchronize?.ns))
    };
    let sizes = sizes(lookup, link);
    let sizes = sizes.iter().filter(|&&size| START_OF.contains(&Bytes::new(size)));
    let starts: Vec<Estimate> = sizes.filter_map(start).collect();
    let middle = |of: fn(&Estimate) -> f64| median(&starts.iter().map(of).collect::<Vec<_>>());
    Some(Estimate::new(middle(|start| start.ns)?, middle(|start| start.scatter)?))
}

/// A call takes so many times longer if the driver takes the data along.
const TAKES_DATA: f64 = 1.3;

/// Copies to the device of pinned memory, as far as the driver sends their data
/// along with the commands: up to the size from which on the call takes no longer
/// than that of any other.
pub(super) fn inline_copies(lookup: &Lookup<'_>, calls: &CallCosts) -> Option<InlineCopies> {
    let synchronize = calls.synchronize?.ns;
    let sizes = sizes(lookup, Link::CopyIn);
    let time = |size, whole| trip(lookup, (Link::CopyIn, size), None, whole);
    let by_engine = calls.copy_in?.ns;
    let takes_data =
        |&size: &u64| time(size, false).is_some_and(|call| call.ns > TAKES_DATA * by_engine);
    // The smallest take no time to speak of; beyond the first that goes without, a
    // long call is one that was held up.
    let small = sizes.iter().copied().skip_while(|size| !takes_data(size));
    let most = small.take_while(takes_data).last()?;
    let curve = |whole: bool, less: f64| {
        let small = sizes.iter().filter(|&&size| size <= most);
        let times: Option<Vec<(f64, Estimate)>> =
            small.map(|&size| Some((size as f64, time(size, whole)?))).collect();
        let times = times?;
        let scatters: Vec<f64> = times.iter().map(|(_, time)| time.scatter).collect();
        let knots = times.iter().map(|&(size, time)| (size, (time.ns - less).max(0.0))).collect();
        Some(Curve { knots, scatter: median(&scatters)? })
    };
    Some(InlineCopies {
        most_bytes: Bytes::new(most),
        until_return: curve(false, 0.0)?,
        until_complete: curve(true, synchronize)?,
    })
}

/// Of an operation that came too early, or nearly so.
struct Wait {
    next: Link,
    /// From its arrival to the end of what it has to follow.
    late: f64,
    /// How much longer it took than if it had not been too early.
    extra: f64,
}

impl Wait {
    /// Times the device has to look again if it does so every so many nanoseconds.
    fn looks(&self, period: f64) -> f64 {
        (self.late / period).ceil().max(1.0)
    }
}

/// All waits that trips of two operations have in them.
fn waits(lookup: &Lookup<'_>, calls: &CallCosts, latency: &Latencies) -> Vec<Wait> {
    let mut waits = Vec::new();
    for first in Link::OF_ONE_DEVICE {
        for size in sizes(lookup, first) {
            let others = Link::OF_ONE_DEVICE.into_iter().filter(|&next| next != first);
            let wait = |next| wait(lookup, (first, size), next, calls, latency);
            waits.extend(others.filter_map(wait));
        }
    }
    waits
}

/// The wait in a trip of two operations, if it was measured.
fn wait(
    lookup: &Lookup<'_>,
    first: (Link, u64),
    next: Link,
    calls: &CallCosts,
    latency: &Latencies,
) -> Option<Wait> {
    let (call, start) = match next {
        Link::CopyIn => (calls.copy_in?, latency.start_copy_in?),
        Link::CopyOut => (calls.copy_out?, latency.start_copy_out?),
        Link::Kernel => (calls.launch?, latency.start_kernel?),
        // No trip goes to another device.
        Link::PeerCopy => return None,
    };
    let first_call = trip(lookup, first, None, false)?.ns;
    let end = trip(lookup, first, None, true)?.ns - calls.synchronize?.ns;
    let late = end - (first_call + call.ns + start.ns);
    let both = trip(lookup, first, Some(next), true)?.ns;
    let extra = both - first_call - round_trip(lookup, &[next], false, false)?.ns;
    Some(Wait { next, late, extra })
}

/// Nanoseconds between which the period is looked for, and how finely.
const PERIODS: std::ops::Range<u32> = 1_000..40_000;
const STEP: usize = 20;
/// A period has to explain waits so much better than a delay that is always the same.
const BETTER: f64 = 0.75;
/// Fewer waits say nothing.
const FEWEST: usize = 6;
/// What comes this much too early surely has to wait.
const SURELY: f64 = 2_000.0;

/// Between two looks: the period of which all waits are multiples, as many as it
/// takes for what is waited for to end. And the delay of the first look at what a
/// kernel has to follow: between those that came too early and those that did not.
pub(super) fn looks(
    lookup: &Lookup<'_>,
    calls: &CallCosts,
    latency: &Latencies,
) -> Option<[Estimate; 2]> {
    let all = waits(lookup, calls, latency);
    let waits: Vec<&Wait> = all.iter().filter(|wait| wait.late > SURELY).collect();
    if waits.len() < FEWEST {
        return None;
    }
    let off = |model: &dyn Fn(&Wait) -> f64| -> Vec<f64> {
        waits.iter().map(|wait| wait.extra - model(wait)).collect()
    };
    let typical = |off: &[f64]| {
        median(&off.iter().map(|ns| ns.abs()).collect::<Vec<_>>()).expect("there are waits")
    };
    let looking = |period: f64| off(&|wait| wait.looks(period) * period);
    let error = |period: f64| typical(&looking(period));
    let periods = PERIODS.step_by(STEP).map(f64::from);
    let best = periods.min_by(|&a, &b| error(a).total_cmp(&error(b)))?;
    // Or does it notice at once, and only take a while?
    let noticing = median(&off(&|wait| wait.late))?;
    let without = typical(&off(&|wait| wait.late + noticing));
    let scatter = mad(&looking(best))? / best;
    let period = Estimate::new(best, scatter);
    (error(best) < BETTER * without).then(|| [period, delay(&all, best)])
}

/// How much too early a kernel may come and not have to wait: the threshold that
/// has the fewest kernels on the wrong side.
fn delay(waits: &[Wait], period: f64) -> Estimate {
    let mut kernels: Vec<(f64, bool)> = waits
        .iter()
        .filter(|wait| wait.next == Link::Kernel)
        .map(|wait| (wait.late, wait.extra > period / 2.0))
        .collect();
    kernels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let wrong = |threshold: f64| {
        kernels.iter().filter(|&&(late, waited)| waited != (late > threshold)).count()
    };
    let between = kernels.windows(2).map(|pair| f64::midpoint(pair[0].0, pair[1].0));
    let likely = between.filter(|threshold| (0.0..SURELY).contains(threshold));
    let best = likely.min_by_key(|&threshold| wrong(threshold)).unwrap_or(0.0);
    Estimate::new(best.max(0.0), 0.0)
}
