//! The answer in one sentence, and how sure it is in another one.

use super::line::side;
use crate::findings::{Answer, Assessment, Comparison, Contender, MissingTime, Verdict};
use crate::machine::Side;
use crate::program::ProcessState;
use crate::report::evaluation::{Evaluation, RangesTried};
use crate::report::words::{count, longer, percent, plural};
use crate::simulate::COVERAGE;

/// What to choose.
pub(in crate::report) fn answer(assessment: &Assessment) -> String {
    let Assessment { verdict: of, runs, plans, missing_times, .. } = assessment;
    verdict(of, *runs, plans.len(), missing_times.first())
}

/// What to choose for a program of `runs` and among a number of plans, and the time that is missing
/// if that is all that keeps a side from being compared.
pub(in crate::report) fn verdict(
    verdict: &Verdict,
    runs: u64,
    plans: usize,
    missing: Option<&MissingTime>,
) -> String {
    let runs = runs_in(runs, verdict.process);
    let Verdict { answer, run_answer, run, program, .. } = verdict;
    match (run, program) {
        (None, _) => "No plan can be predicted.".to_owned(),
        (Some(_), Some(program)) if answer != run_answer => of_program(verdict, &runs, program),
        (Some(run), _) => of_run((verdict, run), (&runs, plans), missing),
    }
}

/// `100 runs in a new process`.
pub(super) fn runs_in(runs: u64, process: ProcessState) -> String {
    format!("{} in a {process} process", plural(runs, "run"))
}

/// One run settles it.
fn of_run(
    (verdict, run): (&Verdict, &Comparison),
    (runs, plans): (&str, usize),
    missing: Option<&MissingTime>,
) -> String {
    let Comparison { answer, chosen, other, factor, .. } = run;
    let (name, takes) = (format!("`{}`", chosen.plan), chosen.time_ns);
    let Some((other, factor)) = other.as_ref().zip(*factor) else {
        return alone(chosen, &whole(verdict, runs), missing);
    };
    let than = other.time_ns;
    let longer = longer(factor);
    match answer {
        Answer::Gpu => {
            format!("Use the GPU: {name} takes {takes} a run; the CPU takes {than}, {longer}.")
        }
        Answer::Both => format!(
            "Share the work between both: {name} takes {takes} a run; the CPU alone takes {than}, \
             {longer}."
        ),
        Answer::Cpu => format!(
            "Stay on the CPU: it takes {takes} a run; the best plan on the GPU, `{}`, takes \
             {than}, {longer}.",
            other.plan
        ),
        Answer::Tie if run.is_between_sides() => format!(
            "Either side will do: {} a run on {} and {than} on {}, which is too close to call.",
            takes,
            on(chosen),
            on(other)
        ),
        Answer::Tie => format!(
            "Either will do: {name} takes {takes} a run and `{}` {than}, which is too close to \
             call.",
            other.plan
        ),
        Answer::Plan | Answer::NothingToCompare => {
            let rival = &other.plan;
            let next = match plans {
                2 => format!("`{rival}` takes"),
                _ => format!("the next, `{rival}`, takes"),
            };
            format!("Use {name}: it takes {takes} a run; {next} {than}, {longer}.")
        }
    }
}

/// What the whole program takes of a plan that has no rival.
fn whole(verdict: &Verdict, runs: &str) -> String {
    let program = verdict.program.as_ref().map(|program| program.chosen.time_ns);
    program.map_or_else(String::new, |time| format!(", {time} for {runs}"))
}

/// There is nothing to compare it with.
fn alone(only: &Contender, whole: &str, missing: Option<&MissingTime>) -> String {
    let (name, takes) = (&only.plan, only.time_ns);
    match missing {
        None => {
            format!("`{name}` takes {takes} a run{whole}; there is nothing to compare it with.")
        }
        Some(MissingTime { kernel, on_cpu, other_wins_above_ns: None, .. }) => format!(
            "`{name}` takes {takes} a run{whole}, and is faster even if `{kernel}` takes no time \
             on {}.",
            side(*on_cpu)
        ),
        Some(MissingTime { kernel, on_cpu, other_wins_above_ns: Some(at), .. }) => format!(
            "`{name}` takes {takes} a run{whole}; {} is faster if `{kernel}` takes less than {at} \
             a run there.",
            side(*on_cpu)
        ),
    }
}

