//! When a measurement has enough samples.

use crate::host::OneCpu;
use crate::samples::Stop;
use crate::stats::{Steadiness, relative_half_width};
use crate::units::Span;
use std::time::Duration;

/// A measurement has settled when the 95% confidence interval of its median is
/// within this share of the median on either side: then that of two passes together
/// is within 0.5%.
const SETTLED: f64 = 0.007;
/// No interval is narrower than with so many samples.
pub(super) const FEWEST: usize = 7;
const MOST: usize = 201;
/// What takes so many limits of time has few samples that are each a mean over many moments:
/// from then on, the least number of them is enough.
const LONG: u32 = 5;
const FEWEST_OF_LONG: usize = 3;
/// So many times as many samples are taken, if they do not take long, where somebody gets in the
/// way of some.
const MADE_UP_FOR: usize = 2;
/// So many samples show of what kind the scatter is, and how often a quantity takes
/// which of two values.
const FEWEST_TO_REST: usize = 100;
/// A spread that stays within this share of itself has come to rest.
const REST: f64 = 0.1;

/// Looks at samples as they come.
pub(super) struct Stopping {
    /// The time after which it is enough, with so many samples.
    limit: Duration,
    fewest: usize,
    seen: usize,
    steadiness: Vec<Steadiness>,
}

impl Stopping {
    pub fn new(limit: Duration, fewest: usize) -> Self {
        Self { limit, fewest, seen: 0, steadiness: Vec::new() }
    }

    /// Why to stop, if there is a reason: `times` are all samples so far of each
    /// quantity, at most one more than before, taken within `elapsed`.
    pub fn reason(&mut self, times: &[Vec<Span>], elapsed: Duration) -> Option<Stop> {
        let values: Vec<Vec<f64>> = times.iter().map(|one| nanos(one)).collect();
        let taken = values.first().map_or(0, Vec::len);
        self.steadiness.resize(values.len(), Steadiness::default());
        if taken > self.seen {
            let histories = self.steadiness.iter_mut().zip(&values);
            histories.for_each(|(history, values)| history.add(values));
            self.seen = taken;
        }
        let widths: Vec<Option<f64>> =
            values.iter().map(|values| relative_half_width(values)).collect();
        let is_settled = |width: &Option<f64>| width.is_some_and(|width| width < SETTLED);
        // The interval narrows with the root of the number of samples: where as many
        // as there may be would not settle it either, scatter at rest is all there is
        // to see. Two quantities may differ in this.
        let is_in_vain = |width: &Option<f64>| {
            width.is_some_and(|width| width * (taken as f64 / MOST as f64).sqrt() > SETTLED)
        };
        let mut quantities = widths.iter().zip(&self.steadiness);
        if taken >= FEWEST && widths.iter().all(is_settled) {
            Some(Stop::Settled)
        } else if taken >= FEWEST_TO_REST
            && quantities.all(|(width, history)| {
                is_settled(width) || is_in_vain(width) && history.has_come_to_rest(REST)
            })
        {
            Some(Stop::Stable)
        } else if taken >= MOST || elapsed > self.limit && taken >= self.fewest_within(elapsed) {
            Some(Stop::Capped)
        } else {
            None
        }
    }

    /// Why to stop although others use the core: so many samples were taken with a core to
    /// itself, of so many.
    pub fn gives_up(&self, (alone, all): (usize, usize), elapsed: Duration) -> Option<Stop> {
        let fewest = self.fewest_within(elapsed);
        let is_long = elapsed > self.limit * LONG;
        let wanted = if is_long { fewest } else { fewest * MADE_UP_FOR };
        if elapsed <= self.limit * OneCpu::MORE_PATIENCE || all < wanted {
            return None;
        }
        let enough = alone >= fewest.div_ceil(2);
        Some(if enough { Stop::Capped } else { Stop::Shared })
    }

    fn fewest_within(&self, elapsed: Duration) -> usize {
        if elapsed > self.limit * LONG { self.fewest.min(FEWEST_OF_LONG) } else { self.fewest }
    }
}

fn nanos(times: &[Span]) -> Vec<f64> {
    times.iter().map(|span| span.nanos_f64()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples until it stops, and why.
    fn stops(time: impl Fn(usize) -> f64, limit: Duration) -> (usize, Stop) {
        let mut stopping = Stopping::new(limit, 5);
        let mut times = vec![Vec::new()];
        loop {
            let taken = times[0].len();
            times[0].push(Span::from_nanos_f64(time(taken)));
            let elapsed = Duration::from_millis(taken as u64);
            if let Some(stop) = stopping.reason(&times, elapsed) {
                return (times[0].len(), stop);
            }
        }
    }

    /// Evenly over 0 to 1 in an order that shows no trend (van der Corput's sequence).
    fn even(index: usize) -> f64 {
        (index as u32).reverse_bits() as f64 / 4_294_967_296.0
    }

    const FOR_EVER: Duration = Duration::from_secs(3_600);

    #[test]
    fn what_hardly_scatters_has_settled() {
        assert_eq!(stops(|i| 1e6 + 1e3 * even(i), FOR_EVER), (FEWEST, Stop::Settled));
    }

    #[test]
    fn what_scatters_the_same_all_along_is_stable() {
        let (taken, stop) = stops(|i| 1e6 * (1.0 + even(i)), FOR_EVER);
        assert_eq!(stop, Stop::Stable);
        assert!((FEWEST_TO_REST..MOST).contains(&taken), "{taken}");
    }

    #[test]
    fn what_would_settle_goes_on_until_it_has() {
        // 0.7% either way with 201 samples, not with 100.
        let (taken, stop) = stops(|i| 1e6 * (1.0 + 0.084 * even(i)), FOR_EVER);
        assert_eq!(stop, Stop::Settled);
        assert!(taken > FEWEST_TO_REST, "{taken}");
    }

    #[test]
    fn what_takes_long_has_fewer_samples_than_others() {
        // Each of the samples takes a millisecond.
        let scattered = |i| 1e6 * (1.0 + even(i));
        assert_eq!(stops(scattered, Duration::from_micros(900)), (5, Stop::Capped));
        assert_eq!(stops(scattered, Duration::from_micros(300)), (3, Stop::Capped));
    }

    /// A sample that somebody got in the way of is made up for. After twice as many, or a long
    /// time, those that nobody did count alone if they are half of what there should be, and
    /// otherwise all.
    #[test]
    fn who_shares_a_core_does_not_wait_for_ever() {
        let stopping = Stopping::new(Duration::from_millis(2), 5);
        let [soon, late, later] = [3, 5, 11].map(Duration::from_millis);
        assert_eq!(stopping.gives_up((0, 20), soon), None);
        assert_eq!(stopping.gives_up((4, 9), late), None);
        assert_eq!(stopping.gives_up((3, 10), late), Some(Stop::Capped));
        assert_eq!(stopping.gives_up((2, 10), late), Some(Stop::Shared));
        assert_eq!(stopping.gives_up((0, 2), later), None);
        assert_eq!(stopping.gives_up((1, 3), later), Some(Stop::Shared));
        assert_eq!(stopping.gives_up((2, 3), later), Some(Stop::Capped));
    }

    #[test]
    fn what_drifts_goes_on_to_the_end() {
        let drift = |i: usize| 1e6 * (1.0 + 0.05 * i as f64 + 0.1 * even(i));
        assert_eq!(stops(drift, FOR_EVER), (MOST, Stop::Capped));
        let (taken, stop) = stops(drift, Duration::from_millis(30));
        assert_eq!((taken, stop), (32, Stop::Capped));
    }
}
