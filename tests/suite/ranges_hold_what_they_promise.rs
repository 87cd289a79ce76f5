//! Ranges are as wide as trials found predictions to be off, and hold nine of ten other trials.

use super::intervals_hold_what_they_promise::normal;
use super::machines::machine;
use super::predicted::reread;
use hallway::machine::StreamId;
use hallway::profile::{Accuracy, Estimate, Handling, LinkModel, Other, Profile};
use hallway::program::{Call, Program};
use hallway::samples::{Samples, Trial};
use hallway::scenario::Workload;
use hallway::search::candidates;
use hallway::simulate::{DRAWS, Draws, Forecast, Tally, forecast, forecast_all};
use hallway::study::{self, trial_scenarios};
use hallway::units::{Bandwidth, Span};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

fn assess(profile: &Profile, passes: Option<&[Profile; 2]>, samples: &Samples) -> Option<Accuracy> {
    study::assess(profile, passes, samples, &mut |_| {})
}

/// Trials that go exactly as predicted, by how many scenarios were drawn from which seed.
type Predicted = HashMap<(usize, u64), Vec<Trial>>;

/// Those of the machine with straight lines: most tests begin with them.
static PREDICTED: LazyLock<Mutex<Predicted>> = LazyLock::new(Mutex::default);

fn predicted(profile: &Profile, count: usize, seed: u64) -> Vec<Trial> {
    let of = |scenario: String| {
        let workload = Workload::from_toml("trial", &scenario).expect("a scenario");
        let plans: Vec<_> = candidates(&workload).programs().into_iter().step_by(7).collect();
        let forecasts = forecast_all(
            &plans,
            profile,
            Draws::new(DRAWS, profile.machine.seed),
            &Tally::default(),
        );
        let trial = |(plan, forecast): (Program, Result<Forecast, _>)| Trial {
            scenario: scenario.clone(),
            plan: plan.label,
            passes: vec![forecast.expect("known").makespan()],
            in_first: None,
            beside: Vec::new(),
        };
        plans.into_iter().zip(forecasts).map(trial).collect::<Vec<_>>()
    };
    trial_scenarios(count, seed).into_iter().flat_map(of).collect()
}

/// Trials of a machine on which plans take `bias` times the prediction, give or take `scatter`.
fn trials(profile: &Profile, count: usize, (bias, scatter): (f64, f64), seed: u64) -> Samples {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut samples = Samples::none(profile.machine.clone());
    samples.trials = if *profile == machine() {
        let mut known = PREDICTED.lock().expect("no test has panicked in it");
        known.entry((count, seed)).or_insert_with(|| predicted(profile, count, seed)).clone()
    } else {
        predicted(profile, count, seed)
    };
    for trial in &mut samples.trials {
        let ratio = bias * (scatter * normal(&mut random)).exp();
        trial.passes[0] = Span::from_nanos_f64(trial.passes[0].nanos_f64() * ratio);
    }
    samples
}

fn with(accuracy: Accuracy) -> Profile {
    Profile { accuracy: Some(accuracy), ..machine() }
}