/// The program has another answer than one run.
fn of_program(verdict: &Verdict, runs: &str, program: &Comparison) -> String {
    let Comparison { answer, chosen, other, .. } = program;
    let (takes, other_takes) = (chosen.time_ns, other.as_ref().map(|other| other.time_ns));
    let against = match (other, other_takes) {
        (Some(other), Some(time)) if program.is_between_sides() => {
            let with = match other.side {
                Side::Cpu => String::new(),
                Side::Gpu | Side::Both => format!(" with `{}`", other.plan),
            };
            format!("; {} takes {time}{with}", subject(other))
        }
        (Some(other), Some(time)) => format!("; `{}` takes {time}", other.plan),
        _ => String::new(),
    };
    let later = verdict.from_runs.map(|from| {
        let who = match verdict.run_answer {
            Answer::Both => "sharing the work",
            Answer::Cpu => "the CPU",
            _ => "the GPU",
        };
        format!(". From {} runs on, {who} is faster", count(from))
    });
    let later = later.unwrap_or_default();
    match answer {
        Answer::Cpu => format!("Stay on the CPU for {runs}: {takes}{against}{later}."),
        Answer::Gpu => {
            format!("Use the GPU for {runs}: `{}` takes {takes}{against}{later}.", chosen.plan)
        }
        Answer::Both => format!(
            "Share the work between both for {runs}: `{}` takes {takes}{against}{later}.",
            chosen.plan
        ),
        Answer::Plan => format!("Use `{}` for {runs}: {takes}{against}{later}.", chosen.plan),
        Answer::Tie | Answer::NothingToCompare => {
            let first = if program.is_between_sides() {
                format!("{} on {}", takes, on(chosen))
            } else {
                format!("{takes} with `{}`", chosen.plan)
            };
            format!(
                "Either will do for {runs}: {first}{against}, which is too close to call{later}."
            )
        }
    }
}

/// The side that a contender uses.
pub(super) fn on(one: &Contender) -> &'static str {
    match one.side {
        Side::Cpu => "the CPU",
        Side::Gpu => "the GPU",
        Side::Both => "both",
    }
}

/// The side that a contender uses, as the subject of a sentence.
pub(super) fn subject(one: &Contender) -> &'static str {
    match one.side {
        Side::Cpu => "the CPU",
        Side::Gpu => "the GPU",
        Side::Both => "sharing the work",
    }
}

/// How sure the answer is.
pub(in crate::report) fn how_sure(evaluation: &Evaluation, assessment: &Assessment) -> String {
    let verdict = &assessment.verdict;
    // The table has the ranges of single runs.
    let whose = if verdict.answer == verdict.run_answer { "ranges" } else { "the totals' ranges" };
    let draws = verdict.deciding().and_then(|one| in_draws(one, evaluation.draws, whose));
    let ranges = ranges_held(evaluation);
    match draws {
        Some(draws) => format!("How sure: {draws}. {ranges}."),
        None => format!("How sure: {ranges}."),
    }
}

/// From this share of draws on, a plan that is not faster in all of them is likely to be.
const LIKELY: f64 = 0.9;

/// In how many draws the chosen plan is the faster one, and whether that hangs on how wide the
/// ranges are.
fn in_draws(comparison: &Comparison, draws: usize, ranges: &str) -> Option<String> {
    let share = comparison.faster_in?;
    let what = match (comparison.is_between_sides(), comparison.answer) {
        (_, Answer::Tie | Answer::NothingToCompare) => {
            return Some(format!("neither is clearly faster in {draws} draws of the costs"));
        }
        (true, Answer::Cpu) => "the CPU is faster",
        (true, Answer::Gpu) => "the GPU is faster",
        _ => &format!("`{}` is faster", comparison.chosen.plan),
    };
    let (grade, apart) = match (comparison.is_apart_at(1.0), comparison.is_apart_at(2.0)) {
        (_, Some(true)) => ("very", format!(", and {ranges} stay apart at twice their width")),
        (Some(true), _) => ("fairly", format!(", but {ranges} overlap at twice their width")),
        (Some(false), _) => {
            ("fairly", format!(", though {ranges} overlap: some costs affect both"))
        }
        (None, _) => ("fairly", String::new()),
    };
    Some(match share {
        1.0 => format!("{grade}; {what} in all {draws} draws of the costs{apart}"),
        _ => {
            let grade = if share < LIKELY { "not very" } else { "fairly" };
            format!("{grade}; {what} in {} of {draws} draws of the costs", percent(share))
        }
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
