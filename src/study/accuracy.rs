//! How far off predictions of trials are, and how wide ranges have to be. No model of a time is
//! fitted to a trial; only the width of ranges is.
//!
//! Ranges come from the scatter of the profile's models, which leaves out what no model knows. So
//! each end of a range is moved, outwards or inwards, to where nine of ten trials of its kind lie
//! inside. This is conformalized quantile regression (Romano, Patterson, Candes, "Conformalized
//! Quantile Regression", NeurIPS 2019), with a margin for each kind of plan.
//!
//! A plan is run some time after the calibration, and a machine shared with others has changed by
//! then. So each of the two passes of a calibration predicts what the trials took in the other one.
//!
//! A trial outside its range scores the logarithm of a ratio, as errors do. A trial inside scores
//! how far it lies along the way from the end of the range to the prediction. Ranges of plans of
//! one kind have very different widths: if one ratio moved them all, nothing would be left of the
//! narrow ones.

use crate::cost::CompileError;
use crate::profile::{Accuracy, Handling, Margin, Profile};
use crate::program::Program;
use crate::samples::{Samples, Trial};
use crate::scenario::Workload;
use crate::search::candidates;
use crate::simulate::{COVERAGE, DRAWS, Draws, Forecast, Tally, forecast_all};
use crate::stats::{conformal_quantile, median, quantile};
use crate::units::Span;

/// The fewest trials for which a quantile of nine in ten is worth a margin of its own.
const FEWEST: usize = 10;

/// A trial with its prediction.
struct Scored {
    handling: Handling,
    predicted: Span,
    /// Which half of the workloads the trial belongs to: 0 or 1. Margins from one half are tested
    /// on the other.
    half: usize,
    error: f64,
    /// How far each measured time lies outside its range, or, below 0, inside, on the scale of
    /// [`Margin::score`]. With two passes there are two: each pass predicts the time in the other.
    scores: Vec<f64>,
}

/// Predicts the trials among the samples and sums up how far off the predictions are. `None` if
/// there are no trials. Where `passes` has the profile of each of two passes, margins come from
/// predicting with one pass what the trials took in the other. `along` hears how many trials are
/// predicted, whenever there are more.
pub fn assess(
    profile: &Profile,
    passes: Option<&[Profile; 2]>,
    samples: &Samples,
    along: &mut dyn FnMut(usize),
) -> Option<Accuracy> {
    let trials = scored(profile, passes, samples, along);
    if trials.is_empty() {
        return None;
    }
    // The coverage of each half is counted in ranges whose margins come from the other half.
    let covered = [0, 1].into_iter().flat_map(|half| {
        let margins = margins(trials.iter().filter(|trial| trial.half != half));
        let here = trials.iter().filter(move |trial| trial.half == half);
        here.flat_map(move |trial| {
            let margin = Accuracy::margin_of(&margins, trial.handling, trial.predicted);
            trial.scores.iter().map(move |&score| score <= margin)
        })
    });
    let covered: Vec<bool> = covered.collect();
    let inside = covered.iter().filter(|&&covered| covered).count();
    let errors: Vec<f64> = trials.iter().map(|trial| trial.error.abs()).collect();
    Some(Accuracy {
        trials: trials.len(),
        median_error: median(&errors)?,
        p95_error: quantile(&errors, 0.95)?,
        repeatability: repeatability(&samples.trials),
        coverage: inside as f64 / covered.len().max(1) as f64,
        margins: margins(trials.iter()),
    })
}

/// The median relative difference between what a trial took in the first pass and in the second.
fn repeatability(trials: &[Trial]) -> Option<f64> {
    let apart = |trial: &Trial| {
        let [first, second] = halves(trial)?;
        Some((second / first - 1.0).abs())
    };
    median(&trials.iter().filter_map(apart).collect::<Vec<f64>>())
}

/// The median times of a trial in the first and in the second pass of the measurements, in
/// nanoseconds.
fn halves(trial: &Trial) -> Option<[f64; 2]> {
    let all = trial.passes.len();
    let (first, second) = trial.passes.split_at(trial.in_first.unwrap_or(all / 2).min(all));
    Some([middle(first)?, middle(second)?])
}

fn middle(passes: &[Span]) -> Option<f64> {
    median(&passes.iter().map(|pass| pass.nanos_f64()).collect::<Vec<f64>>())
}

