//! How sure an answer is.

use super::answer::on;
use crate::findings::{Assessment, Certainty, Contender, Doubt, Grade, MissingTime};
use crate::machine::Side;
use crate::report::evaluation::Evaluation;
use crate::report::words::{percent, range};

/// A grade, and the reason for it.
pub(in crate::report) fn how_sure(assessment: &Assessment) -> String {
    let verdict = &assessment.verdict;
    let missing = assessment.missing_times.first().filter(|_| verdict.run.is_some());
    let faster = match missing {
        Some(missing) => verdict.run.as_ref().map(|run| is_faster_despite(&run.chosen, missing)),
        None => {
            verdict.deciding().and_then(|one| Some(is_faster(&one.chosen, one.other.as_ref()?)))
        }
    };
    let said = assessment.certainty.as_ref().zip(faster);
    let said = said.map(|(certainty, faster)| match (certainty.grade, missing) {
        (Grade::Open, Some(MissingTime { kernel, .. })) => format!(
            "open until the time of `{kernel}` is known; state it, or measure it with `hallway \
             calibrate --scenario`"
        ),
        _ => in_words(certainty, &faster),
    });
    format!("How sure: {}.", said.unwrap_or_else(|| "there is nothing to compare".to_owned()))
}

/// `the CPU is faster`.
fn is_faster(chosen: &Contender, other: &Contender) -> String {
    match (chosen.side, other.side) {
        (Side::Cpu, _) | (_, Side::Cpu) => format!("{} is faster", on(chosen)),
        _ => format!("`{}` is faster", chosen.plan),
    }
}

/// The same, of a plan that is compared with all but a kernel of the other side.
fn is_faster_despite(known: &Contender, missing: &MissingTime) -> String {
    format!("{} is faster whatever `{}` takes", on(known), missing.kernel)
}

fn in_words(Certainty { grade, probability, most_doubt }: &Certainty, faster: &str) -> String {
    let chance = probability.map_or_else(String::new, chance);
    let grade = match grade {
        Grade::Very => return format!("very; the chance that {faster} is {chance}"),
        Grade::Fairly => "fairly; ",
        Grade::NotVery => "not very; ",
        Grade::Tie | Grade::Open => "",
    };
    let doubt = match most_doubt {
        Some(Doubt::Plan { plan, side, low_ns, high_ns }) => {
            let name = format!("`{plan}`");
            let one = if *side == Side::Cpu { "the CPU" } else { &name };
            let one = if faster.starts_with(one) { "it" } else { one };
            format!(", as {one} may take {}", range(*low_ns, *high_ns))
        }
        Some(Doubt::Link { off }) => format!(
            ", as the link was busy when it was measured: copies may be off by {}",
            percent(*off)
        ),
        None => String::new(),
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
pub(in crate::report) fn ranges_held(evaluation: &Evaluation) -> String {
    let Some(held) = evaluation.ranges_held else {
        return match evaluation.profile.model_error {
            Some(error) => format!(
                "No plan was tried on this machine, so ranges are widened by {}, the error on \
                 others",
                percent(error)
            ),
            None => "No plan was tried on this machine, so ranges are too narrow".to_owned(),
        };
    };
    match held.would_have_to_be_as_wide() {
        1.0 => held.sentence(),
        wide => format!("{}; \"How sure\" takes them {wide:.1} times as wide", held.sentence()),
    }
}
