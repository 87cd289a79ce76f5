//! When a measurement has enough samples.

use crate::host::OneCpu;
use crate::samples::Stop;
use crate::stats::relative_half_width;
use crate::units::Span;
use std::time::Duration;

/// A measurement has settled when the 95% confidence interval of its median lies within this share
/// of the median on either side. The interval of two passes together then lies within 0.5%.
const SETTLED: f64 = 0.007;
/// Even the narrowest interval takes this many samples.
pub(super) const FEWEST: usize = 7;
const MOST: usize = 201;
/// A measurement longer than this many time limits has few samples, each a mean over many
/// moments. From then on, `FEWEST_OF_LONG` samples are enough.
const LONG: u32 = 5;
const FEWEST_OF_LONG: usize = 3;
/// If somebody else disturbs samples, up to this many times as many are taken, unless
/// they take long.
const MADE_UP_FOR: usize = 2;
/// Decides, sample by sample, whether to stop.
pub(super) struct Stopping {
    /// The time limit, after which `fewest` samples are enough.
    limit: Duration,
    fewest: usize,
}

impl Stopping {
    pub fn new(limit: Duration, fewest: usize) -> Self {
        Self { limit, fewest }
    }

    /// The reason to stop, if there is one. `times` holds all samples so far of each
    /// quantity; they were taken within `elapsed`.
    pub fn reason(&self, times: &[Vec<Span>], elapsed: Duration) -> Option<Stop> {
        let taken = times.first().map_or(0, Vec::len);
        let is_settled = |times: &Vec<Span>| {
            let nanos: Vec<f64> = times.iter().map(|span| span.nanos_f64()).collect();
            relative_half_width(&nanos).is_some_and(|width| width < SETTLED)
        };
        if taken >= FEWEST && times.iter().all(is_settled) {
            Some(Stop::Settled)
        } else if taken >= MOST || elapsed > self.limit && taken >= self.fewest_within(elapsed) {
            Some(Stop::Capped)
        } else {
            None
        }
    }

    /// The reason to stop although others use the core, if there is one: `alone` of `all`
    /// samples were taken with the core to themselves.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of samples until it stops, and the reason.
    fn stops(time: impl Fn(usize) -> f64, limit: Duration) -> (usize, Stop) {
        let stopping = Stopping::new(limit, 5);
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

    /// Evenly distributed over 0 to 1, in an order without a trend (van der Corput's sequence).
    fn even(index: usize) -> f64 {
        (index as u32).reverse_bits() as f64 / 4_294_967_296.0
    }

    const FOR_EVER: Duration = Duration::from_secs(3_600);

    #[test]
    fn what_hardly_scatters_has_settled() {
        assert_eq!(stops(|i| 1e6 + 1e3 * even(i), FOR_EVER), (FEWEST, Stop::Settled));
    }

    #[test]
    fn what_would_settle_goes_on_until_it_has() {
        // The interval reaches 0.7% with 201 samples, but not with 100.
        let (taken, stop) = stops(|i| 1e6 * (1.0 + 0.084 * even(i)), FOR_EVER);
        assert_eq!(stop, Stop::Settled);
        assert!(taken > 100, "{taken}");
    }

    #[test]
    fn what_takes_long_has_fewer_samples_than_others() {
        // Each sample takes a millisecond.
        let scattered = |i| 1e6 * (1.0 + even(i));
        assert_eq!(stops(scattered, Duration::from_micros(900)), (5, Stop::Capped));
        assert_eq!(stops(scattered, Duration::from_micros(300)), (3, Stop::Capped));
    }

    /// A disturbed sample is made up for. After twice as many samples, or a long time, the
    /// undisturbed ones count alone if they are half of what there should be; otherwise all count.
    #[test]
    fn a_measurement_on_a_shared_core_ends() {
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
