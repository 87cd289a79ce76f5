//! How far predictions are off, and how wide ranges have to be.
//!
//! Ranges come from the scatter of the profile's models. That leaves out what no
//! model knows, so they are widened until nine of ten trials of the same kind lie
//! inside: conformalized quantile regression (Romano, Patterson, Candes,
//! "Conformalized Quantile Regression", NeurIPS 2019), with the logarithm of the
//! ratio as the distance and a margin for each kind of plan.

use crate::plan::Plan;
use crate::profile::{Accuracy, Handling, Margin, Profile};
use crate::samples::{Quantity, Samples};
use crate::scenario::Workload;
use crate::search::candidates;
use crate::simulate::forecast_all;
use crate::stats::{median, quantile};

const DRAWS: usize = 40;
/// Trials that lie inside, of ten.
const INSIDE: f64 = 0.9;
/// With fewer trials than this, the largest distance says too little.
const FEWEST: usize = 10;

/// One trial with its prediction.
struct Trial {
    kind: (Handling, bool),
    /// Which half of the workloads it is of.
    half: usize,
    error: f64,
    /// How far it lies outside of the range, as the logarithm of a ratio; below
    /// 0 where it lies inside.
    outside: f64,
}

/// Predicts the trials among the samples; `None` if there are none.
pub fn assess(profile: &Profile, samples: &Samples) -> Option<Accuracy> {
    let bare = Profile { accuracy: None, ..profile.clone() };
    let trials = predicted(&bare, samples);
    if trials.is_empty() {
        return None;
    }
    // Each half in ranges that were made with the other.
    let covered = [0, 1].into_iter().flat_map(|half| {
        let margins = margins(trials.iter().filter(|trial| trial.half != half));
        let here = trials.iter().filter(move |trial| trial.half == half);
        here.map(move |trial| trial.outside <= Accuracy::margin_of(&margins, trial.kind))
    });
    let covered = covered.filter(|covered| *covered).count();
    let errors: Vec<f64> = trials.iter().map(|trial| trial.error.abs()).collect();
    Some(Accuracy {
        trials: trials.len(),
        median_error: median(&errors)?,
        p95_error: quantile(&errors, 0.95)?,
        coverage: covered as f64 / trials.len() as f64,
        margins: margins(trials.iter()),
    })
}

fn predicted(profile: &Profile, samples: &Samples) -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut texts: Vec<&str> = Vec::new();
    for measurement in &samples.measurements {
        let Quantity::Trial { workload, .. } = &measurement.quantity else { continue };
        if !texts.contains(&workload.as_str()) {
            texts.push(workload);
        }
    }
    for (index, text) in texts.into_iter().enumerate() {
        // Of another version's language, perhaps.
        let Ok(workload) = Workload::from_toml("trial", text) else { continue };
        let plans = candidates(&workload).plans;
        let found: Vec<(&Plan, f64)> = samples
            .measurements
            .iter()
            .filter_map(|measurement| {
                let Quantity::Trial { workload, plan } = &measurement.quantity else { return None };
                let named = |other: &&Plan| other.strategy.to_string() == *plan;
                let plan = plans.iter().find(named).filter(|_| workload == text)?;
                let times: Vec<f64> = measurement.times.iter().map(|t| t.nanos_f64()).collect();
                Some((plan, median(&times)?))
            })
            .collect();
        let plans: Vec<Plan> = found.iter().map(|(plan, _)| (*plan).clone()).collect();
        let forecasts = forecast_all(&plans, profile, DRAWS, profile.machine.seed);
        for ((plan, measured), forecast) in found.into_iter().zip(forecasts) {
            let Ok(forecast) = forecast else { continue };
            let (low, high) = forecast.interval();
            let makespan = forecast.makespan();
            trials.push(Trial {
                kind: (Handling::of(plan), Accuracy::is_short(makespan)),
                half: index % 2,
                error: makespan.nanos_f64() / measured - 1.0,
                outside: (low.nanos_f64() / measured).ln().max((measured / high.nanos_f64()).ln()),
            });
        }
    }
    trials
}

/// A margin for each kind of which there are enough, and one for all others.
fn margins<'t>(trials: impl Iterator<Item = &'t Trial>) -> Vec<Margin> {
    let trials: Vec<&Trial> = trials.collect();
    let margin = |kind: Option<(Handling, bool)>| {
        let fits = |trial: &&&Trial| kind.is_none_or(|kind| trial.kind == kind);
        let mut outside: Vec<f64> = trials.iter().filter(fits).map(|trial| trial.outside).collect();
        outside.sort_by(f64::total_cmp);
        // The rank that makes it hold for the next one, too.
        let rank = ((outside.len() + 1) as f64 * INSIDE).ceil() as usize;
        let log_ratio = *outside.get(rank.min(outside.len()).checked_sub(1)?)?;
        Some(Margin {
            handling: kind.map(|kind| kind.0),
            short: kind.map(|kind| kind.1),
            trials: outside.len(),
            log_ratio,
        })
    };
    let kinds =
        Handling::ALL.into_iter().flat_map(|handling| [(handling, true), (handling, false)]);
    let of_kinds = kinds.filter_map(|kind| margin(Some(kind)));
    of_kinds.filter(|margin| margin.trials >= FEWEST).chain(margin(None)).collect()
}
