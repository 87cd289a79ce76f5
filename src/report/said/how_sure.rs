//! How sure an answer is.

use super::answer::on;
use crate::findings::{Answer, Assessment, Comparison, Contender, MissingTime};
use crate::machine::Side;
use crate::report::evaluation::{Evaluation, RangesTried};
use crate::report::words::{percent, plural};
use crate::simulate::COVERAGE;
use crate::units::Span;

/// A grade, and the reason for it.
pub(in crate::report) fn how_sure(evaluation: &Evaluation, assessment: &Assessment) -> String {
    let verdict = &assessment.verdict;
    let said = match (&verdict.run, assessment.missing_times.first()) {
        (Some(run), Some(missing)) => Some(sure_without(&run.chosen, missing)),
        _ => verdict.deciding().and_then(|one| {
            let link = doubtful_link(evaluation, assessment, one);
            in_draws(one, evaluation.draws, link)
        }),
    };
    let said = said.unwrap_or_else(|| "there is nothing to compare".to_owned());
    format!("How sure: {said}.")
}

/// By which share the link may be off, if something else used it while it was measured and that
/// might turn the answer around.
fn doubtful_link(
    evaluation: &Evaluation,
    assessment: &Assessment,
    compared: &Comparison,
) -> Option<f64> {
    let off = evaluation.unsteady_link?.widest();
    let off_by = |one: &Contender| {
        let plan = assessment.plan(&one.plan);
        let on_link = plan.map_or(0.0, |plan| plan.critical_path.h2d + plan.critical_path.d2h);
        let before = one.first_use_ns.unwrap_or_default() + one.setup_ns.unwrap_or_default();
        let runs = one.time_ns.saturating_sub(before);
        Span::from_nanos_f64(off * on_link * runs.nanos_f64())
    };
    (compared.is_apart_at(2.0, off_by) == Some(false)).then_some(off)
}

/// How sure an answer is that lacks a time.
fn sure_without(known: &Contender, missing: &MissingTime) -> String {
    let MissingTime { kernel, other_wins_above_ns, rest_ns, .. } = missing;
    if other_wins_above_ns.is_some() {
        return format!(
            "open until the time of `{kernel}` is known; state it, or measure it with `hallway \
             calibrate --scenario`"
        );
    }
    let up = known.high_ns.saturating_sub(known.time_ns);
    if known.high_ns + up < *rest_ns {
        format!("very; {} is faster even at twice the width of its range", on(known))
    } else {
        format!("fairly; {} may take up to {}", on(known), known.high_ns)
    }
}

/// The share of draws in which a plan has to be faster, which allows for one error in twenty.
const LIKELY: f64 = 0.95;

/// In how many draws the chosen plan is the faster one, and whether that hangs on how wide the
/// ranges are.
fn in_draws(comparison: &Comparison, draws: usize, link: Option<f64>) -> Option<String> {
    let share = comparison.faster_in?;
    let who = match (comparison.is_between_sides(), comparison.answer) {
        (_, Answer::Tie | Answer::NothingToCompare) => {
            return Some(format!("neither is clearly faster in {draws} draws of the costs"));
        }
        (true, Answer::Cpu) => "the CPU",
        (true, Answer::Gpu) => "the GPU",
        _ => &format!("`{}`", comparison.chosen.plan),
    };
    let slower = ((1.0 - share) * draws as f64).round();
    if share < LIKELY {
        return Some(format!(
            "not very; {who} is slower in {slower} of {draws} draws of the costs"
        ));
    }
    let in_most = match slower {
        0.0 => format!("in all {draws} draws of the costs"),
        _ => format!("in {} of {draws} draws of the costs", draws as f64 - slower),
    };
    let most = format!("{who} is faster {in_most}");
    let apart_at = |times| comparison.is_apart_at(times, |_| Span::ZERO) == Some(true);
    if let Some((holder, held)) = comparison.range_that_holds_the_other() {
        let holder =
            if holder.side == Side::Cpu { "the CPU" } else { &format!("`{}`", holder.plan) };
        return Some(format!(
            "not very; the range of {holder} holds the other time, {}, though {most}",
            held.time_ns
        ));
    }
    Some(match link {
        None if apart_at(2.0) && share == 1.0 => {
            format!("very; {who} is faster even at twice the width of the ranges")
        }
        Some(off) if apart_at(2.0) => format!(
            "fairly; {most}, but the link was busy when it was measured, and may be off by {}, \
             which the ranges leave out",
            percent(off)
        ),
        _ if apart_at(1.0) => {
            format!("fairly; {most}, but at twice their width the ranges overlap")
        }
        _ => format!(
            "fairly; the ranges overlap, but with the same costs for both, {who} is faster \
             {in_most}"
        ),
    })
}

/// What ranges did where they were tried.
pub(in crate::report) fn ranges_held(evaluation: &Evaluation) -> String {
    // A few runs say less than the calibration's own trials.
    let trials = evaluation.ranges.map_or(0, |ranges| ranges.trials);
    if let Some(scored) = evaluation.profile.scored.as_ref().filter(|one| one.plans >= trials) {
        return held(scored.coverage, scored.plans, "measured run");
    }
    match (evaluation.ranges, evaluation.profile.model_error) {
        (Some(RangesTried { trials, in_range, .. }), _) => held(in_range, trials, "trial"),
        (None, Some(error)) => format!(
            "No plan was tried on this machine, so ranges are widened by {}, the error on others",
            percent(error)
        ),
        (None, None) => "No plan was tried on this machine, so ranges are too narrow".to_owned(),
    }
}

/// The share of tries that ranges held, and whether that is less than they are made for by more
/// than chance: two standard deviations of a binomial share.
fn held(share: f64, tries: usize, what: &str) -> String {
    let chance = 2.0 * (COVERAGE * (1.0 - COVERAGE) / tries as f64).sqrt();
    let aim = percent(COVERAGE);
    let aim =
        if share < COVERAGE - chance { format!(", not {aim}") } else { format!(" (aim {aim})") };
    format!("Ranges held {} of {}{aim}", percent(share), plural(tries as u64, what))
}
