//! At which sizes the GPU is faster.

use super::line::{Line, side};
use crate::findings::{Answer, Assessment, NoThreshold, Sizes, Threshold};
use crate::report::wins::stretch;
use crate::report::words::{count, fine_count, quoted};

/// At which sizes the GPU is faster, or why that is not known.
pub(in crate::report) fn sizes(assessment: &Assessment) -> Option<Line> {
    let found = assessment.sizes.as_ref().filter(|_| assessment.no_room.len() < 2)?;
    let text = match found {
        Sizes::Known(threshold) => {
            let verdict = &assessment.verdict;
            // Sizes are compared by one run: that has to be said if all runs have another answer.
            let scope = if verdict.answer == verdict.run_answer { "" } else { "in one run, " };
            scope.to_owned() + &known(threshold, verdict.run_answer == Answer::Tie)
        }
        Sizes::Unknown(why) => unknown(*why),
    };
    Some(Line::new("Break-even", text))
}

fn unknown(why: NoThreshold) -> String {
    let why = match why {
        NoThreshold::PlansThatFit => "the quick search at other sizes finds no plan that fits",
        NoThreshold::FasterPlans => "the quick search at other sizes misses the faster plan",
    };
    format!("unknown: {why}; `--sweep elements=...` searches in full")
}

fn known(found: &Threshold, ties_here: bool) -> String {
    let Threshold { gpu_wins, elements, tried, .. } = found;
    let [from, to] = tried.map(count);
    let all = format!("at every size tried, from {from} elements to {to}");
    let bounded: Option<Vec<String>> =
        gpu_wins.iter().map(|wins| stretch(wins, &fine_count)).collect();
    let close = if ties_here { ", too close to call" } else { "" };
    let here = format!("here {}{close}", fine_count(*elements as f64));
    match bounded.as_deref() {
        None => format!("GPU faster {all}"),
        Some([]) => format!("CPU faster {all}"),
        Some(sizes) => format!("GPU faster {} elements; {here}", sizes.join(" and ")),
    }
}

/// What the sizes of a break-even mean, and where memory ends them.
pub(in crate::report) fn about_sizes(assessment: &Assessment) -> Option<Line> {
    let Threshold { buffer, tried, fixed, too_large_for_gpu, too_large_for_cpu, .. } =
        assessment.threshold()?;
    let [from, to] = tried.map(count);
    let mut text =
        format!("elements of `{buffer}`, from {from} to {to}; other arrays scale with it");
    if !fixed.is_empty() {
        text += &format!(", but {} keep their size", quoted(fixed).join(", "));
    }
    for (on_cpu, too_large) in [(false, too_large_for_gpu), (true, too_large_for_cpu)] {
        if let Some(from) = too_large {
            let from = count(*from);
            text += &format!(". From about {from} on, no plan tried on {} fits", side(on_cpu));
        }
    }
    Some(Line::new("Sizes", text))
}
