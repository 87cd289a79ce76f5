//! Intervals: how far from this calibration's value another one would find each parameter.
//!
//! The scatter of samples says little about that. Two calibrations differ because the machine
//! drifts, and because memory happens to lie elsewhere. So everything is measured in two passes,
//! and the distance between the profiles of the passes shows how far apart two calibrations lie.
//! One difference says little about its own parameter. All differences of a kind together have a
//! distribution that says much, once each is divided by the scale on which its parameter moves.
//! This is locally weighted conformal prediction (Lei, G'Sell, Rinaldo, Tibshirani, Wasserman,
//! "Distribution-free predictive inference for regression", JASA 113, 2018, section 5.2).
//!
//! The scale comes from refitting to times multiplied by random factors. The factors are as wide as
//! the times of such a quantity differ from pass to pass (propagation of distributions: JCGM
//! 101:2008). So the scale accounts for what a parameter was subtracted from, and stays sensible
//! where a parameter is close to zero.

use super::estimator::Estimator;
use super::fit;
use super::own_kernels::of_machine;
use crate::profile::{Intervals, Parameter, Profile};
use crate::samples::{Quantity, Samples};
use crate::stats::{conformal_quantile, deviate, median, modes, relative_spread};
use crate::units::Span;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::mem::{Discriminant, discriminant};

/// The probability that the value of another calibration lies in an interval.
const CONFIDENCE: f64 = 0.95;
/// A kind with at least so many scores gets a quantile of its own: two outliers do not move it.
const MANY: usize = 60;
/// A kind with at least so many scores has a meaningful median: two outliers do not move it.
const SOME: usize = 5;
/// The number of refits behind a scale. They determine it to within an eighth.
const DRAWS: usize = 32;
/// A quantity is taken to drift like quantities of its kind whose times are within this factor of
/// its own, or like the [`NEAREST`] of its kind if fewer are.
const AS_LONG: f64 = 2.0;
const NEAREST: usize = 15;

/// Intervals around the parameters that both passes determined, from the profile and those of its
/// two passes. `None` if too little was measured in both passes.
///
/// Each pass has half of a calibration's visits. So two passes differ at least as much as two
/// calibrations, as long as the machine drifts no further between calibrations than between passes.
pub fn intervals(
    samples: &Samples,
    profile: &Profile,
    of_passes: &[Profile; 2],
) -> Option<Intervals> {
    let samples = &*of_machine(samples);
    let profiles = of_passes.each_ref().map(by_name);
    let passes = Estimator::of_passes(samples);
    let scales = scales(samples, profile, &scatters(samples, &passes));
    let mut scores: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut scored = Vec::new();
    for scale in &scales {
        let [Some(one), Some(other)] = profiles.each_ref().map(|pass| pass.get(&scale.name)) else {
            continue;
        };
        let of_kind = scores.entry(&scale.section).or_default();
        // Compares at the points of the first pass, as one would compare two calibrations: a curve
        // has knots where its own pass happened to find something unusual.
        of_kind.extend(one.points.iter().filter_map(|&(size, value)| {
            let difference = (value - other.at(size)?).abs();
            // A point that is fixed by definition has scale 0 and does not move.
            Some(difference / scale.at(size).filter(|&scale| scale > 0.0)?)
        }));
        let reaches = |&(size, _): &(f64, f64)| one.at(size).and(other.at(size)).is_some();
        scored.extend(scale.points.iter().all(reaches).then_some(scale));
    }
    let all: Vec<f64> = scores.values().flatten().copied().collect();
    let of_all = conformal_quantile(&all, CONFIDENCE)?;
    let mut half_widths = BTreeMap::new();
    for scale in scored {
        let of_kind = factor(&scores[scale.section.as_str()], &all);
        let factor = of_kind.map_or(of_all, |of_kind| of_kind.max(of_all));
        let widths = scale.points.iter().map(|&(_, scale)| three_digits(factor * scale));
        half_widths.insert(scale.name.clone(), widths.collect());
    }
    (!half_widths.is_empty()).then_some(Intervals { half_widths })
}

