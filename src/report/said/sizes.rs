//! At which sizes the GPU is faster.

use super::{Line, side};
use crate::findings::{Answer, Assessment, NoThreshold, Sizes, Threshold};
use crate::report::wins::stretch;
use crate::report::words::{count, fine_count, quoted};

/// At which sizes the GPU is faster, or why that is not known.
pub(in crate::report) fn sizes(assessment: &Assessment) -> Option<Line> {
    let found = assessment.sizes.as_ref().filter(|_| assessment.no_room.len() < 2)?;
    let text = match found {
        Sizes::Known(threshold) => known(threshold, assessment.verdict.run_answer == Answer::Tie),
        Sizes::Unknown(why) => unknown(*why),
    };
    Some(Line::new("Break-even", text))
}

fn unknown(why: NoThreshold) -> String {
    let why = match why {
        NoThreshold::PlansThatFit => "only a longer search finds a plan that fits into memory",
        NoThreshold::FasterPlans => "only a longer search finds the plan that is faster",
    };
    format!("not known: {why}. `--sweep elements=...` searches for long at every size")
}

fn known(found: &Threshold, ties_here: bool) -> String {
    let Threshold { gpu_wins, buffer, elements, tried, .. } = found;
    let [from, to] = tried.map(count);
    let all = format!("at every size of `{buffer}` from {from} to {to} elements");
    let bounded: Option<Vec<String>> =
        gpu_wins.iter().map(|wins| stretch(wins, &fine_count)).collect();
    let mut text = match bounded.as_deref() {
        None => format!("the GPU is faster {all}"),
        Some([]) => format!("the CPU is faster {all}"),
        Some(sizes) => {
            format!("the GPU is faster {} elements of `{buffer}`", sizes.join(" and "))
        }
    };
    if !matches!(bounded.as_deref(), None | Some([])) {
        let close = if ties_here { ", too close to call" } else { "" };
        text += &format!("; here {}{close}", fine_count(*elements as f64));
    }
    for (on_cpu, too_large) in [(false, found.too_large_for_gpu), (true, found.too_large_for_cpu)] {
        if let Some(from) = too_large {
            let from = count(from);
            text += &format!(". From about {from} on, no plan tried on {} fits", side(on_cpu));
        }
    }
    if !found.fixed.is_empty() {
        text += &format!(". {} keep their size", quoted(&found.fixed).join(", "));
    }
    text
}