#[test]
fn trials_are_scenarios_with_plans_for_both_sides() {
    let texts = trial_scenarios(40, 7);
    assert_eq!(texts, trial_scenarios(40, 7), "the same seed, the same trials");
    assert_ne!(texts, trial_scenarios(40, 8));
    for text in texts {
        let workload =
            Workload::from_toml("trial", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let plans = candidates(&workload).programs();
        for handling in Handling::ALL {
            assert!(
                plans.iter().any(|plan| Handling::of(plan) == handling),
                "{handling:?}\n{text}"
            );
        }
    }
}

/// How many trials took as long as predicted, give or take the range.
fn in_range(trials: &[Trial], profile: &Profile) -> usize {
    let of_scenario = |trials: &[Trial]| {
        let workload = Workload::from_toml("trial", &trials[0].scenario).expect("a scenario");
        let plans = candidates(&workload).programs();
        let is_inside = |trial: &&Trial| {
            let plan = plans.iter().find(|plan| plan.label == trial.plan);
            let forecast = forecast(plan.expect("a plan"), profile, DRAWS, 1).expect("known");
            let (low, high) = forecast.interval();
            (low..=high).contains(&trial.passes[0])
        };
        trials.iter().filter(is_inside).count()
    };
    let scenarios: Vec<&[Trial]> =
        trials.chunk_by(|one, next| one.scenario == next.scenario).collect();
    scenarios.into_par_iter().map(of_scenario).sum()
}

/// How many scenarios a calibration tries in these tests.
const SCENARIOS: usize = 25;

/// Ranges hold nine of ten trials from which no margin was made.
fn ranges_hold_with(errors: (f64, f64)) {
    let (mut inside, mut all) = (0, 0);
    // Plans of one workload tend to lie inside together, or outside. So margins of one calibration
    // may hold eight of ten, or all, of the trials of another.
    for [seen, unseen] in [[1, 2], [3, 4]] {
        let found =
            assess(&machine(), None, &trials(&machine(), SCENARIOS, errors, seen)).expect("trials");
        assert!((0.85..=0.95).contains(&found.coverage), "{errors:?}: {}", found.coverage);
        let trials = trials(&machine(), SCENARIOS, errors, unseen).trials;
        inside += in_range(&trials, &with(found));
        all += trials.len();
    }
    let share = f64::from(inside as u32) / f64::from(all as u32);
    // A range always holds the prediction, however narrow it is.
    assert!((0.84..=0.97).contains(&share), "{errors:?}: {share} of {all}");
}

#[test]
fn ranges_hold_where_errors_are_far_more_than_the_scatter_of_any_model() {
    ranges_hold_with((1.0, 0.1));
}

#[test]
fn ranges_hold_where_predictions_are_off_on_the_whole() {
    ranges_hold_with((1.05, 0.1));
}

#[test]
fn ranges_hold_where_predictions_are_sharp() {
    ranges_hold_with((1.0, 0.002));
}

/// With few trials on any one scale, all scales together show how far off plans of a kind are.
#[test]
fn a_kind_of_plan_answers_for_itself() {
    let mut all = trials(&machine(), 20, (1.0, 0.0), 5);
    for trial in all.trials.iter_mut().filter(|trial| trial.plan.starts_with("graph")) {
        trial.passes.iter_mut().for_each(|pass| *pass = *pass * 2);
    }
    let found = assess(&machine(), None, &all).expect("trials");
    let graphs: Vec<_> =
        found.margins.iter().filter(|one| one.handling == Some(Handling::Graph)).collect();
    assert!(graphs.iter().all(|margin| margin.score > 0.6), "{graphs:?}");
    assert!(graphs.iter().any(|margin| margin.from_ns.or(margin.below_ns).is_none()), "{graphs:?}");
    let pinned = found.margins.iter().find(|one| one.handling == Some(Handling::Pinned));
    assert!(pinned.expect("many").score < 0.1, "{pinned:?}");
}

#[test]
fn errors_are_said_as_they_are() {
    let found = assess(&machine(), None, &trials(&machine(), 30, (1.25, 0.0), 1)).expect("trials");
    // Plans are predicted to take four fifths of what they take.
    assert!((found.median_error - 0.2).abs() < 1e-3, "{}", found.median_error);
    assert!((found.p95_error - 0.2).abs() < 1e-3, "{}", found.p95_error);
}

/// One machine takes 3% longer for everything at first, and one stays as it is.
#[test]
fn how_far_the_machine_differs_from_itself_is_told() {
    for slower in [0.03, 0.0] {
        let mut all = trials(&machine(), 30, (1.0, 0.0), 1);
        for trial in &mut all.trials {
            let pass = trial.passes[0];
            let first = Span::from_nanos_f64(pass.nanos_f64() * (1.0 + slower));
            // In the second pass, something else used the core half of the time.
            trial.passes = [vec![first; 6], vec![pass; 3]].concat();
            trial.in_first = Some(6);
        }
        let apart = assess(&machine(), None, &all).expect("trials").repeatability.expect("halves");
        assert!((apart - (1.0 - 1.0 / (1.0 + slower))).abs() < 1e-3, "{apart} for {slower}");
    }
}

/// A machine on which copies take a tenth longer at first. Each half of a calibration knows only
/// its own time, and the whole profile lies between. How well that predicts the mean of both halves
/// says nothing about either.
#[test]
fn ranges_hold_at_another_time() {
    let [then, between, now] = [1.1, 1.05, 1.0].map(|longer| {
        let mut machine = machine();
        machine.copies.iter_mut().for_each(|model| model.time.scale(longer));
        let LinkModel { down_bytes_per_second, up_bytes_per_second, .. } = &mut machine.link;
        for rate in [down_bytes_per_second, up_bytes_per_second].into_iter().flatten() {
            *rate = Bandwidth::from_bytes_per_second(rate.bytes_per_second() / longer);
        }
        machine
    });
    let [mut all, middle] = [&then, &between].map(|at| trials(at, SCENARIOS, (1.0, 0.001), 1));
    let [mut of_both, later] = [middle, trials(&now, SCENARIOS, (1.0, 0.001), 1)];
    for (trial, later) in all.trials.iter_mut().zip(&later.trials) {
        trial.passes.extend(&later.passes);
    }
    of_both.trials.iter_mut().for_each(|trial| trial.passes = vec![trial.passes[0]; 2]);
    let of_half = [then, now];
    let together = assess(&between, None, &of_both).expect("trials");
    let apart = assess(&between, Some(&of_half), &all).expect("trials");
    assert!((0.85..=0.97).contains(&apart.coverage), "{}", apart.coverage);
    let inside = |accuracy: Accuracy| {
        let profile = Profile { accuracy: Some(accuracy), ..between.clone() };
        let unseen = of_half.each_ref().map(|at| trials(at, SCENARIOS / 2, (1.0, 0.001), 2).trials);
        let inside: usize = unseen.iter().map(|trials| in_range(trials, &profile)).sum();
        inside as f64 / unseen.iter().map(Vec::len).sum::<usize>() as f64
    };
    let [together, apart] = [together, apart].map(inside);
    assert!(together < 0.6 && apart > 0.85, "{together} and {apart}");
}

#[test]
fn without_trials_ranges_are_those_of_the_models() {
    assert_eq!(assess(&machine(), None, &Samples::none(machine().machine)), None);
    let few = trials(&machine(), 1, (1.0, 0.1), 1);
    let found = assess(&machine(), None, &few).expect("some");
    // There are too few trials of any one kind, so one margin serves all.
    assert!(found.margins.iter().all(|margin| margin.handling.is_none()), "{found:?}");
    let again = reread(&with(found.clone()), |text| text).expect("a profile");
    assert_eq!(again.accuracy, Some(found));
}

/// However much too wide the ranges of its kind are, a narrow range gets narrower and stays a
/// range.
#[test]
fn ranges_that_are_too_wide_keep_a_share_of_their_width() {
    let workload = Workload::from_toml("trial", &trial_scenarios(1, 3)[0]).expect("a scenario");
    let plan = &candidates(&workload).programs()[0];
    let mut forecast = forecast(plan, &machine(), DRAWS, 1).expect("known");
    let mut widths = |margin: f64| {
        forecast.margin = margin;
        let (low, high) = forecast.interval();
        [low, high].map(|end| end.nanos_f64() - forecast.makespan().nanos_f64())
    };
    let [below, above] = widths(0.0);
    assert!(below < -2.0 && above > 2.0, "{below} {above}");
    let narrower = widths(-0.4);
    assert!((narrower[0] - 0.6 * below).abs() <= 1.0 && (narrower[1] - 0.6 * above).abs() <= 1.0);
    assert_eq!(widths(-1.0), [0.0; 2]);
    let wider = widths(0.1);
    assert!(wider[0] < below && wider[1] > above);
}

#[test]
fn trials_move_no_prediction() {
    let scenario = &trial_scenarios(1, 3)[0];
    let workload = Workload::from_toml("trial", scenario).expect("a scenario");
    let plan = &candidates(&workload).programs()[0];
    let found = assess(&machine(), None, &trials(&machine(), 20, (1.5, 0.1), 1)).expect("trials");
    let (bare, wide) = (
        forecast(plan, &machine(), 40, 1).expect("known"),
        forecast(plan, &with(found), 40, 1).expect("known"),
    );
    assert_eq!(bare.timeline, wide.timeline);
    assert_eq!(bare.draws, wide.draws);
    assert!(wide.interval().0 < bare.interval().0 && bare.interval().1 < wide.interval().1);
}

/// A plan of one synchronisation, and a machine on which that takes 50 us in this share of cases,
/// and 1 us otherwise.
fn synchronizing(share: f64) -> (Program, Profile) {
    let mut profile = machine();
    let call = profile.calls.synchronize.as_mut().expect("known");
    *call = Estimate { ns: 1_000.0, scatter: 0.0, other: Some(Other { ns: 50_000.0, share }) };
    let workload = Workload::from_toml("trial", &trial_scenarios(1, 3)[0]).expect("a scenario");
    let mut plan = candidates(&workload).programs().swap_remove(1);
    plan.streams.truncate(1);
    plan.body = vec![Call::Synchronize { stream: StreamId(0) }];
    (plan, profile)
}

#[test]
fn a_prediction_goes_with_most_of_the_draws() {
    let predicted = |share| {
        let (plan, profile) = synchronizing(share);
        let forecast = forecast(&plan, &profile, 40, 1).expect("known");
        forecast.timeline.makespan.nanos()
    };
    assert_eq!(predicted(0.25), 1_000);
    assert_eq!(predicted(0.75), 50_000);
}
