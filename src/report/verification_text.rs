//! A verification for the terminal and for a README.

use super::table::{Column, Table};
use super::verification::{Check, ScoredPlan, ScoredScenario, Verification, called_right};
use super::words::{fine_percent, folded, heading, or_dash, percent, range, signed_percent};
use crate::compare::{ErrorFigures, KindFigures};
use crate::machine::Side;
use crate::stats::{median, quantile};
use std::fmt::Write;

/// A row of the summary: a scenario, or all of them.
struct Summary<'a> {
    name: &'a str,
    errors: Option<&'a ErrorFigures>,
    /// `None` of all scenarios.
    scenario: Option<&'a ScoredScenario>,
}

impl Verification {
    /// Every plan of every scenario, then the summary and what was checked, in lines of at most so
    /// many columns, if a number is given.
    pub fn text_within(&self, width: Option<usize>) -> String {
        let mut text = format!("{}\n", self.profile);
        for scenario in &self.scenarios {
            let _ = write!(text, "\n{}\n", heading(&scenario.scenario, "", width));
            text.push_str(&cells(&scenario.plans, width));
        }
        let _ = write!(text, "\n{}\n", summary(&self.summaries()).text(width));
        text.push_str(&self.passes_beside());
        text.push_str(&self.on_cpu(""));
        text.push_str(&self.check_lines(""));
        folded(&text, width)
    }

    /// How many passes do not count; empty if all do.
    pub(super) fn passes_beside(&self) -> String {
        let plans = || self.scenarios.iter().flat_map(|scenario| &scenario.plans);
        let beside: usize = plans().map(|plan| plan.passes_beside).sum();
        let all = beside + plans().map(|plan| plan.passes).sum::<usize>();
        if beside == 0 {
            return String::new();
        }
        let share = percent(beside as f64 / all as f64);
        format!(
            "Not counted: {beside} of {all} timed runs ({share}), during which something else \
             used the core of the calling thread.\n"
        )
    }

    /// How far off the CPU's plans are. They are few, but each decides a verdict.
    fn on_cpu(&self, bullet: &str) -> String {
        let plans = self.scenarios.iter().flat_map(|scenario| &scenario.plans);
        let mut errors: Vec<f64> =
            plans.filter(|plan| plan.side == Side::Cpu).map(|plan| plan.error).collect();
        errors.sort_unstable_by(f64::total_cmp);
        let sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
        let middle = fine_percent(median(&sizes).unwrap_or_default());
        match errors[..] {
            [] => String::new(),
            [only] => {
                let only = signed_percent(only);
                format!("{bullet}error of the plan on the CPU: {only}\n")
            }
            [low, .., high] => {
                let [low, high] = [low, high].map(signed_percent);
                let most = format!("{low} to {high}, median {middle}");
                format!("{bullet}errors of plans on the CPU: {most}\n")
            }
        }
    }

    /// The summary and the checks in Markdown.
    pub fn markdown(&self) -> String {
        let mut text = summary(&self.summaries()).markdown();
        text.push('\n');
        text.push_str(&self.on_cpu("- "));
        text.push_str(&self.check_lines("- "));
        text
    }

    fn check_lines(&self, bullet: &str) -> String {
        let line = |passed, what: &str| {
            format!("{bullet}{}  {what}\n", if passed { "pass" } else { "FAIL" })
        };
        self.checks.iter().map(|check| line(check.passed, &check.what)).collect()
    }

    fn summaries(&self) -> Vec<Summary<'_>> {
        let rows = self.scenarios.iter().map(|one| Summary {
            name: &one.scenario,
            errors: one.errors.as_ref(),
            scenario: Some(one),
        });
        let mut rows: Vec<Summary<'_>> = rows.collect();
        if rows.len() > 1 {
            rows.push(Summary { name: "all", errors: self.overall.as_ref(), scenario: None });
        }
        rows
    }
}

/// In the order in which a narrow terminal loses them: how many plans there are, how many lie in
/// range, the worst error; then, with names folded, both winners.
fn summary<'a>(rows: &'a [Summary<'a>]) -> Table<'a, Summary<'a>> {
    let figure = |say: fn(&ErrorFigures) -> String| {
        move |row: &Summary<'_>| row.errors.map(say).unwrap_or_default()
    };
    let of = |say: fn(&ScoredScenario) -> Option<String>| {
        move |row: &Summary<'_>| row.scenario.and_then(say).unwrap_or_default()
    };
    Table::of(rows)
        .with(Column::words("scenario"), |row| row.name.to_owned())
        .with(Column::number("plans").if_room(1), figure(|errors| errors.plans.to_string()))
        .with(Column::number("median error"), figure(|errors| fine_percent(errors.median)))
        .with(Column::number("95%"), figure(|errors| fine_percent(errors.p95)))
        .with(Column::number("worst").if_room(3), figure(|errors| fine_percent(errors.worst)))
        .with(Column::number("in range").if_room(2), figure(|errors| percent(errors.coverage)))
        .with(
            Column::words("predicted winner").if_folded(1),
            of(|one| one.predicted_winner.clone()),
        )
        .with(Column::words("measured winner").if_folded(1), of(measured_winner))
        .with(Column::number("regret"), of(|one| one.regret.map(fine_percent)))
        .with(Column::words("verdict"), |row: &Summary<'_>| {
            row.scenario.map(verdict).unwrap_or_default()
        })
}