/// How many times its scale a parameter of a kind moves at most, from the scores of its kind and of
/// all kinds. `None` if its kind has too few scores.
///
/// Two passes are a single draw of what a whole kind has in common, and may happen to agree. So the
/// caller takes no kind to be surer than all kinds together. Among twenty or thirty scores, the
/// largest may come from a single disturbed visit, but the median does not. So the quantile of a
/// small kind is that of all scores, scaled by the ratio of the medians.
fn factor(of_kind: &[f64], all: &[f64]) -> Option<f64> {
    if of_kind.len() >= MANY {
        return conformal_quantile(of_kind, CONFIDENCE);
    }
    let middle = median(all).filter(|&middle| middle > 0.0 && of_kind.len() >= SOME)?;
    Some(conformal_quantile(all, CONFIDENCE)? * median(of_kind)? / middle)
}

fn by_name(profile: &Profile) -> BTreeMap<String, Parameter> {
    profile.parameters().into_iter().map(|one| (one.name.clone(), one)).collect()
}

/// A quantity, the logarithm of its time, and by how much that logarithm differs between the
/// passes.
type Drift<'s> = (&'s Quantity, f64, f64);

/// For each quantity, the share by which its time in another calibration may differ. It combines
/// the quantity's sampling error with the median drift of quantities of its kind that take about as
/// long: what lasts ten times as long may drift by a tenth of the share.
fn scatters<'s>(samples: &'s Samples, passes: &[Estimator<'_>; 2]) -> BTreeMap<&'s Quantity, f64> {
    let whole = Estimator::new(samples);
    let mut quantities: Vec<&Quantity> = samples.measurements.iter().map(|m| &m.quantity).collect();
    quantities.sort_unstable();
    quantities.dedup();
    let mut errors = Vec::new();
    let mut drifts = Vec::new();
    for quantity in &quantities {
        let times = whole.times_of(quantity);
        // The standard error of the median of a normal sample (that of the mean is less). With two
        // modes, a visit counts as if all of its samples were in one, because the cause of the
        // difference often lasts.
        let root = (std::f64::consts::FRAC_PI_2 / times.len().max(1) as f64).sqrt();
        let two = modes(&times).filter(|[usual, _]| usual.center > 0.0);
        let apart = two.map_or(0.0, |[usual, rare]| {
            (rare.center / usual.center - 1.0) * (usual.share * rare.share).sqrt()
        });
        let log = |estimator: &Estimator<'_>| {
            estimator.middle_of(quantity).filter(|&time| time > 0.0).map(f64::ln)
        };
        let log_time = log(&whole).unwrap_or(0.0);
        errors.push((log_time, (root * relative_spread(&times).unwrap_or(0.0)).hypot(apart)));
        if let [Some(one), Some(other)] = passes.each_ref().map(log) {
            drifts.push((*quantity, log_time, one - other));
        }
    }
    let scatter = |(&quantity, (log_time, error)): (&&'s Quantity, (f64, f64))| {
        let alike = drifts.iter().filter(|drift| discriminant(drift.0) == discriminant(quantity));
        let mut alike: Vec<_> =
            alike.map(|&(_, at, by)| ((at - log_time).abs(), by.abs())).collect();
        alike.sort_by(|a, b| a.0.total_cmp(&b.0));
        let near = alike.iter().enumerate();
        let near = near.take_while(|&(at, near)| at < NEAREST || near.0 <= AS_LONG.ln());
        let near: Vec<f64> = near.map(|(_, &(_, by))| by).collect();
        let drift = median(&near).unwrap_or(0.0);
        (quantity, error.hypot(drift).hypot(shared(&drifts, quantity, log_time)))
    };
    quantities.iter().zip(errors).map(scatter).collect()
}

