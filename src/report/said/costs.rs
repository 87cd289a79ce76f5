//! What is paid once: set-up, pinning and first use, and after how many runs it pays.

use super::line::{Line, subject};
use crate::cost::{Pinning, Taken};
use crate::findings::{AssessedPlan, Assessment, PinningPrices, SPELLED_OUT, TakenPrices};
use crate::report::words::{count, if_known, joined, plural};
use crate::search::is_clearly_less;
use crate::units::Span;
use std::collections::BTreeSet;

/// Set-up of the plan to choose, and after how many runs pinning pays, in a line.
pub(super) fn set_up(assessment: &Assessment) -> Option<Line> {
    let best = assessment.best_on_gpu()?;
    // Set-up that takes less than a run and pins nothing decides nothing.
    let matters = |setup: &Span| best.pinning.is_some() || *setup > best.predicted_ns;
    let setup = best.setup_ns.filter(matters)?;
    let text = match &best.pinning {
        Some(pinning) => format!("{setup}; {}", pinning_pays(best, pinning)),
        None => format!("{setup} for `{}`", best.plan),
    };
    Some(Line::new("Set-up", text))
}

/// What pinning costs, what it saves, and after how many runs it pays.
fn pinning_pays(plan: &AssessedPlan, of: &PinningPrices) -> String {
    let PinningPrices { prices, unpinned_pass_ns, pays_from_runs } = of;
    let Pinning { bytes, register_ns, unregister_ns, .. } = prices;
    let Some((costs, without)) = register_ns.zip(*unpinned_pass_ns) else {
        return format!("pins {bytes}");
    };
    let unpins = if_known(*unregister_ns, |time| format!(", unpinning {time}"));
    let costs = format!("pinning {bytes} takes {costs}{unpins}");
    // A program is compared with its own calls, other plans with the fastest that pins nothing.
    let what = match plan.family.as_str() {
        SPELLED_OUT => format!("`{}`", plan.plan),
        _ => subject(plan.side).to_owned(),
    };
    let pays = match pays_from_runs {
        Some(1) => ", so pinning pays off in the first run".to_owned(),
        Some(from) => format!(", so pinning pays off after {} runs", count(*from)),
        None => ", so pinning never pays off".to_owned(),
    };
    format!("{costs}; without pinning, {what} takes {without} a run{pays}")
}

/// All that is paid once.
pub(in crate::report) fn once(assessment: &Assessment) -> Vec<Line> {
    let lines = program(assessment).into_iter().chain(another_plan(assessment));
    let lines = lines.chain(first_use(assessment)).chain(pinning(assessment));
    lines.chain(instead_of_registering(assessment)).chain(taking(assessment)).collect()
}

/// What a whole program takes on both sides.
fn program(assessment: &Assessment) -> Option<Line> {
    let program = assessment.verdict.program.as_ref()?;
    let said = program.contenders().map(|one| {
        let parts = [("first use", one.first_use_ns), ("set-up", one.setup_ns)];
        let parts = parts.into_iter().filter_map(|(what, time)| {
            Some(format!("{what} {}", time.filter(|time| *time > Span::ZERO)?))
        });
        let parts = Some(joined(parts, ", ")).filter(|parts| !parts.is_empty());
        let parts = if_known(parts, |parts| format!(" ({parts})"));
        format!("{} with `{}`{parts}", one.time_ns, one.plan)
    });
    let text = format!("{} in all: {}", plural(assessment.runs, "run"), joined(said, "; "));
    Some(Line::new("Program", text))
}

/// Said only if set-up changes which plan of a side to choose.
fn another_plan(assessment: &Assessment) -> Option<Line> {
    let best = assessment.plan(assessment.program_winner.as_ref()?)?;
    let of_run = assessment.plan(assessment.winner.as_ref()?)?;
    let [least, more] = [best, of_run].map(|plan| plan.program_ns);
    let (least, more) = (least?, more?);
    // If the other side wins, the answer says so.
    let matters = best.side == of_run.side && is_clearly_less(least, more);
    (best.plan != of_run.plan && matters).then(|| {
        let text = format!(
            "over {}, `{}` ({least}) is faster than `{}` ({more}), whose first use and set-up take \
             longer",
            plural(assessment.runs, "run"),
            best.plan,
            of_run.plan
        );
        Line::new("Set-up", text)
    })
}

/// What is missing from the price of a process.
fn first_use(assessment: &Assessment) -> Option<Line> {
    let unknown = assessment.plans.iter().any(|plan| plan.first_use_ns.is_none());
    let text = "the profile lacks part of the cost of the first use of the GPU or of memory, so \
                the times of programs leave it out";
    unknown.then(|| Line::new("First use", text))
}

/// After how many runs pinning pays, in every program that the scenario spells out. The line on
/// set-up says it for other plans.
fn pinning(assessment: &Assessment) -> Vec<Line> {
    let is_meant = |one: &&AssessedPlan| one.family == SPELLED_OUT;
    let lines = assessment.plans.iter().filter(is_meant).filter_map(|one| {
        let text = format!("`{}`: {}", one.plan, pinning_pays(one, one.pinning.as_ref()?));
        Some(Line::new("Pinning", text))
    });
    lines.collect()
}

/// What new pinned memory costs instead, in the best plan on the GPU.
fn instead_of_registering(assessment: &Assessment) -> Option<Line> {
    let Pinning { bytes, register_ns, allocate_ns, copy_ns, .. } =
        &assessment.best_on_gpu()?.pinning.as_ref()?.prices;
    let registered = (*register_ns)?;
    let instead = match (allocate_ns, copy_ns) {
        (Some(allocate), Some(copy)) => {
            format!(
                "allocating pinned memory instead takes {allocate}, plus {copy} per copy in or out"
            )
        }
        (Some(allocate), None) => format!(
            "allocating pinned memory instead takes {allocate}, plus copies in or out, whose cost \
             the profile lacks"
        ),
        (None, _) => "the profile lacks the cost of allocating pinned memory instead".to_owned(),
    };
    let text = format!("pinning {bytes} in place (cudaHostRegister) takes {registered}; {instead}");
    Some(Line::new("Pinning", text))
}

/// After how many runs memory pays that set-up takes, in the fastest plan of each family.
fn taking(assessment: &Assessment) -> Vec<Line> {
    let mut families = BTreeSet::new();
    let lines = assessment.plans.iter().filter_map(|one| {
        let TakenPrices { prices, without_pass_ns, pays_from_runs } = one.taken.as_ref()?;
        let Taken { bytes, costs_ns, .. } = prices;
        let (costs, without) = ((*costs_ns)?, (*without_pass_ns)?);
        if one.family == SPELLED_OUT || !families.insert(&one.family) {
            return None;
        }
        let takes = format!("allocating {bytes} of host memory for `{}` takes {costs}", one.plan);
        let saves = without.saturating_sub(one.predicted_ns);
        let saves = match pays_from_runs {
            Some(1) => format!("{saves} a run and pays off in the first run"),
            Some(from) => format!("{saves} a run and pays off after {} runs", count(*from)),
            None => {
                format!("nothing: the fastest plan on the same side without it takes {without}")
            }
        };
        Some(Line::new("Memory", format!("{takes}; it saves {saves}")))
    });
    lines.collect()
}
