//! What is not known, and what an answer depends on.

use super::line::{Line, side};
use crate::findings::{Assessment, BorrowedCost, LeftOut, MissingTime, NoRoom};
use crate::report::words::{if_known, joined, percent, plural, quoted, with_range};
use std::collections::{BTreeMap, BTreeSet};

/// Borrowed costs that move a time by less than this share decide nothing.
const OF_WEIGHT: f64 = 0.02;
/// Up to this many plans may lack the very time that is named as missing.
const FEW: usize = 2;
/// How many plans of a group are named; the rest is counted.
const NAMED: usize = 3;

/// What keeps a side from being compared.
pub(super) fn no_answer(assessment: &Assessment) -> Vec<Line> {
    let room = assessment.no_room.iter().map(|NoRoom { on_cpu, plan, reason, .. }| {
        let text = format!(
            "no plan on {} fits in memory; `{plan}` comes closest: it {reason}",
            side(*on_cpu)
        );
        Line::new("No room", text)
    });
    // The answer itself tells of the first one.
    let missing = assessment.missing_times.iter().skip(1).map(|one| {
        let MissingTime { kernel, on_cpu, other, other_wins_above_ns, .. } = one;
        let wins = match other_wins_above_ns {
            Some(at) => format!("if that takes over {at} a run"),
            None => "even if that takes no time".to_owned(),
        };
        let time = if *on_cpu { "CPU time" } else { "GPU time" };
        let text = format!("{time} of `{kernel}`; `{other}` is faster {wins}");
        Line::new("Unknown", text)
    });
    room.chain(most_unknown(assessment)).chain(missing).collect()
}

/// The plans that are left out, by the reason.
fn by_reason(left_out: &[LeftOut]) -> BTreeMap<&str, Vec<&str>> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for LeftOut { plan, reason } in left_out {
        groups.entry(reason).or_default().push(plan);
    }
    groups
}

/// The commonest reason among plans that are left out, and how many it keeps out.
fn commonest(left_out: &[LeftOut]) -> Option<(&str, usize)> {
    let groups = by_reason(left_out).into_iter().map(|(reason, plans)| (reason, plans.len()));
    groups.max_by_key(|(_, plans)| *plans)
}

/// A first screen has no room for plans that cannot be made, unless they are at least as many as
/// the others: then most of what was asked for is missing.
pub(super) fn most_refused(assessment: &Assessment) -> Option<Line> {
    let (reason, plans) = commonest(&assessment.refused)?;
    let are_many = plans >= assessment.plans.len().max(1);
    are_many.then(|| counted("Ruled out", plans, reason))
}

/// What keeps most of the plans that are not predicted from it, if they are many.
fn most_unknown(assessment: &Assessment) -> Option<Line> {
    let (reason, plans) = commonest(&assessment.unknown)?;
    let is_answered = assessment.missing_times.iter().any(|one| reason.contains(&one.kernel));
    (!is_answered || plans > FEW).then(|| counted("Unknown", plans, reason))
}

fn counted(label: &'static str, plans: usize, reason: &str) -> Line {
    Line::new(label, format!("{}: {reason}", plural(plans as u64, "plan")))
}

/// What depends on costs of another machine.
pub(super) fn borrowed(assessment: &Assessment) -> Option<Line> {
    let borrowed = &assessment.verdict.borrowed;
    let from: BTreeSet<&str> = borrowed.iter().map(|one| one.from.as_str()).collect();
    let from = joined(from, " and ");
    if from.is_empty() || assessment.plans.is_empty() {
        return None;
    }
    let moved = |one: &BorrowedCost| {
        let shares = one.ranges.iter().map(|range| {
            let wide = range.high_ns.saturating_sub(range.low_ns);
            wide.nanos_f64() / range.time_ns.nanos_f64().max(1.0)
        });
        shares.fold(0.0, f64::max)
    };
    let mut of_weight: Vec<&BorrowedCost> =
        borrowed.iter().filter(|one| moved(one) >= OF_WEIGHT || one.changes_fastest).collect();
    of_weight.sort_by(|one, other| moved(other).total_cmp(&moved(one)));
    let parts = of_weight.iter().map(|one| {
        let widest =
            one.ranges.iter().max_by_key(|range| range.high_ns.saturating_sub(range.low_ns));
        let moves =
            if_known(widest, |of| format!(": {}", with_range(of.time_ns, of.low_ns, of.high_ns)));
        let turns =
            if one.changes_fastest { ", and another plan may become the fastest" } else { "" };
        format!("{}{moves}{turns}", one.costs.name())
    });
    let text = match joined(parts, "; ") {
        none if none.is_empty() => {
            format!(
                "no time changes by {} or more across the range of the costs borrowed from {from}",
                percent(OF_WEIGHT)
            )
        }
        parts => format!("from {from}: {parts}"),
    };
    Some(Line::new("Borrowed", text))
}

/// What limits what the answer says.
pub(in crate::report) fn limits(assessment: &Assessment) -> Vec<Line> {
    let lines = filling(assessment).into_iter().chain(stated(assessment));
    lines
        .chain(untried(assessment))
        .chain(on_request(assessment))
        .chain(left_out("Ruled out", &assessment.refused))
        .chain(left_out("Not predicted", &assessment.unknown))
        .chain(left_out("Set-up unknown", &assessment.unknown_setup))
        .collect()
}

/// Kernels that nothing runs next to, since nobody says which part of the GPU they need.
fn filling(assessment: &Assessment) -> Option<Line> {
    let names = quoted(&assessment.without_grid).join(", ");
    let text = format!(
        "without a `grid`, a kernel is assumed to fill the GPU, so nothing runs \
                 alongside it: {names}"
    );
    (!names.is_empty()).then(|| Line::new("No grid", text))
}

/// Kernels whose times the user states, without saying how sure they are.
fn stated(assessment: &Assessment) -> Option<Line> {
    let kernels = assessment.plans.iter().flat_map(|plan| &plan.stated_without_range);
    let kernels: BTreeSet<&String> = kernels.collect();
    let names = quoted(kernels).join(", ");
    let text = format!("the times of {names} are used as stated: ranges treat them as exact");
    (!names.is_empty()).then(|| Line::new("Stated", text))
}

fn untried(assessment: &Assessment) -> Option<Line> {
    let untried = assessment.untried.as_ref().filter(|names| !names.is_empty())?;
    let names = quoted(untried).join(" or ");
    let text =
        format!("no calibration trial ran {names}, so ranges are as wide as for other kernels");
    Some(Line::new("Trials", text))
}

fn on_request(assessment: &Assessment) -> Option<Line> {
    let names = quoted(&assessment.on_request).join(", ");
    (!names.is_empty()).then(|| {
        let text = format!(
            "{names}, which are off by default (barely validated); to try them, list them in \
             `families` under [plans]"
        );
        Line::new("Not tried", text)
    })
}

/// One line for each reason, with the plans that it rules out.
fn left_out(what: &'static str, missing: &[LeftOut]) -> Vec<Line> {
    let line = |(reason, plans): (&str, Vec<&str>)| {
        let named = quoted(plans.iter().take(NAMED));
        let more = match plans.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Line::new(what, format!("{}{more}: {reason}", named.join("; ")))
    };
    by_reason(missing).into_iter().map(line).collect()
}
