//! What trips of two operations tell: how often an engine looks whether one that came
//! too early may go on.

use super::chains::kind;
use super::lookup::Lookup;
use super::trips::{part, sizes};
use crate::plan::Direction;
use crate::profile::{CopyModel, Estimate, Latencies, Looks, LooksAfter};
use crate::samples::{Link, SHORT_COPY, TripPart};
use crate::stats::{mad, median};

/// Of an operation that came too early, or nearly so.
struct Wait {
    /// What came too early is the second, and what it had to follow the first.
    pair: [Link; 2],
    /// From its arrival to the end of what it has to follow.
    late: f64,
    /// How much longer it took than if it had not been too early.
    extra: f64,
}

impl Wait {
    /// How much longer it takes if its engine looks again and again after a period, counted
    /// from so many nanoseconds behind its arrival.
    fn until_look(&self, after: f64, period: f64) -> f64 {
        let after = after.min(self.late);
        after + ((self.late - after) / period).ceil().max(1.0) * period
    }
}

/// All waits that trips of two operations have in them.
fn waits(lookup: &Lookup<'_>, latency: &Latencies, copies: &[CopyModel]) -> Vec<Wait> {
    let mut waits = Vec::new();
    for first in Link::OF_ONE_DEVICE {
        for size in sizes(lookup, first) {
            let others = Link::OF_ONE_DEVICE.into_iter().filter(|&next| next != first);
            let wait = |next| wait(lookup, (first, size), next, latency, copies);
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
    latency: &Latencies,
    copies: &[CopyModel],
) -> Option<Wait> {
    let copy = |direction| {
        let model = copies.iter().find(|model| model.direction == direction)?;
        model.time.known(SHORT_COPY.as_f64()).ok()
    };
    let (start, service) = match next {
        Link::CopyIn => (latency.start_copy_in?, copy(Direction::HostToDevice)?),
        Link::CopyOut => (latency.start_copy_out?, copy(Direction::DeviceToHost)?),
        Link::Kernel => (latency.start_kernel?, latency.kernel_gap?.ns),
        // No trip goes to another device.
        Link::PeerCopy => return None,
    };
    let rest = |next| Some(part(lookup, first, next, TripPart::Rest)?.ns);
    let call = part(lookup, first, Some(next), TripPart::NextCall)?.ns;
    // From the return of the first call on.
    let end = rest(None)? - latency.wake_host?.ns;
    let extra = rest(Some(next))? - (start.ns + service + latency.wake_host?.ns);
    Some(Wait { pair: [first.0, next], late: end - (call + start.ns), extra })
}

/// Nanoseconds between which the period is looked for, and how finely.
const PERIODS: std::ops::Range<u32> = 1_000..40_000;
const STEP: usize = 20;
/// The same of when periods begin to count.
const AFTER: std::ops::Range<u32> = 0..4_000;
const AFTER_STEP: usize = 100;
/// A period has to explain waits so much better than a delay that is always the same.
const BETTER: f64 = 0.75;
/// Fewer waits of a pair say nothing.
const FEWEST: usize = 2;
/// What comes this much too early surely has to wait.
const SURELY: f64 = 2_000.0;

/// The period of which all waits are multiples, as many as it takes for what is waited
/// for to end, and from when it counts for each pair of operations.
pub(super) fn looks(
    lookup: &Lookup<'_>,
    latency: &Latencies,
    copies: &[CopyModel],
) -> Option<Looks> {
    let all = waits(lookup, latency, copies);
    let kinds = Link::OF_ONE_DEVICE;
    let pairs = kinds.into_iter().flat_map(|from| kinds.map(|to| [from, to]));
    let pairs = pairs.filter(|[from, to]| from != to).map(|pair| {
        let is_of = |wait: &&Wait| wait.pair == pair && wait.late > SURELY;
        (pair, all.iter().filter(is_of).collect())
    });
    let pairs: Vec<([Link; 2], Vec<&Wait>)> = pairs.collect();
    if pairs.iter().any(|(_, waits)| waits.len() < FEWEST) {
        return None;
    }
    let misses = |period: f64| pairs.iter().map(move |(_, waits)| best_after(waits, period));
    let all_misses = |period: f64| misses(period).flat_map(|(_, misses)| misses);
    let error = |period: f64| all_misses(period).map(f64::abs).sum::<f64>();
    let periods = PERIODS.step_by(STEP).map(f64::from);
    let period = periods.min_by(|&a, &b| error(a).total_cmp(&error(b)))?;
    // Or does it notice at once, and only take a while?
    let noticing = pairs.iter().flat_map(|(_, waits)| {
        let extra = |wait: &&Wait| wait.extra - wait.late;
        let usual = median(&waits.iter().map(extra).collect::<Vec<_>>()).unwrap_or(0.0);
        waits.iter().map(move |wait| extra(wait) - usual)
    });
    let typical = |off: &[f64]| median(&off.iter().map(|ns| ns.abs()).collect::<Vec<_>>());
    let off: Vec<f64> = all_misses(period).collect();
    if typical(&off)? > BETTER * typical(&noticing.collect::<Vec<_>>())? {
        return None;
    }
    let after = pairs.iter().zip(misses(period)).map(|(([from, to], _), (after, _))| LooksAfter {
        from: kind(*from),
        to: kind(*to),
        time: Estimate::new(after, 0.0),
    });
    Some(Looks {
        period: Estimate::new(period, mad(&off)? / period),
        grace: grace(&all, period),
        after: after.collect(),
    })
}

/// From when a period counts that explains such waits best, and by how much it misses
/// each.
fn best_after(waits: &[&Wait], period: f64) -> (f64, Vec<f64>) {
    let misses = |after: f64| -> Vec<f64> {
        waits.iter().map(|wait| wait.extra - wait.until_look(after, period)).collect()
    };
    let error = |after: f64| misses(after).iter().map(|miss| miss.abs()).sum::<f64>();
    let choices = AFTER.step_by(AFTER_STEP).map(f64::from);
    let best = choices.min_by(|&a, &b| error(a).total_cmp(&error(b))).unwrap_or(0.0);
    (best, misses(best))
}

/// How much too early an operation may come and not have to wait: the threshold that
/// has the fewest on the wrong side.
fn grace(waits: &[Wait], period: f64) -> Estimate {
    let mut waits: Vec<(f64, bool)> =
        waits.iter().map(|wait| (wait.late, wait.extra > period / 2.0)).collect();
    waits.sort_by(|a, b| a.0.total_cmp(&b.0));
    let wrong = |threshold: f64| {
        waits.iter().filter(|&&(late, waited)| waited != (late > threshold)).count()
    };
    let between = waits.windows(2).map(|pair| f64::midpoint(pair[0].0, pair[1].0));
    let likely = between.filter(|threshold| (0.0..SURELY).contains(threshold));
    let best = likely.min_by_key(|&threshold| wrong(threshold)).unwrap_or(0.0);
    Estimate::new(best.max(0.0), 0.0)
}
