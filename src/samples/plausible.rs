//! What a measurement can be of. Samples that no calibration takes would make a profile all the
//! same, with answers that nobody should get.

use super::{Measurement, Stop, Trial};
use crate::units::Span;
use std::collections::BTreeMap;

/// Fewer times than these may be alike by chance.
const FEWEST: usize = 3;

/// Measurements that are alike although each has many times: fewer than this share of all, and
/// clocks with coarse ticks explain it.
const ALIKE: f64 = 0.01;

/// # Errors
/// What is wrong, in words.
pub(super) fn trial(trial: &Trial) -> Result<(), String> {
    let is_run = !trial.passes.is_empty() && trial.passes.iter().all(is_time);
    is_run.then_some(()).ok_or_else(|| wrong("`passes`"))
}

/// # Errors
/// What is wrong, in words.
pub(super) fn measurement(one: &Measurement) -> Result<(), String> {
    if one.count == 0 {
        return Err(wrong("`count`"));
    }
    // A calibration writes a line without times for what cannot be had on its machine.
    if one.times.is_empty() && one.stop != Stop::Capped {
        return Err("`times` is empty: remove the line".to_owned());
    }
    if one.times.contains(&Span::ZERO) {
        return Err("`times` contains 0 ns, which is impossible".to_owned());
    }
    if !one.times.iter().chain(&one.beside).all(is_time) {
        return Err(wrong("`times` and `beside`"));
    }
    one.quantity.definition().problem().map_or(Ok(()), Err)
}

/// Less than a quarter of an hour: so is anything that a calibration waits for.
fn is_time(time: &Span) -> bool {
    (1..1_000_000_000_000).contains(&time.nanos())
}

fn wrong(what: &str) -> String {
    format!("{what} must be positive, and times must be below 10^12 ns")
}

/// The first two measurements that are one, by their places, and how many pairs there are: of the
/// same quantity, with the same times in the same order. Lines that a file has twice do that; two
/// visits to a machine do not, unless each has few times.
pub(super) fn twice(measurements: &[Measurement]) -> Option<(usize, usize, usize)> {
    let scatters = |one: &&Measurement| {
        one.times.len() >= FEWEST && one.times.iter().any(|time| *time != one.times[0])
    };
    let mut seen = BTreeMap::new();
    let mut pairs = Vec::new();
    let many = measurements.iter().enumerate().filter(|(_, one)| scatters(one));
    for (at, one) in many {
        if let Some(first) = seen.insert((&one.quantity, one.count, &one.times), at) {
            pairs.push((first, at));
        }
    }
    let is_file = pairs.len() >= FEWEST && pairs.len() as f64 > ALIKE * measurements.len() as f64;
    pairs.first().filter(|_| is_file).map(|&(first, again)| (first, again, pairs.len()))
}
