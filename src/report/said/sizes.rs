//! At which sizes the GPU is faster.

use super::line::{Line, side};
use crate::findings::{Answer, Assessment, NoThreshold, Sizes, Threshold};
use crate::report::words::{count, fine_count, joined, quoted, stretch};
use crate::search::Wins;

/// The label of [`sizes`].
pub(in crate::report) const BREAK_EVEN: &str = "Break-even";

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
    Some(Line::new(BREAK_EVEN, text))
}

fn unknown(why: NoThreshold) -> String {
    let why = match why {
        NoThreshold::PlansThatFit => "the quick search at other sizes finds no plan that fits",
        NoThreshold::FasterPlans => {
            "the quick search at other sizes does not include the fastest plan"
        }
    };
    format!("unknown: {why}; `--sweep elements=...` runs the full search")
}

fn known(found: &Threshold, ties_here: bool) -> String {
    let Threshold { gpu_wins, elements, tried, .. } = found;
    let [from, to] = tried.map(count);
    let all = format!("at every size tried, from {from} to {to} elements");
    let size = *elements as f64;
    let close = match ties_here {
        true if gpu_wins.iter().any(|wins| is_near_an_end(wins, size)) => ", within that range",
        true => ", too close to call",
        false => "",
    };
    let here = format!("this scenario has {}{close}", fine_count(size));
    let says = |who: &str, wins: &Wins| match stretch(wins, &fine_count) {
        None => format!("{who} faster {all}"),
        Some(sizes) => format!("{who} faster {sizes} elements; {here}"),
    };
    match gpu_wins[..] {
        [] => format!("CPU faster {all}"),
        [ref wins] => says("GPU", wins),
        // Only the stretch around the size of the scenario bears on its answer.
        _ => match gpu_wins.iter().find(|wins| holds(wins, size)) {
            Some(wins) => says("GPU", wins),
            None => says("CPU", &between(gpu_wins, size)),
        },
    }
}

/// Whether the GPU wins at a size.
pub(in crate::report) fn holds(wins: &Wins, size: f64) -> bool {
    wins.from.is_none_or(|from| from.0 <= size) && wins.until.is_none_or(|until| size < until.0)
}

/// Whether a size lies where an end of a stretch may be.
fn is_near_an_end(wins: &Wins, size: f64) -> bool {
    let ranges = [wins.from_range, wins.until_range].into_iter().flatten();
    ranges.into_iter().any(|[from, to]| {
        from.is_some_and(|from| from.0 <= size) && to.is_some_and(|to| size <= to.0)
    })
}

/// The sizes around one at which the CPU wins, between those at which the GPU does.
fn between(gpu_wins: &[Wins], size: f64) -> Wins {
    let before = gpu_wins.iter().rfind(|wins| wins.until.is_some_and(|until| until.0 <= size));
    let after = gpu_wins.iter().find(|wins| wins.from.is_some_and(|from| size < from.0));
    Wins {
        from: before.and_then(|wins| wins.until),
        from_range: before.and_then(|wins| wins.until_range),
        until: after.and_then(|wins| wins.from),
        until_range: after.and_then(|wins| wins.from_range),
    }
}

/// What the sizes of a break-even mean, and where memory ends them.
pub(in crate::report) fn about_sizes(assessment: &Assessment) -> Option<Line> {
    let Threshold {
        gpu_wins,
        buffer,
        tried,
        coarse,
        fixed,
        too_large_for_gpu,
        too_large_for_cpu,
        ..
    } = assessment.threshold()?;
    let [from, to] = tried.map(count);
    let mut text =
        format!("elements of `{buffer}`, from {from} to {to}; other arrays scale with it");
    if gpu_wins.len() > 1 {
        let all = gpu_wins.iter().filter_map(|wins| stretch(wins, &fine_count));
        text = format!("GPU faster {}: {text}", joined(all, " and "));
    }
    if !fixed.is_empty() {
        text += &format!(", except {}", quoted(fixed).join(", "));
    }
    if *coarse {
        text += ". Only a few sizes were tried, because the plans make a great many calls";
    }
    for (on_cpu, too_large) in [(false, too_large_for_gpu), (true, too_large_for_cpu)] {
        if let Some(from) = too_large {
            let from = count(*from);
            text += &format!(
                ". Above about {from} elements, no plan tried on {} fits in memory",
                side(on_cpu)
            );
        }
    }
    Some(Line::new("Sizes", text))
}
