//! The answer in one sentence.

use super::line::{side, subject};
use super::with_the_gpu::whole_way;
use crate::findings::{
    Answer, Assessment, Certainty, Comparison, Contender, Doubt, MissingTime, Verdict,
};
use crate::machine::Side;
use crate::program::ProcessState;
use crate::report::words::{count, if_known, longer, plural};

/// What to choose.
pub(in crate::report) fn answer(assessment: &Assessment) -> String {
    let Assessment { verdict: of, runs, plans, missing_times, certainty, .. } = assessment;
    match (&of.run, missing_times.first(), certainty) {
        (Some(run), Some(missing), Some(certainty)) => {
            without_a_time(&run.chosen, missing, certainty)
        }
        _ => told(of, *runs, plans.len(), |plan| assessment.plan(plan).map(whole_way)),
    }
}

/// What to choose for a program of `runs` and among a number of plans.
pub(in crate::report) fn verdict(verdict: &Verdict, runs: u64, plans: usize) -> String {
    told(verdict, runs, plans, |_| None)
}

/// What to choose for a program of `runs`. `does` says what a plan does, if that is known.
fn told(
    verdict: &Verdict,
    runs: u64,
    plans: usize,
    does: impl Fn(&str) -> Option<String>,
) -> String {
    let runs = runs_in(runs, verdict.process);
    let Verdict { answer, run_answer, run, program, .. } = verdict;
    match (run, program) {
        (None, _) => "No plan can be predicted.".to_owned(),
        (Some(_), Some(program)) if answer != run_answer => of_program(verdict, &runs, program),
        (Some(run), _) => of_run((verdict, run), (&runs, plans), does(&run.chosen.plan)),
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
    does: Option<String>,
) -> String {
    let Comparison { answer, chosen, other, factor, .. } = run;
    let (name, takes) = (format!("`{}`", chosen.plan), chosen.time_ns);
    let Some((other, factor)) = other.as_ref().zip(*factor) else {
        let program = verdict.program.as_ref().map(|program| program.chosen.time_ns);
        let whole = if_known(program, |time| format!(", {time} for {runs}"));
        return format!("{name} takes {takes} a run{whole}; there is nothing to compare it with.");
    };
    let than = other.time_ns;
    let longer = longer(factor);
    match answer {
        Answer::Gpu => {
            // What a name alone stands for comes first.
            let way = does.filter(|way| *way != name);
            let takes = way.map_or_else(
                || format!("{name} takes {takes} a run"),
                |way| format!("{way}, a run takes {takes}"),
            );
            format!("Use the GPU: {takes}; the CPU takes {than}, {longer}.")
        }
        Answer::Both => format!(
            "Share the work between CPU and GPU: {name} takes {takes} a run; the CPU alone takes \
             {than}, {longer}."
        ),
        Answer::Cpu => format!(
            "Stay on the CPU: it takes {takes} a run; the best plan on the GPU, `{}`, takes \
             {than}, {longer}.",
            other.plan
        ),
        Answer::Tie if run.is_between_sides() => format!(
            "Either side will do: {} a run on {} and {than} on {}, too close to call.",
            takes,
            on(chosen.side),
            on(other.side)
        ),
        Answer::Tie => format!(
            "Either will do: {name} takes {takes} a run and `{}` {than}, too close to call.",
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

/// The answer if only one side is known and the other lacks the time of a kernel. What that side
/// takes besides may settle which one is faster.
fn without_a_time(known: &Contender, missing: &MissingTime, certainty: &Certainty) -> String {
    let MissingTime { kernel, on_cpu, rest_ns, .. } = missing;
    let there = side(*on_cpu);
    let Contender { plan, time_ns: takes, .. } = known;
    let Some(Doubt::MissingTime { from_ns, to_ns }) = certainty.most_doubt else {
        let here =
            if *on_cpu { format!("Use the GPU: `{plan}`") } else { "Stay on the CPU: it".into() };
        return format!(
            "{here} takes {takes} a run; {there} would take {rest_ns} even if `{kernel}` took no \
             time there."
        );
    };
    let name = format!("`{plan}`");
    let other = if *on_cpu { &name } else { "the CPU" };
    format!(
        "Open: measure `{kernel}` first, with `hallway calibrate --scenario FILE`. If it takes at \
         most {from_ns} a run on {there}, use {there}; if it takes {to_ns} or more, use {other}."
    )
}

/// The program has another answer than one run.
fn of_program(verdict: &Verdict, runs: &str, program: &Comparison) -> String {
    let Comparison { answer, chosen, other, .. } = program;
    let takes = chosen.time_ns;
    let against = if_known(other.as_ref(), |Contender { plan, side, time_ns, .. }| match side {
        _ if !program.is_between_sides() => format!("; `{plan}` takes {time_ns}"),
        Side::Cpu => format!("; the CPU takes {time_ns}"),
        _ => format!("; {} takes {time_ns} with `{plan}`", subject(*side)),
    });
    let later = if_known(verdict.from_runs, |from| {
        let who = match verdict.run_answer {
            Answer::Both => "sharing the work",
            Answer::Cpu => "the CPU",
            _ => "the GPU",
        };
        format!(". For {} or more runs, {who} is faster", count(from))
    });
    match answer {
        Answer::Cpu => format!("Stay on the CPU for {runs}: {takes}{against}{later}."),
        Answer::Gpu => {
            format!("Use the GPU for {runs}: `{}` takes {takes}{against}{later}.", chosen.plan)
        }
        Answer::Both => format!(
            "Share the work between CPU and GPU for {runs}: `{}` takes {takes}{against}{later}.",
            chosen.plan
        ),
        Answer::Plan => format!("Use `{}` for {runs}: {takes}{against}{later}.", chosen.plan),
        Answer::Tie | Answer::NothingToCompare => {
            let first = if program.is_between_sides() {
                format!("{takes} on {}", on(chosen.side))
            } else {
                format!("{takes} with `{}`", chosen.plan)
            };
            format!("Either will do for {runs}: {first}{against}, too close to call{later}.")
        }
    }
}

/// A side as the place of a run.
const fn on(side: Side) -> &'static str {
    match side {
        Side::Both => "both",
        one => subject(one),
    }
}
