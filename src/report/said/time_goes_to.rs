//! What the time of a run goes to.

use super::line::{Line, side, side_name};
use crate::findings::{AssessedPlan, Assessment, CriticalPathShares, MissingTime};
use crate::machine::Side;
use crate::units::Span;
use std::cmp::Reverse;

/// What the time of a run goes to, in the two plans that are compared.
pub(super) fn time_goes_to(label: &'static str, assessment: &Assessment) -> Option<Line> {
    if let Some(missing) = assessment.missing_times.first() {
        return rest(missing);
    }
    let run = assessment.verdict.run.as_ref()?;
    let chosen = assessment.plan(&run.chosen.plan)?;
    let other = run.other.as_ref().and_then(|other| assessment.plan(&other.plan));
    let on_gpu = [Some(chosen), other].into_iter().flatten().find(|plan| plan.side != Side::Cpu)?;
    // Plans of families do the same in other pieces; programs differ in what they do.
    let program = other.filter(|other| other.chunks.is_none());
    let text = match (run.on(true), program) {
        (Some(cpu), _) => {
            let time = cpu.time_ns;
            format!("{}; the CPU takes {time} in all", part_of_run(on_gpu, time))
        }
        (None, Some(other)) => parts_of_both(chosen, other),
        (None, None) => parts_by_name(on_gpu),
    };
    Some(Line::new(label, text))
}

/// What a side takes besides the kernel whose time is not known.
fn rest(of: &MissingTime) -> Option<Line> {
    let MissingTime { kernel, rest_ns, rest_copies_ns, on_cpu, .. } = of;
    let text = format!(
        "besides `{kernel}`, {} takes {rest_ns}, {rest_copies_ns} of it for copies",
        side(*on_cpu)
    );
    (*rest_ns > Span::ZERO).then(|| Line::new("Why", text))
}

/// The part of a run on the GPU that alone takes longer than the whole run on the CPU, if it is
/// most of the run, or else its main parts.
fn part_of_run(plan: &AssessedPlan, cpu: Span) -> String {
    let path = &plan.critical_path;
    let alone = [
        ("H2D copies", path.h2d),
        ("D2H copies", path.d2h),
        ("kernels", path.kernels),
        ("copies", path.h2d + path.d2h),
    ];
    let longer = alone.map(|(what, share)| (what, share_of(plan, share)));
    let is_most = |time: Span| time * 2 > plan.predicted_ns;
    match longer.into_iter().find(|(_, time)| *time > cpu && is_most(*time)) {
        Some((what, time)) => format!("{what} alone take {time} on the GPU"),
        None => format!("{}: {}", side_name(plan.side), main_parts(plan)),
    }
}

/// How long a share of a run takes.
fn share_of(plan: &AssessedPlan, share: f64) -> Span {
    Span::from_nanos_f64(share * plan.predicted_ns.nanos_f64())
}

fn parts_by_name(plan: &AssessedPlan) -> String {
    format!("`{}`: {}", plan.plan, main_parts(plan))
}

/// The parts in which two runs differ most, and what limits the slower one if that is something
/// else.
fn parts_of_both(one: &AssessedPlan, other: &AssessedPlan) -> String {
    let [mine, theirs] = [one, other].map(|plan| {
        every_part(&plan.critical_path).map(|(share, what)| (what, share_of(plan, share)))
    });
    let differs =
        |((_, mine), (_, theirs)): &((_, Span), (_, Span))| mine.nanos().abs_diff(theirs.nanos());
    let mut both: Vec<_> = mine.into_iter().zip(theirs).collect();
    both.sort_by_key(|both| Reverse(differs(both)));
    let most = both.first().map_or(0, differs);
    let parts = both.iter().take(MAIN_PARTS).filter(|both| differs(both) >= most / OF_WEIGHT);
    let parts = parts.map(|((what, mine), (_, theirs))| {
        let what = if what.ends_with("copies") {
            format!("{what} not hidden")
        } else {
            (*what).to_owned()
        };
        format!("{what}: {mine} in `{}`, {theirs} in `{}`", one.plan, other.plan)
    });
    let limit = other.bottleneck.filter(|limit| Some(*limit) != one.bottleneck);
    let limit = limit.map_or_else(String::new, |limit| format!(" (limit: {limit})"));
    parts.collect::<Vec<_>>().join("; ") + &limit
}

fn main_parts(plan: &AssessedPlan) -> String {
    let parts = parts(&plan.critical_path).into_iter().take(MAIN_PARTS);
    let parts = parts.map(|(share, what)| format!("{what} {}", share_of(plan, share)));
    let path = &plan.critical_path;
    let copies = plan.busy.h2d + plan.busy.d2h > 0.0;
    let are_hidden = copies && path.h2d + path.d2h < HIDDEN;
    let hidden = are_hidden.then(|| "copies hidden behind them".to_owned());
    parts.chain(hidden).collect::<Vec<_>>().join(", ")
}

/// How many parts of a run the first screen names.
const MAIN_PARTS: usize = 3;
/// Copies that take less than this share of the critical path are hidden.
const HIDDEN: f64 = 0.01;
/// A difference is named if it is at least this fraction of the largest one.
const OF_WEIGHT: u64 = 4;

/// What a critical path consists of.
const fn every_part(path: &CriticalPathShares) -> [(f64, &'static str); 6] {
    [
        (path.host, "host"),
        (path.h2d, "H2D copies"),
        (path.kernels, "kernels"),
        (path.d2h, "D2H copies"),
        (path.p2p, "P2P copies"),
        (path.gaps, "waits"),
    ]
}

/// What a critical path consists of, the largest share first.
pub(super) fn parts(path: &CriticalPathShares) -> Vec<(f64, &'static str)> {
    let mut parts = every_part(path).to_vec();
    parts.sort_by(|one, other| other.0.total_cmp(&one.0));
    parts.retain(|part| part.0 >= 0.005);
    parts
}
