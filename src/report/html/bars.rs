//! Plans beside each other: times as bars, with their ranges and what was measured.

use super::chart::Scale;
use super::style::{folded_table, scrolled, share};
use super::{Case, noted, place, roles};
use crate::findings::{Answer, AssessedPlan, times_as_long};
use crate::machine::Side;
use crate::report::evaluation::Rows;
use crate::report::plans_table::against_fastest;
use crate::report::said::choice;
use crate::report::table::{Column, Table};
use crate::report::words::{if_known, or_dash, plural, range, times, with_range};
use crate::search::Ranked;
use crate::stats::median;
use crate::units::Span;
use maud::{Markup, html};

/// Bars end at so many times the fastest one's time, or the middle one's: beside a plan that takes
/// a hundred times as long, no two others would differ.
const LONGEST: f64 = 6.0;
const LONGEST_OF_MIDDLE: f64 = 2.0;

pub(super) fn section(case: &Case<'_>) -> Markup {
    let plans = &case.assessment.plans;
    if plans.is_empty() {
        return html! {};
    }
    let shown = shown(case);
    let least = plans[0].predicted_ns.nanos_f64();
    let most = shown.iter().map(|plan| plan.high_ns.nanos_f64()).fold(least, f64::max);
    let times: Vec<f64> = shown.iter().map(|plan| plan.predicted_ns.nanos_f64()).collect();
    let middle = median(&times).unwrap_or(least);
    let end = most.min((LONGEST * least).max(LONGEST_OF_MIDDLE * middle)).max(1.0);
    let is_cut = most > end;
    let all = Table::of(plans)
        .with(Column::number("#"), |plan| plan.rank)
        .with(Column::words("plan"), |plan| &plan.plan)
        .with(Column::words("limited by"), |plan| or_dash(plan.bottleneck))
        .with(Column::number("time per run"), |plan| plan.predicted_ns)
        .with(Column::number("range"), |plan| range(plan.low_ns, plan.high_ns))
        .with(Column::number("measured"), |plan| {
            if_known(measured(case, plan), |time| time.to_string())
        })
        .with(Column::number("vs fastest"), against_fastest);
    let (scale, has_runs) =
        (Scale::of_times(Span::from_nanos_f64(end)), case.subject.runs.is_some());
    case.part(
        "plans",
        &title(case),
        &html! {
            (scrolled(&html! { table.plans {
                thead { tr {
                    th { "Plan" } th.bar { "Predicted time per run" (scale.labels()) }
                    th.number { "Time" }
                    @if has_runs { th.number { "Measured" } }
                    th.number { "vs fastest" } th { "Limited by" }
                } }
                tbody { @for plan in &shown { (row(case, plan, end, &scale)) } }
            } }))
            p.note {
                (sides(&shown)) " Lines: ranges."
                @if has_runs { " Diamonds: the median of the measured runs." }
                @if is_cut { " Notched bars and lines with an arrow extend beyond the axis." }
                @if case.subject.ranking.best_on_gpu().is_some() {
                    " Click a plan's name to show it in the timeline below."
                }
            }
            @for line in choice(case.assessment) { (noted(&line)) }
            (folded_table(&format!("All {}", plural(plans.len() as u64, "plan")), &all))
        },
    )
}

/// Which colour is which, as far as they are there.
fn sides(shown: &[&AssessedPlan]) -> Markup {
    let all = [(Side::Cpu, "CPU"), (Side::Gpu, "GPU"), (Side::Both, "both together")];
    let there = all.into_iter().filter(|(side, _)| shown.iter().any(|plan| plan.side == *side));
    html! {
        "Bars: predicted,"
        @for (side, name) in there { " " span class={ "key " (side) } {} (name) }
        "."
    }
}

fn title(case: &Case<'_>) -> String {
    let ranking = case.subject.ranking;
    let [gpu, cpu] = [ranking.best_on_gpu(), ranking.best_on_cpu()];
    let ratio =
        |slow: &Ranked, fast: &Ranked| times(times_as_long(slow.makespan(), fast.makespan()));
    let (slow, fast) = match case.assessment.verdict.run_answer {
        Answer::Gpu | Answer::Both => (cpu, gpu),
        Answer::Cpu => (gpu, cpu),
        Answer::Tie => return "Plans: neither side is clearly faster in one run".to_owned(),
        Answer::Plan | Answer::NothingToCompare => (None, None),
    };
    let Some((slow, fast)) = slow.zip(fast) else { return "Plans".to_owned() };
    format!("Plans: a run is {} times as fast {}", ratio(slow, fast), place(fast.plan.side()))
}

/// The notable ones, and those that other parts of the page are about.
pub(super) fn shown<'a>(case: &Case<'a>) -> Vec<&'a AssessedPlan> {
    let ranking = case.subject.ranking;
    let named = [case.chosen(), case.naive(), ranking.best_on_cpu(), ranking.best_on_gpu()];
    let named: Vec<String> = named.into_iter().flatten().map(|one| one.plan.name()).collect();
    let notable = case.assessment.shown(Rows::Notable);
    let is_shown = |plan: &&AssessedPlan| {
        named.contains(&plan.plan) || notable.iter().any(|one| one.rank == plan.rank)
    };
    case.assessment.plans.iter().filter(is_shown).collect()
}

pub(super) fn ranked<'a>(case: &Case<'a>, plan: &AssessedPlan) -> Option<&'a Ranked> {
    case.subject.ranking.plans.get(plan.rank - 1)
}

fn measured(case: &Case<'_>, plan: &AssessedPlan) -> Option<Span> {
    Some(case.measured(ranked(case, plan)?)?.makespan())
}

fn row(case: &Case<'_>, plan: &AssessedPlan, end: f64, scale: &Scale) -> Markup {
    let at = |nanos: f64| share(nanos / end);
    let [low, middle, high] = [plan.low_ns, plan.predicted_ns, plan.high_ns].map(|t| t.nanos_f64());
    let measured = measured(case, plan);
    let time = with_range(plan.predicted_ns, plan.low_ns, plan.high_ns);
    let behind = if_known(measured, |measured| format!(", measured {measured}"));
    let words = format!("{}: {time}{behind}", plan.plan);
    html! {
        tr {
            td.name {
                button.plan type="button" data-scenario=(case.number) data-plan=(plan.rank - 1) {
                    (plan.plan)
                }
                @if let Some(ranked) = ranked(case, plan) { (roles(case, ranked)) }
            }
            td.bar { div.track role="img" aria-label=(words) title=(words) {
                (scale.lines())
                div class={ "fill " (plan.side) @if middle > end { " cut" } }
                    style={ "width:" (at(middle)) } {}
                @if low < end {
                    @let right = share(1.0 - high.min(end) / end);
                    div class={ "range" @if high > end { " on" } }
                        style={ "left:" (at(low)) ";right:" (right) } {}
                }
                @if let Some(measured) = measured.filter(|time| time.nanos_f64() <= end) {
                    div.measured style={ "left:" (at(measured.nanos_f64())) } {}
                }
            } }
            td.number { (plan.predicted_ns) }
            @if case.subject.runs.is_some() {
                td.number { @if let Some(measured) = measured { (measured) } }
            }
            td.number { (against_fastest(plan)) }
            td { (or_dash(plan.bottleneck)) }
        }
    }
}
