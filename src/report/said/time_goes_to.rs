//! What the time of a run goes to.

use super::line::{Line, side, side_name};
use crate::cost::Bottleneck;
use crate::findings::{Answer, AssessedPlan, Assessment, CriticalPathShares, MissingTime};
use crate::machine::Side;
use crate::report::words::{if_known, joined, range};
use crate::units::Span;
use std::cmp::Reverse;

/// What the time of a run goes to, in the two plans that are compared.
pub(super) fn time_goes_to(label: &'static str, assessment: &Assessment) -> Option<Line> {
    if let Some(missing) = assessment.missing_times.first() {
        return Some(rest(missing, assessment));
    }
    let run = assessment.verdict.run.as_ref()?;
    let chosen = assessment.plan(&run.chosen.plan)?;
    let other = run.other.as_ref().and_then(|other| assessment.plan(&other.plan));
    let on_gpu = [Some(chosen), other].into_iter().flatten().find(|plan| plan.side != Side::Cpu)?;
    // Plans of families do the same in other pieces; programs differ in what they do.
    let program = other.filter(|other| other.chunks.is_none());
    let text = match (run.on(true), program) {
        (Some(cpu), _) => part_of_run(on_gpu, cpu.time_ns, run.answer),
        (None, Some(other)) => parts_of_both(chosen, other),
        (None, None) => format!("`{}`: {}", on_gpu.plan, main_parts(on_gpu)),
    };
    Some(Line::new(label, text))
}

/// What a side takes besides the kernel whose time is not known, and what the other side takes.
fn rest(missing: &MissingTime, assessment: &Assessment) -> Line {
    let MissingTime { kernel, rest_ns, rest_copies_ns, on_cpu, .. } = missing;
    let [there, here] = [*on_cpu, !*on_cpu].map(side);
    let is_open = missing.other_wins_above_ns.is_some();
    let known = assessment.verdict.run.as_ref().map(|run| &run.chosen);
    let text = match known {
        Some(known) if is_open && *rest_ns == Span::ZERO => format!(
            "the time of `{kernel}` on {there} is unknown; {here} takes {} in all",
            range(known.low_ns, known.high_ns)
        ),
        _ if *rest_ns == Span::ZERO => format!("the time of `{kernel}` on {there} is unknown"),
        Some(known) if is_open => format!(
            "apart from `{kernel}`, whose time there is unknown, {there} takes {rest_ns} (copies \
             {rest_copies_ns}); {here} takes {} in all",
            range(known.low_ns, known.high_ns)
        ),
        _ => format!("apart from `{kernel}`, {there} takes {rest_ns} (copies {rest_copies_ns})"),
    };
    Line::new("Why", text)
}

/// The largest part of a run on the GPU, if it alone takes longer than the whole run on the CPU,
/// or else the main parts, compared with it.
fn part_of_run(plan: &AssessedPlan, cpu: Span, answer: Answer) -> String {
    let path = &plan.critical_path;
    let largest = sorted(parts_of(plan)).into_iter().next();
    // Copies in and out may only together take longer.
    let parts = largest.into_iter().chain([(path.h2d + path.d2h, "copies")]);
    let is_largest = |share: f64| largest.is_none_or(|largest| share >= largest.0);
    let longer = |part: &(f64, &str)| is_largest(part.0) && share_of(plan, part.0) > cpu;
    match parts.into_iter().find(longer) {
        Some((share, what)) => {
            let takes = share_of(plan, share);
            format!("on the GPU, {takes} goes to {what} alone; the CPU takes {cpu} in all")
        }
        None if answer == Answer::Gpu && plan.busy.kernels > 0.0 => faster_kernels(plan, cpu),
        None => {
            let compared = match answer {
                Answer::Cpu => "more than",
                Answer::Tie => "about",
                _ => "less than",
            };
            let (parts, all) = (main_parts(plan), plan.predicted_ns);
            let side = side_name(plan.side);
            format!("{side}: {parts}; {all} in all, {compared} the CPU's {cpu}")
        }
    }
}

/// What the GPU gains by its kernels, and what is left of that with copies.
fn faster_kernels(plan: &AssessedPlan, cpu: Span) -> String {
    let (path, all) = (&plan.critical_path, plan.predicted_ns);
    let with_copies = match path.h2d + path.d2h {
        HIDDEN.. => format!(", {all} with copies"),
        _ if plan.busy.h2d + plan.busy.d2h > 0.0 => " and hide the copies".to_owned(),
        _ => String::new(),
    };
    let kernels = share_of(plan, plan.busy.kernels);
    format!("kernels take {kernels} on the GPU{with_copies}; the CPU takes {cpu} in all")
}

/// How long a share of a run takes.
fn share_of(plan: &AssessedPlan, share: f64) -> Span {
    Span::from_nanos_f64(share * plan.predicted_ns.nanos_f64())
}

