//! Fits how often an engine polls for an operation that arrived too early, from trips of two
//! operations.

use super::arrival_tolerance::{pooled_tolerance, tolerance_of_pair};
use super::copies::copy_time;
use super::estimator::{Estimator, sized};
use super::round_trips::{SURELY, Trips, first_of_trip, part, sizes};
use crate::machine::{Direction, OperationKind};
use crate::profile::{Curve, Estimate, FirstPoll, Latencies, Polling, SemaphorePolling};
use crate::samples::{MEANWHILE, Quantity, SECOND_NODE, SHORT_COPY, TripPart};
use crate::stats::{mad, median};

/// The second operation of a trip that arrived before the first had ended, or nearly so.
struct Wait {
    /// The operation that had to be followed, and the one that arrived too early.
    pair: [OperationKind; 2],
    /// From the arrival of the operation that came too early to the end of the one it has to
    /// follow. Below 0 if it arrived after that end.
    late: f64,
    /// How much longer the operation took than if it had arrived in time.
    extra: f64,
    /// How long the earlier operation had been running when the later one arrived.
    under_way: f64,
}

impl Wait {
    /// Whether the operation started so long after the end of the one it has to follow that it
    /// missed a poll.
    fn has_waited(&self, period: f64) -> bool {
        self.extra - self.late.max(0.0) > period / 2.0
    }

    /// How much longer the trip takes, on average, if the engine polls once a `period` and periods
    /// count from `after` nanoseconds behind the arrival. The mean applies because the engine polls
    /// at edges of a free-running clock, and trips begin anywhere between two edges.
    fn until_poll(&self, after: f64, period: f64) -> f64 {
        let after = after.min(self.late);
        after + ((self.late - after) / period).ceil().max(1.0) * period
    }
}

impl Trips<'_> {
    /// The waits in all trips of two operations, or in graphs of two nodes.
    fn waits(&self, in_graph: bool) -> Vec<Wait> {
        let mut waits = Vec::new();
        for first in OperationKind::OF_ONE_DEVICE {
            for size in sizes(self.estimator, (first, in_graph)) {
                let others = OperationKind::OF_ONE_DEVICE.into_iter().filter(|&next| next != first);
                waits.extend(others.filter_map(|next| self.wait((first, size), next, in_graph)));
            }
        }
        waits
    }

    /// The wait in a trip of two operations, if it was measured.
    fn wait(
        &self,
        first: (OperationKind, u64),
        next: OperationKind,
        in_graph: bool,
    ) -> Option<Wait> {
        let time = |next, of| Some(part(self.estimator, first, next, (of, in_graph))?.ns);
        // The host's time between the first operation and the second one's departure. In a graph,
        // this is how much longer its launch takes with the second node.
        let call = if in_graph {
            time(Some(next), TripPart::FirstCall)? - time(None, TripPart::FirstCall)?
        } else {
            time(Some(next), TripPart::NextCall)?
        };
        let rest = time(Some(next), TripPart::Rest)?;
        self.wait_of(first, next, (call, rest), in_graph)
    }

    /// The wait in a trip whose second call and rest took so many nanoseconds.
    fn wait_of(
        &self,
        first: (OperationKind, u64),
        next: OperationKind,
        (call, rest): (f64, f64),
        in_graph: bool,
    ) -> Option<Wait> {
        let wake = self.latency.wake_host?.ns;
        let (starts, _) = self.alone(first.0, in_graph)?;
        let (start, service) = self.alone(next, in_graph)?;
        // Times count from the return of the first call.
        let end = part(self.estimator, first, None, (TripPart::Rest, in_graph))?.ns - wake;
        let arrives = call + start;
        Some(Wait {
            pair: [first.0, next],
            late: end - arrives,
            extra: rest - (start + service + wake),
            under_way: arrives - starts,
        })
    }

    /// The waits in late trips of a pair of operations.
    fn late_waits(&self, [first, next]: [OperationKind; 2]) -> Vec<Wait> {
        let wait = |size| {
            let time = |part| {
                let late = Quantity::LateTrip { first, size, next, part };
                Some(self.estimator.estimate_of(&late)?.ns)
            };
            let parts = (time(TripPart::NextCall)?, time(TripPart::Rest)?);
            self.wait_of((first, size), next, parts, false)
        };
        self.sizes(first).into_iter().filter_map(wait).collect()
    }

    /// Sizes of a first operation for which trips outside of graphs were measured.
    pub fn sizes(&self, first: OperationKind) -> Vec<u64> {
        sizes(self.estimator, (first, false))
    }

    /// Three times of a trip, in nanoseconds: from the return of the first call
    /// to the end of its operation; the second operation's way to the device; and from the return
    /// of the second call to the end of the trip if its operation never waits.
    pub fn around(
        &self,
        first: (OperationKind, u64),
        next: OperationKind,
        in_graph: bool,
    ) -> Option<(f64, f64, f64)> {
        let wake = self.latency.wake_host?.ns;
        let end = part(self.estimator, first, None, (TripPart::Rest, in_graph))?.ns - wake;
        let (start, service) = self.alone(next, in_graph)?;
        Some((end, start, start + service + wake))
    }

    /// How many nanoseconds too early the second node of a graph arrives, by the costs that were
    /// fitted: the first one ends when its launch, its start and its own time are over, and the
    /// second one's part of the launch has passed by then.
    pub fn late_in_graph(&self, first: (OperationKind, u64), next: OperationKind) -> Option<f64> {
        let (start, _) = self.alone(first.0, true)?;
        let (start_next, _) = self.alone(next, true)?;
        let part = self.graph.launch_part(next)?.ns;
        let own = first_of_trip((self.copies, self.kernels), first)?;
        Some(start + own - (part + start_next))
    }

    /// Nanoseconds that a second operation takes by itself: for its way to the device, and to run.
    fn alone(&self, next: OperationKind, in_graph: bool) -> Option<(f64, f64)> {
        let bytes = if in_graph { SECOND_NODE } else { SHORT_COPY };
        let copy = |direction| copy_time(self.copies, direction, bytes);
        let Latencies { start_copy_in, start_copy_out, start_kernel, .. } = self.latency;
        let graph = self.graph;
        let ([calls, nodes], service) = match next {
            OperationKind::CopyIn => {
                ([start_copy_in, &graph.start_copy_in], copy(Direction::HostToDevice)?)
            }
            OperationKind::CopyOut => {
                ([start_copy_out, &graph.start_copy_out], copy(Direction::DeviceToHost)?)
            }
            OperationKind::Kernel => {
                ([start_kernel, &graph.start_kernel], self.latency.kernel_gap?.ns)
            }
            // Trips stay on one device.
            OperationKind::PeerCopy => return None,
        };
        Some((if in_graph { nodes } else { calls }.as_ref()?.ns, service))
    }
}

