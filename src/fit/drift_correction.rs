//! Corrects samples for drift: how fast the machine was at each moment of a calibration.
//!
//! Work of the host takes longer at one time than at another, for a second or for a minute, and all
//! of it at once: clocks change, and others on the same host use its caches and memory. On busy
//! hosts of an H200, CPU twins drifted by 10 to 35% within a calibration, and staged copies, calls
//! and trials drifted with them; yet each size of a twin is visited only twice. Because everything
//! is measured in random order, a moment's effect can be separated from a quantity's own time: the
//! logarithm of a time is a term of the quantity plus a term of the moment (median polish: Tukey,
//! "Exploratory Data Analysis", 1977, chapter 11). Without the moment's term, each time is as long
//! as it would be at the median moment.
//!
//! Times of trips and graphs are left as they are, because their parts separate the calls from the
//! rest, which is the device's. Intervals use uncorrected times: the next calibration has moments
//! of its own.

use super::estimator::nanos;
use crate::samples::{Measurement, Quantity, Samples, Work};
use crate::stats::median;
use crate::units::Span;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The number of moments in a calibration, each with equally many measurements. In a full
/// calibration a moment is about two seconds long.
const MOMENTS: usize = 48;
/// Visits per moment that are needed on average; a single moment needs half as many. Their median
/// is then not that of one visit.
const VISITS: usize = 16;
/// How often the terms of quantities and of moments are updated in turn.
const ROUNDS: usize = 8;

/// Work that drifts, each kind by itself.
const DRIFTING: [Work; 3] = [Work::Issuing, Work::Staging, Work::Computing];

/// The samples with the effect of each moment divided out.
pub(super) fn evened_out(samples: &Samples) -> Cow<'_, Samples> {
    let mut evened = Cow::Borrowed(samples);
    let mut taken = 0;
    let places = samples.measurements.iter().map(|one| {
        taken += one.left_out as usize + 1;
        taken - 1
    });
    let places: Vec<usize> = places.collect();
    let at = |number: usize| places[number] * MOMENTS / taken;
    for work in DRIFTING {
        let of_kind = |one: &Measurement| one.quantity.definition().work == work;
        let visits = samples.measurements.iter().enumerate().filter(|(_, one)| of_kind(one));
        let visits: Vec<Visit<'_>> =
            visits.filter_map(|(place, one)| Visit::new(one, at(place))).collect();
        let Some(effects) = effects(&visits) else { continue };
        for (place, one) in evened.to_mut().measurements.iter_mut().enumerate() {
            if of_kind(one) {
                let factor = (-effects[at(place)]).exp();
                let even =
                    |time: &mut Span| *time = Span::from_nanos_f64(time.nanos_f64() * factor);
                one.times.iter_mut().for_each(even);
            }
        }
    }
    evened
}

/// A measurement of a quantity at a count, with the moment at which it was taken.
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

/// For each moment, the logarithm of the factor by which everything takes longer, relative to the
/// median moment. `None` if too few visits were repeated to tell.
fn effects(visits: &[Visit<'_>]) -> Option<[f64; MOMENTS]> {
    let mut quantities: BTreeMap<(&Quantity, u64), Vec<&Visit<'_>>> = BTreeMap::new();
    for visit in visits {
        quantities.entry(visit.of).or_default().push(visit);
    }
    quantities.retain(|_, visits| visits.len() > 1);
    if quantities.values().map(Vec::len).sum::<usize>() < VISITS * MOMENTS {
        return None;
    }
    let mut effects = [0.0; MOMENTS];
    for _ in 0..ROUNDS {
        let mut left: Vec<Vec<f64>> = vec![Vec::new(); MOMENTS];
        for visits in quantities.values() {
            let without: Vec<f64> = visits.iter().map(|v| v.log_time - effects[v.moment]).collect();
            let usual = median(&without)?;
            for visit in visits {
                left[visit.moment].push(visit.log_time - usual);
            }
        }
        left.iter_mut().filter(|left| left.len() < VISITS / 2).for_each(Vec::clear);
        let found: Vec<Option<f64>> = left.iter().map(|left| median(left)).collect();
        let middle = median(&found.iter().flatten().copied().collect::<Vec<f64>>())?;
        // A moment with too few visits is taken to be a usual one.
        effects = std::array::from_fn(|moment| found[moment].map_or(0.0, |effect| effect - middle));
    }
    Some(effects)
}
