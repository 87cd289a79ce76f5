//! The answer in one sentence, and how sure it is in another one.

use super::line::side;
use crate::findings::{Answer, Assessment, Comparison, Contender, MissingTime, Verdict};
use crate::machine::Side;
use crate::program::ProcessState;
use crate::report::evaluation::{Evaluation, RangesTried};
use crate::report::words::{count, longer, percent, plural};
use crate::simulate::COVERAGE;
use crate::units::Span;

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
    if let (Some(run), Some(missing)) = (run, missing) {
        return without_a_time(&run.chosen, missing);
    }
    match (run, program) {
        (None, _) => "No plan can be predicted.".to_owned(),
        (Some(_), Some(program)) if answer != run_answer => of_program(verdict, &runs, program),
        (Some(run), _) => of_run((verdict, run), (&runs, plans)),
    }
}

/// `100 runs in a new process`.
pub(super) fn runs_in(runs: u64, process: ProcessState) -> String {
    format!("{} in a {process} process", plural(runs, "run"))
}

/// One run settles it.
fn of_run((verdict, run): (&Verdict, &Comparison), (runs, plans): (&str, usize)) -> String {
    let Comparison { answer, chosen, other, factor, .. } = run;
    let (name, takes) = (format!("`{}`", chosen.plan), chosen.time_ns);
    let Some((other, factor)) = other.as_ref().zip(*factor) else {
        let whole = whole(verdict, runs);
        return format!("{name} takes {takes} a run{whole}; there is nothing to compare it with.");
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

/// The other side lacks the time of a kernel. What else it takes may settle which side is faster.
fn without_a_time(known: &Contender, missing: &MissingTime) -> String {
    let MissingTime { kernel, on_cpu, other_wins_above_ns, rest_ns, .. } = missing;
    let (here, there) = (side(!on_cpu), side(*on_cpu));
    let Contender { plan, time_ns: takes, .. } = known;
    match other_wins_above_ns {
        None => {
            let choose = if *on_cpu { "Use the GPU" } else { "Stay on the CPU" };
            format!(
                "{choose}: `{plan}` takes {takes} a run; {there} takes {rest_ns} even if \
                 `{kernel}` takes no time there."
            )
        }
        Some(at) => format!(
            "Open: use {there} if `{kernel}` takes less than {at} a run there, else {here}: \
             `{plan}` takes {takes} a run."
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
    let said = match (&verdict.run, assessment.missing_times.first()) {
        (Some(run), Some(missing)) => Some(sure_without(&run.chosen, missing)),
        _ => verdict.deciding().and_then(|one| {
            let link = doubtful_link(evaluation, assessment, one);
            in_draws(one, evaluation.draws, (whose, link))
        }),
    };
    let said = said.unwrap_or_else(|| "there is nothing to compare".to_owned());
    format!("How sure: {said}.")
}

/// How the link may be off, if something else used it while it was measured and that might turn
/// the answer around.
fn doubtful_link(
    evaluation: &Evaluation,
    assessment: &Assessment,
    compared: &Comparison,
) -> Option<String> {
    let off = evaluation.unsteady_link?.widest();
    let off_by = |one: &Contender| {
        let plan = assessment.plan(&one.plan);
        let on_link = plan.map_or(0.0, |plan| plan.critical_path.h2d + plan.critical_path.d2h);
        let before = one.first_use_ns.unwrap_or_default() + one.setup_ns.unwrap_or_default();
        let runs = one.time_ns.saturating_sub(before);
        Span::from_nanos_f64(off * on_link * runs.nanos_f64())
    };
    let crosses = |one: Option<&Contender>| one.is_some_and(|one| off_by(one) > Span::ZERO);
    let how = match (crosses(Some(&compared.chosen)), crosses(compared.other.as_ref())) {
        (true, true) => "slower for one and faster for the other",
        (true, false) => "slower",
        (false, _) => "faster",
    };
    (compared.is_apart_at(2.0, off_by) == Some(false)).then(|| format!("{} {how}", percent(off)))
}

/// How sure an answer is that lacks a time.
fn sure_without(known: &Contender, missing: &MissingTime) -> String {
    let MissingTime { kernel, other_wins_above_ns, rest_ns, .. } = missing;
    if other_wins_above_ns.is_some() {
        return format!(
            "not at all; state the time of `{kernel}`, or measure it with `hallway calibrate \
             --scenario`"
        );
    }
    let up = known.high_ns.saturating_sub(known.time_ns);
    if known.high_ns + up < *rest_ns {
        format!(
            "very; {} takes less than {rest_ns} even at twice the width of its range",
            on(known)
        )
    } else {
        format!("fairly; {} may take up to {}", on(known), known.high_ns)
    }
}

/// From this share of draws on, a plan that is not faster in all of them is likely to be.
const LIKELY: f64 = 0.95;

/// In how many draws the chosen plan is the faster one, and whether that hangs on how wide the
/// ranges are.
fn in_draws(
    comparison: &Comparison,
    draws: usize,
    (ranges, link): (&str, Option<String>),
) -> Option<String> {
    let share = comparison.faster_in?;
    let what = match (comparison.is_between_sides(), comparison.answer) {
        (_, Answer::Tie | Answer::NothingToCompare) => {
            return Some(format!("neither is clearly faster in {draws} draws of the costs"));
        }
        (true, Answer::Cpu) => "the CPU is faster",
        (true, Answer::Gpu) => "the GPU is faster",
        _ => &format!("`{}` is faster", comparison.chosen.plan),
    };
    let apart_at = |times| comparison.is_apart_at(times, |_| Span::ZERO);
    let (grade, apart) = match (apart_at(1.0), apart_at(2.0), link) {
        (_, Some(true), None) => {
            ("very", format!(", and {ranges} stay apart at twice their width"))
        }
        (_, Some(true), Some(off)) => {
            let off = format!("the link was busy when measured: if it is {off}");
            ("fairly", format!("; {off}, {ranges} overlap at twice their width"))
        }
        (Some(true), ..) => ("fairly", format!(", but {ranges} overlap at twice their width")),
        (Some(false), ..) => {
            ("fairly", format!("; {ranges} overlap only because most costs move both alike"))
        }
        (None, ..) => ("fairly", String::new()),
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