/// The range, in nanoseconds, in which the period is searched, and the step.
const PERIODS: std::ops::Range<u32> = 1_000..40_000;
const STEP: usize = 20;
/// The range, in nanoseconds, in which the start of the periods is searched, and the step.
const AFTER: std::ops::Range<u32> = 0..4_000;
const AFTER_STEP: usize = 100;
/// Polling is accepted only if it brings the typical error below this share of that of a constant
/// delay.
const BETTER: f64 = 0.75;
/// The fewest waits of a pair that say anything.
const FEWEST: usize = 2;

/// Fits the polling period and, for each pair of operations, when periods begin to count: every
/// wait is taken to last a whole number of periods on average, as many as it takes until the
/// operation it follows has ended. `None` if there are too few waits, or if a constant delay
/// explains them about as well.
pub(super) fn semaphore_polling(trips: &Trips<'_>) -> Option<SemaphorePolling> {
    let all = trips.waits(false);
    let pairs = sure_waits(&all, |_| SURELY);
    if pairs.iter().any(|(_, waits)| waits.len() < FEWEST) {
        return None;
    }
    let misses = |period: f64| pairs.iter().map(move |(_, waits)| best_after(waits, period));
    let all_misses = |period: f64| misses(period).flat_map(|(_, misses)| misses);
    let error = |period: f64| all_misses(period).map(f64::abs).sum::<f64>();
    let periods = PERIODS.step_by(STEP).map(f64::from);
    let period = periods.min_by(|&a, &b| error(a).total_cmp(&error(b)))?;
    // The alternative: an engine that notices at once and takes a constant time to go on.
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
    let after = |(pair, waits): &([OperationKind; 2], Vec<&Wait>)| {
        let [from, to] = *pair;
        let time = Estimate::new(best_after(waits, period).0, 0.0);
        FirstPoll { from, to, time, under_way: None, arrival_tolerance: None }
    };
    let by_calls = |one: &([OperationKind; 2], Vec<&Wait>)| FirstPoll {
        under_way: under_way(&one.1, &trips.late_waits(one.0), period),
        arrival_tolerance: tolerance_of_pair(trips, (one.0, false), period),
        ..after(one)
    };
    let in_graphs = trips.waits(true);
    let tolerance = |pair| tolerance_of_pair(trips, (pair, true), period);
    let pairs_in_graphs =
        sure_waits(&in_graphs, |pair| tolerance(pair).map_or(SURELY, |one| one.ns.max(SURELY)));
    let by_launch = |one: &([OperationKind; 2], Vec<&Wait>)| FirstPoll {
        arrival_tolerance: tolerance(one.0),
        ..after(one)
    };
    Some(SemaphorePolling {
        period: Estimate::new(period, mad(&off)? / period),
        arrival_tolerance: pooled_tolerance(
            all.iter().map(|one| (one.late, one.has_waited(period))).collect(),
        ),
        first_polls: pairs.iter().map(by_calls).collect(),
        first_polls_in_graphs: pairs_in_graphs
            .iter()
            .filter(|pair| pair.1.len() >= FEWEST)
            .map(by_launch)
            .collect(),
    })
}

