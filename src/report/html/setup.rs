//! What is paid once, and from which reuse on it pays.

use super::chart::Chart;
use super::style::{rich, scrolled};
use super::{Case, distinct, noted};
use crate::findings::{Answer, Comparison};
use crate::report::coincide::Line;
use crate::report::said::once;
use crate::report::ticks::time_at;
use crate::report::words::{count, or_unknown, plural};
use crate::search::Ranked;
use crate::units::Span;
use maud::{Markup, html};

pub(super) fn section(case: &Case<'_>) -> Markup {
    let (ranking, runs) = (case.subject.ranking, case.assessment.runs);
    // The best of each side for a pass and for the program, and the naive one.
    let plans = distinct([
        ranking.best_on_gpu(),
        ranking.winner_over(runs),
        case.naive(),
        ranking.best_on_cpu(),
    ]);
    if plans.is_empty() {
        return html! {};
    }
    case.part(
        "setup",
        &title(case),
        &html! {
            (scrolled(&html! { table {
                thead { tr {
                    th { "Plan" } th.number { "First use" } th.number { "Set-up" }
                    th.number { "Each run" } th.number { "Program of " (plural(runs, "run")) }
                } }
                tbody { @for ranked in &plans { tr {
                    td.name { (ranked.plan.name()) }
                    td.number {
                        @if ranked.first_use.missing.is_some() { "at least " }
                        (ranked.first_use.known)
                    }
                    td.number { (or_unknown(ranked.setup.as_ref().ok())) }
                    td.number { (ranked.makespan()) }
                    td.number { (or_unknown(ranked.program(runs))) }
                } } }
            } }))
            @if let Some(chart) = chart(&plans, runs) { (chart.draw()) }
            @for note in once(case.assessment) { (noted(&note)) }
            p.note { (rich(
                "First use is what a new process pays before it can use the GPU: a context, \
                 loading kernels, new pages."
            )) }
        },
    )
}

fn title(case: &Case<'_>) -> String {
    let (verdict, runs) = (&case.assessment.verdict, case.assessment.runs);
    let is_of_programs = verdict.program.as_ref().is_some_and(Comparison::is_between_sides);
    match verdict.from_runs {
        Some(from) if verdict.run_answer == Answer::Cpu => {
            format!("Set-up: the CPU is faster for about {} runs or more", count(from))
        }
        Some(from) => format!("Set-up: pays off after about {} runs", count(from)),
        None if verdict.answer == verdict.run_answer && is_of_programs => {
            let runs = plural(runs, "run");
            format!("Set-up: a program of {runs} has the same answer as one run")
        }
        None => "Set-up and the number of runs".to_owned(),
    }
}

/// The time of a pass with its share of what is paid once, against the number of passes.
fn chart(plans: &[&Ranked], runs: u64) -> Option<Chart> {
    let numbers: Vec<u64> =
        (0..=5).flat_map(|power| [1, 3].map(|n| n * 10_u64.pow(power))).collect();
    let line = |ranked: &&Ranked| {
        let point = |&runs: &u64| {
            let each = ranked.program(runs)?.nanos_f64() / runs as f64;
            let words = format!("{}, {} each", plural(runs, "run"), Span::from_nanos_f64(each));
            Some((runs as f64, each, words))
        };
        let points: Option<Vec<_>> = numbers.iter().map(point).collect();
        let side = ranked.plan.side();
        Some(Line { name: ranked.plan.name(), side, points: points? })
    };
    let lines: Vec<Line> = plans.iter().filter_map(line).collect();
    let flags = vec![(runs as f64, format!("here: {}", plural(runs, "run")))];
    let flags = flags.into_iter().filter(|(at, _)| (1.0..=3e5).contains(at)).collect();
    let description = "Time per run, including its share of set-up and first use, against number \
                       of runs; the table above has the figures for this scenario.";
    let (x, y) = (("runs per program", passes), ("time per run, everything included", time_at));
    Some(Chart { flags, ..Chart::of(lines, x, y, description.to_owned())? })
}

/// A number of passes at a mark of an axis: `10 k`.
fn passes(number: f64) -> String {
    let number = number.round() as u64;
    if number >= 1_000 { format!("{} k", number / 1_000) } else { number.to_string() }
}