fn measured_winner(of: &ScoredScenario) -> Option<String> {
    let winner = of.measured_winner.clone()?;
    Some(if of.predicted_winner.as_ref() == Some(&winner) { "same".to_owned() } else { winner })
}

fn verdict(of: &ScoredScenario) -> String {
    or_dash(of.verdict_right.map(|is_right| if is_right { "right" } else { "WRONG" }))
}

/// The table of runs. Where it is too wide, the spread of the passes goes first, then whether
/// the time lies in the range; with names folded, the range itself.
fn cells(plans: &[ScoredPlan], width: Option<usize>) -> String {
    Table::of(plans)
        .with(Column::words("plan"), |plan| plan.plan.clone())
        .with(Column::number("predicted"), |plan| plan.predicted_ns.to_string())
        .with(Column::number("range").if_folded(1), |plan| range(plan.low_ns, plan.high_ns))
        .with(Column::number("measured"), |plan| plan.measured_ns.to_string())
        .with(Column::number("spread").if_room(1), |plan| {
            plan.spread.map_or("unknown".to_owned(), fine_percent)
        })
        .with(Column::number("error"), |plan| signed_percent(plan.error))
        .with(Column::number("in range").if_room(2), |plan| {
            if plan.is_covered() { "yes" } else { "no" }.to_owned()
        })
        .text(width)
}

/// Columns go in a narrow terminal in this order: the worst error, then the baselines.
fn by_kind(kinds: &[KindFigures]) -> Table<'_, KindFigures> {
    Table::of(kinds)
        .with(Column::words("kind"), |of| of.kind.clone())
        .with(Column::number("plans"), |of| of.errors.plans.to_string())
        .with(Column::number("median error"), |of| fine_percent(of.errors.median))
        .with(Column::number("95%"), |of| fine_percent(of.errors.p95))
        .with(Column::number("worst").if_room(1), |of| fine_percent(of.errors.worst))
        .with(Column::number("in range"), |of| percent(of.errors.coverage))
        .with(Column::number("12 GB/s").if_room(4), |of| fine_percent(of.textbook))
        .with(Column::number("no overlap").if_room(3), |of| fine_percent(of.one_by_one))
        .with(Column::number("all overlaps").if_room(2), |of| fine_percent(of.busiest))
}

const BASELINES: &str = "The last columns show median errors of simpler predictions: kernels \
                         plus bytes at 12 GB/s; all calls one after another; and the busiest \
                         resource alone.\n";

impl Verification {
    /// Errors by kind of plan, beside the median errors of three baselines, and what the choices of
    /// plans would have cost.
    pub fn text_by_kind(&self, width: Option<usize>) -> String {
        let mut text = format!("{}\n\n{}\n", self.profile, by_kind(&self.kinds).text(width));
        text.push_str(BASELINES);
        text.push_str(&self.passes_beside());
        text.push_str(&self.choices(""));
        folded(&text, width)
    }

    /// What [`text_by_kind`](Self::text_by_kind) says, in Markdown.
    pub fn markdown_by_kind(&self) -> String {
        by_kind(&self.kinds).markdown() + "\n" + BASELINES + "\n" + &self.choices("- ")
    }

    /// How the choice of a plan, and of a side, came out over all workloads.
    fn choices(&self, bullet: &str) -> String {
        let regrets: Vec<f64> = self.scenarios.iter().filter_map(|one| one.regret).collect();
        let mut text = String::new();
        let figures = (median(&regrets), quantile(&regrets, 0.95), quantile(&regrets, 1.0));
        if let (Some(median), Some(p95), Some(worst)) = figures {
            let [median, p95, worst] = [median, p95, worst].map(fine_percent);
            let _ = writeln!(
                text,
                "{bullet}regret over {} workloads: median {median}, 95th percentile {p95}, \
                 maximum {worst}",
                regrets.len()
            );
        }
        if let Some(Check { what, .. }) = called_right(&self.scenarios) {
            let _ = writeln!(text, "{bullet}{what}");
        }
        text
    }
}
