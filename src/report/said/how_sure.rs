//! How sure an answer is.

use super::line::subject;
use crate::findings::{Assessment, Certainty, Comparison, Contender, Doubt, Grade};
use crate::machine::Side;
use crate::report::sureness::RangesHeld;
use crate::report::words::{if_known, percent, plural, range};

/// A grade, and the reason for it.
pub(in crate::report) fn how_sure(assessment: &Assessment) -> String {
    let verdict = &assessment.verdict;
    let missing = assessment.missing_times.first().filter(|_| verdict.run.is_some());
    let compared = verdict.deciding();
    let faster = match (missing, &verdict.run) {
        (Some(_), Some(run)) => Some(format!("{} is faster", subject(run.chosen.side))),
        _ => compared.and_then(|one| Some(is_faster(&one.chosen, one.other.as_ref()?))),
    };
    let said = assessment.certainty.as_ref().zip(faster);
    let said = said.map(|(certainty, faster)| match (certainty.grade, missing) {
        (Grade::Open, Some(missing)) => {
            let between = if_known(certainty.most_doubt.as_ref(), |doubt| match doubt {
                Doubt::MissingTime { from_ns, to_ns } => {
                    let times = range(*from_ns, *to_ns);
                    format!("; if it takes {times}, either side may win: run both")
                }
                _ => String::new(),
            });
            format!("open until `{}` is timed{between}", missing.kernel)
        }
        _ => {
            let alike = compared.map_or("", |one| off_alike(one, certainty));
            // One run may have another answer, and says so further down.
            let is_of_all = verdict.answer != verdict.run_answer;
            let runs = plural(assessment.runs, "run");
            let faster = if is_of_all { format!("{faster} over {runs}") } else { faster };
            format!("{}{alike}", in_words(certainty, &faster))
        }
    });
    format!("How sure: {}.", said.unwrap_or_else(|| "there is nothing to compare".to_owned()))
}

/// Why the order of two plans is sure although their ranges overlap.
fn off_alike(compared: &Comparison, certainty: &Certainty) -> &'static str {
    let Comparison { chosen, other, .. } = compared;
    let overlap = other.as_ref().is_some_and(|other| other.low_ns < chosen.high_ns);
    let is_sure = matches!(certainty.grade, Grade::Very | Grade::Fairly);
    if !overlap || !is_sure || certainty.same_kernels <= MOST {
        return "";
    }
    "; their ranges overlap, but both run the same kernels: if one takes longer, so does the other"
}

/// A share that is most of a time.
const MOST: f64 = 0.5;

/// `the CPU is faster`.
fn is_faster(chosen: &Contender, other: &Contender) -> String {
    match (chosen.side, other.side) {
        (Side::Cpu, _) | (_, Side::Cpu) => format!("{} is faster", subject(chosen.side)),
        _ => format!("`{}` is faster", chosen.plan),
    }
}

fn in_words(Certainty { grade, probability, most_doubt, .. }: &Certainty, faster: &str) -> String {
    let chance = if_known(*probability, chance);
    let grade = match grade {
        Grade::Very => return format!("very; the chance that {faster} is {chance}"),
        Grade::Fairly => "fairly; ",
        Grade::NotVery => "not very; ",
        Grade::Tie | Grade::Open => "",
    };
    let doubt = match most_doubt {
        Some(Doubt::Plan { plan, side, .. }) => {
            let name = format!("`{plan}`");
            let one = if *side == Side::Cpu { "the CPU" } else { &name };
            format!("; most of the uncertainty is in the time of {one}")
        }
        Some(Doubt::Link { off }) => format!(
            "; most of the uncertainty is in copies, which may be off by {}: the link was busy \
             during calibration",
            percent(*off)
        ),
        Some(Doubt::MissingTime { .. }) | None => String::new(),
    };
    format!("{grade}the chance that {faster} is {chance}{doubt}")
}

/// A probability. No calibration knows a hundredth of it.
fn chance(probability: f64) -> String {
    match probability {
        p if p >= 0.99 => "more than 99%".to_owned(),
        p if p < 0.01 => "less than 1%".to_owned(),
        // Rounded down, so that no more is said than is known.
        p => format!("{:.0}%", (100.0 * p).floor()),
    }
}

/// What ranges did where they were tried, and what follows for how sure an answer is.
pub(in crate::report) fn ranges_held(held: Option<RangesHeld>, model_error: Option<f64>) -> String {
    if let Some(held) = held {
        return held.sentence();
    }
    let so = match model_error {
        Some(error) => format!("widened by {}, the error on other machines", percent(error)),
        None => "too narrow".to_owned(),
    };
    format!("No plan has been run on this machine, so ranges are {so}")
}