/// For each pair of operations, the waits of operations that certainly had to wait: those that came
/// at least so many nanoseconds too early.
fn sure_waits(
    all: &[Wait],
    least: impl Fn([OperationKind; 2]) -> f64,
) -> Vec<([OperationKind; 2], Vec<&Wait>)> {
    let kinds = OperationKind::OF_ONE_DEVICE;
    let pairs = kinds.into_iter().flat_map(|from| kinds.map(|to| [from, to]));
    let waits = |pair| {
        let least = least(pair);
        let is_of = |wait: &&Wait| wait.pair == pair && wait.late > least;
        (pair, all.iter().filter(is_of).collect())
    };
    pairs.filter(|[from, to]| from != to).map(waits).collect()
}

/// When periods begin to count, over how long the operation to be followed had been running by the
/// arrival: one knot for operations that came soon, and one for those that came late.
fn under_way(soon: &[&Wait], late: &[Wait], period: f64) -> Option<Curve> {
    let late: Vec<&Wait> = late.iter().filter(|wait| wait.late > SURELY).collect();
    if late.len() < FEWEST {
        return None;
    }
    let knot = |waits: &[&Wait]| {
        let times: Vec<f64> = waits.iter().map(|wait| wait.under_way).collect();
        Some((median(&times)?.max(0.0), best_after(waits, period).0))
    };
    let knots = vec![knot(soon)?, knot(&late)?];
    (knots[0].0 < knots[1].0).then_some(Curve { knots, scatter: 0.0 })
}

/// When a period has to begin to count to explain the waits best, and by how much it misses each
/// wait.
fn best_after(waits: &[&Wait], period: f64) -> (f64, Vec<f64>) {
    /// Nanoseconds between sums of misses that count as equal. With two waits, everything between
    /// their own best values fits equally well.
    const EQUAL: f64 = 1.0;
    let misses =
        |after: f64| waits.iter().map(move |wait| wait.extra - wait.until_poll(after, period));
    // Most choices miss more after a few waits than the best one does after all.
    let error = |after: f64, most: f64| {
        misses(after).try_fold(0.0, |sum, miss| Some(sum + miss.abs()).filter(|&sum| sum < most))
    };
    let (mut least, mut errors) = (f64::INFINITY, Vec::new());
    for after in AFTER.step_by(AFTER_STEP).map(f64::from) {
        if let Some(error) = error(after, least + EQUAL) {
            least = least.min(error);
            errors.push((after, error));
        }
    }
    errors.retain(|&(_, error)| error < least + EQUAL);
    let best: Vec<f64> = errors.into_iter().map(|(after, _)| after).collect();
    let best = median(&best).unwrap_or(0.0);
    (best, misses(best).collect())
}

/// What a kernel pays when other streams wait, in addition to the usual gap behind a kernel.
pub(super) fn polling(estimator: &Estimator<'_>, gap: Option<Estimate>) -> Vec<Polling> {
    let model = |copies| {
        let gap = gap?;
        let polled = |others: u64| Quantity::Polled { others: others as usize, copies };
        let (points, scatter) = estimator.points(sized(polled))?;
        let knots = points.into_iter().map(|(others, ns)| (others, (ns - gap.ns).max(0.0)));
        let knots = std::iter::once((0.0, 0.0)).chain(knots).collect();
        Some(Polling { copies, delay: Curve { knots, scatter } })
    };
    MEANWHILE.into_iter().filter_map(model).collect()
}