fn scored(
    profile: &Profile,
    passes: Option<&[Profile; 2]>,
    samples: &Samples,
    along: &mut dyn FnMut(usize),
) -> Vec<Scored> {
    let bare = |profile: &Profile| Profile { accuracy: None, ..profile.clone() };
    let (profile, passes) = (bare(profile), passes.map(|passes| passes.each_ref().map(bare)));
    let (mut scored, mut done) = (Vec::new(), 0);
    let trials = samples.trials.chunk_by(|one, next| one.scenario == next.scenario);
    for (index, trials) in trials.enumerate() {
        // Samples of another version may hold scenarios that this version does not read.
        let Ok(workload) = Workload::from_toml("trial", &trials[0].scenario) else { continue };
        let programs = candidates(&workload).programs();
        let named =
            |trial: &Trial| programs.iter().find(|program| program.label == trial.plan).cloned();
        let found = trials.iter().filter_map(|trial| Some((named(trial)?, trial)));
        let (programs, trials): (Vec<Program>, Vec<&Trial>) = found.unzip();
        let draws = Draws::new(DRAWS, samples.machine.seed);
        let by = |profile| forecast_all(&programs, profile, draws, &Tally::default());
        let (forecasts, apart) =
            (by(&profile), passes.as_ref().map(|both| both.each_ref().map(by)));
        if !programs.is_empty() {
            done += programs.len();
            along(done);
        }
        for (at, (program, trial)) in programs.iter().zip(trials).enumerate() {
            let (Ok(forecast), Some(measured)) = (&forecasts[at], middle(&trial.passes)) else {
                continue;
            };
            let predicted = forecast.makespan();
            let scores = match &apart {
                None => vec![score(forecast, measured)],
                // If either pass cannot predict the plan, the trial has no score.
                Some([one, other]) => {
                    scores_apart([&one[at], &other[at]], trial).unwrap_or_default()
                }
            };
            scored.push(Scored {
                handling: Handling::of(program),
                predicted,
                half: index % 2,
                error: predicted.nanos_f64() / measured - 1.0,
                scores,
            });
        }
    }
    scored
}

/// The scores of a trial in each pass: what one predicts against what the other measured.
fn scores_apart(
    forecasts: [&Result<Forecast, CompileError>; 2],
    trial: &Trial,
) -> Option<Vec<f64>> {
    let [one, other] = forecasts.map(|forecast| forecast.as_ref().ok());
    let [first, second] = halves(trial)?;
    Some(vec![score(one?, second), score(other?, first)])
}

/// How far both ends of a range would have to move for one of them to lie exactly at the time
/// `measured`, which is in nanoseconds. Above 0, outwards: the logarithm of a factor. Below 0,
/// inwards: the share of the way to the prediction.
fn score(forecast: &Forecast, measured: f64) -> f64 {
    let middle = forecast.makespan().nanos_f64();
    let (low, high) = forecast.interval();
    let [low, high] = [low, high].map(|end| end.nanos_f64());
    if (low..=high).contains(&measured) {
        let width = (if measured < middle { low } else { high }) - middle;
        // A range that has shrunk to the prediction still holds it; this also avoids dividing 0 by
        // 0.
        if measured == middle { -1.0 } else { (measured - middle) / width - 1.0 }
    } else {
        (low / measured).max(measured / high).ln()
    }
}

/// The margins, the most specific ones first: for each kind of plan and scale of predicted time
/// with enough trials, for each kind with enough trials over all scales, and last one for all other
/// plans.
fn margins<'t>(trials: impl Iterator<Item = &'t Scored>) -> Vec<Margin> {
    let trials: Vec<&Scored> = trials.collect();
    let margin = &|handling: Option<Handling>, scale: Option<[Option<Span>; 2]>| {
        let fits = |trial: &&&Scored| {
            !trial.scores.is_empty()
                && handling.is_none_or(|wanted| trial.handling == wanted)
                && scale.is_none_or(|wanted| Accuracy::scale(trial.predicted) == wanted)
        };
        let trials = trials.iter().filter(fits);
        let count = trials.clone().count();
        let scores: Vec<f64> = trials.flat_map(|trial| &trial.scores).copied().collect();
        // With too few trials for the quantile, the largest score stands in for it.
        let farthest = || scores.iter().copied().max_by(f64::total_cmp);
        let score = conformal_quantile(&scores, COVERAGE).or_else(farthest)?;
        let [from_ns, below_ns] = scale.unwrap_or_default();
        Some(Margin { handling, from_ns, below_ns, trials: count, score })
    };
    let starts = [Span::ZERO].into_iter().chain(Accuracy::SCALES);
    let scales: Vec<_> = starts.map(|start| Some(Accuracy::scale(start))).chain([None]).collect();
    let of_kind = |handling| scales.iter().filter_map(move |&scale| margin(Some(handling), scale));
    let of_kinds = Handling::ALL.into_iter().flat_map(of_kind);
    of_kinds.filter(|margin| margin.trials >= FEWEST).chain(margin(None, None)).collect()
}
