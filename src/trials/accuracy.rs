//! How far predictions are off, and how wide ranges have to be.
//!
//! Ranges come from the scatter of the profile's models. That leaves out what no
//! model knows, so their ends are moved, outwards or inwards, to where nine of ten trials of
//! the same kind lie inside: conformalized quantile regression (Romano, Patterson, Candes,
//! "Conformalized Quantile Regression", NeurIPS 2019), with a margin for each kind of plan.
//! Whoever runs a plan does so some time after the calibration, and a machine that others share is
//! another one then. So each pass of a calibration predicts what trials took in the other one.
//! How far a trial lies outside is the logarithm of a ratio, as of errors; how far inside, a
//! share of the way from the end to the prediction, for plans of one kind have ranges of very
//! different widths, and moved by one ratio the narrow ones would have none left.

use crate::plan::Plan;
use crate::profile::{Accuracy, Handling, Margin, Profile};
use crate::samples::{Samples, Trial};
use crate::scenario::Workload;
use crate::search::candidates;
use crate::simulate::{DRAWS, Forecast, SimulateError, forecast_all};
use crate::stats::{conformal_quantile, median, quantile};
use crate::units::Span;

/// Trials that lie inside, of ten.
const INSIDE: f64 = 0.9;
/// With fewer trials than this, where nine of ten lie says too little.
const FEWEST: usize = 10;

/// A trial beside its prediction.
struct Scored {
    handling: Handling,
    predicted: Span,
    /// Which half of the workloads it is of.
    half: usize,
    error: f64,
    /// How far it lies outside of the ranges of other times, or below 0 inside: as in
    /// [`Margin::score`].
    scores: Vec<f64>,
}

/// Predicts the trials among the samples, and by the profile of each of two passes what they took
/// in the other one; `None` if there are none.
pub fn assess(
    profile: &Profile,
    passes: Option<&[Profile; 2]>,
    samples: &Samples,
) -> Option<Accuracy> {
    let trials = scored(profile, passes, samples);
    if trials.is_empty() {
        return None;
    }
    // Each half in ranges that were made with the other.
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

/// How far apart what the same trials took in the two passes lies.
fn repeatability(trials: &[Trial]) -> Option<f64> {
    let apart = |trial: &Trial| {
        let [first, second] = halves(trial)?;
        Some((second / first - 1.0).abs())
    };
    median(&trials.iter().filter_map(apart).collect::<Vec<f64>>())
}

/// What a trial took along with the first pass of the measurements, and with the second.
fn halves(trial: &Trial) -> Option<[f64; 2]> {
    let all = trial.passes.len();
    let (first, second) = trial.passes.split_at(trial.in_first.unwrap_or(all / 2).min(all));
    Some([middle(first)?, middle(second)?])
}

fn middle(passes: &[Span]) -> Option<f64> {
    median(&passes.iter().map(|pass| pass.nanos_f64()).collect::<Vec<f64>>())
}

fn scored(profile: &Profile, passes: Option<&[Profile; 2]>, samples: &Samples) -> Vec<Scored> {
    let bare = |profile: &Profile| Profile { accuracy: None, ..profile.clone() };
    let (profile, passes) = (bare(profile), passes.map(|passes| passes.each_ref().map(bare)));
    let mut scored = Vec::new();
    let trials = samples.trials.chunk_by(|one, next| one.scenario == next.scenario);
    for (index, trials) in trials.enumerate() {
        // Of another version's language, perhaps.
        let Ok(workload) = Workload::from_toml("trial", &trials[0].scenario) else { continue };
        let candidates = candidates(&workload).plans;
        let named = |trial: &Trial| {
            candidates.iter().find(|plan| plan.strategy.to_string() == trial.plan).cloned()
        };
        let found = trials.iter().filter_map(|trial| Some((named(trial)?, trial)));
        let (plans, trials): (Vec<Plan>, Vec<&Trial>) = found.unzip();
        let by = |profile| forecast_all(&plans, profile, DRAWS, samples.machine.seed);
        let (forecasts, apart) =
            (by(&profile), passes.as_ref().map(|both| both.each_ref().map(by)));
        for (at, (plan, trial)) in plans.iter().zip(trials).enumerate() {
            let (Ok(forecast), Some(measured)) = (&forecasts[at], middle(&trial.passes)) else {
                continue;
            };
            let predicted = forecast.makespan();
            let scores = match &apart {
                None => vec![score(forecast, measured)],
                // What one of the passes does not know says nothing of another time.
                Some([one, other]) => {
                    scores_apart([&one[at], &other[at]], trial).unwrap_or_default()
                }
            };
            scored.push(Scored {
                handling: Handling::of(plan),
                predicted,
                half: index % 2,
                error: predicted.nanos_f64() / measured - 1.0,
                scores,
            });
        }
    }
    scored
}

/// Of each pass's prediction beside what the trial took in the other one.
fn scores_apart(
    forecasts: [&Result<Forecast, SimulateError>; 2],
    trial: &Trial,
) -> Option<Vec<f64>> {
    let [one, other] = forecasts.map(|forecast| forecast.as_ref().ok());
    let [first, second] = halves(trial)?;
    Some(vec![score(one?, second), score(other?, first)])
}

/// What both ends of a range have to be moved by for it to hold what was measured, and no more.
fn score(forecast: &Forecast, measured: f64) -> f64 {
    let middle = forecast.makespan().nanos_f64();
    let (low, high) = forecast.interval();
    let [low, high] = [low, high].map(|end| end.nanos_f64());
    if (low..=high).contains(&measured) {
        let width = (if measured < middle { low } else { high }) - middle;
        // The prediction itself is in any range.
        if measured == middle { -1.0 } else { (measured - middle) / width - 1.0 }
    } else {
        (low / measured).max(measured / high).ln()
    }
}

/// A margin for each kind of which there are enough on a scale, for those of which there are
/// enough on all scales together, and one for all others.
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
        // Of fewer than that takes, the farthest.
        let farthest = || scores.iter().copied().max_by(f64::total_cmp);
        let score = conformal_quantile(&scores, INSIDE).or_else(farthest)?;
        let [from_ns, below_ns] = scale.unwrap_or_default();
        Some(Margin { handling, from_ns, below_ns, trials: count, score })
    };
    let starts = [Span::ZERO].into_iter().chain(Accuracy::SCALES);
    let scales: Vec<_> = starts.map(|start| Some(Accuracy::scale(start))).chain([None]).collect();
    let of_kind = |handling| scales.iter().filter_map(move |&scale| margin(Some(handling), scale));
    let of_kinds = Handling::ALL.into_iter().flat_map(of_kind);
    of_kinds.filter(|margin| margin.trials >= FEWEST).chain(margin(None, None)).collect()
}
