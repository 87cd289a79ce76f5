//! The answer, and how sure it is.

use super::style::{chip, rich};
use super::{Case, Review, place};
use crate::findings::{Answer, times_as_long};
use crate::machine::Side;
use crate::report::said::{answer, how_sure, reasons};
use crate::report::words::{
    fine_percent, if_known, joined, percent, plural, predicted, range, times,
};
use crate::search::Ranked;
use crate::stats::median;
use crate::units::Span;
use maud::{Markup, html};

pub(super) fn section(case: &Case<'_>, of: &Review<'_>) -> Markup {
    let verdict = &case.assessment.verdict;
    html! {
        div.verdict {
            p.answer { (chip(verdict.answer)) " " (rich(&answer(case.assessment))) }
            dl.reasons {
                @for line in reasons(case.assessment) {
                    div { dt { (line.label) } dd { (rich(&line.text)) } }
                }
            }
            h3 { "How sure" }
            ul {
                @for line in how_sure_lines(case, of) { li { (rich(&line)) } }
            }
        }
        (figures(case))
    }
}

/// How many times as long the other side takes.
pub(super) fn against(case: &Case<'_>) -> Option<String> {
    let ranking = case.subject.ranking;
    let (gpu, cpu) = (ranking.best_on_gpu()?, ranking.best_on_cpu()?);
    let (slow, fast) = (gpu.makespan().max(cpu.makespan()), gpu.makespan().min(cpu.makespan()));
    let faster = match case.assessment.verdict.run_answer {
        Answer::Both => "Both",
        _ if gpu.makespan() < cpu.makespan() => "GPU",
        _ => "CPU",
    };
    let ratio = times(times_as_long(slow, fast));
    Some(format!("{faster} {ratio} times as fast"))
}

fn how_sure_lines(case: &Case<'_>, of: &Review<'_>) -> Vec<String> {
    let said = how_sure(case.assessment);
    let said = said.strip_prefix("How sure: ").unwrap_or(&said).to_owned();
    let held = format!("{}.", of.evaluation.how_ranges_did());
    let takes = case
        .chosen()
        .map(|best| format!("A run of `{}` takes {}.", best.plan.name(), predicted(best)));
    [Some(said), takes, Some(held), on_the_machine(case)].into_iter().flatten().collect()
}

/// What runs of the scenario itself say.
fn on_the_machine(case: &Case<'_>) -> Option<String> {
    let ranking = case.subject.ranking;
    let runs = ranking.plans.iter().filter_map(|one| Some((one, case.measured(one)?.makespan())));
    let runs: Vec<(&Ranked, Span)> = runs.collect();
    let off =
        |(one, measured): &(&Ranked, Span)| (times_as_long(one.makespan(), *measured) - 1.0).abs();
    let middle = median(&runs.iter().map(off).collect::<Vec<f64>>())?;
    let is_in_range = |(one, measured): &&(&Ranked, Span)| {
        let (low, high) = one.forecast.interval();
        (low..=high).contains(measured)
    };
    let (all, inside) = (runs.len(), runs.iter().filter(is_in_range).count());
    let side = |one: Option<&Ranked>| {
        let one = one?;
        Some(format!("`{}` took {}", one.plan.name(), case.measured(one)?.makespan()))
    };
    let both = [ranking.best_on_gpu(), ranking.best_on_cpu()].into_iter().filter_map(side);
    let both = Some(joined(both, ", ")).filter(|both| !both.is_empty());
    let took = if_known(both, |both| format!(" {both}."));
    Some(format!(
        "{} of this scenario ran on the machine: the median prediction is off by {}, and {} of the \
         plans are within their ranges.{took}",
        plural(all as u64, "plan"),
        fine_percent(middle),
        percent(inside as f64 / all as f64),
    ))
}

/// The few numbers that a meeting asks for first.
fn figures(case: &Case<'_>) -> Markup {
    let ranking = case.subject.ranking;
    // What is to choose with the GPU may use both processors: then the GPU alone stands beside it.
    let with_gpu = ranking.best_on_gpu();
    let is_shared = with_gpu.is_some_and(|one| one.plan.side() == Side::Both);
    let alone = ranking.choice(|one| one.plan.side() == Side::Gpu).filter(|_| is_shared);
    let to_choose = [with_gpu, alone, ranking.best_on_cpu()].into_iter().flatten();
    let to_choose = to_choose.map(|one| {
        let side = one.plan.side();
        (format!("Recommended {}", place(side)), one, side.name())
    });
    let naive = case.naive().map(|one| ("Naive plan on the GPU".to_owned(), one, "naive"));
    let all = to_choose.chain(naive);
    html! {
        dl.figures {
            @for (title, one, kind) in all {
                @let (low, high) = one.forecast.interval();
                div class=(kind) {
                    dt { (title) }
                    dd {
                        b { (one.makespan()) }
                        span { (range(low, high)) }
                        span.name { (one.plan.name()) }
                    }
                }
            }
            @if let Some(least) = case.assessment.least_ns {
                div {
                    dt { "No schedule takes less than" }
                    dd { b { (least) } span { "for these tasks on this machine" } }
                }
            }
        }
    }
}
