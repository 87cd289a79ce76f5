//! Keeping a pass within its time. On a busy host, everything takes longer and scatters more:
//! without a limit, a pass that takes 45 s on a quiet host takes a minute.

use std::time::Duration;

/// A pass that falls behind by this share of its time measures at the slowest pace.
const MOST_BEHIND: f64 = 0.04;
/// Less time than this share of the usual time gives too few samples to tell scatter from change.
const LEAST: f64 = 0.3;

/// How much of its usual time the next measurement may take, so that a pass ends in time: when
/// `done` of so many probes are measured, `elapsed` after the first began.
///
/// The probes of a pass are shuffled, so any part of them takes about its share of the time.
pub(super) fn pace((done, probes): (usize, usize), elapsed: Duration, whole: Duration) -> f64 {
    share(elapsed.as_secs_f64() / whole.as_secs_f64() - done as f64 / probes as f64)
}

/// The share of a pass that is so far behind.
fn share(behind: f64) -> f64 {
    (1.0 - behind * (1.0 - LEAST) / MOST_BEHIND).clamp(LEAST, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long a pass of a thousand probes takes, in terms of its time, if each takes `fixed` and,
    /// at the usual pace, `limited` thousandths.
    fn takes(fixed: f64, limited: f64) -> f64 {
        (0..1_000).fold(0.0, |elapsed, done| {
            elapsed + (fixed + limited * share(elapsed - done as f64 / 1_000.0)) / 1_000.0
        })
    }

    #[test]
    fn a_pass_that_is_in_time_takes_all_the_time_that_its_measurements_may() {
        assert!((takes(0.2, 0.7) - 0.9).abs() < 1e-9);
    }

    #[test]
    fn a_pass_on_a_busy_host_ends_in_time_all_the_same() {
        let time = takes(0.4, 0.9);
        assert!((1.0..1.03).contains(&time), "{time}");
    }

    #[test]
    fn a_pass_that_cannot_be_in_time_still_measures_everything() {
        let time = takes(0.9, 1.0);
        assert!((1.19..1.3).contains(&time), "{time}");
    }
}