/// What limits the slower one of two runs if that is not what limits the other, and the parts in
/// which they differ most.
fn parts_of_both(one: &AssessedPlan, other: &AssessedPlan) -> String {
    let [mine, theirs] =
        [one, other].map(|plan| parts_of(plan).map(|(share, what)| (what, share_of(plan, share))));
    let differs =
        |((_, mine), (_, theirs)): &((_, Span), (_, Span))| mine.nanos().abs_diff(theirs.nanos());
    let mut both: Vec<_> = mine.into_iter().zip(theirs).collect();
    both.sort_by_key(|both| Reverse(differs(both)));
    let most = both.first().map_or(0, differs);
    let parts = both.iter().take(MAIN_PARTS).filter(|both| differs(both) >= most / OF_WEIGHT);
    let parts = parts.map(|((what, mine), (_, theirs))| {
        // Most of what the copy engine does is on no critical path.
        let copied = share_of(one, busy(one, what));
        let is_hidden = what.ends_with("copies") && *mine * 2 < copied;
        let (one, other) = (&one.plan, &other.plan);
        match is_hidden {
            true if *mine == Span::ZERO => {
                format!("kernels hide all {what} in `{one}`; in `{other}`, {theirs} remain exposed")
            }
            true => format!(
                "kernels hide all but {mine} of the {what} in `{one}`; in `{other}`, {theirs} \
                 remain exposed"
            ),
            false => format!("{what}: {mine} in `{one}`, {theirs} in `{other}`"),
        }
    });
    let is_told =
        |limit: &Bottleneck| Some(*limit) != one.bottleneck && *limit != Bottleneck::Balanced;
    let limit = other.bottleneck.filter(is_told);
    let limit = if_known(limit, |limit| {
        format!("; `{}` is limited by {}", other.plan, with_article(limit))
    });
    joined(parts, "; ") + &limit
}

/// A part of the critical path of two runs.
pub(super) struct Added {
    pub what: &'static str,
    /// What it takes in one run, and in the other.
    pub from: Span,
    pub to: Span,
}

/// The part that takes most longer in another run than in one.
pub(super) fn added(one: &AssessedPlan, other: &AssessedPlan) -> Option<Added> {
    let both = parts_of(one).into_iter().zip(parts_of(other));
    let parts = both.map(|((mine, what), (theirs, _))| Added {
        what,
        from: share_of(one, mine),
        to: share_of(other, theirs),
    });
    parts.filter(|part| part.to > part.from).max_by_key(|part| part.to.saturating_sub(part.from))
}

/// What limits a plan, as part of a sentence.
fn with_article(limit: Bottleneck) -> String {
    let name = limit.to_string();
    let is_one = name.contains("link") || name.starts_with("number") || name == "CPU";
    if is_one { format!("the {name}") } else { name }
}

/// Copies that a run waits for.
pub(super) fn copies_of(plan: &AssessedPlan) -> Span {
    share_of(plan, plan.critical_path.h2d + plan.critical_path.d2h)
}

fn main_parts(plan: &AssessedPlan) -> String {
    let parts = sorted(parts_of(plan)).into_iter().take(MAIN_PARTS);
    let parts = parts.map(|(share, what)| format!("{what} {}", share_of(plan, share)));
    let path = &plan.critical_path;
    let is_hidden = plan.busy.h2d + plan.busy.d2h > 0.0 && path.h2d + path.d2h < HIDDEN;
    let hidden = is_hidden.then(|| "copies hidden".to_owned());
    joined(parts.chain(hidden), ", ")
}

/// For which share of a run an engine is busy with a part of it.
pub(super) fn busy(plan: &AssessedPlan, what: &str) -> f64 {
    match what {
        "H2D copies" => plan.busy.h2d,
        "D2H copies" => plan.busy.d2h,
        "kernels" => plan.busy.kernels,
        _ => 0.0,
    }
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

/// What a plan's critical path consists of. If the host computes nothing, all that is neither copy
/// nor kernel is one part.
fn parts_of(plan: &AssessedPlan) -> [(f64, &'static str); 6] {
    let mut parts = every_part(&plan.critical_path);
    if plan.side == Side::Gpu {
        let [host, .., waits] = &mut parts;
        *host = (host.0 + waits.0, "launches, calls and waits");
        waits.0 = 0.0;
    }
    parts
}

/// What a critical path consists of, the largest share first.
pub(super) fn parts(path: &CriticalPathShares) -> Vec<(f64, &'static str)> {
    sorted(every_part(path))
}

/// The parts that count, the largest first.
fn sorted(parts: [(f64, &'static str); 6]) -> Vec<(f64, &'static str)> {
    let mut parts = parts.to_vec();
    parts.sort_by(|one, other| other.0.total_cmp(&one.0));
    parts.retain(|part| part.0 >= 0.005);
    parts
}
