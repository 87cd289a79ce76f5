//! Ways to use the GPU, from the simplest one to the plan to choose.

use super::line::Line;
use super::time_goes_to::{Added, added, busy, copies_of};
use crate::findings::{AssessedPlan, Assessment};
use crate::machine::Side;
use crate::report::words::{fine_percent, joined, percent};

/// The label of [`with_the_gpu`].
pub(in crate::report) const WITH_THE_GPU: &str = "With the GPU";

/// A run of simpler ways to use the GPU, the slowest first, and of the plan to choose on it: what
/// each gains over the one before.
pub(in crate::report) fn with_the_gpu(assessment: &Assessment) -> Option<Line> {
    let compared = || assessment.gpu_alone.iter().chain(&assessment.simpler_on_gpu);
    let chosen = assessment.plan(&compared().next()?.chosen.plan)?;
    let others = compared().flat_map(|one| one.contenders());
    let others = others.filter_map(|one| assessment.plan(&one.plan));
    let mut ways: Vec<&AssessedPlan> = others.filter(|one| one.plan != chosen.plan).collect();
    ways.sort_by_key(|one| one.predicted_ns);
    ways.dedup_by(|slower, one| gain(slower, one) < OF_WEIGHT);
    ways.truncate(MOST_WAYS - 1);
    ways.reverse();
    ways.push(chosen);
    let first = ways.first().map(|one| format!("{} a run {}", one.predicted_ns, by(one)));
    let next = ways.windows(2).map(|pair| {
        let [before, one] = [pair[0], pair[1]];
        let (less, how) = (less(gain(before, one)), shortened(before, one));
        format!("{} {}, {less}{how}", one.predicted_ns, by(one))
    });
    Some(Line::new(WITH_THE_GPU, joined(first.into_iter().chain(next), "; ")))
}

/// [`way`], behind a time.
fn by(plan: &AssessedPlan) -> String {
    let way = way(plan);
    if way.starts_with('`') { format!("with {way}") } else { way }
}

/// What a plan does, with its name, and how it deals chunks over streams.
pub(super) fn whole_way(plan: &AssessedPlan) -> String {
    let streams = match plan.family.as_str() {
        "by-engine" => ", one stream per engine",
        "by-chunk" => ", over several streams",
        "buffered" => ", through a ring of buffers",
        _ => "",
    };
    way(plan).replacen(" (`", &format!("{streams} (`"), 1)
}

/// What a plan does, with its name.
pub(super) fn way(plan: &AssessedPlan) -> String {
    let how = match (plan.family.as_str(), plan.chunks) {
        ("resident", _) => "with data kept on the GPU",
        ("round-trip", _) => "with copies around each task",
        ("zero-copy", _) => "with data used in place",
        ("by-task", _) => "task by task",
        (_, Some(chunks)) if chunks > 1 => &format!("in {chunks} chunks"),
        _ => "",
    };
    let how = match plan.side {
        Side::Both => "with the CPU sharing the work",
        _ if plan.captured && how.is_empty() => "as a graph",
        _ if plan.captured => &format!("{how} as a graph"),
        _ => how,
    };
    let is_known_by_family = matches!(plan.family.as_str(), "resident" | "round-trip");
    let name = if is_known_by_family && !plan.captured { &plan.family } else { &plan.plan };
    if how.is_empty() { format!("`{name}`") } else { format!("{how} (`{name}`)") }
}

/// What a run waits less for than another one: its engine does as much beside other work, or less.
fn shortened(before: &AssessedPlan, one: &AssessedPlan) -> String {
    // Shared work is divided otherwise, and its name says why it gains.
    let part = added(one, before).filter(|_| one.side == Side::Gpu);
    let Some(Added { what, from, to }) = part else { return String::new() };
    let busy = |plan: &AssessedPlan| busy(plan, what) * plan.predicted_ns.nanos_f64();
    if busy(one) > AS_BUSY * busy(before) {
        let partly = if from.nanos_f64() < HIDDEN * to.nanos_f64() { "" } else { "partly " };
        return format!(": {what} are {partly}hidden");
    }
    match what {
        "H2D copies" | "D2H copies" => {
            format!(": copies take {} instead of {}", copies_of(one), copies_of(before))
        }
        _ => format!(": {what} take {from} instead of {to}"),
    }
}

/// An engine that is busy for more than this share of what it was before does as much.
const AS_BUSY: f64 = 0.9;
/// Work is hidden if a run waits for less than this share of it.
const HIDDEN: f64 = 0.1;

/// How many ways are told, with the plan to choose.
const MOST_WAYS: usize = 3;

/// A way that gains less than this share over another one is not worth telling from it.
const OF_WEIGHT: f64 = 0.01;

/// By which share a run takes less than another one.
fn gain(before: &AssessedPlan, one: &AssessedPlan) -> f64 {
    1.0 - one.predicted_ns.nanos_f64() / before.predicted_ns.nanos_f64().max(1.0)
}

fn less(share: f64) -> String {
    match share {
        ..0.001 => "about the same".to_owned(),
        ..0.0995 => format!("{} less", fine_percent(share)),
        _ => format!("{} less", percent(share)),
    }
}
