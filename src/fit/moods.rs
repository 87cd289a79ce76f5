//! What the machine was like at each moment of a calibration.
//!
//! What the host does takes longer at one time than at another, for a second or for a minute,
//! and everything at once: clocks go up and down, and others on the same host use its caches and
//! its memory. On busy hosts of an H200, twins drifted by 10 to 35% within a calibration, staged
//! copies and calls along with them, and so did the trials; a size of a twin is visited twice.
//! As everything is measured in random order, what all have in common at a moment can be told
//! from what each takes: the logarithm of a time is that of its quantity plus that of its moment
//! (median polish: Tukey, "Exploratory Data Analysis", 1977, chapter 11). What is left is as
//! much as each takes in the middle of all moments.
//!
//! What is taken of trips and graphs is left as it is: their calls are told apart from the rest,
//! which is the device's. Intervals go by the times as they were: the next calibration has
//! moments of its own.

use super::lookup::nanos;
use crate::samples::{Measurement, Quantity, Samples};
use crate::stats::median;
use crate::units::Span;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Moments of a calibration, each of as many measurements: some two seconds of a whole one.
const MOMENTS: usize = 48;
/// So many visits to a moment in the mean, and half as many at least, have a middle that is not
/// that of one of them.
const VISITS: usize = 16;
/// Times of quantities and of moments take turns so often.
const ROUNDS: usize = 8;

/// The samples with what their moments did to them taken out.
pub(super) fn evened_out(samples: &Samples) -> Cow<'_, Samples> {
    let mut evened = Cow::Borrowed(samples);
    let at = |place: usize| place * MOMENTS / samples.measurements.len();
    for kind in [Kind::Issuing, Kind::Staging, Kind::Computing] {
        let of_kind = |one: &Measurement| Kind::of(&one.quantity) == Some(kind);
        let visits = samples.measurements.iter().enumerate().filter(|(_, one)| of_kind(one));
        let visits: Vec<Visit<'_>> =
            visits.filter_map(|(place, one)| Visit::new(one, at(place))).collect();
        let Some(moods) = moods(&visits) else { continue };
        for (place, one) in evened.to_mut().measurements.iter_mut().enumerate() {
            if of_kind(one) {
                let factor = (-moods[at(place)]).exp();
                let even =
                    |time: &mut Span| *time = Span::from_nanos_f64(time.nanos_f64() * factor);
                one.times.iter_mut().for_each(even);
            }
        }
    }
    evened
}

/// What a moment does alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Issuing,
    Staging,
    Computing,
}

impl Kind {
    const fn of(quantity: &Quantity) -> Option<Self> {
        match quantity {
            Quantity::Call { .. } | Quantity::CallInTurn { .. } | Quantity::LaunchBeside { .. } => {
                Some(Self::Issuing)
            }
            Quantity::Staged { .. } => Some(Self::Staging),
            Quantity::Twin { .. } | Quantity::Handed { .. } => Some(Self::Computing),
            _ => None,
        }
    }
}

/// A measurement among others of the same.
struct Visit<'s> {
    of: (&'s Quantity, u64),
    moment: usize,
    log_time: f64,
}

impl<'s> Visit<'s> {
    fn new(one: &'s Measurement, moment: usize) -> Option<Self> {
        let log_time = median(&nanos(&one.times)).filter(|&time| time > 0.0)?.ln();
        Some(Self { of: (&one.quantity, one.count), moment, log_time })
    }
}

/// By the logarithm of which factor everything takes longer, moment by moment; nothing in the
/// middle of all. `None` if too little was visited again to tell.
fn moods(visits: &[Visit<'_>]) -> Option<[f64; MOMENTS]> {
    let mut quantities: BTreeMap<(&Quantity, u64), Vec<&Visit<'_>>> = BTreeMap::new();
    for visit in visits {
        quantities.entry(visit.of).or_default().push(visit);
    }
    quantities.retain(|_, visits| visits.len() > 1);
    if quantities.values().map(Vec::len).sum::<usize>() < VISITS * MOMENTS {
        return None;
    }
    let mut moods = [0.0; MOMENTS];
    for _ in 0..ROUNDS {
        let mut left: Vec<Vec<f64>> = vec![Vec::new(); MOMENTS];
        for visits in quantities.values() {
            let without: Vec<f64> = visits.iter().map(|v| v.log_time - moods[v.moment]).collect();
            let usual = median(&without)?;
            for visit in visits {
                left[visit.moment].push(visit.log_time - usual);
            }
        }
        left.iter_mut().filter(|left| left.len() < VISITS / 2).for_each(Vec::clear);
        let found: Vec<Option<f64>> = left.iter().map(|left| median(left)).collect();
        let middle = median(&found.iter().flatten().copied().collect::<Vec<f64>>())?;
        // Where little was visited, the moment is taken to be as usual.
        moods = std::array::from_fn(|moment| found[moment].map_or(0.0, |mood| mood - middle));
    }
    Some(moods)
}