/// How much quantities that last about as long drift together. Each kind gives one draw, the median
/// drift of its quantities; the result is the median over kinds.
fn shared(drifts: &[Drift<'_>], quantity: &Quantity, log_time: f64) -> f64 {
    let is_of_host = quantity.definition().is_of_host();
    let is_near = |drift: &&Drift<'_>| (drift.1 - log_time).abs() <= AS_LONG.ln();
    let is_alike = |drift: &&Drift<'_>| drift.0.definition().is_of_host() == is_of_host;
    let near: Vec<&Drift<'_>> = drifts.iter().filter(is_near).filter(is_alike).collect();
    let mut kinds: Vec<Discriminant<Quantity>> = Vec::new();
    for kind in near.iter().map(|drift| discriminant(drift.0)) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let of_kind = |kind: &Discriminant<Quantity>| {
        let of_kind = near.iter().filter(|drift| discriminant(drift.0) == *kind);
        median(&of_kind.map(|drift| drift.2).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    median(&kinds.iter().map(|kind| of_kind(kind).abs()).collect::<Vec<_>>()).unwrap_or(0.0)
}

/// For each parameter, how far its points move when times are multiplied by random factors as wide
/// as `scatters`: a root mean square over the draws.
fn scales(
    samples: &Samples,
    profile: &Profile,
    scatters: &BTreeMap<&Quantity, f64>,
) -> Vec<Parameter> {
    let mut random = ChaCha8Rng::seed_from_u64(samples.machine.seed);
    let mut factors = || {
        scatters.iter().map(|(&q, &scatter)| (q, deviate(scatter, || random.random()))).collect()
    };
    let factors: Vec<BTreeMap<&Quantity, f64>> = (0..DRAWS).map(|_| factors()).collect();
    let refitted = |factors: &BTreeMap<&Quantity, f64>| {
        let mut moved = samples.clone();
        for one in &mut moved.measurements {
            let factor = factors[&one.quantity];
            one.times.iter_mut().for_each(|time| {
                *time = Span::from_nanos_f64(time.nanos_f64() * factor);
            });
        }
        fit(&moved).map_or_else(|_| BTreeMap::new(), |profile| by_name(&profile))
    };
    let draws: Vec<_> = factors.par_iter().map(refitted).collect();
    let scale = |parameter: Parameter| {
        let moves = |(size, value): (f64, f64)| {
            let there = draws.iter().filter_map(|draw| draw.get(&parameter.name)?.at(size));
            let squares: Vec<f64> = there.map(|there| (there - value).powi(2)).collect();
            let mean = squares.iter().sum::<f64>() / squares.len().max(1) as f64;
            (size, mean.sqrt())
        };
        let points = parameter.points.iter().copied().map(moves).collect();
        Parameter { points, ..parameter }
    };
    profile.parameters().into_iter().map(scale).collect()
}

/// Rounds to the digits that a width is known to.
fn three_digits(width: f64) -> f64 {
    format!("{width:.2e}").parse().expect("a number that was just written")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores that are spread evenly from 0 to `most`.
    fn scores(count: usize, most: f64) -> Vec<f64> {
        (1..=count).map(|at| at as f64 * most / count as f64).collect()
    }

    #[test]
    fn a_kind_of_few_goes_as_far_beyond_all_as_its_middle_does() {
        let all = scores(1_000, 1.0);
        let of_all = conformal_quantile(&all, CONFIDENCE).expect("many");
        let times_all = |of_kind: &[f64]| factor(of_kind, &all).map(|factor| factor / of_all);
        let is_about = |found: Option<f64>, share: f64| {
            assert!((found.expect("enough") / share - 1.0).abs() < 0.05, "{found:?} for {share}");
        };
        is_about(times_all(&scores(31, 3.0)), 3.0);
        // One score comes from a disturbed visit.
        let mut disturbed = scores(31, 1.0);
        disturbed[30] = 100.0;
        is_about(times_all(&disturbed), 1.0);
        is_about(times_all(&scores(200, 3.0)), 3.0);
        // Two outliers move the median of three.
        assert_eq!(factor(&[0.5, 50.0, 60.0], &all), None);
        // All other scores are 0, so there is no ratio of medians.
        assert_eq!(factor(&scores(31, 3.0), &[0.0; 100]), None);
    }
}
